"""Runs of which only the final model counts, made of sums over the rows: shards of them add up blocks, and one merges all.

The blocks depend on the length of the stream, and are merged in their order: their sums, and so the
model, have the same bits whoever added up which of them, and in one process. Runs whose sums are
the same share them, and are solved each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import make_transform
from olscale.evaluation.budget import BudgetExceeded, Meter
from olscale.evaluation.class_shards import array_name
from olscale.evaluation.fused_runs import FusedRuns
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.learning_time import LearningTime
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.compilation import compile_loops
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.merged_sums import MergesSums, mergeable, sums_key
from olscale.learners.contract.usable_rows import usable_rows
from olscale.learners.registry import ask, make_learner
from olscale.results.record import Record
from olscale.results.scratch import Scratch

LEAST_ROWS, MOST_BLOCKS = 4096, 64
"""Rows of a block, which should take longer than to read its sums, and blocks of a stream, whose sums fill the scratch."""


def can_sum(run: Run) -> bool:
    """Tell whether the final model of a run, and nothing else of it, counts and is made of sums over its rows."""
    return _sums_key(run) is not None


def _sums_key(run: Run) -> object:
    """Return what runs whose sums are the same have in common; None of one that is not made of sums."""
    key = run.stream
    if (
        not key.scoring.test_only
        or key.passes > 1
        or any(make_transform(text).streams for text in key.transforms)
    ):
        return None
    learner = make_learner(run.learner, run.params)
    if not ask(run.learner, "mergeable", lambda: mergeable(learner)):
        return None
    return key, run.learner, ask(run.learner, "sums_key", lambda: sums_key(learner)) or run.id


def cut_sums(groups: Sequence[RunGroup], workers: int) -> Iterator[RunGroup]:
    """Yield `groups` with runs of the same sums in groups of their own, each in as many shards as there are workers."""
    summed: dict[object, tuple[RunGroup, list[Run]]] = {}
    others = []
    for group in groups:
        keys = {run: None if group.shards else _sums_key(run) for run in group.runs}
        for run, key in keys.items():
            if key is not None:
                summed.setdefault(key, (group, []))[1].append(run)
        if rest := tuple(run for run, key in keys.items() if key is None):
            others.append(group if rest == group.runs else replace(group, runs=rest))
    yield from others
    for group, runs in summed.values():
        blocks = min(MOST_BLOCKS, max(1, group.rows // LEAST_ROWS))
        shards = min(blocks, max(1, workers // (len(summed) + len(others))))
        ranges = tuple(
            range(*ends) for ends in pairwise(blocks * i // shards for i in range(shards + 1))
        )
        yield replace(group, runs=tuple(runs), shards=ranges, summed=True, origin="")


class _SummedState(RunState):
    """The state of a shard: rows of its blocks are added up, none is predicted."""

    def __init__(
        self,
        run: Run,
        shape: StreamShape,
        columns: int,
        blocks: range,
        edges: list[int],
        scratch: Scratch,
        *more: Any,
    ) -> None:
        super().__init__(run, shape, columns, None, (), *more)
        self._blocks, self._edges, self._scratch = blocks, edges, scratch
        self._sums: State = {}

    def step(self, chunk: Chunk) -> None:
        """Add the rows that are in blocks of this shard."""
        if not self._ready:
            weighted = self._schedule.weighs(self.learner)
            self._guarded(lambda: compile_loops(self.learner, chunk.X, weighted), counts=False)
            self._ready = True
        first, self.position = self.position, self.position + len(chunk)
        for block in self._blocks:
            start, stop = max(first, self._edges[block]), min(self.position, self._edges[block + 1])
            if start < stop and self.outcome == "ok":
                self._add(
                    chunk[start - first : stop - first],
                    start,
                    block,
                    stop == self._edges[block + 1],
                )

    def _add(self, rows: Chunk, first: int, block: int, last: bool) -> None:
        learner = self.learner
        assert isinstance(learner, MergesSums)
        usable = self._guarded(lambda: usable_rows(rows.X, learner.norm_limits()))
        if usable is not None and not usable.all():
            row = int(np.argmin(usable))
            self._diverge(rows, row, first + row, "row", first + row)
            return
        start = LearningTime.now()
        self._sums = self._sums or self._guarded(learner.no_sums) or {}
        weights = rows.weights if self._schedule.weighs(learner) else None
        weighted: tuple[FloatArray, ...] = () if weights is None else (weights,)
        add_rows: Any = learner.add_rows
        self._guarded(lambda: add_rows(rows.X, rows.y, self._sums, *weighted))
        ends = self._guarded(lambda: learner.end_sums(self._sums)) if last else None
        self._learning_time += start.elapsed()
        if ends is not None:
            self._scratch.write(f"block.{block}", ends)
            self._sums = {}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all of the run as plain arrays, the sums of the block that is going on included."""
        return super().state() | {
            f"sums.{name}": array.copy() for name, array in self._sums.items()
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`."""
        super().restore(state)
        self._sums = {
            name[5:]: np.array(array) for name, array in state.items() if name.startswith("sums.")
        }

    def end(self, adds: "_SummedState", runs: int) -> dict[str, NDArray[Any]]:
        """Return what the merge must know besides the sums, which `adds` has added up for so many runs."""
        failed = self if self.outcome != "ok" else adds
        whole = failed.outcome == "ok" and self._blocks.start == 0  # one shard's will do
        state = (
            {f"state.{name}": array for name, array in self.learner.state().items()}
            if whole
            else {}
        )
        return state | {
            "outcome": np.array([failed.outcome, failed.reason]),
            "failed_at": np.array(failed.failed_at),
            "seconds": (adds._learning_time / runs).array(),
        }


class SumsPass(GroupPass):
    """A shard of runs of the same sums, on its way through its part of the stream: the first of them adds up.

    It ends with no record, but with arrays for `merge_sums` in `scratch`.
    """

    def __init__(
        self,
        group: RunGroup,
        scratch: Scratch,
        meter: Meter | None = None,
        exceeded: Mapping[str, BudgetExceeded] = MappingProxyType({}),
    ) -> None:
        assert group.shard is not None
        self._blocks, self._all, self._scratch = (
            group.shards[group.shard],
            group.shards[-1].stop,
            scratch,
        )
        super().__init__(group, meter, exceeded)
        chunk_rows = self._stream.first_row(1)
        self.position, self.within = divmod(self._edges[self._blocks.start], chunk_rows)
        self.chunks = -(-self._edges[self._blocks.stop] // chunk_rows)

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        self._edges = [shape.rows * block // self._all for block in range(self._all + 1)]
        self._shards = []
        for run in self.group.runs:
            more = self._scratch, self._meter, self._exceeded.get(run.id), self._stream.names
            shard = _SummedState(run, shape, columns, self._blocks, self._edges, *more)
            shard.position = self._edges[self._blocks.start]
            self._shards.append(shard)
        return self._shards

    def _fused(self) -> Sequence[RunState | FusedRuns]:
        return self._shards[:1]

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`, behind blocks that are still there.

        Raises
        ------
        ValueError, KeyError
            If one is not, or the state is not that of these runs.
        """
        super().restore(state)
        adds = self._shards[0]
        ended = [
            block
            for block in self._blocks
            if adds.outcome == "ok" and self._edges[block + 1] <= adds.position
        ]
        missing = [block for block in ended if not self._scratch.has(f"block.{block}")]
        if missing:
            raise ValueError(f"block {missing[0]} that the shard has written is gone")

    def finish(self) -> list[Record]:
        """Write what the merge needs, and return no record."""
        for shard in self._shards:
            end = shard.end(self._shards[0], len(self._shards))
            self._scratch.write(array_name(self._blocks, f"end.{shard.run.id}"), end)
        return []


class _MergedState(RunState):
    """The state of a whole run, which learns nothing along the stream."""

    def take(self, learned: State, sums: State, times: Sequence[LearningTime]) -> None:
        """Become the final model: that of a shard, with the sums of all, which took so long to add up."""
        start = LearningTime.now()
        learner = self.learner
        assert isinstance(learner, MergesSums)
        self._guarded(lambda: learner.restore(learned))
        self._guarded(lambda: learner.take_sums(sums))
        self._learning_time = sum(times, start.elapsed())
        self.position = int(sums["rows"][0])


class MergedPass(GroupPass):
    """A whole run of sums, which stands at the end of its stream."""

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        self.merged = _MergedState(self.group.runs[0], shape, columns, names=self._stream.names)
        return [self.merged]

    def _started(self) -> Sequence[RunState | FusedRuns]:
        self.position = self.chunks
        return [self.merged]


def merge_sums(
    group: RunGroup,
    scratch: Scratch,
    heard: Callable[[int, int], None] = lambda scored, whole: None,
    leaving: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Record, MergedPass]]:
    """Yield the record of each of some runs of sums whose shards have all ended, and the pass that has its final model.

    How many held-out rows these models have predicted, and how many they are to predict, is told to
    `heard`; `leaving` is asked whether to leave that for another time.

    Raises
    ------
    StoppedError
        If it is to be left.
    StoreError
        If something that a shard wrote is not there any more.
    """
    sums: State = {}
    for number_of_run, run in enumerate(group.runs):
        ends = [scratch.read(array_name(blocks, f"end.{run.id}")) for blocks in group.shards]
        going = MergedPass(replace(group, runs=(run,), shards=(), summed=False))
        failed = [
            (tuple(end["failed_at"]), number)
            for number, end in enumerate(ends)
            if end["outcome"][0] != "ok"
        ]
        if failed:
            outcome, reason = ends[min(failed)[1]]["outcome"]
            going.merged.fail(str(outcome), str(reason))
        else:
            sums = sums or _add_up(group, scratch)
            learned = {
                name.removeprefix("state."): ends[0][name]
                for name in ends[0]
                if name.startswith("state.")
            }
            times = [LearningTime.from_array(end["seconds"]) for end in ends]
            going.merged.take(learned, {name: array.copy() for name, array in sums.items()}, times)
        going.on_scored = partial(_tell_scored, going, number_of_run, len(group.runs), heard)
        going.leaving = leaving
        [record] = going.finish()
        yield record, going


def _tell_scored(
    going: MergedPass, before: int, runs: int, heard: Callable[[int, int], None]
) -> None:
    scored, whole = going.scoring
    heard(before * whole + scored, runs * whole)


def _add_up(group: RunGroup, scratch: Scratch) -> State:
    """Return the sums of all blocks."""
    sums: State = {}
    for block in range(group.shards[-1].stop):
        part = scratch.read(f"block.{block}")
        sums = {name: sums[name] + array if sums else array for name, array in part.items()}
    return sums
