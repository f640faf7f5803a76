"""Class shards of a run: passes over the stream that keep the best class of each row.

Each shard streams the dataset once and trains only its classes. For every row it records its best
score and class, and whether the row changed the model. The best class of all shards is the best of
all classes, so the merge of the shards counts exact errors: bit for bit the record that the run
would have in one piece.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray, part_of
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.transforms.pipeline import size_after
from olscale.evaluation.budget import BudgetExceeded, Meter
from olscale.evaluation.forecast import NUMBERS_A_SECOND, ROW_NUMBERS
from olscale.evaluation.group_pass import GroupPass, stream_shape
from olscale.evaluation.learning_time import LearningTime
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup, stored_values
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.class_axes import class_axes, join_classes
from olscale.learners.contract.class_shards import ClassShard, cut_ranges
from olscale.learners.contract.cost import cost_of
from olscale.learners.registry import ask, make_learner
from olscale.results.record import Record
from olscale.results.scratch import Scratch

# Reading and prototypes are repeated in each shard: when any 16 classes made a shard, letter
# in two shards took twice the work of one piece. So a run is cut only where little is
# repeated (`shard_efficiency`). Shards stay apart from kernel learners, whose classes share
# one set of vectors and would be summed in another order.

PAYS = 0.8
"""Least efficiency (`shard_efficiency`) at which runs are cut into shards without a request."""

BALLOT_NUMBERS = 300
"""Cost of keeping the best class of a row, in numbers, in addition to `ROW_NUMBERS`."""

VALUE_NUMBERS = 2
"""Cost of reading and permuting a value of a row, in numbers; every shard repeats it."""

BLOCK_ROWS = 1 << 18
"""Rows after which a shard writes what it has kept: 4 MB."""


def can_shard(run: Run, classes: int) -> bool:
    """Return whether a run on so many classes can be cut into class shards."""
    scoring = run.stream.scoring
    shape = StreamShape(0, classes, (), scoring)
    if (
        classes < 3
        or scoring.interrupts
        or scoring.from_model  # a shard begins with a new model
        or scoring.weighted_measures  # the merge has no weights
        or scoring.threshold is not None
        or any(
            m.reads_scores or m.watches for m in METRICS.load_all() if m.meets(shape)
        )
    ):
        return False
    learner = make_learner(run.learner, run.params)
    return (
        ask(run.learner, "class_axes", lambda: class_axes(learner, classes)) is not None
    )


def shard_efficiency(run: Run, dataset: Dataset, shards: int) -> float:
    """Return the share of the work of so many shards that is not repeated; 1 if none is.

    It is the estimated time of the run in one piece divided by that of all shards together.

    Examples
    --------
    >>> import tempfile
    >>> from olscale.data.ingest.ingest import ingest
    >>> from olscale.evaluation.experiment import parse_experiment
    >>> from olscale.evaluation.plan import make_plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digits = ingest("sklearn:digits", f"{folder}/digits")
    ...     content = {"datasets": [{"path": digits.path}], "learners": [{"name": "lol"}]}
    ...     [run] = make_plan(parse_experiment(content | {"protocol": {"order": "time"}})).runs
    ...     round(shard_efficiency(run, digits, 2), 1)
    0.4
    """
    learner = make_learner(run.learner, run.params)
    rows = max(1, dataset.rows("train"))
    numbers = stored_values(dataset)
    columns, values = size_after(
        run.stream.transforms, dataset.columns, numbers / rows, dataset.manifest
    )
    classes = len(dataset.classes or ())
    scale = NUMBERS_A_SECOND / learner.numbers_per_second

    def learning(of_classes: int) -> float:
        # Two classes have one score column, a shard of two has two.
        numbers = cost_of(learner).row_numbers(columns, max(3, of_classes), values)
        return scale * float(numbers)

    every_shard = ROW_NUMBERS + BALLOT_NUMBERS + VALUE_NUMBERS * values
    in_one_piece = ROW_NUMBERS + VALUE_NUMBERS * values + learning(classes)
    return in_one_piece / (shards * (every_shard + learning(-(-classes // shards))))


def cut_shards(
    groups: Sequence[RunGroup],
    workers: int,
    asked: int | None = None,
    note: Callable[[str], None] = lambda line: None,
    datasets: Mapping[str, Dataset] = MappingProxyType({}),
) -> Iterator[RunGroup]:
    """Yield `groups`, with runs cut into class shards that are groups of their own.

    Parameters
    ----------
    groups : sequence of RunGroup
        Groups of whole runs.
    workers : int
        Number of groups that can run at the same time.
    asked : int, optional
        Number of shards to cut every run into, where a run can be cut. By default only groups of
        one run are cut, into as many shards as there are workers per group, where that pays
        (`shard_efficiency`).
    note : callable, optional
        Receives a line for each learner and dataset whose runs are cut although that takes longer,
        or are not cut because it would.
    datasets : mapping of str to Dataset, optional
        Datasets that are open already, by path.
    """
    opened = dict(datasets)
    noted: set[str] = set()
    for group in groups:
        # Many groups are on one dataset, which is expensive to open from an object store.
        if group.path not in opened:
            opened[group.path] = open_dataset(group.path)
        dataset = opened[group.path]
        classes = len(dataset.classes or ())
        most = min(classes, workers // len(groups) if asked is None else asked)
        in_one_piece: list[Run] = []
        for run in group.runs:
            # Runs of one group share its reading, which shards would repeat for each of them.
            may_cut = asked is not None or len(group.runs) == 1
            # The calibrator of a model that is kept reads scores, which shards do not share.
            may_cut = may_cut and not group.keeps_models
            cuttable = most > 1 and may_cut and can_shard(run, classes)
            shards = 1
            if cuttable:
                shards = _paying_shards(run, dataset, most)
            # One line per learner and dataset, not one per permutation.
            if cuttable and shards < 2:
                line = _repeated(
                    run, most, shard_efficiency(run, dataset, most), asked is not None
                )
                if line not in noted:
                    noted.add(line)
                    note(line)
            # The user's number wins over the estimate, which is only reported.
            if cuttable and asked is not None:
                shards = most
            if shards > 1:
                yield replace(
                    group, runs=(run,), shards=tuple(cut_ranges(classes, shards))
                )
            else:
                in_one_piece.append(run)
        if in_one_piece:
            yield replace(group, runs=tuple(in_one_piece))


def _paying_shards(run: Run, dataset: Dataset, most: int) -> int:
    """Return the largest number of shards, up to `most`, that repeat little; else 1."""
    for shards in range(most, 1, -1):
        if shard_efficiency(run, dataset, shards) >= PAYS:
            return shards
    return 1


def _repeated(run: Run, shards: int, efficiency: float, requested: bool) -> str:
    """Return a line that reports what class shards of a run cost."""
    work = (
        f"{shards} class shards of {run.learner} on {run.stream.dataset} take "
        f"{1 / efficiency:.1f} times the work of one"
    )
    reason = f"{work} piece: each reads all rows, and learns what classes share"
    if requested:
        return reason
    return f"{reason}; so it stays in one (--class-shards {shards} cuts it)"


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
        rows: IntArray,
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
            merged.count(np.arange(first, first + len(y)), y, codes, _NO_SCORES)
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
