"""Runs that only need a final model, which is computed from sums over the rows.

Rows are added in blocks whose bounds depend on the length of the stream only, and the sums of the
blocks in their order: the model has the same bits however the stream is cut into chunks. Runs that
need the same sums share them, and each solves them for itself.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from olscale.arrays import Array, FloatArray, part_of
from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import make_transform
from olscale.evaluation.class_probabilities import may_need
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.learning_time import LearningTime
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.compilation import compile_loops
from olscale.learners.contract.learner import State
from olscale.learners.contract.merged_sums import MergesSums, mergeable, sums_key
from olscale.learners.contract.usable_rows import usable_rows
from olscale.learners.registry import ask, make_learner
from olscale.results.record import Record

LEAST_ROWS = 4096
"""Least rows of a block."""

MOST_BLOCKS = 64
"""Most blocks of a stream."""


def can_sum(run: Run) -> bool:
    """Return whether a run only needs its final model, which is made of sums over the rows."""
    return _sums_key(run) is not None


def _sums_key(run: Run) -> object:
    """Return a key that runs with the same sums share; None for a run without sums."""
    key = run.stream
    if not key.scoring.test_only or key.passes > 1 or key.scoring.from_model:
        return None
    # Scores are made probabilities by what became of them along the stream.
    if may_need(key.scoring):
        return None
    # Streaming transforms change along the stream, so that sums depend on the order of the rows.
    if any(make_transform(text).streams for text in key.transforms):
        return None
    learner = make_learner(run.learner, run.params)
    if not ask(run.learner, "mergeable", lambda: mergeable(learner)):
        return None
    # Without a key of its own, a run shares its sums with no other.
    own_key = ask(run.learner, "sums_key", lambda: sums_key(learner))
    return key, run.learner, own_key or run.id


def cut_sums(groups: Sequence[RunGroup]) -> Iterator[RunGroup]:
    """Yield `groups`, with runs that share their sums in groups of their own."""
    runs_of_sums: dict[object, list[Run]] = {}
    group_of_sums: dict[object, RunGroup] = {}
    for group in groups:
        keys = [None if group.shards else _sums_key(run) for run in group.runs]
        pairs = list(zip(group.runs, keys, strict=True))
        unsummed = tuple(run for run, key in pairs if key is None)
        if len(unsummed) == len(group.runs):
            yield group
        elif unsummed:
            yield replace(group, runs=unsummed)
        for run, key in pairs:
            if key is not None:
                runs_of_sums.setdefault(key, []).append(run)
                group_of_sums.setdefault(key, group)
    for key, runs in runs_of_sums.items():
        # The runs may come from several groups, so no single earlier checkpoint fits them.
        yield replace(group_of_sums[key], runs=tuple(runs), origin="")


class _SummedState(RunState):
    """A run whose final model is made of sums, which it computes or gets from another run."""

    def compile(self, chunk: Chunk) -> None:
        """Compile the loops of `add`."""
        weighted = self._schedule.weighs(self.learner)
        self._guarded(
            lambda: compile_loops(self.learner, chunk.X, weighted), counts=False
        )

    def add(self, rows: Chunk, first: int, sums: State, ends_block: bool) -> State:
        """Add rows of one block, from row number `first` of the stream on; return the sums."""
        learner = self.learner
        assert isinstance(learner, MergesSums)
        usable = self._guarded(lambda: usable_rows(rows.X, learner.norm_limits()))
        if usable is not None and not usable.all():
            row = int(np.argmin(usable))
            self._diverge(rows, row, first + row, "row", first + row)
            return {}
        start = LearningTime.now()
        # An empty state means that a new block begins.
        sums = sums or self._guarded(learner.no_sums) or {}
        weights = None
        if self._schedule.weighs(learner):
            weights = rows.weights
        weighted: tuple[FloatArray, ...] = () if weights is None else (weights,)
        add_rows: Any = learner.add_rows
        self._guarded(lambda: add_rows(rows.X, rows.y, sums, *weighted))
        if ends_block:
            sums = self._guarded(lambda: learner.end_sums(sums)) or {}
        self._learning_time += start.elapsed()
        return sums

    def hand_over_time(self) -> LearningTime:
        """Return the time that `add` has taken since the last call."""
        spent = self._learning_time
        self._learning_time = LearningTime()
        return spent

    def solve(self, sums: State, rows: int, spent: LearningTime) -> None:
        """Become the final model of `rows` rows; this run's share of the sums took `spent`."""
        start = LearningTime.now()
        learner = None
        if self.outcome == "ok":
            learner = self.learner
        if isinstance(learner, MergesSums):
            # `take_sums` may change the arrays, which other runs share.
            copies = _copies(sums)
            self._guarded(lambda: learner.take_sums(copies))
        self._learning_time = spent + start.elapsed()
        self.position = rows


