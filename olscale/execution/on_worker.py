"""What runs on a worker: a group of runs as one task, or as an actor that is fed chunk references in order.

Both are shells over one `ResumablePass`, which continues the group's newest checkpoint, saves new ones and writes the
records to the store; in process there is one more. Neither lets an exception out: what comes back is a `TaskReport`, so
that a fault of the data or the store is never mistaken for a fault of Dask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from olscale.errors import OlscaleError, StoreError
from olscale.evaluation.budget import Meter
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.run_group import GroupPass, RunGroup
from olscale.evaluation.versions import check_learners
from olscale.execution.alarm import Alarm
from olscale.execution.checkpoints import Checkpoints
from olscale.execution.watchdog import PackWatch, watchdog_of
from olscale.results.forget import replace_record
from olscale.results.record import Record
from olscale.results.scratch import Scratch
from olscale.results.store import Store, open_store
from olscale.system.interrupts import let_interrupt_out, text_of

__all__ = [
    "TOPIC",
    "ResumablePass",
    "StreamActor",
    "TaskReport",
    "clear_scratch",
    "merge_pack",
    "run_as_task",
    "stop_tasks",
    "write_lost",
    "written",
]

TOPIC = "olscale-progress"
_REPORT_SECONDS = 0.5
_CALL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class TaskReport:
    """Answer of a worker.

    Attributes
    ----------
    position : int
        Chunks fed so far.
    chunks, rows : int
        Chunks of the stream, and rows fed so far.
    error : float
        Mean cumulative error so far.
    outcomes : dict
        Outcome of each finished run, by id.
    fault : str
        What went wrong, empty if nothing did.
    notes : tuple of str
        What the user should know.
    stopped : bool
        Whether the pack was left where it is, because that was asked for.
    """

    position: int = 0
    chunks: int = 0
    rows: int = 0
    error: float = 0.0
    outcomes: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    notes: tuple[str, ...] = ()
    stopped: bool = False


def fault_of(error: BaseException) -> str:
    """Return one line for an error: the message of our own, type and message of others; Ctrl-C is raised again."""
    let_interrupt_out(error)
    return str(error) if isinstance(error, OlscaleError) else text_of(error)


def write_lost(pack: RunGroup, store: str, reason: str) -> list[str]:
    """Write each run of `pack` as ``lost``, which gives way to a result of a later evaluation; return the run ids."""
    target = open_store(store)
    for run in pack.runs:
        none = np.empty(0, dtype=np.int64)
        _write(target, pack, Record(run.definition(), run.id, "lost", reason, {}, none, none))
    return [run.id for run in pack.runs]


def written(pack: RunGroup, store: str) -> dict[str, str]:
    """Return the outcomes of the runs of `pack` if the store has them all: a worker may die between that and its answer.

    Where results are replaced nobody can tell those from before, so that there are none.
    """
    if pack.replaces:
        return {}
    target, ids = open_store(store), [run.id for run in pack.runs]
    return {id: target.get(id).outcome for id in ids} if target.done().issuperset(ids) else {}


def _write(store: Store, pack: RunGroup, record: Record) -> None:
    if pack.replaces:
        replace_record(store, record)
    else:
        store.write(record)


class ResumablePass:
    """A pack on its way through its stream, from its newest checkpoint on.

    Parameters
    ----------
    pack : Pack
        What to run.
    store : str
        Where checkpoints and records go.

    Attributes
    ----------
    passage : Passage
        The folds.
    """

    def __init__(self, pack: RunGroup, store: str) -> None:
        check_learners(pack.runs)
        if pack.memory_limit is None:
            pack = replace(pack, memory_limit=_share_of_worker())
        self._store = open_store(store)
        self._checkpoints = Checkpoints(self._store, pack)
        self._watch = self._watch_of(pack)
        meter, verdicts = Meter(pack.budget, self._watch), self._checkpoints.verdicts()

        def beginning() -> GroupPass:
            if pack.shard is None:
                return GroupPass(pack, meter, verdicts)
            return ShardPass(pack, Scratch(self._store, pack.runs[0].id), meter, verdicts)

        self.passage = self._checkpoints.restored(beginning)

    def _watch_of(self, pack: RunGroup) -> Alarm | PackWatch | None:
        """Return who sees to calls that do not return: a process that ends the worker; in process, a signal."""
        worker = _worker()
        if worker is None:
            return Alarm(pack.budget) if Alarm.works() else None
        if (dog := watchdog_of(worker)) is None:
            return None
        # Only of a pack of one run is it that run's fault that the process is full.
        limit = (worker.memory_manager.memory_limit or 0) if len(pack.runs) == 1 else 0
        return PackWatch(dog, self._store, self._checkpoints.folder, pack.budget, limit)

    def close(self) -> None:
        """End the watch over the pack."""
        if isinstance(self._watch, PackWatch):
            self._watch.close()

    @property
    def position(self) -> int:
        """Chunks fed so far."""
        return self.passage.position

    @property
    def ended(self) -> bool:
        """Whether all chunks have been fed."""
        return self.position == self.passage.chunks

    def advance(self, last: int, seconds: float = inf) -> None:
        """Feed the chunks up to number `last` - 1; save, whenever it is time to.

        Past so many `seconds` return from within a chunk that is fed in pieces, after one of them at least.
        """
        start = monotonic()
        while self.position < last and not self.ended:
            self.passage.advance()
            self._checkpoints.save_if_due(self.passage)
            if self.passage.within and monotonic() - start >= seconds:
                break

    def save(self) -> None:
        """Save now."""
        self._checkpoints.save(self.passage)

    def finish(self) -> TaskReport:
        """Run the test split, write the records to the store and remove the checkpoints."""
        records = self.passage.finish()
        for record in records:
            _write(self._store, self.passage.pack, record)
        self.close()
        outcomes = {record.id: record.outcome for record in records}
        if self.passage.pack.shard is None:  # what a shard has written is needed until all are merged
            self._checkpoints.clear()
        return self.told(outcomes=outcomes)

    def told(self, **more: Any) -> TaskReport:
        """Return where the pack stands; notes are told once."""
        passage, notes = self.passage, tuple(self._checkpoints.notes)
        self._checkpoints.notes.clear()
        return TaskReport(passage.position, passage.chunks, passage.rows, passage.error(), notes=notes, **more)


def run_as_task(
    pack: RunGroup,
    store: str,
    report: Callable[[int, float], None] | None = None,
    stopping: Callable[[], bool] | None = None,
    report_seconds: float = _REPORT_SECONDS,
) -> TaskReport:
    """Run a whole pack, or a class shard of one; `report` is told rows and error every half second, or as seldom as given.

    Called in process with a `report` of the caller's, and as a Dask task with none: reports then go to the topic `TOPIC`.
    When `stopping` says so, the pack is saved and left.
    """
    journey = None
    try:
        journey = ResumablePass(pack, store)
        tell, stop = (_topic(pack), _stopping()) if report is None else (report, stopping or (lambda: False))
        last = monotonic()
        while not journey.ended:
            if stop():
                journey.save()
                return journey.told(stopped=True)
            journey.advance(journey.position + 1, 0.0)
            if monotonic() - last > report_seconds:
                tell(journey.passage.rows, journey.passage.error())
                last = monotonic()
        tell(journey.passage.rows, journey.passage.error())
        return journey.finish()
    except BaseException as error:
        return TaskReport(fault=fault_of(error))
    finally:
        if journey is not None:
            journey.close()


def merge_pack(pack: RunGroup, store: str) -> TaskReport:
    """Write the record of a run whose class shards have all been run.

    Another process that runs the same experiment may have written it, and cleared the scratch arrays, before.
    """
    try:
        target = open_store(store)
        run = pack.runs[0].id
        try:
            record = merge_shards(pack, Scratch(target, run))
        except StoreError:
            if pack.replaces or run not in target.done():
                raise
            return TaskReport(outcomes={run: target.get(run).outcome})
        _write(target, pack, record)
        return TaskReport(outcomes={run: record.outcome})
    except BaseException as error:
        return TaskReport(fault=fault_of(error))


def clear_scratch(pack: RunGroup, store: str) -> None:
    """Remove what class shards have left for the merge, and their checkpoints."""
    if pack.shards:
        target = open_store(store)
        for part in pack.parts():
            Checkpoints(target, part).clear()
        Scratch(target, pack.runs[0].id).clear()


def _worker() -> Any:
    """Return the Dask worker that this is; None if it is none."""
    if "distributed.worker" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _share_of_worker() -> int | None:
    """Return half the memory of a thread of the Dask worker this is; None if it is none, or one without a limit."""
    worker = _worker()
    limit = worker.memory_manager.memory_limit if worker is not None else None
    return limit // 2 // worker.state.nthreads if limit else None


def _topic(pack: RunGroup) -> Callable[[int, float], None]:
    from distributed import get_worker

    worker, name = get_worker(), pack.name
    return lambda rows, error: worker.log_event(TOPIC, {"pack": name, "rows": rows, "error": error})


_STOPPED: set[str] = set()


def stop_tasks(drive: str) -> None:
    """Have the tasks on this worker whose keys begin with `drive` saved and left; called on each worker by the driver."""
    _STOPPED.add(drive)


def _stopping() -> Callable[[], bool]:
    """Return what tells whether the task this is called in is to be saved and left.

    Not only because the driver asks for it: Dask ends no task whose driver is gone, or whose worker has lost its scheduler.
    It would go on beside the one that continues the pack, each doing what the other does.
    """
    from distributed import Status, get_worker

    worker = get_worker()
    key = str(worker.get_current_task())

    def stopping() -> bool:
        task = worker.state.tasks.get(key)
        unwanted = task is None or task.state == "cancelled" or worker.status is not Status.running
        return unwanted or any(key.startswith(drive) for drive in _STOPPED)

    return stopping


class StreamActor:
    """A pack on its way through a time-ordered stream, kept on one worker.

    Parameters
    ----------
    pack : Pack
        What to run.
    store : str
        Where the records go.
    """

    def __init__(self, pack: RunGroup, store: str) -> None:
        self._pack, self._store = pack, store
        self._journey: ResumablePass | None = None

    def begin(self) -> TaskReport:
        """Open the stream, continue the newest checkpoint and tell where it stands."""
        return self._answer(lambda journey: journey.told())

    def advance(self, first: int, last: int) -> TaskReport:
        """Feed chunks number `first` to `last` - 1, or some seconds' part of them.

        A stream that does not stand at chunk number `first` is left where it is.
        """

        def feed(journey: ResumablePass) -> TaskReport:
            if journey.position == first:
                journey.advance(last, _CALL_SECONDS)
            return journey.told()

        return self._answer(feed)

    def save(self) -> TaskReport:
        """Save a checkpoint now."""

        def keep(journey: ResumablePass) -> TaskReport:
            journey.save()
            return journey.told(stopped=True)

        return self._answer(keep)

    def finish(self, position: int) -> TaskReport:
        """Run the test split and write the records, if the stream stands at its end, chunk number `position`."""
        return self._answer(
            lambda journey: journey.finish() if journey.position == position and journey.ended else journey.told()
        )

    def _answer(self, what: Callable[[ResumablePass], TaskReport]) -> TaskReport:
        try:
            self._journey = self._journey or ResumablePass(self._pack, self._store)
            return what(self._journey)
        except BaseException as error:
            return TaskReport(fault=fault_of(error))
