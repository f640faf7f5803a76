"""The pass of a run group with its checkpoints: continued, saved again, completed with records."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olscale.data.dataset import Dataset
from olscale.errors import StoppedError
from olscale.evaluation.budget import Meter
from olscale.evaluation.class_shards import ShardPass
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.summed_rows import SumsPass, can_sum
from olscale.evaluation.versions import check_learners
from olscale.execution.alarm import Alarm
from olscale.execution.checkpoints import Checkpoints
from olscale.execution.group_records import keep_models
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.task_files import TaskFiles
from olscale.execution.task_report import Stand, TaskReport
from olscale.results.scratch import Scratch
from olscale.system.memory import recent_resident_bytes

if TYPE_CHECKING:
    from olscale.execution.watchdog import GroupWatch


MOST_ERRORS = 16
"""Most runs with errors in a report, to keep it short; those of a larger group take turns."""


class ResumablePass:
    """The pass of a group from its newest checkpoint on.

    Its owner calls ``group_pass.advance()`` and `save_if_due`.

    Parameters
    ----------
    group : RunGroup
        What to run.
    store : str or TaskFiles
        Where checkpoints and records go. If the group shares the files of a task, the task writes
        its records.
    settings : ExecutionSettings
    datasets : mapping of str to Dataset, optional
        Datasets that are open already, by path.

    Attributes
    ----------
    group_pass : GroupPass
        The runs on their way through the stream.
    """

    def __init__(
        self,
        group: RunGroup,
        store: str | TaskFiles,
        settings: ExecutionSettings = SETTINGS,
        datasets: Mapping[str, Dataset] = MappingProxyType({}),
    ) -> None:
        # The process may have imported a learner before its file was edited.
        check_learners(group.runs)
        if group.memory_limit is None:
            group = replace(group, memory_limit=_share_of_worker())
        self._shares = isinstance(store, TaskFiles)
        self._files = store if isinstance(store, TaskFiles) else TaskFiles(store, datasets)
        self._store = self._files.store
        begun = not self._shares or self._files.has_begun(group)
        self._checkpoints = Checkpoints(self._store, group, settings, begun)
        self._watch = self._watch_of(group, settings)
        self._reported = 0
        meter = Meter(group.budget, self._watch, settings.grace_seconds, settings.compile_seconds)
        exceeded = self._checkpoints.exceeded()

        def beginning() -> GroupPass:
            if group.shard is not None:
                return ShardPass(group, Scratch(self._store, group.runs[0].id), meter, exceeded)
            kind = SumsPass if can_sum(group.runs[0]) else GroupPass
            return kind(group, meter, exceeded, self._files.dataset(group.path))

        self.group_pass = self._checkpoints.restored(beginning)

    def _watch_of(self, group: RunGroup, settings: ExecutionSettings) -> Alarm | GroupWatch | None:
        """Return the watch over calls that do not return.

        On a worker it is a process that ends the worker, in process a signal.
        """
        worker = dask_worker()
        if worker is None:
            return Alarm(group.budget, settings.alarm_seconds) if Alarm.works() else None
        from olscale.execution.watchdog import GroupWatch, watchdog_of

        if (dog := watchdog_of(worker)) is None:
            return None
        # A full process is a run's own fault only if its group has no other runs.
        limit = (worker.memory_manager.memory_limit or 0) if len(group.runs) == 1 else 0
        return GroupWatch(dog, self._store, self._checkpoints.folder, group.budget, limit)

    def close(self) -> None:
        """End the watch of the group."""
        if self._watch is not None and not isinstance(self._watch, Alarm):
            self._watch.close()

    @property
    def position(self) -> int:
        """Chunks fed so far."""
        return self.group_pass.position

    @property
    def ended(self) -> bool:
        """Whether all chunks have been fed."""
        return self.group_pass.ended

    def save_if_due(self) -> None:
        """Save if a checkpoint is due."""
        self._checkpoints.save_if_due(self.group_pass)

    def save(self) -> None:
        """Save now."""
        self._checkpoints.save(self.group_pass)

    def finish(self) -> TaskReport:
        """Run the test split, write the records and remove the checkpoints; or save the group.

        It is saved if it is to be left.
        """
        try:
            records = self.group_pass.finish()
        except StoppedError:
            # Predictions of held-out rows are repeated, so only the end of the stream is saved.
            self.save()
            return self.report(stopped=True)
        group_pass = self.group_pass
        if group_pass.group.keeps_models and group_pass.group.shard is None:
            self._checkpoints.notes += keep_models(
                self._store,
                group_pass.group,
                [(state, group_pass.pipeline(state)) for state in group_pass.states],
            )
        # The merge of all shards needs what a shard has written.
        clear = self._checkpoints.clear if group_pass.group.shard is None else _leave
        self._files.add(group_pass.group, records, clear)
        if not self._shares:
            self._files.write()
        self.close()
        outcomes = {record.id: record.outcome for record in records}
        return self.report(self.stand(most=len(records)), outcomes=outcomes)

    def report(self, stand: Stand | None = None, **more: Any) -> TaskReport:
        """Return where the group stands; each note is reported once."""
        group_pass = self.group_pass
        notes = tuple(self._checkpoints.notes)
        self._checkpoints.notes.clear()
        return TaskReport(
            group_pass.position, group_pass.chunks, stand or self.stand(), notes=notes, **more
        )

    def stand(self, most: int = MOST_ERRORS) -> Stand:
        """Return where the runs stand, with the errors of a few runs, which take turns."""
        group_pass = self.group_pass
        errors = self.group_pass.errors()
        first = self._reported % max(1, len(errors))
        self._reported += most
        shown = (errors[first:] + errors[:first])[:most]
        return Stand(
            group_pass.rows,
            group_pass.error(),
            tuple(shown),
            recent_resident_bytes(),
            group_pass.scoring,
        )


def _leave() -> None:
    """Remove nothing."""


def dask_worker() -> Any:
    """Return the Dask worker of this process; None if there is none."""
    # Importing distributed takes seconds that in-process evaluations do without.
    if "distributed.worker" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _share_of_worker() -> int | None:
    """Return half of the memory per thread of this Dask worker; None without worker or limit."""
    worker = dask_worker()
    limit = worker.memory_manager.memory_limit if worker is not None else None
    return limit // 2 // worker.state.nthreads if limit else None
