"""A pack: runs that share a stream, so that each chunk is read and decoded once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import accumulate
from math import inf, isfinite
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import values_of
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.stream import open_streams
from olscale.evaluation.budget import NO_BUDGET, Budget, BudgetExceeded, Meter
from olscale.evaluation.fused_runs import FusedRuns, cut_fused_runs
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_state import RunState
from olscale.learners.registry import is_restorable
from olscale.results.record import Record, run_id
from olscale.system.memory import default_limit

__all__ = ["LOOK_AHEAD_ROWS", "GroupPass", "RunGroup", "Source", "cut_groups", "stream_shape"]

LOOK_AHEAD_ROWS = 65_536
"""Rows that learners which look ahead are shown: all of a shorter stream, else a uniform sample."""


PACK_NUMBERS = 2e8
"""Numbers (values of rows, times runs) that a pack on a permutation or part goes through at most, if it has several runs."""

READING = 600
"""A pack that goes through so many numbers for each value it reads spends a twentieth of its time on reading, or less."""

LEAST_COST = 1e9
"""Numbers that a pack should go through, a quarter of a second's: with fewer it would be little but messages."""

PIECE_NUMBERS = 1e9
"""Numbers that all runs of a pack go through between two looks at signals, budgets and the clock: a second, or less.

A chunk that takes more is fed in pieces; contiguous pieces give the same bits as the whole.
"""

PROJECTED_RUNS = 8
"""Runs of a pack that share a projection all the same: to project a row costs more than most learners take for it."""


@dataclass(frozen=True, slots=True)
class Source:
    """What there is to stream.

    Attributes
    ----------
    path : str
        Where the dataset is.
    rows, numbers : int
        Rows of its training split, and values in them that are stored.
    bytes : int
        Bytes of the training split in memory.
    chunk_rows : int
        Rows of a chunk.
    """

    path: str
    rows: int
    numbers: int
    bytes: int = 0
    chunk_rows: int = 0

    def length(self, key: StreamKey) -> int:
        """Return the rows of the stream `key`, to a row, all passes together."""
        share = 1.0 if key.part is None else key.part.training_share
        return int(self.rows * share) * key.passes


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs on one stream.

    Attributes
    ----------
    path : str
        Where the dataset is.
    rows : int
        Length of the stream.
    runs : tuple of Run
        Runs with equal `Run.stream`.
    shards : tuple of range
        Classes of each class shard, if the pack is a run in class shards; they make up all classes.
    shard : int, optional
        Which of the `shards` this is; all of them when left out.
    memory_limit : int, optional
        Bytes of memory that rows out of file order may take; half the machine's when left out. No result depends on it.
    chunk_rows : int
        Rows of a chunk of the dataset; 0 if unknown.
    origin : str
        `key` of a pack with these runs and more, whose checkpoints this one continues; empty if there is none.
    budget : Budget
        What each of the runs may take.
    replaces : bool
        Whether results of these runs that the store has give way to new ones.
    """

    path: str
    rows: int
    runs: tuple[Run, ...]
    shards: tuple[range, ...] = ()
    shard: int | None = None
    memory_limit: int | None = None
    chunk_rows: int = 0
    origin: str = ""
    budget: Budget = NO_BUDGET
    replaces: bool = False

    @property
    def key(self) -> str:
        """What the pack's checkpoints are known by: a hash of its runs, its class shard and the cut into chunks."""
        classes = None if self.shard is None else [self.shards[self.shard].start, self.shards[self.shard].stop]
        return run_id({"runs": [run.id for run in self.runs], "classes": classes, "chunk_rows": self.chunk_rows})

    def halves(self) -> list[RunGroup]:
        """Return two packs that have half of the runs each and continue this pack's checkpoints."""
        middle = len(self.runs) // 2
        return [replace(self, runs=part, origin=self.key) for part in (self.runs[:middle], self.runs[middle:])]

    def parts(self) -> list[RunGroup]:
        """Return the packs that run one after another or at once to run this one: its class shards, or itself."""
        return [replace(self, shard=number) for number in range(len(self.shards))] or [self]

    @property
    def shuffled(self) -> bool:
        """Whether the stream is one of many: a permutation or a fold, not the whole in time order."""
        return self.runs[0].stream.shuffle is not None or self.runs[0].stream.part is not None

    @property
    def name(self) -> str:
        """Short name for progress reports and error messages."""
        key = self.runs[0].stream
        order = "time order" if key.shuffle is None else f"permutation {key.shuffle.index}"
        order += "" if key.part is None else f", fold {key.part.fold}"
        order += "" if key.projection is None else f", projection {key.projection}"
        learners = ", ".join(sorted({run.learner for run in self.runs}))
        if self.shard is not None:
            learners += f", classes {self.shards[self.shard].start} to {self.shards[self.shard].stop - 1}"
        return f"{key.dataset}, {order}, {learners} [{self.runs[0].id[:6]}]"


