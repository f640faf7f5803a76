"""Transforms that scale rows or features, and the bias feature.

Fitting sums row after row, so it gives the same bits however the split is cut into chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from olscale.data.chunk import CSR, Rows
from olscale.data.transforms.base import FloatArray, Transform
from olscale.jit import kernel

__all__ = ["Bias", "MinMax", "Standardize", "UnitNorm"]


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
    takes_sparse = True

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
    takes_sparse = True

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
