"""Leaving out a column: one that says something about a row but is not known when it is predicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of
from olscale.data.transforms.base import Transform

__all__ = ["Drop", "column_of"]


class Drop(Transform):
    """Leave out the column `column`, counted from 0; those behind it move up. Experiments do not name it.

    Examples
    --------
    >>> Drop(1).apply(np.array([[1.0, 2.0, 3.0]]), 3)
    array([[1., 3.]])
    """

    name = "drop"
    takes_sparse = True

    def __init__(self, column: int) -> None:
        self.column = column

    def width(self, columns: int) -> int:
        """Return one less."""
        return columns - 1

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return the rows without the column."""
        del columns
        if not isinstance(X, CSR):
            return np.delete(X, self.column, axis=1)
        span = slice(int(X.indptr[0]), int(X.indptr[-1]))
        indices, data = X.indices[span], X.data[span]
        kept = indices != self.column
        before = np.concatenate([[0], np.cumsum(kept)])
        indices = indices[kept]
        return CSR(before[X.indptr - X.indptr[0]], indices - (indices > self.column), data[kept])


def column_of(X: Rows, column: int) -> NDArray[np.float64]:
    """Return the values of one column, shape (rows,)."""
    if not isinstance(X, CSR):
        return X[:, column].copy()
    found = np.flatnonzero(X.indices == column)
    found = found[(found >= X.indptr[0]) & (found < X.indptr[-1])]
    values = np.zeros(rows_of(X))
    values[np.searchsorted(X.indptr, found, side="right") - 1] = X.data[found]
    return values
