"""Run groups in this process, one after another."""

from collections.abc import Mapping, Sequence
from functools import partial

from olscale.data.dataset import Dataset
from olscale.errors import ExecutionError, StoppedError
from olscale.evaluation.cut_groups import bundles_of
from olscale.evaluation.run_group import RunGroup
from olscale.execution.group_records import clear_scratch, merge_group
from olscale.execution.on_worker import run_as_task, run_bundle_as_task
from olscale.execution.progress import Progress, tell
from olscale.execution.settings import ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import Stand, TaskReport


class InProcess:
    """Runs groups in this process in the same way as a worker.

    Parameters
    ----------
    store : str
        Path or URL of the store for the records.
    datasets : mapping of str to Dataset
        The opened datasets, by path.
    progress : Progress
    stop : Stop
        Requests that the groups be saved and left.
    settings : ExecutionSettings
    """

    def __init__(
        self,
        store: str,
        datasets: Mapping[str, Dataset],
        progress: Progress,
        stop: Stop,
        settings: ExecutionSettings,
    ) -> None:
        self._store = store
        self._progress = progress
        self._stop = stop
        self._datasets = datasets
        self._settings = settings

    def run(self, groups: Sequence[RunGroup]) -> None:
        """Run groups; afterwards each run has a record in the store.

        Raises
        ------
        StoppedError
            If a stop was requested; work in progress is saved.
        ExecutionError
            If a dataset or the store is at fault.
        """
        for bundle in bundles_of(groups):
            if len(bundle) > 1:
                self._run_together(bundle)
                continue
            [group] = bundle
            try:
                self._run(group)
            except StoppedError:
                # Arrays that shards have written are needed to continue.
                raise
            except Exception:
                clear_scratch(group, self._store)
                raise
            clear_scratch(group, self._store)

    def _run(self, group: RunGroup) -> None:
        for part in group.parts():
            hear = partial(tell, self._progress, part.name)
            hear(Stand())
            report = run_as_task(
                part, self._store, hear, self._is_asked, self._settings, self._datasets
            )
            hear(report.stand)
            self._note(report)
            if report.stopped:
                raise self._saved(part, report)
        if group.shards:
            self._note(merge_group(group, self._store))

    def _run_together(self, bundle: Sequence[RunGroup]) -> None:
        hear = partial(tell, self._progress)
        hear(bundle[0].name, Stand())
        while bundle:
            reports = run_bundle_as_task(
                bundle,
                self._store,
                hear,
                self._is_asked,
                self._settings,
                self._datasets,
            )
            # A bundle ends after about a second; there is one report for each group that was begun.
            for group, report in zip(bundle, reports, strict=False):
                hear(group.name, report.stand)
                self._note(report)
                if report.stopped:
                    raise self._saved(group, report)
            bundle = bundle[len(reports) :]
            if bundle and self._stop.asked:
                raise self._stop.error(f"{bundle[0].name} was not begun")

    def _is_asked(self) -> bool:
        return self._stop.asked

    def _saved(self, group: RunGroup, report: TaskReport) -> StoppedError:
        return self._stop.error(
            f"{group.name} was saved at chunk {report.position} of {report.chunks}"
        )

    def _note(self, report: TaskReport) -> None:
        for note in report.notes:
            self._progress.note(note)
        if report.fault:
            raise ExecutionError(report.fault)
        for run, outcome in report.outcomes.items():
            self._progress.finish(run, outcome)