class _SharedSums:
    """The sums of the rows so far, computed by one run for all."""

    def __init__(self, states: Sequence[_SummedState], edges: Sequence[int]) -> None:
        self.fold = states[0].fold
        self.position = 0
        self._states = states
        self._edges = edges
        self._block: State = {}
        self._blocks_before: State = {}
        self._spent = LearningTime()
        self._compiled = False

    def step(self, chunk: Chunk) -> None:
        """Add the rows of the next chunk of the stream; none is predicted."""
        first = self.position
        self.position += len(chunk)
        # Runs that exceeded their budgets in earlier attempts take no part.
        running = [state for state in self._states if state.outcome == "ok"]
        if not running:
            return
        adder = running[0]
        if not self._compiled:
            adder.compile(chunk)
            self._compiled = True
        start = first
        while start < self.position and adder.outcome == "ok":
            # Bounds of blocks are fixed, so a chunk may end within one.
            block_end = self._edges[bisect_right(self._edges, start)]
            stop = min(self.position, block_end)
            rows = chunk[start - first : stop - first]
            self._block = adder.add(rows, start, self._block, stop == block_end)
            if stop == block_end:
                self._end_block()
            start = stop
        self._spent += adder.hand_over_time()
        # The sums are those of all runs: without them none has a model.
        if adder.outcome != "ok":
            for state in running:
                state.fail(adder.outcome, adder.reason)

    def _end_block(self) -> None:
        before = self._blocks_before
        if before:
            self._blocks_before = {
                name: before[name] + array for name, array in self._block.items()
            }
        else:
            self._blocks_before = self._block
        self._block = {}

    def release(self) -> None:
        """Do nothing: no rows are pending."""

    def solve(self) -> None:
        """Make the final model of each run."""
        for state in self._states:
            state.solve(
                self._blocks_before, self.position, self._spent / len(self._states)
            )

    def state(self) -> dict[str, Array]:
        """Return the sums as plain arrays."""
        state = {f"block.{name}": array for name, array in _copies(self._block).items()}
        before = _copies(self._blocks_before)
        state |= {f"before.{name}": array for name, array in before.items()}
        state["position"] = np.array([self.position])
        state["seconds"] = self._spent.array()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state`."""
        self.position = int(state["position"][0])
        self._spent = LearningTime.from_array(state["seconds"])
        self._block = _copies(part_of(state, "block."))
        self._blocks_before = _copies(part_of(state, "before."))


def _copies(arrays: State) -> State:
    """Return copies, since sums are added to in place."""
    return {name: array.copy() for name, array in arrays.items()}


class SumsPass(GroupPass):
    """Runs with the same sums on their way through their stream."""

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        # The length of the stream alone decides the blocks, so every execution adds in the same
        # order.
        blocks = min(MOST_BLOCKS, max(1, self.group.rows // LEAST_ROWS))
        edges = [shape.rows * block // blocks for block in range(blocks + 1)]
        states = self._new_states(_SummedState, shape, columns)
        self._sums = _SharedSums(states, edges)
        return states

    def _fused(self) -> Sequence[_SharedSums]:
        return [self._sums]

    def state(self) -> Iterator[tuple[str, Array]]:
        """Yield the states of the runs, and the sums, as plain arrays."""
        yield from super().state()
        for name, array in self._sums.state().items():
            yield f"stream/sums/{name}", array

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state` of this group, or of one with more runs of the same sums."""
        super().restore(state)
        self._sums.restore(part_of(state, "stream/sums/"))

    def finish(self) -> list[Record]:
        """Solve the sums for each run, test the final models and return the records."""
        self._sums.solve()
        return super().finish()
