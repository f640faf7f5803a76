"""Class shards of a run: passages that keep the best class of each row, and the merge that makes the one record of them.

Each shard streams the dataset once and trains its classes only. For every row it leaves the best score and class among
its own, and whether the row changed it: the best of the shards' best is the best of all classes, so errors are exact. The
merge counts those rows with the fold that counts any run's, joins the states to the whole model, and gives the record
that the run would have in one piece, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import Chunk
from olscale.data.dataset import open_dataset
from olscale.evaluation.budget import BudgetExceeded, Meter
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import GroupPass, RunGroup, stream_shape
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.class_axes import join_classes
from olscale.learners.contract.class_shards import ClassShard, cut_ranges
from olscale.learners.contract.learner import FloatArray
from olscale.learners.registry import asked, make_learner
from olscale.results.record import Record
from olscale.results.scratch import Scratch

__all__ = ["ShardPass", "can_shard", "cut_shards", "merge_shards"]

FEWEST_CLASSES = 16
"""Classes that a shard has at least when nobody asked for shards: below, most of the work is what all shards repeat."""

BLOCK_ROWS = 1 << 18
"""Rows after which a shard writes down what it has kept: 4 MB."""


def can_shard(run: Run, classes: int) -> bool:
    """Tell whether a run on so many classes can be cut into class shards."""
    scoring = run.stream.scoring
    if classes < 3 or scoring.interrupts or any(m.reads_scores for m in METRICS.load_all() if m.wanted(scoring)):
        return False
    learner = make_learner(run.learner, run.params)
    return asked(run.learner, "class_axes", lambda: learner.class_axes(classes)) is not None


def cut_shards(packs: Sequence[RunGroup], workers: int, asked: int | None = None) -> Iterator[RunGroup]:
    """Yield `packs` with runs cut into class shards, each of those in a pack of its own.

    Parameters
    ----------
    packs : sequence of Pack
        Packs of whole runs.
    workers : int
        How many packs can run at the same time.
    asked : int, optional
        How many shards to cut every run into that can be cut. Left out, only packs of one run are cut, into as many as
        there are workers for each pack, and `FEWEST_CLASSES` a shard at least.
    """
    for pack in packs:
        classes = len(open_dataset(pack.path).classes or ())
        shards = asked if asked is not None else min(workers // len(packs), classes // FEWEST_CLASSES)
        ranges = tuple(cut_ranges(classes, shards)) if shards > 1 else ()
        alone = asked is not None or len(pack.runs) == 1
        cut = [run for run in pack.runs if len(ranges) > 1 and alone and can_shard(run, classes)]
        yield from (replace(pack, runs=(run,), shards=ranges) for run in cut)
        if whole := tuple(run for run in pack.runs if run not in cut):
            yield replace(pack, runs=whole)


class _Ballots:
    """What a shard keeps of each row of a split, written to scratch in blocks; all shards cut their blocks alike."""

    def __init__(self, scratch: Scratch, classes: range, split: str) -> None:
        self._scratch, self._classes, self._split = scratch, classes, split
        self._waiting: list[dict[str, NDArray[Any]]] = []
        self._rows = self.blocks = 0

    def add(self, y: NDArray[np.int64], scores: FloatArray, **more: NDArray[Any]) -> None:
        # As `codes_of` does: of equal best scores the first class wins.
        best = np.argmax(scores, axis=1)
        ballot = {"score": scores[np.arange(len(y)), best], "code": (best + self._classes.start).astype(np.int32)}
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
        self._waiting, self._rows = [], 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is not yet written, and how many blocks are."""
        return {"blocks": np.array([self.blocks]), **(self._joined() if self._waiting else {})}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        waiting = dict(state)
        self.blocks = int(waiting.pop("blocks")[0])
        self._waiting = [waiting] if waiting else []
        self._rows = len(waiting["score"]) if waiting else 0
        missing = [block for block in range(self.blocks) if not self._scratch.has(self._block(block))]
        if missing:
            raise ValueError(f"block {missing[0]} that the shard has written is gone")

    def _block(self, number: int) -> str:
        return _name(self._classes, f"{self._split}.{number}")

    def _joined(self) -> dict[str, NDArray[Any]]:
        return {name: np.concatenate([part[name] for part in self._waiting]) for name in self._waiting[0]}


class _ShardFold(RunState):
    """The fold of a shard: nothing is counted, each row's ballot is kept."""

    def __init__(
        self,
        run: Run,
        shape: StreamShape,
        columns: int,
        classes: range,
        scratch: Scratch,
        meter: Meter | None = None,
        verdict: BudgetExceeded | None = None,
    ) -> None:
        super().__init__(
            run,
            shape,
            columns,
            lambda: ClassShard(make_learner(run.learner, run.params), classes),
            (),
            meter,
            verdict,
        )
        self._outputs = (len(classes), len(classes))
        self._train, self._test = (_Ballots(scratch, classes, split) for split in ("train", "test"))

    def count(self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: FloatArray, seconds: float) -> None:
        super().count(y, codes, scores, seconds)
        assert isinstance(self.learner, ClassShard)
        self._train.add(y, scores, moved=self.learner.moved)

    def count_test(self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: FloatArray) -> None:
        self._test.add(y, scores)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all of the fold as plain arrays, the ballots that wait included."""
        waiting = self._train.state() if self.outcome == "ok" else {}
        return super().state() | {f"train.{name}": array for name, array in waiting.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`; blocks of ballots that were written must still be there."""
        super().restore(state)
        waiting = {name.removeprefix("train."): array for name, array in state.items() if name.startswith("train.")}
        if waiting:
            self._train.restore(waiting)

    def end(self) -> dict[str, NDArray[Any]]:
        """Write what is still waiting; return what else the merge must know."""
        self._train.flush()
        self._test.flush()
        state = {f"state.{name}": array for name, array in self.learner.state().items()} if self.outcome == "ok" else {}
        return state | {
            "outcome": np.array([self.outcome, self.reason]),
            "failed_at": np.array(self.failed_at),
            "blocks": np.array([self._train.blocks, self._test.blocks]),
            "seconds": np.array([self._seconds]),
        }


