"""Each idea of the shipped checks fails something that breaks it, and the check is the one that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.npz import NpzFormat
from olscale.data.layouts import parquet
from olscale.data.layouts.base import Block
from olscale.data.transforms.base import Transform
from olscale.data.transforms.encoders import TargetEncode
from olscale.data.transforms.projection import RandomProjection
from olscale.data.transforms.scaling import RunningStandardize, UnitNorm
from olscale.errors import FormatError, ParameterError
from olscale.evaluation.metrics import FinalError as Final
from olscale.evaluation.metrics import Metric, Prequential, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.learners.contract.fused_settings import FusedSettings
from olscale.learners.contract.learner import Learner
from olscale.learners.kernel.olk import OLKN
from olscale.testing import (
    format_checks,
    layout_checks,
    metric_checks,
    transform_checks,
)
from olscale.testing.check_list import Check
from olscale.testing.claims import (
    check_fused_settings_have_the_bits_of_settings_alone,
)
from olscale.testing.other_values import two_settings


def failures(checks: list[Check]) -> list[str]:
    """Return the names of the checks that fail; an error of another kind counts too."""
    found = []
    for name, check in checks:
        try:
            check()
        except Exception:
            found.append(name)
    return found


class Centre(Transform):
    """Subtracts the mean of each chunk."""

    name = "centre"

    def apply(self, X: Any, columns: int) -> Any:
        return X - X.mean(axis=0) if len(X) else X


class LastChunk(Transform):
    """Is fitted on the last chunk alone."""

    name = "last-chunk"

    def fit(self, chunks: Any, columns: int) -> None:
        for X in chunks():
            self.high = X.sum()

    def apply(self, X: Any, columns: int) -> Any:
        return X * self.high


class Wider(Transform):
    """Adds a feature and does not say so."""

    name = "wider"

    def apply(self, X: Any, columns: int) -> Any:
        return np.hstack([X, X[:, :1]])


class InPlace(Transform):
    name = "in-place"

    def apply(self, X: Any, columns: int) -> Any:
        if X.flags.writeable:
            X *= 2.0
        return 2.0 * X


class NoRows(Transform):
    name = "no-rows"

    def apply(self, X: Any, columns: int) -> Any:
        return X if len(X) else np.zeros((1, columns))


class Inverse(Transform):
    name = "inverse"

    def apply(self, X: Any, columns: int) -> Any:
        with np.errstate(divide="ignore"):
            return 1.0 / X


class Nearness(Transform):
    """Is 0 for all rows that are far from the origin."""

    name = "nearness"

    def width(self, columns: int) -> int:
        return 1

    def apply(self, X: Any, columns: int) -> Any:
        with np.errstate(over="ignore"):
            return np.exp(-np.square(X).sum(axis=1, keepdims=True))


class SparseTwice(UnitNorm):
    """Doubles sparse rows."""

    def apply(self, X: Any, columns: int) -> Any:
        found = super().apply(X, columns)
        return (
            CSR(found.indptr, found.indices, 2.0 * found.data)
            if isinstance(found, CSR)
            else found
        )


class OneDraw(RandomProjection):
    """Draws the same matrix whatever its number."""

    def __init__(self) -> None:
        super().__init__(3)

    def apply(self, X: Any, columns: int) -> Any:
        self.projection = 0
        return super().apply(X, columns)


class Ahead(RunningStandardize):
    """Learns from a whole chunk before it transforms its first row."""

    def learn(self, X: Any, columns: int, trains: Any) -> Any:
        super().learn(X, columns, trains)
        return super().learn(X, columns, np.zeros_like(trains))


class Leaking(RunningStandardize):
    """Learns from all rows, held out or not."""

    def learn(self, X: Any, columns: int, trains: Any) -> Any:
        return super().learn(X, columns, np.ones_like(trains))


class Hidden(RunningStandardize):
    """Keeps the number of rows where no checkpoint finds it."""

    rows = 0

    def learn(self, X: Any, columns: int, trains: Any) -> Any:
        self.rows += int(trains.sum())
        return super().learn(X, columns, trains) + self.rows


class OwnLabel(TargetEncode):
    """Learns the label of a row before it transforms it."""

    def learn_labelled(self, X: Any, columns: int, trains: Any, labels: Any) -> Any:
        if labels is not None:
            at_once = np.where(labels.waits >= 0, np.maximum(labels.waits - 1, 0), -1)
            labels = labels._replace(waits=at_once)
            super().learn_labelled(X, columns, trains, labels)
        return super().learn_labelled(X, columns, trains, None)


class EveryLabel(TargetEncode):
    """Learns labels of all rows, held out or not."""

    def learn_labelled(self, X: Any, columns: int, trains: Any, labels: Any) -> Any:
        return super().learn_labelled(X, columns, np.ones_like(trains), labels)


class Forgetful(TargetEncode):
    """Keeps no label that has not arrived."""

    def learn_labelled(self, X: Any, columns: int, trains: Any, labels: Any) -> Any:
        made = super().learn_labelled(X, columns, trains, labels)
        self.learned |= {"left": np.zeros(0, np.int64), "labels": np.zeros((0, 1))}
        self.learned |= {"ends": np.zeros(1, np.int64), "slots": np.zeros(0, np.int64)}
        return made


@pytest.mark.parametrize(
    ("transform", "idea"),
    [
        (OwnLabel, "a label counts once it has arrived"),
        (EveryLabel, "labels of rows that do not train never count"),
        (Forgetful, "any cut into chunks learns the same bits from labels"),
        (Ahead, "rows to come are not known"),
        (Ahead, "any cut into chunks learns"),
        (Leaking, "rows that do not train leave no trace"),
        (Hidden, "what is learned goes on"),
        (LastChunk, "any cut into chunks"),
        (Centre, "rows are transformed one by one"),
        (Wider, "the width is that of the rows"),
        (InPlace, "rows are left as they were"),
        (NoRows, "no rows give no rows"),
        (Inverse, "usable rows stay usable"),
        (Nearness, "rows too long to square are not made alike"),
        (SparseTwice, "sparse rows give the same bits"),
        (OneDraw, "draws differ"),
    ],
)
def test_checks_of_transforms_can_fail(transform: Any, idea: str) -> None:
    assert any(name.startswith(idea) for name in failures(transform_checks(transform)))


class Unwanted(Final):
    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return False


class OfTheLastChunk(Final):
    def test(self, y: Any, codes: Any, scores: Any) -> None:
        for array in self.sums.values():
            array[:] = 0
        super().test(y, codes, scores)


class Forgets(Prequential):
    """Keeps its rows beside the sums."""

    def __init__(self, shape: StreamShape) -> None:
        super().__init__(shape)
        self.count = 0

    def see(self, y: Any, codes: Any, scores: Any) -> None:
        super().see(y, codes, scores)
        self.count += len(y)

    def values(self) -> dict[str, float]:
        return {"rows_met": float(self.count)}


class InAList(Prequential):
    def see(self, y: Any, codes: Any, scores: Any) -> None:
        super().see(y, codes, scores)
        self.sums["texts"] = np.array(["text"])


class OfNothing(Final):
    def values(self) -> dict[str, float]:
        return super().values() or {"test_error": float("nan")}


class Marks(Final):
    def test(self, y: Any, codes: Any, scores: Any) -> None:
        super().test(y, codes, scores)
        codes[:] = 0


class OfScores(Final):
    def test(self, y: Any, codes: Any, scores: Any) -> None:
        super().test(y, scores.argmax(axis=1), scores)


class Unclipped(Final):
    reads_scores = reads_probabilities = True
    loss = 0.0

    def test(self, y: Any, codes: Any, scores: Any) -> None:
        super().test(y, codes, scores)
        with np.errstate(divide="ignore"):
            self.loss = float(-np.log(scores[np.arange(len(y)), y]).mean())

    def values(self) -> dict[str, float]:
        return {"loss": self.loss}


@pytest.mark.parametrize(
    ("metric", "idea"),
    [
        (Unclipped, "certain probabilities give finite values"),
        (Unwanted, "the protocol asks for it"),
        (OfTheLastChunk, "any cut into chunks"),
        (Forgets, "saving and restoring"),
        (InAList, "sums are plain arrays"),
        (OfNothing, "values are finite"),
        (Marks, "arrays are left as they were"),
        (OfScores, "scores are not read"),
    ],
)
def test_checks_of_metrics_can_fail(metric: type[Metric], idea: str) -> None:
    assert any(name.startswith(idea) for name in failures(metric_checks(metric)))


class Rounds(parquet.Reader):
    def read(self, i: int) -> Block:
        block = super().read(i)
        return Block(block.X, np.round(block.label))


class InOrder(parquet.Reader):
    """Reads forwards only."""

    before = -1

    def read(self, i: int) -> Block:
        if i <= self.before:
            raise ValueError("gone")
        self.before = i
        return super().read(i)


class FirstPart(parquet.Writer):
    def append(self, parts: Any) -> str:
        return super().append(parts[:1])


class Narrow(parquet.Reader):
    def read(self, i: int) -> Block:
        block = super().read(i)
        if isinstance(block.X, CSR) and self.shape.columns > 10:
            return Block(
                CSR(block.X.indptr, block.X.indices + 1, block.X.data), block.label
            )
        return block


class NoFiles(parquet.Writer):
    def write(self, name: str, data: Any) -> None:
        self.directory.write(f"{self.split}/{name}", data)


class Unchecked(parquet.Reader):
    """Reads what it can and makes up the rest."""

    def check(self, name: str, content: Any) -> None: ...

    def read(self, i: int) -> Block:
        try:
            return super().read(i)
        except Exception:
            return Block(np.zeros((1, 6)), np.zeros(1))


class Hasty(parquet.Writer):
    def safe(self) -> int:
        return super().safe() + 1


@pytest.mark.parametrize(
    ("writer", "reader", "idea"),
    [
        (parquet.Writer, Rounds, "rows are read bit for bit"),
        (parquet.Writer, InOrder, "chunks are read in any order"),
        (FirstPart, parquet.Reader, "a chunk may come in parts"),
        (parquet.Writer, Narrow, "sparse rows may grow wider"),
        (NoFiles, parquet.Reader, "every file has its checksum"),
        (parquet.Writer, Unchecked, "a changed file is noticed"),
        (Hasty, parquet.Reader, "chunks called safe"),
    ],
)
def test_checks_of_layouts_can_fail(writer: Any, reader: Any, idea: str) -> None:
    assert any(
        name.startswith(idea) for name in failures(layout_checks(writer, reader))
    )


class Shouts(NpzFormat):
    suffixes = (".NPZ",)


class ThreeSplits(NpzFormat):
    def splits(self, source: str) -> tuple[str, ...]:
        return ("train", "validation", "test")


class Whole(NpzFormat):
    """Knows no largest batch."""

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        yield from super().read(source, ReadOptions())


class FirstBatch(NpzFormat):
    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        yield next(super().read(source, options))


class Counts(NpzFormat):
    """Adds how often it was read."""

    times = 0

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        Counts.times += 1
        for batch in super().read(source, options):
            yield Batch(batch.X + float(Counts.times), batch.target, batch.columns)


class Reads(NpzFormat):
    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        with open(source, "rb"):  # noqa: PTH123
            yield from super().read(source, options)


class Crashes(NpzFormat):
    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        try:
            yield from super().read(source, options)
        except FormatError as error:
            raise KeyError("X") from error


@pytest.mark.parametrize(
    ("format", "idea"),
    [
        (Shouts, "name and suffixes"),
        (ThreeSplits, "splits are named"),
        (Whole, "batches are sound"),
        (FirstBatch, "any batch size"),
        (Counts, "reading again"),
        (Reads, "a source that is not there"),
        (Crashes, "a damaged file"),
    ],
)
def test_checks_of_formats_can_fail(
    tmp_path: Path, format: Callable[[], Any], idea: str
) -> None:
    np.savez(
        tmp_path / "rows.npz", X=np.arange(12.0).reshape(4, 3), y=np.array([0, 1, 1, 0])
    )
    assert any(
        name.startswith(idea)
        for name in failures(format_checks(format(), str(tmp_path / "rows.npz")))
    )


def test_a_source_of_too_few_rows_is_no_test_of_a_format(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 3)), y=np.array([0, 1]))
    assert failures(format_checks(NpzFormat(), str(tmp_path / "rows.npz"))) == [
        "any batch size gives the same rows"
    ]


class OneLowerBound(OLKN):
    """Gives all settings of one C the `v` of the first of them."""

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        settings: list[Any] = list(learners)
        if len({setting.C for setting in settings}) == 1:
            for setting in settings:
                setting.v = settings[0].v
        return super().fuse(learners)


def test_the_check_of_fused_settings_compares_those_of_a_bound() -> None:
    """A number that is at most another has two values below it that are compared."""
    params = {"kernel": "linear"}
    check_fused_settings_have_the_bits_of_settings_alone(OLKN, params)
    with pytest.raises(AssertionError):
        check_fused_settings_have_the_bits_of_settings_alone(OneLowerBound, params)


def test_a_check_of_settings_has_two_of_them() -> None:
    class Picky(OLKN):
        def resolved_params(self) -> dict[str, Any]:
            params = super().resolved_params()
            if params["v"] != 0.1:
                raise ParameterError("v was another number, expected 0.1")
            return params

    with pytest.raises(AssertionError, match="accepts 1 of"):
        two_settings(Picky, {}, ["v"], (0.1, 0.9))
