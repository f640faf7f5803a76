"""Work on a worker: a run group as one task, or as an actor that is fed chunk references.

Both are loops over a `ResumablePass`; in-process execution calls the task directly.
"""

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import monotonic
from types import MappingProxyType

from olscale.compiled.machine_code import heard_when_made, machine_code_seconds
from olscale.data.dataset import Dataset
from olscale.evaluation import guard
from olscale.evaluation.cut_groups import BUNDLE_SECONDS
from olscale.evaluation.run_group import RunGroup
from olscale.execution.resumable_pass import ResumablePass, TaskFiles, dask_worker
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.task_report import Reports, Stand, TaskReport, answering

TOPIC = "olscale-progress"


def run_as_task(
    group: RunGroup,
    store: str | TaskFiles,
    report: Callable[[Stand], None] | None = None,
    stopping: Callable[[], bool] | None = None,
    settings: ExecutionSettings = SETTINGS,
    datasets: Mapping[str, Dataset] = MappingProxyType({}),
) -> TaskReport:
    """Run a whole group, or a class shard of one; `report` gets its progress every half second.

    In process the caller provides `report`; a Dask task has none, and reports to the topic `TOPIC`.
    When `stopping` returns true, the group is saved and left. A group in a bundle shares the files
    of the task. `datasets` are those that are open already, by path.
    """
    resumable = None
    if report is None:
        _prepare_worker()
    try:
        with answering() as answer:
            resumable = ResumablePass(group, store, settings, datasets)
            tell, stop = (
                (_topic(group), _stopping())
                if report is None
                else (report, stopping or (lambda: False))
            )
            reports = Reports(tell, resumable.stand, settings.report_seconds)
            resumable.group_pass.on_scored, resumable.group_pass.leaving = (
                reports.tell_if_due,
                stop,
            )
            with heard_when_made(reports.tell_compiling):
                while not resumable.ended and not stop():
                    resumable.group_pass.advance()
                    resumable.save_if_due()
                    reports.tell_if_due()
                    if isinstance(store, TaskFiles):
                        store.write_if_due()
                if resumable.ended:
                    # The end of a group in a bundle is reported with the others.
                    if not isinstance(store, TaskFiles):
                        reports.tell()
                    answer.report = resumable.finish()
            if not resumable.ended:
                resumable.save()
                answer.report = resumable.report(stopped=True)
        return answer.report
    finally:
        if resumable is not None:
            resumable.close()


def run_bundle_as_task(
    groups: Sequence[RunGroup],
    store: str,
    report: Callable[[str, Stand], None] | None = None,
    stopping: Callable[[], bool] | None = None,
    settings: ExecutionSettings = SETTINGS,
    datasets: Mapping[str, Dataset] = MappingProxyType({}),
) -> list[TaskReport]:
    """Run groups one after another, for about a second; return reports of those that were begun.

    Their records are on disk by then. `report`, which also gets the name of the group, and
    `stopping` are as in `run_as_task`. If the store cannot be written to, a single report says so.
    """
    if report is None:
        _prepare_worker()
    reports: list[TaskReport] = []
    start = monotonic()
    compiled = machine_code_seconds()
    last = start
    with answering() as answer:
        files = TaskFiles(store, datasets)
        stop = _stopping() if report is None else stopping or (lambda: False)
        for group in groups:
            tell = _topic(group) if report is None else partial(report, group.name)
            reports.append(run_as_task(group, files, tell, stop, settings))
            if monotonic() - last > settings.report_seconds:
                tell(reports[-1].stand)
                last = monotonic()
            spent = monotonic() - start - (machine_code_seconds() - compiled)
            if reports[-1].fault or stop() or spent > BUNDLE_SECONDS:
                break
        files.write()
    if answer.report.fault:
        return [answer.report]
    return reports


def _topic(group: RunGroup) -> Callable[[Stand], None]:
    from distributed import get_worker

    worker = get_worker()
    name = group.name
    return lambda stand: worker.log_event(TOPIC, {"group": name, "stand": tuple(stand)})


