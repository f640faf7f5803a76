"""Leaving out a column, one that is unknown when its row is predicted."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, trim
from olscale.data.transforms.base import Transform


class Drop(Transform):
    """Leave out column `column`, counted from 0; later ones move up. Not named in experiments.

    Examples
    --------
    >>> Drop(1).apply(np.array([[1.0, 2.0, 3.0]]), 3)
    array([[1., 3.]])
    """

    name = "drop"
    keeps_missing = True
    keeps_values = True
    takes_sparse = True

    def __init__(self, column: int) -> None:
        self.column = column

    def width(self, columns: int) -> int:
        return columns - 1

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return [name for i, name in enumerate(names) if i != self.column]

    def apply(self, X: Rows, columns: int) -> Rows:
        del columns
        if not isinstance(X, CSR):
            return np.delete(X, self.column, axis=1)
        indptr, indices, data = trim(X)
        stays = indices != self.column
        before = np.concatenate([[0], np.cumsum(stays)])
        indices = indices[stays]
        return CSR(before[indptr], indices - (indices > self.column), data[stays])


def column_of(X: Rows, column: int) -> NDArray[np.float64]:
    """Return the values of one column, shape (rows,)."""
    if not isinstance(X, CSR):
        return X[:, column].copy()
    indptr, indices, data = trim(X)
    at = np.flatnonzero(indices == column)
    values = np.zeros(rows_of(X))
    values[np.searchsorted(indptr, at, side="right") - 1] = data[at]
    return values
