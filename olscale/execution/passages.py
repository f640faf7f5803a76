"""What runs on a worker: a pack as one task, or as an actor that is fed chunk references in order.

Both write their records to the store themselves and send home only a summary. Neither lets an exception out: what comes
back is an `Envelope`, so that a fault of the data or the store is never mistaken for a fault of Dask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np

from olscale.errors import OlscaleError, StoreError
from olscale.evaluation.pack import Pack, Passage
from olscale.evaluation.shard import ShardPassage, merge_shards
from olscale.results.record import Record
from olscale.results.scratch import Scratch
from olscale.results.store import open_store

__all__ = ["TOPIC", "Envelope", "StreamActor", "clear_scratch", "merge_pack", "run_pack", "write_lost"]

TOPIC = "olscale-progress"
_REPORT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Envelope:
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
    """

    position: int = 0
    chunks: int = 0
    rows: int = 0
    error: float = 0.0
    outcomes: dict[str, str] = field(default_factory=dict)
    fault: str = ""


def fault_of(error: Exception) -> str:
    """Return one line for an error: the message of our own, type and message of others."""
    return str(error) if isinstance(error, OlscaleError) else f"{type(error).__name__}: {error}"


def write_records(passage: Passage, store: str) -> dict[str, str]:
    """Finish `passage`, write its records to the store and return the outcomes by run id."""
    target = open_store(store)
    outcomes = {}
    for record in passage.finish():
        target.write(record)
        outcomes[record.id] = record.outcome
    return outcomes


def write_lost(pack: Pack, store: str, reason: str) -> list[str]:
    """Write each run of `pack` as ``lost``, which gives way to a result of a later evaluation; return the run ids."""
    target = open_store(store)
    for run in pack.runs:
        none = np.empty(0, dtype=np.int64)
        target.write(Record(run.definition(), run.id, "lost", reason, {}, none, none))
    return [run.id for run in pack.runs]


def run_pack(pack: Pack, store: str, report: Callable[[int, float], None] | None = None) -> Envelope:
    """Run a whole pack, or a class shard of one; `report` is told rows and error every half second.

    Called in process with a `report` of the caller's, and as a Dask task with none: reports then go to the topic `TOPIC`.
    """
    try:
        passage = _passage(pack, store)
        tell, last = report or _topic(pack), monotonic()
        for i in range(passage.chunks):
            passage.step(i)
            if monotonic() - last > _REPORT_SECONDS:
                tell(passage.rows, passage.error())
                last = monotonic()
        tell(passage.rows, passage.error())
        return Envelope(passage.chunks, passage.chunks, passage.rows, passage.error(), write_records(passage, store))
    except Exception as error:
        return Envelope(fault=fault_of(error))


def merge_pack(pack: Pack, store: str) -> Envelope:
    """Write the record of a run whose class shards have all been run.

    Another process that runs the same experiment may have written it, and cleared the scratch arrays, before.
    """
    try:
        target = open_store(store)
        run = pack.runs[0].id
        try:
            record = merge_shards(pack, Scratch(target, run))
        except StoreError:
            if run not in target.done():
                raise
            return Envelope(outcomes={run: target.get(run).outcome})
        target.write(record)
        return Envelope(outcomes={run: record.outcome})
    except Exception as error:
        return Envelope(fault=fault_of(error))


def clear_scratch(pack: Pack, store: str) -> None:
    """Remove what class shards have left for the merge."""
    if pack.shards:
        Scratch(open_store(store), pack.runs[0].id).clear()


def _passage(pack: Pack, store: str) -> Passage:
    if pack.memory_limit is None:
        pack = replace(pack, memory_limit=_share_of_worker())
    return Passage(pack) if pack.shard is None else ShardPassage(pack, Scratch(open_store(store), pack.runs[0].id))


def _share_of_worker() -> int | None:
    """Return half the memory of a thread of the Dask worker this is; None if it is none, or one without a limit."""
    if "distributed.worker" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:
        return None
    limit = worker.memory_manager.memory_limit
    return limit // 2 // worker.state.nthreads if limit else None


def _topic(pack: Pack) -> Callable[[int, float], None]:
    from distributed import get_worker

    worker, name = get_worker(), pack.name
    return lambda rows, error: worker.log_event(TOPIC, {"pack": name, "rows": rows, "error": error})


class StreamActor:
    """A pack on its way through a time-ordered stream, kept on one worker.

    Parameters
    ----------
    pack : Pack
        What to run.
    store : str
        Where the records go.
    """

    def __init__(self, pack: Pack, store: str) -> None:
        self._pack, self._store = pack, store
        self._passage: Passage | None = None
        self._position = 0

    def advance(self, first: int, last: int) -> Envelope:
        """Feed chunks number `first` to `last` - 1; a stream that does not stand at `first` is left where it is."""
        try:
            self._passage = self._passage or _passage(self._pack, self._store)
            for i in range(first, min(last, self._passage.chunks)) if first == self._position else ():
                self._passage.step(i)
                self._position = i + 1
            return Envelope(self._position, self._passage.chunks, self._passage.rows, self._passage.error())
        except Exception as error:
            return Envelope(fault=fault_of(error))

    def finish(self, position: int) -> Envelope:
        """Run the test split and write the records, if the stream stands at its end, chunk number `position`."""
        try:
            passage = self._passage or _passage(self._pack, self._store)
            if position != self._position:
                return Envelope(self._position, passage.chunks)
            return Envelope(position, passage.chunks, outcomes=write_records(passage, self._store))
        except Exception as error:
            return Envelope(fault=fault_of(error))
