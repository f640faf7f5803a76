"""Transforms of rows: fitted on the training split only, applied chunk by chunk, named in the run's id.

A transform is one class and one line in `_TRANSFORMS`. Fitting sums row after row, so it gives the same bits however
the split is cut into chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR, Chunk, Rows, to_dense
from olscale.errors import DatasetError, UnknownNameError
from olscale.jit import kernel

__all__ = ["Pipeline", "Transform", "fit_transforms", "transform_names", "width_after"]

FloatArray = NDArray[np.float64]
_WIDEST_DENSE = 65_536


@kernel
def _add_rows(X: FloatArray, centre: FloatArray, power: int, total: FloatArray) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            deviation = X[i, j] - centre[j]
            total[j] += deviation if power == 1 else deviation * deviation


@kernel
def _square_norms(X: FloatArray) -> FloatArray:
    # One entry after another, as the sum over sparse rows goes: both have the same bits.
    norms = np.zeros(X.shape[0])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            norms[i] += X[i, j] * X[i, j]
    return norms


class Transform(ABC):
    """One step from rows to rows.

    Attributes
    ----------
    name : str
        Name in experiments.
    keeps_sparse : bool
        Whether sparse rows stay sparse; the others are made dense first.
    """

    name: ClassVar[str]
    keeps_sparse: ClassVar[bool] = False

    def fit(self, chunks: Callable[[], Iterator[FloatArray]], columns: int) -> None:  # noqa: B027 (most need no fit)
        """Learn what the transform needs; `chunks` starts a new pass over the dense training rows."""

    def width(self, columns: int) -> int:
        """Return the number of features after the transform."""
        return columns

    @abstractmethod
    def apply(self, X: Any, columns: int) -> Rows:
        """Return the transformed rows; dense unless `keeps_sparse`."""


class Standardize(Transform):
    """Zero mean and unit variance of each feature (a constant feature becomes 0)."""

    name = "standardize"

    def fit(self, chunks: Callable[[], Iterator[FloatArray]], columns: int) -> None:
        """Take mean and standard deviation (of the population) in two passes."""
        rows, total, zero = 0, np.zeros(columns), np.zeros(columns)
        for X in chunks():
            rows += len(X)
            _add_rows(X, zero, 1, total)
        self._mean = total / rows
        square = np.zeros(columns)
        for X in chunks():
            _add_rows(X, self._mean, 2, square)
        deviation = np.sqrt(square / rows)
        # A feature that varies less than rounding does is constant.
        constant = deviation <= 10 * np.finfo(np.float64).eps * np.abs(self._mean)
        self._scale = np.where(constant, 1.0, deviation)

    def apply(self, X: FloatArray, columns: int) -> Rows:
        """Return ``(X - mean) / deviation``."""
        return (X - self._mean) / self._scale


class MinMax(Transform):
    """Scale each feature of the training split to [0, 1] (a constant feature becomes 0); test rows may lie outside."""

    name = "minmax"

    def fit(self, chunks: Callable[[], Iterator[FloatArray]], columns: int) -> None:
        """Take the least and the greatest value of each feature."""
        low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
        for X in chunks():
            np.minimum(low, X.min(axis=0), out=low)
            np.maximum(high, X.max(axis=0), out=high)
        self._low = low
        self._range = np.where(high > low, high - low, 1.0)

    def apply(self, X: FloatArray, columns: int) -> Rows:
        """Return ``(X - low) / (high - low)``."""
        scaled: FloatArray = (X - self._low) / self._range
        return scaled


class UnitNorm(Transform):
    """Scale each row to Euclidean norm 1; an empty row stays as it is."""

    name = "unit-norm"
    keeps_sparse = True

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return ``x / |x|`` for each row."""
        if not isinstance(X, CSR):
            norms = np.sqrt(_square_norms(X))
            scaled: FloatArray = X / np.where(norms > 0.0, norms, 1.0)[:, None]
            return scaled
        span = slice(int(X.indptr[0]), int(X.indptr[-1]))
        row = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
        norms = np.sqrt(np.bincount(row, weights=X.data[span] ** 2, minlength=len(X.indptr) - 1))
        data = X.data[span] / np.where(norms > 0.0, norms, 1.0)[row]
        return CSR(X.indptr - X.indptr[0], X.indices[span], data)


