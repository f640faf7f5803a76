"""The pass of a run group with its checkpoints, and the files that the groups of a task share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from olscale.data.dataset import Dataset, open_dataset
from olscale.errors import StoppedError
from olscale.evaluation.budget import Meter
from olscale.evaluation.class_shards import ShardPass
from olscale.evaluation.cut_groups import BUNDLE_SECONDS
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.summed_rows import SumsPass, can_sum
from olscale.evaluation.versions import check_learners
from olscale.execution.alarm import Alarm
from olscale.execution.checkpoints import Checkpoints, begun_keys
from olscale.execution.group_records import keep_models, write_records, write_together
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.task_report import Stand, TaskReport
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.scratch import Scratch
from olscale.system.memory import recent_resident_bytes

if TYPE_CHECKING:
    from olscale.execution.watchdog import GroupWatch

T = TypeVar("T")


class TaskFiles:
    """The store and the datasets of a task, and the records of its groups until `write`.

    Runs are reported only once written. Records that have files of their own, or replace others,
    are written at once.

    Parameters
    ----------
    store : str
        Path or URL of the store for the records.
    datasets : mapping of str to Dataset, optional
        Datasets that are open already, by path.

    Attributes
    ----------
    store : Store

    Raises
    ------
    StoreError
        If there is no such store.
    """

    def __init__(
        self, store: str, datasets: Mapping[str, Dataset] = MappingProxyType({})
    ) -> None:
        self.store = open_store(store)
        self._datasets = dict(datasets)
        # By whether they replace other records, which is another way to write them.
        self._records: dict[bool, list[Record]] = {False: [], True: []}
        self._when_written: list[Callable[[], None]] = []
        self._since = 0.0

    def dataset(self, path: str) -> Dataset:
        """Return the dataset at `path`, opened once.

        Raises
        ------
        DatasetError
            If there is no dataset, or it is damaged.
        """
        if path not in self._datasets:
            self._datasets[path] = open_dataset(path)
        return self._datasets[path]

    def has_begun(self, group: RunGroup) -> bool:
        """Return whether the group had files among the checkpoints when this was first asked."""
        begun = self._begun
        return bool(begun) and not begun.isdisjoint((group.key, group.origin))

    @cached_property
    def _begun(self) -> frozenset[str]:
        return begun_keys(self.store)

    def add(
        self,
        group: RunGroup,
        records: Sequence[Record],
        when_written: Callable[[], None],
    ) -> None:
        """Take the records of a group; call `when_written` once they are on disk.

        Raises
        ------
        StoreError
            If the store cannot be written to.
        """
        if not self._when_written:
            self._since = monotonic()
        if group.together:
            self._records[group.replaces] += records
        else:
            write_records(self.store, group, records)
        self._when_written.append(when_written)

    def write(self) -> None:
        """Write the collected records.

        Raises
        ------
        StoreError
            If the store cannot be written to; the records are then kept.
        """
        for replaces, records in self._records.items():
            if records:
                write_together(self.store, records, replaces)
        for call in self._when_written:
            call()
        self._records = {False: [], True: []}
        self._when_written = []

    def write_if_due(self) -> None:
        """Write the collected records if a group takes longer than expected."""
        if (
            any(self._records.values())
            and monotonic() - self._since > 2 * BUNDLE_SECONDS
        ):
            self.write()


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
        self._files = (
            store if isinstance(store, TaskFiles) else TaskFiles(store, datasets)
        )
        self._store = self._files.store
        begun = not self._shares or self._files.has_begun(group)
        self._checkpoints = Checkpoints(self._store, group, settings, begun)
        self._watch = self._watch_of(group, settings)
        self._reported = 0
        meter = Meter(
            group.budget, self._watch, settings.grace_seconds, settings.compile_seconds
        )
        exceeded = self._checkpoints.exceeded()

        def beginning() -> GroupPass:
            if group.shard is not None:
                return ShardPass(
                    group, Scratch(self._store, group.runs[0].id), meter, exceeded
                )
            kind = GroupPass
            if can_sum(group.runs[0]):
                kind = SumsPass
            return kind(group, meter, exceeded, self._files.dataset(group.path))

        self.group_pass = self._checkpoints.restored(beginning)

    def _watch_of(
        self, group: RunGroup, settings: ExecutionSettings
    ) -> Alarm | GroupWatch | None:
        """Return the watch over calls that do not return.

        On a worker it is a process that ends the worker, in process a signal.
        """
        worker = dask_worker()
        if worker is None:
            if Alarm.works():
                return Alarm(group.budget, settings.alarm_seconds)
            return None
        from olscale.execution.watchdog import GroupWatch, watchdog_of

        if (dog := watchdog_of(worker)) is None:
            return None
        # A full process is a run's own fault only if its group has no other runs.
        limit = 0
        if len(group.runs) == 1:
            limit = worker.memory_manager.memory_limit or 0
        return GroupWatch(
            dog, self._store, self._checkpoints.folder, group.budget, limit
        )

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
        clear = _leave
        if group_pass.group.shard is None:
            clear = self._checkpoints.clear
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
            group_pass.position,
            group_pass.chunks,
            stand or self.stand(),
            notes=notes,
            **more,
        )

    def stand(self, most: int = MOST_ERRORS) -> Stand:
        """Return where the runs stand, with the errors of a few runs, which take turns."""
        group_pass = self.group_pass
        turn = self._reported
        self._reported += most
        return Stand(
            group_pass.rows,
            group_pass.error(),
            _in_turn(group_pass.errors(), turn, most),
            recent_resident_bytes(),
            group_pass.scoring,
            failed=_in_turn(group_pass.failures(), turn, most),
        )


def _in_turn(entries: list[T], turn: int, most: int) -> tuple[T, ...]:
    """Return at most `most` entries, from number `turn` on, around their end."""
    first = turn % max(1, len(entries))
    return tuple((entries[first:] + entries[:first])[:most])


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
    if worker is None or not worker.memory_manager.memory_limit:
        return None
    return int(worker.memory_manager.memory_limit) // 2 // int(worker.state.nthreads)