_STOPPED: set[str] = set()


def stop_tasks(drive: str) -> None:
    """Have the tasks on this worker with `drive` in their keys saved and left, for the driver."""
    _STOPPED.add(drive)


def _stopping() -> Callable[[], bool]:
    """Return a check of whether the current task is to be saved and left.

    The driver's request is not the only reason: Dask ends no task whose driver is gone, or whose
    worker has lost its scheduler. Such a task would run in parallel with the one that continues the
    group, each repeating the other's work.
    """
    from distributed import Status, get_worker

    worker = get_worker()
    key = str(worker.get_current_task())

    def stopping() -> bool:
        task = worker.state.tasks.get(key)
        unwanted = (
            task is None
            or task.state == "cancelled"
            or worker.status is not Status.running
        )
        return unwanted or any(drive in key for drive in _STOPPED)

    return stopping


def _prepare_worker() -> None:
    """Prepare this worker's process for runs.

    It exits if a learner has spoilt it: the run counts as lost, and the nanny starts another
    process.
    """
    guard.leave_process = partial(os._exit, 1)
    # To look for garbage among all that is imported takes as long as a hundred short runs.
    if not gc.get_freeze_count():
        gc.freeze()


class StreamActor:
    """A group on its way through a time-ordered stream, kept on one worker.

    Parameters
    ----------
    group : RunGroup
        What to run.
    store : str
        Path or URL of the store for the records.
    settings : ExecutionSettings
    """

    def __init__(
        self, group: RunGroup, store: str, settings: ExecutionSettings = SETTINGS
    ) -> None:
        self._group = group
        self._store = store
        self._settings = settings
        self._going: ResumablePass | None = None
        self._reports: Reports | None = None  # reports between two calls
        self._leaving = (lambda: False) if dask_worker() is None else _stopping()
        if dask_worker() is not None:
            _prepare_worker()

    def _opened(self) -> ResumablePass:
        if self._going is None:
            self._going = ResumablePass(self._group, self._store, self._settings)
            if dask_worker() is not None:
                self._reports = Reports(
                    _topic(self._group),
                    self._going.stand,
                    self._settings.report_seconds,
                )
                self._going.group_pass.on_scored = self._reports.tell_if_due
                self._going.group_pass.leaving = self._leaving
        return self._going

    def _heard(self) -> AbstractContextManager[None]:
        if self._reports is None:
            return nullcontext()
        return heard_when_made(self._reports.tell_compiling)

    def begin(self) -> TaskReport:
        """Open the stream, continue the newest checkpoint and report where it stands."""
        with answering() as answer:
            answer.report = self._opened().report()
        return answer.report

    def advance(self, first: int, last: int) -> TaskReport:
        """Feed chunks number `first` to `last` - 1, or some seconds' part of one of them.

        A stream that does not stand at chunk number `first` is not fed.
        """
        with answering() as answer:
            resumable = self._opened()
            start = monotonic()
            in_place = resumable.position == first
            with self._heard():
                while in_place and resumable.position < last and not resumable.ended:
                    resumable.group_pass.advance()
                    resumable.save_if_due()
                    if (
                        resumable.group_pass.within
                        and monotonic() - start >= self._settings.call_seconds
                    ):
                        break
            answer.report = resumable.report()
            if self._reports is not None:
                self._reports.note(answer.report.stand)
        return answer.report

    def save(self) -> TaskReport:
        """Save a checkpoint."""
        with answering() as answer:
            resumable = self._opened()
            resumable.save()
            answer.report = resumable.report(stopped=True)
        return answer.report

    def finish(self, position: int) -> TaskReport:
        """Run the test split and write the records, if the stream is at its end, `position`."""
        with answering() as answer:
            resumable = self._opened()
            answer.report = (
                resumable.finish()
                if resumable.position == position and resumable.ended
                else resumable.report()
            )
        return answer.report
