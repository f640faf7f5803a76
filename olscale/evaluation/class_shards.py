"""Class shards of a run: passes over the stream that keep the best class of each row.

Each shard streams the dataset once and trains only its classes. For every row it records its best
score and class, and whether the row changed the model. The best class of all shards is the best of
all classes, so the merge of the shards counts exact errors: bit for bit the record that the run
would have in one piece.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray, part_of
from olscale.data.chunk import Chunk
from olscale.data.dataset import open_dataset
from olscale.evaluation.budget import BudgetExceeded, Meter
from olscale.evaluation.group_pass import GroupPass, stream_shape
from olscale.evaluation.learning_time import LearningTime
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.class_axes import class_axes, join_classes
from olscale.learners.contract.class_shards import ClassShard
from olscale.learners.registry import make_learner
from olscale.results.record import Record
from olscale.results.scratch import Scratch

BLOCK_ROWS = 1 << 18
"""Rows after which a shard writes what it has kept: 4 MB."""


class _Ballots:
    """What a shard keeps of each row of a split, written to scratch in blocks.

    All shards cut their blocks at the same rows.
    """

    def __init__(self, scratch: Scratch, classes: range, split: str) -> None:
        self._scratch = scratch
        self._classes = classes
        self._split = split
        self._waiting: list[dict[str, Array]] = []
        self._rows = self.blocks = 0

    def add(self, y: IntArray, scores: FloatArray, **more: Array) -> None:
        # As in `codes_of`, the first of equal best scores wins.
        best = np.argmax(scores, axis=1)
        ballot = {
            "score": scores[np.arange(len(y)), best],
            "code": (best + self._classes.start).astype(np.int32),
        }
        # Targets are the same in all shards, so only the first one keeps them.
        if self._classes.start == 0:
            ballot["y"] = y.astype(np.int32)
        self._waiting.append({**ballot, **more})
        self._rows += len(y)
        if self._rows >= BLOCK_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._scratch.write(self._block(self.blocks), self._joined())
            self.blocks += 1
        self._waiting = []
        self._rows = 0

    def state(self) -> dict[str, Array]:
        """Return the rows that are not yet written, and the number of blocks that are."""
        state = {"blocks": np.array([self.blocks])}
        if self._waiting:
            state |= self._joined()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        waiting = dict(state)
        self.blocks = int(waiting.pop("blocks")[0])
        self._waiting = []
        self._rows = 0
        if waiting:
            self._waiting.append(waiting)
            self._rows = len(waiting["score"])
        # Blocks are files of their own: a cleared scratch folder loses rows that the state counts.
        missing = [
            block
            for block in range(self.blocks)
            if not self._scratch.has(self._block(block))
        ]
        if missing:
            raise ValueError(f"block {missing[0]} that the shard has written is gone")

    def _block(self, number: int) -> str:
        return array_name(self._classes, f"{self._split}.{number}")

    def _joined(self) -> dict[str, Array]:
        return {
            name: np.concatenate([part[name] for part in self._waiting])
            for name in self._waiting[0]
        }


class _ShardState(RunState):
    """The state of a shard: it counts nothing and keeps the ballot of each row."""

    def __init__(
        self,
        run: Run,
        shape: StreamShape,
        columns: int,
        classes: range,
        scratch: Scratch,
        meter: Meter | None = None,
        exceeded: BudgetExceeded | None = None,
        names: Sequence[str] = (),
    ) -> None:
        def make() -> ClassShard:
            return ClassShard(make_learner(run.learner, run.params), classes)

        super().__init__(run, shape, columns, make, (), meter, exceeded, names)
        self._outputs = (len(classes), len(classes))
        self._train = _Ballots(scratch, classes, "train")
        self._test = _Ballots(scratch, classes, "test")

    def count(
        self,
        first: int,
        y: Array,
        codes: Array,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        assert isinstance(self.learner, ClassShard)
        self._train.add(y, scores, moved=self.learner.moved)

    def count_test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        self._test.add(y, scores)

    def state(self) -> dict[str, Array]:
        """Return the whole run as plain arrays, including ballots that are not yet written."""
        waiting = self._train.state() if self.outcome == "ok" else {}
        return super().state() | {
            f"train.{name}": array for name, array in waiting.items()
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state`; the blocks of ballots written before must still exist."""
        super().restore(state)
        waiting = part_of(state, "train.")
        if waiting:
            self._train.restore(waiting)

    def end(self) -> dict[str, Array]:
        """Write the remaining ballots; return what else the merge needs."""
        self._train.flush()
        self._test.flush()
        state = (
            {f"state.{name}": array for name, array in self.learner.state().items()}
            if self.outcome == "ok"
            else {}
        )
        return state | {
            "outcome": np.array([self.outcome, self.reason]),
            "failed_at": np.array(self.failed_at),
            "blocks": np.array([self._train.blocks, self._test.blocks]),
            "seconds": self._learning_time.array(),
        }


