"""Transforms that scale rows or features, and the bias feature.

Fitting adds row after row, so it gives the same bits for any cut into chunks.

Version 0.1 of olscale mistook a constant feature for a varying one if rounding made the sum of its
values inexact. Figures on such data were wrong, and a store that has them must not present them as
current: these runs have other ids (`transforms_version`), all others keep theirs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, rows_of, to_dense, trim
from olscale.compiled.decorator import compiled
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.manifest import Manifest
from olscale.data.transforms._running_loop import scale_rows
from olscale.data.transforms.base import FloatArray, Transform, check_dense_width
from olscale.data.transforms.pipeline import fit_transforms
from olscale.data.transforms.streaming import StreamingTransform

_MOST_ROWS = 2.0**53
"""Beyond which counts in float64 stop growing."""

_LEAST = float(np.finfo(np.float64).tiny)
_EPSILON = float(np.finfo(np.float64).eps)
# Largest error of a feature's mean, as a share of its deviation; beyond, it is fitted again.
_LOST = 0.5


@compiled
def _add_rows(
    X: FloatArray,
    total: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Add the rows to `total`; update the minimum and maximum of each feature."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            total[j] += value
            if value < low[j]:
                low[j] = value
            if value > high[j]:
                high[j] = value


@compiled
def _add_deviations(
    X: FloatArray,
    centre: FloatArray,
    total: FloatArray,
    square: FloatArray,
) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            deviation = X[i, j] - centre[j]
            total[j] += deviation
            square[j] += deviation * deviation


@compiled
def _add_units(
    X: FloatArray,
    columns: Any,
    unit: FloatArray,
    centre: FloatArray,
    total: FloatArray,
    square: FloatArray,
) -> None:
    """Do as `_add_deviations` for some `columns`, in units of ``1 / unit``."""
    for i in range(X.shape[0]):
        for n in range(columns.shape[0]):
            deviation = X[i, columns[n]] * unit[n] - centre[n]
            total[n] += deviation
            square[n] += deviation * deviation


@compiled
def _square_norms(X: FloatArray) -> FloatArray:
    # One entry after another, like the sum over sparse rows: both have the same bits.
    norms = np.zeros(X.shape[0])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            norms[i] += X[i, j] * X[i, j]
    return norms


class _Scaling(Transform):
    """Base of transforms that subtract a number from each feature and divide it by another."""

    differs = False
    """Whether version 0.1 would have fitted other numbers: such streams have their own ids."""

    _unit: FloatArray | None = None
    _centre: FloatArray
    _scale: FloatArray

    def apply(self, X: FloatArray, columns: int) -> Rows:
        """Return ``(X - centre) / scale``, in units in which no feature overflows."""
        if self._unit is not None:
            X = X * self._unit
        scaled: FloatArray = X - self._centre
        # In place: a chunk of wide rows takes much memory.
        scaled /= self._scale
        return scaled

    def state(self) -> dict[str, NDArray[Any]]:
        unit = {} if self._unit is None else {"unit": self._unit}
        return {"centre": self._centre, "scale": self._scale, **unit}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        shapes = {name: (array.shape, array.dtype.str) for name, array in state.items()}
        names = ["centre", "scale"]
        if "unit" in state:
            names.append("unit")
        if shapes != dict.fromkeys(names, ((columns,), "<f8")):
            raise ValueError(
                f"transform {self.name} of {columns} features has arrays {shapes}"
            )
        self._centre = state["centre"]
        self._scale = state["scale"]
        self._unit = state.get("unit")


class Standardize(_Scaling):
    """Zero mean and unit variance of each feature (a constant feature becomes 0)."""

    name = "standardize"

    def fit(self, chunks: Callable[[], Iterator[FloatArray]], columns: int) -> None:
        """Compute mean and standard deviation (of the population) in two passes."""
        rows = 0
        total = np.zeros(columns)
        low = np.full(columns, np.inf)
        high = np.full(columns, -np.inf)
        for X in chunks():
            rows += len(X)
            _add_rows(X, total, low, high)
        self._centre = total / rows
        shift = np.zeros(columns)
        square = np.zeros(columns)
        for X in chunks():
            _add_deviations(X, self._centre, shift, square)
        # for missing values and infinities, which learners refuse
        with np.errstate(all="ignore"):
            deviation = np.sqrt(square / rows)
            rounding = deviation <= 10 * _EPSILON * np.abs(self._centre)
            lost = np.abs(shift / rows) > _LOST * deviation
        # A feature that varies less than rounding does is constant.
        self._scale = np.where(rounding, 1.0, deviation)
        is_finite = np.isfinite(low) & np.isfinite(high) & ~np.isnan(total)
        equal = is_finite & (low == high) & ~(rounding & np.isfinite(total))
        self._centre, self._scale = (
            np.where(equal, low, self._centre),
            np.where(equal, 1.0, self._scale),
        )
        # The sum of many equal values is not exact, nor are squares beyond the range of numbers:
        # such features are rare.
        ranged = (square >= _LEAST) & (square < np.inf)
        again = is_finite & (low < high) & ~(ranged & (rounding | ~lost))
        self.differs = bool(equal.any() or again.any())
        if again.any():
            self._fit_again(
                chunks, rows, np.flatnonzero(again), low[again], high[again]
            )

    def _fit_again(
        self,
        chunks: Callable[[], Iterator[FloatArray]],
        rows: int,
        columns: NDArray[np.int64],
        low: FloatArray,
        high: FloatArray,
    ) -> None:
        """Fit `columns` again, scaled so that they vary by about 1, relative to their minimum."""
        with np.errstate(over="ignore"):
            span = high - low
        # Powers of two lose no digit.
        exponent = np.where(np.isinf(span), 1025, np.frexp(span)[1])
        unit = np.ldexp(1.0, np.clip(-exponent, -1021, 1021))
        first = low * unit
        shift = np.zeros(len(columns))
        square = np.zeros(len(columns))
        for X in chunks():
            _add_units(X, columns, unit, first, shift, square)
        centre = first + shift / rows
        square[:] = 0.0
        for X in chunks():
            _add_units(X, columns, unit, centre, shift, square)
        deviation = np.sqrt(square / rows)
        constant = deviation <= 10 * _EPSILON * np.abs(centre)
        self._unit = np.ones(len(self._centre))
        self._unit[columns] = np.where(constant, 1.0, unit)
        self._centre[columns] = np.where(constant, centre / unit, centre)
        self._scale[columns] = np.where(constant, 1.0, deviation)


class MinMax(_Scaling):
    """Scale each feature of the training split to [0, 1]; a constant feature becomes 0.

    Test rows may lie outside.
    """

    name = "minmax"

    def fit(self, chunks: Callable[[], Iterator[FloatArray]], columns: int) -> None:
        """Compute the minimum and maximum of each feature."""
        low = np.full(columns, np.inf)
        high = np.full(columns, -np.inf)
        for X in filter(len, chunks()):
            np.minimum(low, X.min(axis=0), out=low)
            np.maximum(high, X.max(axis=0), out=high)
        with np.errstate(over="ignore", invalid="ignore"):
            wide = np.isfinite(low) & np.isfinite(high) & np.isinf(high - low)
            if wide.any():  # the difference exceeds the range of numbers
                self._unit = np.where(wide, 0.5, 1.0)
                low = low * self._unit
                high = high * self._unit
            self._centre = low
            self._scale = np.where(high > low, high - low, 1.0)


class UnitNorm(Transform):
    """Scale each row to Euclidean norm 1; an empty row stays as it is."""

    name = "unit-norm"
    takes_sparse = True

    def apply(self, X: Rows, columns: int) -> Rows:
        if not isinstance(X, CSR):
            squares = _square_norms(X)
            odd = np.flatnonzero(_beyond(squares))
            if len(odd) and X[odd].any():
                X = X.copy()
                # A power of two, by which no digit is lost.
                X[odd] *= _unit_of(np.abs(X[odd]).max(axis=1))[:, None]
                squares[odd] = _square_norms(read_only(X[odd]))
            norms = np.sqrt(squares)
            scaled: FloatArray = X / np.where(norms > 0.0, norms, 1.0)[:, None]
            return scaled
        indptr, indices, values = trim(X)
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        squares = _sparse_square_norms(row, values, len(indptr) - 1)
        odd = np.flatnonzero(_beyond(squares)[row])  # positions of values
        if len(odd):
            greatest = np.zeros(len(squares))
            np.maximum.at(greatest, row[odd], np.abs(values[odd]))
            values = values.copy()
            values[odd] *= _unit_of(greatest)[row[odd]]
            squares[row[odd]] = _sparse_square_norms(
                row[odd], values[odd], len(squares)
            )[row[odd]]
        norms = np.sqrt(squares)
        return CSR(indptr, indices, values / np.where(norms > 0.0, norms, 1.0)[row])


def _sparse_square_norms(
    row: NDArray[np.int64], values: FloatArray, rows: int
) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(
            np.bincount(row, weights=values**2, minlength=rows), dtype=np.float64
        )


def _beyond(squares: FloatArray) -> NDArray[np.bool_]:
    """Return which squared norms left the range of numbers; those of empty rows are included."""
    return ~((squares >= _LEAST) & (squares < np.inf))


def _unit_of(greatest: FloatArray) -> FloatArray:
    """Return the power of two that scales a value to about 1; 1 for 0 and non-finite values."""
    fits = (greatest > 0.0) & (greatest < np.inf)
    exponent = np.frexp(np.where(fits, greatest, 1.0))[1]
    return np.where(fits, np.ldexp(1.0, np.clip(-exponent, -1021, 1021)), 1.0)


class Bias(Transform):
    """Append a feature that is always 1."""

    name = "bias"
    keeps_missing = True
    keeps_values = True
    takes_sparse = True

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return [*names, "bias"]

    def width(self, columns: int) -> int:
        return columns + 1

    def apply(self, X: Rows, columns: int) -> Rows:
        if not isinstance(X, CSR):
            return np.hstack([X, np.ones((len(X), 1))])
        indptr, indices, data = trim(X)
        ends = indptr[1:]
        added = np.insert(indices, ends, np.int32(columns)), np.insert(data, ends, 1.0)
        return CSR(indptr + np.arange(len(indptr)), *added)


class RunningStandardize(StreamingTransform):
    """Zero mean and unit variance of each feature over the rows so far, including this one.

    A feature is 0 before it varies. The variance is that of the population, by Welford's
    recurrence; missing values (NaN) are ignored and stay missing. River's ``StandardScaler`` gives
    these numbers when it learns a row before transforming it.

    Examples
    --------
    >>> step = RunningStandardize()
    >>> step.begin(1)
    >>> step.learn(np.array([[1.0], [3.0], [5.0]]), 1, np.array([True, True, False]))[:, 0]
    array([0., 1., 3.])
    """

    name = "running-standardize"
    keeps_missing = True

    def begin(self, columns: int) -> None:
        self.learned = {
            "count": np.zeros(columns),
            "mean": np.zeros(columns),
            "squares": np.zeros(columns),
        }

    def can_continue(self) -> bool:
        count = self.learned["count"]
        squares = self.learned["squares"]
        # Values near the end of the range of numbers leave infinities and NaN in the others.
        is_count = (count >= 0.0) & (count < _MOST_ROWS) & (count == np.floor(count))
        # What varies has been counted, and is divided by its count.
        is_spread = ~(squares < 0.0) & ((squares == 0.0) | (count > 0.0))
        return bool((is_count & is_spread).all())

    def rows(self, X: Rows, columns: int) -> Rows:
        """Return rows as they are, unless they are too wide: the loop makes each row dense."""
        check_dense_width(self.name, X, columns)
        return X

    def learn(
        self,
        X: Any,
        columns: int,
        trains: NDArray[np.bool_],
    ) -> FloatArray:
        scaled = np.empty((rows_of(X), columns))
        scale_rows(
            X,
            trains,
            self.learned["count"],
            self.learned["mean"],
            self.learned["squares"],
            scaled,
        )
        return scaled


def transforms_version(dataset: Dataset, texts: Sequence[str]) -> int:
    """Return 2 if version 0.1 would fit `texts` on the training split differently, else 1.

    The first chunk rules out nearly all data sets; only one with a suspicious feature is read
    completely.
    """
    scalings = [number for number, text in enumerate(texts) if text == Standardize.name]
    if not scalings or not dataset.rows("train"):
        return 1
    first = [dataset.chunk("train", 0)]
    manifest = dataset.manifest
    if not any(_may_differ(texts[:number], first, manifest) for number in scalings):
        return 1
    fitted = _steps(
        texts[: scalings[-1] + 1], lambda: dataset.chunks("train"), manifest
    )
    if any(step.differs for step in fitted):
        return 2
    return 1


def _may_differ(before: Sequence[str], first: list[Chunk], manifest: Manifest) -> bool:
    if any(
        step.differs
        for step in _steps([*before, Standardize.name], lambda: iter(first), manifest)
    ):
        return True
    pipeline = fit_transforms(
        before, lambda: iter(first), manifest.columns, manifest=manifest
    )
    row = None
    constant = np.ones(pipeline.width, dtype=np.bool_)
    for block in pipeline.dense_blocks(first[0]):
        X = to_dense(pipeline.apply(block).X, pipeline.width)
        if row is None:
            row = X[0]
        constant &= (row == X).all(axis=0)
    assert row is not None  # the chunk has rows
    values = row[constant]
    # Sums of a million of these are exact, no matter how they are rounded on the way.
    exact = (values * 2.0**16 == np.rint(values * 2.0**16)) & (np.abs(values) < 2.0**17)
    return not exact.all()


def _steps(
    texts: Sequence[str],
    chunks: Callable[[], Iterator[Chunk]],
    manifest: Manifest,
) -> list[Standardize]:
    return [
        step
        for step in fit_transforms(
            texts, chunks, manifest.columns, manifest=manifest
        ).steps
        if isinstance(step, Standardize)
    ]