class ShardPass(GroupPass):
    """A shard of a run on its way through the stream; it ends with no record, but with arrays for `merge_shards`.

    Parameters
    ----------
    pack : Pack
        One of `RunGroup.parts`.
    scratch : Scratch
        Where the arrays go.
    """

    def __init__(
        self,
        pack: RunGroup,
        scratch: Scratch,
        meter: Meter | None = None,
        verdicts: Mapping[str, BudgetExceeded] = MappingProxyType({}),
    ) -> None:
        assert pack.shard is not None
        self._classes, self._scratch, self._streamed = pack.shards[pack.shard], scratch, 0
        super().__init__(pack, meter, verdicts)

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        self._shape, self._columns = shape, columns
        run = self.pack.runs[0]
        verdict = self._verdicts.get(run.id)
        self._fold = _ShardFold(run, shape, columns, self._classes, self._scratch, self._meter, verdict)
        return [self._fold]

    def _count_rows(self, chunk: Chunk) -> None:
        self._streamed += len(chunk)
        self._share()

    def _share(self) -> None:
        # Shares of the shards that add up to the rows of one run.
        first, last = (
            self._streamed * bound // self._shape.classes for bound in (self._classes.start, self._classes.stop)
        )
        self.rows = last - first

    def error(self) -> float:
        """Return NaN: no shard knows how many rows all classes together predict wrongly."""
        return float("nan")

    def state(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the shard's fold and its place in the stream as plain arrays with their names."""
        yield from super().state()
        yield "stream/streamed", np.array([self._streamed])

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state` of this shard."""
        super().restore(state)
        self._streamed = int(state["stream/streamed"][0])
        self._share()

    def finish(self) -> list[Record]:
        """Run the test split through the shard, write what the merge needs, and return no record."""
        self._close()
        stream = {
            "rows": np.array([self._shape.rows]),
            "columns": np.array([self._columns]),
            "read_seconds": np.array([self._read_seconds]),
        }
        self._scratch.write(_name(self._classes, "end"), self._fold.end() | stream)
        return []


def merge_shards(pack: RunGroup, scratch: Scratch) -> Record:
    """Return the record of a run whose shards have all ended: the one it would have in one piece.

    A run fails as it would in one piece: where the first of its shards failed. `fit_seconds` is the sum over the shards.

    Raises
    ------
    StoreError
        If something that a shard wrote is not there any more.
    """
    run = pack.runs[0]
    ends = [scratch.read(_name(classes, "end")) for classes in pack.shards]
    rows, columns = int(ends[0]["rows"][0]), int(ends[0]["columns"][0])
    shape = stream_shape(open_dataset(pack.path), run.stream, rows)
    fold = RunState(run, shape, columns)
    failed = [(tuple(end["failed_at"]), number) for number, end in enumerate(ends) if end["outcome"][0] != "ok"]
    if failed:
        _, first = min(failed)
        outcome, reason = ends[first]["outcome"]
        fold.fail(str(outcome), str(reason))
    else:
        updates = 0
        for y, codes, moved in _counted(pack, scratch, "train", int(ends[0]["blocks"][0])):
            fold.count(y, codes, _NO_SCORES, 0.0)
            updates += int(moved.sum())
        for y, codes, _ in _counted(pack, scratch, "test", int(ends[0]["blocks"][1])):
            fold.count_test(y, codes, _NO_SCORES)
        fold.learner.restore(_joined(fold, shape.classes, pack, ends) | {"updates": np.array([updates])})
    seconds = sum(float(end["seconds"][0]) for end in ends)
    return fold.record(
        {
            "fit_seconds": seconds,
            "rows_per_second": rows / seconds if seconds > 0.0 else 0.0,
            "read_seconds": sum(float(end["read_seconds"][0]) for end in ends),
        }
    )


_NO_SCORES = np.empty((0, 0))


def _counted(pack: RunGroup, scratch: Scratch, split: str, blocks: int) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield targets, predicted codes and changes of the model, block by block."""
    for block in range(blocks):
        ballots = [scratch.read(_name(classes, f"{split}.{block}")) for classes in pack.shards]
        y = ballots[0]["y"].astype(np.int64)
        shard = np.argmax(np.stack([ballot["score"] for ballot in ballots], axis=1), axis=1)
        codes = np.stack([ballot["code"] for ballot in ballots], axis=1)[np.arange(len(y)), shard].astype(np.int64)
        moved = [ballot["moved"] for ballot in ballots if "moved" in ballot]
        yield y, codes, np.any(moved, axis=0) if moved else np.zeros(len(y), dtype=bool)


def _joined(
    fold: RunState, classes: int, pack: RunGroup, ends: Sequence[dict[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    states = [
        {name.removeprefix("state."): array for name, array in end.items() if name.startswith("state.")} for end in ends
    ]
    axes = [fold.learner.class_axes(count) or {} for count in (classes, *(len(shard) for shard in pack.shards))]
    return join_classes(states, axes[0], axes[1:])


def _name(classes: range, what: str) -> str:
    return f"{classes.start}-{classes.stop}.{what}"