class ShardPass(GroupPass):
    """A shard of a run, one of `RunGroup.parts`, on its way through the stream.

    It ends with arrays for `merge_shards` in `scratch` instead of a record.
    """

    def __init__(
        self,
        group: RunGroup,
        scratch: Scratch,
        meter: Meter | None = None,
        exceeded: Mapping[str, BudgetExceeded] = MappingProxyType({}),
    ) -> None:
        assert group.shard is not None
        self._classes = group.shards[group.shard]
        self._scratch = scratch
        self._streamed = 0
        super().__init__(group, meter, exceeded)

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        self._shape = shape
        self._columns = columns
        run = self.group.runs[0]
        self._shard = _ShardState(
            run,
            shape,
            columns,
            self._classes,
            self._scratch,
            self._meter,
            self._exceeded.get(run.id),
            self._stream.names,
        )
        return [self._shard]

    def _count_rows(self, chunk: Chunk) -> None:
        self._streamed += len(chunk)
        self._share()

    def _share(self) -> None:
        # Rows per shard add up to the rows of the run.
        bounds = self._classes.start, self._classes.stop
        first, last = (
            self._streamed * bound // self._shape.classes for bound in bounds
        )
        self.rows = last - first

    def error(self) -> float:
        """Return NaN: no shard knows how many rows the classes together predict wrongly."""
        return float("nan")

    def state(self) -> Iterator[tuple[str, Array]]:
        """Yield the state of the shard and its place in the stream as named plain arrays."""
        yield from super().state()
        yield "stream/streamed", np.array([self._streamed])

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state` of this shard."""
        super().restore(state)
        self._streamed = int(state["stream/streamed"][0])
        self._share()

    def finish(self) -> list[Record]:
        """Run the test split through the shard and write what the merge needs; return no record."""
        self._close()
        numbers = {
            "rows": self._shape.rows,
            "columns": self._columns,
            "read_seconds": self._read_seconds,
        }
        stream = {name: np.array([number]) for name, number in numbers.items()}
        stream |= {
            f"transforms.{name}": array
            for name, array in self._transforms.state().items()
        }
        self._scratch.write(
            array_name(self._classes, "end"), self._shard.end() | stream
        )
        return []


def array_name(classes: range, what: str) -> str:
    """Return the name of an array that a shard writes to scratch."""
    return f"{classes.start}-{classes.stop}.{what}"


Learned = dict[str, Array]


def merge_shards(
    group: RunGroup,
    scratch: Scratch,
    see: Callable[[RunState, Learned], None] = lambda merged, learned: None,
) -> Record:
    """Return the record of a run whose shards have all ended, as if it had run in one piece.

    A failure is the one that the run would have in one piece: that of the first shard to fail.
    `fit_seconds` is the sum over the shards. `see` receives the end of the run, with what its
    transforms have learned, which is the same in each shard.

    Raises
    ------
    StoreError
        If an array that a shard wrote no longer exists.
    """
    run = group.runs[0]
    ends = [scratch.read(array_name(classes, "end")) for classes in group.shards]
    rows = int(ends[0]["rows"][0])
    columns = int(ends[0]["columns"][0])
    shape = stream_shape(open_dataset(group.path), run.stream, rows)
    merged = RunState(run, shape, columns)
    failed = [
        (tuple(end["failed_at"]), number)
        for number, end in enumerate(ends)
        if end["outcome"][0] != "ok"
    ]
    if failed:
        _, first = min(failed)
        outcome, reason = ends[first]["outcome"]
        merged.fail(str(outcome), str(reason))
    else:
        first = updates = 0
        train_blocks, test_blocks = ends[0]["blocks"].tolist()
        for y, codes, moved in _counted(group, scratch, "train", train_blocks):
            # Metrics here never read scores (`can_shard`), which shards do not share.
            merged.count(first, y, codes, _NO_SCORES)
            first += len(y)
            updates += int(moved.sum())
        for y, codes, _ in _counted(group, scratch, "test", test_blocks):
            merged.count_test(y, codes, _NO_SCORES)
        model = _joined(merged, shape.classes, group, ends)
        # A row that changes two shards is one update of the model.
        merged.learner.restore(model | {"updates": np.array([updates])})
    learning = sum(
        (LearningTime.from_array(end["seconds"]) for end in ends), LearningTime()
    )
    read = sum(float(end["read_seconds"][0]) for end in ends)
    # Transforms have seen the same rows in every shard.
    see(merged, part_of(ends[0], "transforms."))
    return merged.record(learning.timings(rows) | {"read_seconds": read})


_NO_SCORES = np.empty((0, 0))


def _counted(
    group: RunGroup,
    scratch: Scratch,
    split: str,
    blocks: int,
) -> Iterator[tuple[Array, ...]]:
    """Yield targets, predicted codes and changes of the model, block by block."""
    for block in range(blocks):
        ballots = [
            scratch.read(array_name(classes, f"{split}.{block}"))
            for classes in group.shards
        ]
        y = ballots[0]["y"].astype(np.int64)
        # Shards are in order of classes, so the first of equal scores is that of the first class.
        best_scores = np.stack([ballot["score"] for ballot in ballots], axis=1)
        best_codes = np.stack([ballot["code"] for ballot in ballots], axis=1)
        shard = np.argmax(best_scores, axis=1)
        codes = best_codes[np.arange(len(y)), shard].astype(np.int64)
        moved = np.zeros(len(y), dtype=bool)
        for ballot in ballots:
            # Test rows move no model, so their ballots do not have it.
            if "moved" in ballot:
                moved |= ballot["moved"]
        yield y, codes, moved


def _joined(
    merged: RunState,
    classes: int,
    group: RunGroup,
    ends: Sequence[dict[str, Array]],
) -> dict[str, Array]:
    states = [part_of(end, "state.") for end in ends]
    axes = [
        class_axes(merged.learner, count) or {}
        for count in (classes, *(len(shard) for shard in group.shards))
    ]
    return join_classes(states, axes[0], axes[1:])
