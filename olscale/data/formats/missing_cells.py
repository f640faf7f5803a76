"""Which cells of some rows of a table have no value."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of


def missing_cells(
    numbers: Rows,
    numeric: Sequence[int],
    absent: NDArray[np.bool_],
    categorical: Sequence[int],
    columns: int,
) -> NDArray[np.bool_] | CSR | None:
    """Return a mask of shape (rows, columns) of the cells without a value, or None.

    For sparse rows the result is the positions of these cells; None means that all cells have a
    value.

    Parameters
    ----------
    numbers : ndarray of shape (rows, numeric columns) or CSR
    numeric, categorical : sequence of int
        Positions of the columns of numbers, and of those of text.
    absent : ndarray of shape (rows, text columns), bool
    columns : int

    Examples
    --------
    >>> missing_cells(np.array([[1.0, np.nan]]), [0, 2], np.array([[True]]), [1], 4)
    array([[False,  True,  True, False]])
    """
    if isinstance(numbers, CSR):
        return _listed(
            numbers,
            np.array(numeric, dtype=np.int64),
            absent,
            np.array(categorical, dtype=np.int64),
        )
    missing = np.isnan(numbers)
    if not missing.any() and not absent.any():
        return None
    mask = np.zeros((rows_of(numbers), columns), dtype=np.bool_)
    mask[:, numeric] = missing
    mask[:, categorical] = absent
    return mask


def _listed(
    numbers: CSR,
    numeric: NDArray[np.int64],
    absent: NDArray[np.bool_],
    categorical: NDArray[np.int64],
) -> CSR | None:
    rows = rows_of(numbers)
    entries = np.flatnonzero(np.isnan(numbers.data))
    row, text = np.nonzero(absent)
    if not len(entries) and not len(row):
        return None
    row = np.concatenate([np.searchsorted(numbers.indptr, entries, side="right") - 1, row])
    position = np.concatenate([numeric[numbers.indices[entries]], categorical[text]])
    order = np.lexsort((position, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    return CSR(indptr.astype(np.int64), position[order].astype(np.int32), np.ones(len(order)))