class GroupPass:
    """The folds of a pack on their way through the stream; every shell drives one of these.

    Parameters
    ----------
    pack : Pack
    meter : Meter, optional
        Measures the runs; one for the pack's budget when left out.
    verdicts : dict of str to Excess, optional
        How runs have ended in earlier attempts at the pack, by run id.

    Examples
    --------
    A shell is a loop over the chunk numbers::

        passage = Passage(pack)
        for i in range(passage.chunks):
            passage.step(i)  # or passage.advance(), a second's rows at a time
        records = passage.finish()
    """

    def __init__(
        self, pack: RunGroup, meter: Meter | None = None, verdicts: Mapping[str, BudgetExceeded] = MappingProxyType({})
    ) -> None:
        key = pack.runs[0].stream
        self.pack = pack
        self._meter, self._verdicts = meter or Meter(pack.budget), verdicts
        self._read_seconds = 0.0
        start = perf_counter()
        streams = open_streams(
            pack.path,
            key.transforms,
            key.shuffle,
            key.part,
            key.projection or 0,
            pack.memory_limit,
            key.scoring.delay_position,
        )
        self._stream, self._test = streams.train, streams.test
        self._read_seconds += perf_counter() - start
        shape = stream_shape(self._stream.dataset, key, self._stream.rows * key.passes)
        self._classes_of_stream = shape.classes
        self._folds = self._begin(shape, self._stream.columns)
        self._lanes: list[FusedRuns] | None = None
        self.chunks = len(self._stream) * key.passes
        self.position = 0  # chunks fed
        self.within = 0  # rows of the next chunk that are fed already
        self._chunk: Chunk | None = None
        self.rows = 0  # row-passes: one row learned by one learner is one

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        """Return the folds."""
        return [
            RunState(run, shape, columns, meter=self._meter, verdict=self._verdicts.get(run.id))
            for run in self.pack.runs
        ]

    def _started(self) -> list[FusedRuns]:
        """Return the lanes; before the first chunk, show learners that look ahead the rows to come."""
        if self._lanes is None:
            if ahead := [fold for fold in self._folds if fold.looks_ahead]:
                # One reading of the stream for all of them.
                start = perf_counter()
                sample = self._stream.sample(LOOK_AHEAD_ROWS)
                self._read_seconds += perf_counter() - start
                for fold in ahead:
                    fold.prepare(sample)
            self._lanes = cut_fused_runs(self._folds)
        return self._lanes

    def step(self, i: int) -> None:
        """Feed chunk number `i`, or what is left of it, to every fold; chunks come in order, each once."""
        while self.position == i:
            self.advance()

    def advance(self) -> None:
        """Feed the next rows, of one chunk and for a second or so, to every fold."""
        lanes = self._started()
        if self._chunk is None:
            start = perf_counter()
            self._chunk = self._stream.chunk(self.position % len(self._stream))
            self._read_seconds += perf_counter() - start
        chunk, start_row = self._chunk, self.within
        stop = min(len(chunk), start_row + self._piece_rows(chunk))
        passed, number = divmod(self.position, len(self._stream))
        first = passed * self._stream.rows + self._stream.first_row(number)
        left = None if self._test is None else self.pack.runs[0].stream.scoring.rows_to_measurement(first + start_row)
        if left is not None:
            stop = min(stop, start_row + left)
        piece = chunk if (start_row, stop) == (0, len(chunk)) else chunk[start_row:stop]
        for lane in lanes:
            lane.step(piece)
        if stop - start_row == left:
            self._measure()
        self._count_rows(piece)
        self.within = stop
        if stop == len(chunk):
            self.position, self.within, self._chunk = self.position + 1, 0, None

    def _piece_rows(self, chunk: Chunk) -> int:
        """Return of how many rows like those of `chunk` all runs together go through `PIECE_NUMBERS`, 1 at least."""
        values = values_of(chunk.X) / max(1, len(chunk))
        costs = (fold.row_numbers(chunk.columns, self._classes_of_stream, values) for fold in self._folds)
        cost = sum(cost for cost in costs if isfinite(cost))
        return max(1, int(PIECE_NUMBERS / max(1.0, cost)))

    def _measure(self) -> None:
        """Predict the test split with the models as they are now."""
        assert self._test is not None
        first = 0
        for rows in self._test.chunks():
            for fold in self._folds:
                fold.hold_out(rows, first)
            first += len(rows)

    def _count_rows(self, chunk: Chunk) -> None:
        self.rows += len(chunk) * len(self._folds)

    def error(self) -> float:
        """Return the mean cumulative error of the runs so far, for progress reports only."""
        errors = [fold.error() for fold in self._folds if fold.outcome == "ok" and fold.position]
        return sum(errors) / len(errors) if errors else 0.0

    def finish(self) -> list[Record]:
        """Run the test split through the final models and return the records."""
        self._close()
        return [fold.record({"read_seconds": self._read_seconds}) for fold in self._folds]

    @property
    def filled_bytes(self) -> int:
        """Bytes of the learners' states without their blocks of zeros: what a checkpoint has to save."""
        return sum(fold.filled_bytes for fold in self._folds)

    def state(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the folds, as they stand, as plain arrays with their names: ``<run id>/...`` and ``stream/...``.

        A learner's arrays are copied when they are asked for, but for what is untouched, so no more than one copy is held
        at a time.
        """
        for lane in self._started():
            lane.release()
        yield "stream/cut", np.array([self.chunks, self.position])
        if self.within:
            yield "stream/within", np.array([self.within])
        yield "stream/rows", np.array([self.rows])
        yield "stream/read_seconds", np.array([self._read_seconds])
        for fold in self._folds:
            for name, array in fold.state().items():
                yield f"{fold.run.id}/{name}", array

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`, of this pack or of one with more runs, before the first chunk is fed.

        Raises
        ------
        ValueError, KeyError
            If the state is not that of these runs on this stream, cut into these chunks.
        """
        chunks, position = (int(number) for number in state["stream/cut"])
        if chunks != self.chunks:
            raise ValueError(f"the stream had {chunks} chunks, now it has {self.chunks}")
        for fold in self._folds:
            mark = f"{fold.run.id}/"
            fold.restore({name.removeprefix(mark): array for name, array in state.items() if name.startswith(mark)})
        self._lanes = cut_fused_runs(self._folds)
        self.position = position
        self.within = int(state["stream/within"][0]) if "stream/within" in state else 0
        self._read_seconds += float(state["stream/read_seconds"][0])
        runs = {name.partition("/")[0] for name in state} - {"stream"}
        self.rows = int(state["stream/rows"][0]) * len(self._folds) // len(runs)

    def _close(self) -> None:
        for lane in self._started():
            lane.release()
        if self._test is not None:
            for chunk in self._test.chunks():
                size = self._piece_rows(chunk)
                for start in range(0, len(chunk), size):
                    for fold in self._folds:
                        fold.test(chunk[start : start + size])


def stream_shape(dataset: Dataset, key: StreamKey, rows: int) -> StreamShape:
    """Return what is known before the first row of the stream `key`, of `rows` rows of `dataset`, all passes together."""
    whole = key.shuffle is None and key.part is None and key.passes == 1
    segments = dataset.segments("train") if whole else ()
    return StreamShape(rows, len(dataset.classes or ()), tuple(segments), key.scoring)


def cut_groups(
    runs: Sequence[Run],
    sources: Mapping[str, Source],
    parts: int,
    memory_limit: int | None = None,
    costs: Mapping[str, float] = MappingProxyType({}),
) -> list[RunGroup]:
    """Return packs, those that take longest first; where there are fewer streams than `parts`, several of each.

    No worker should be at a long pack when the others have nothing left to do. So a pack on rows that are held in memory
    takes at most half of a worker's share of all that is not yet cut, and those that are cut last are small: guided
    self-scheduling (C. D. Polychronopoulos and D. J. Kuck, IEEE Transactions on Computers C-36(12), 1987), the longest
    first. Of a stream that is read from disk, or projected, there is a slice for each worker that would otherwise be idle.

    Parameters
    ----------
    runs : sequence of Run
        Runs to do.
    sources : dict of str to Source
        The datasets, by fingerprint.
    parts : int
        How many packs can run at the same time.
    memory_limit : int, optional
        That of the packs.
    costs : mapping of str to float
        How many numbers each run goes through, by its id; the values of its rows where it is left out.
    """
    held = default_limit() // parts if memory_limit is None else memory_limit
    groups: dict[tuple[StreamKey, bool], list[Run]] = {}
    for run in runs:
        # Those that cannot be saved in mid-stream go apart, or the others would start again with them.
        groups.setdefault((run.stream, is_restorable(run.learner)), []).append(run)
    # Fewer streams than workers: cut each into slices of its learners, at the price of reading the stream once a slice.
    slices = max(1, -(-parts // max(1, len(groups))))

    def length(key: StreamKey) -> int:
        return sources[key.fingerprint].length(key)

    def values(key: StreamKey) -> float:
        source = sources[key.fingerprint]
        return source.numbers * length(key) / max(1, source.rows)

    def cost(run: Run) -> float:
        return costs.get(run.id, values(run.stream))

    left = sum(map(cost, runs))
    packs: list[tuple[float, RunGroup]] = []
    for (key, _), group in sorted(groups.items(), key=lambda each: max(map(cost, each[1])), reverse=True):
        source, count = sources[key.fingerprint], min(slices, len(group))
        if (key.shuffle is not None or key.part is not None) and source.bytes <= held:
            # Held in memory, so reading it again costs little, and a pack that is stopped is lost as a whole.
            most = int(PACK_NUMBERS / max(1.0, values(key)))
            size = min(-(-len(group) // count), max(most, 1 if key.projection is None else PROJECTED_RUNS))
            least = max(READING * values(key), LEAST_COST) if key.projection is None else inf
            shares = _guided(group, cost, size, left, parts, least)
        else:
            # Read from disk anew by each pack.
            shares = _dealt(group, cost, count)
        for share in shares:
            pack = RunGroup(source.path, length(key), share, memory_limit=memory_limit, chunk_rows=source.chunk_rows)
            packs.append((sum(map(cost, share)), pack))
            left -= packs[-1][0]
    return [pack for _, pack in sorted(packs, key=lambda each: each[0], reverse=True)]


def _guided(
    runs: Sequence[Run], cost: Callable[[Run], float], size: int, left: float, parts: int, least: float
) -> Iterator[tuple[Run, ...]]:
    """Yield `runs` in their order, so many at once as take half of a part's share of what is left, or `least` if it is more.

    One at least, and `size` at most.
    """
    while runs:
        most = max(left / (2 * parts), least)
        count = max(1, sum(total <= most for total in accumulate(map(cost, runs[:size]))))
        left -= sum(map(cost, runs[:count]))
        yield tuple(runs[:count])
        runs = runs[count:]


def _dealt(runs: Sequence[Run], cost: Callable[[Run], float], count: int) -> Iterator[tuple[Run, ...]]:
    """Yield `runs` in `count` shares that take about as long each: the longest run first, to the share with least so far."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [(0.0, 0, number) for number in range(count)]
    for i in sorted(range(len(runs)), key=lambda i: cost(runs[i]), reverse=True):
        load, held, number = heappop(loads)
        shares[number].append(i)
        heappush(loads, (load + cost(runs[i]), held + 1, number))
    yield from (tuple(runs[i] for i in sorted(share)) for share in shares)