class Bias(Transform):
    """Append a feature that is always 1."""

    name = "bias"
    keeps_sparse = True

    def width(self, columns: int) -> int:
        """Return one feature more."""
        return columns + 1

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return the rows with the last feature 1."""
        if not isinstance(X, CSR):
            return np.hstack([X, np.ones((len(X), 1))])
        span = slice(int(X.indptr[0]), int(X.indptr[-1]))
        ends = (X.indptr - X.indptr[0])[1:]
        return CSR(
            (X.indptr - X.indptr[0]) + np.arange(len(X.indptr)),
            np.insert(X.indices[span], ends, np.int32(columns)),
            np.insert(X.data[span], ends, 1.0),
        )


_TRANSFORMS: dict[str, type[Transform]] = {step.name: step for step in (Standardize, MinMax, UnitNorm, Bias)}


def transform_names() -> list[str]:
    """Return the names a `transforms` list may have."""
    return list(_TRANSFORMS)


def width_after(names: Sequence[str], columns: int) -> int:
    """Return the number of features that the transforms called `names` make of `columns`.

    Raises
    ------
    UnknownNameError
        If a name is not that of a transform.

    Examples
    --------
    >>> width_after(["standardize", "bias"], 4)
    5
    """
    for name in names:
        if name not in _TRANSFORMS:
            raise UnknownNameError("transform", name, _TRANSFORMS)
        columns = _TRANSFORMS[name]().width(columns)
    return columns


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Fitted transforms in their order.

    Attributes
    ----------
    steps : tuple of Transform
        The transforms, fitted.
    columns : int
        Number of features before the first.
    width : int
        Number of features after the last.
    """

    steps: tuple[Transform, ...]
    columns: int
    width: int

    def apply(self, chunk: Chunk) -> Chunk:
        """Return `chunk` transformed."""
        X, columns = chunk.X, self.columns
        for step in self.steps:
            X = step.apply(X if step.keeps_sparse else _dense(step.name, X, columns), columns)
            columns = step.width(columns)
        return Chunk(X, chunk.y, columns)


def fit_transforms(names: Sequence[str], chunks: Callable[[], Iterator[Chunk]], columns: int) -> Pipeline:
    """Fit the transforms called `names`, each on the rows as the ones before it leave them.

    Parameters
    ----------
    names : sequence of str
        Names of transforms, in order; may be empty.
    chunks : callable
        Starts a pass over the training split.
    columns : int
        Number of features of the split.

    Raises
    ------
    UnknownNameError
        If a name is not that of a transform.
    DatasetError
        If sparse rows are too wide to be made dense.

    Examples
    --------
    >>> split = Chunk(np.array([[1.0], [3.0]]), np.array([0, 1]), 1)
    >>> pipeline = fit_transforms(["standardize", "bias"], lambda: iter([split]), 1)
    >>> pipeline.apply(split).X
    array([[-1.,  1.],
           [ 1.,  1.]])
    """
    done = Pipeline((), columns, columns)
    for name in names:
        if name not in _TRANSFORMS:
            raise UnknownNameError("transform", name, _TRANSFORMS)
        step, before = _TRANSFORMS[name](), done

        def rows(step: Transform = step, before: Pipeline = before) -> Iterator[FloatArray]:
            for chunk in chunks():
                yield _dense(step.name, before.apply(chunk).X, before.width)

        step.fit(rows, done.width)
        done = Pipeline((*done.steps, step), columns, step.width(done.width))
    return done


def _dense(name: str, X: Rows, columns: int) -> FloatArray:
    if isinstance(X, CSR) and columns > _WIDEST_DENSE:
        raise DatasetError(
            f"transform {name} makes rows dense, and {columns:,} features are too many for that (at most "
            f"{_WIDEST_DENSE:,}); use unit-norm, which keeps rows sparse"
        )
    return to_dense(X, columns)
