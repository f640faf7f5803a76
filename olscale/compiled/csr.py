"""Rows of numbers, dense or CSR: counted, cut, taken, stacked and converted."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


class CSR(NamedTuple):
    """Sparse rows: row `i` has ``indices[indptr[i]:indptr[i+1]]`` and the same span of `data`.

    `indptr` need not start at 0, so a slice of rows shares the arrays of all rows.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]


Rows: TypeAlias = NDArray[np.float64] | CSR
"""Dense rows, a C-order float64 array of shape (rows, columns), or `CSR` rows."""


def rows_of(X: Rows) -> int:
    """Return the number of rows in `X`."""
    if isinstance(X, CSR):
        return len(X.indptr) - 1
    return len(X)


def nbytes(X: Rows) -> int:
    """Return the bytes of the values of `X`, and of its indices if it is sparse."""
    if not isinstance(X, CSR):
        return X.nbytes
    bytes_of_entry = X.indices.itemsize + X.data.itemsize
    return values_of(X) * bytes_of_entry


def values_of(X: Rows) -> int:
    """Return the number of stored values of `X`."""
    if isinstance(X, CSR):
        return int(X.indptr[-1] - X.indptr[0])
    return X.size


def slice_rows(X: Rows, start: int, stop: int) -> Rows:
    """Return rows `start` to `stop` of `X` without copying."""
    if isinstance(X, CSR):
        return CSR(X.indptr[start : stop + 1], X.indices, X.data)
    return X[start:stop]


def take_rows(X: Rows, index: NDArray[np.int64]) -> Rows:
    """Return the rows of `X` at `index`, in that order, as a copy."""
    if not isinstance(X, CSR):
        return X[index]
    from olscale.compiled.copies import gather_rows

    indptr = np.zeros(len(index) + 1, dtype=np.int64)
    lengths = X.indptr[index + 1] - X.indptr[index]
    np.cumsum(lengths, out=indptr[1:])
    indices = np.empty(indptr[-1], X.indices.dtype)
    data = np.empty(indptr[-1], X.data.dtype)
    gather_rows(*X, index, indptr, indices, data)
    return CSR(indptr, indices, data)


def stack_rows(groups: Sequence[Rows]) -> Rows:
    """Return the rows of `groups`, all dense or all `CSR`, one below the other, as a copy."""
    if not isinstance(groups[0], CSR):
        return np.concatenate([group for group in groups if not isinstance(group, CSR)])
    sparse = [trim(group) for group in groups if isinstance(group, CSR)]
    lengths = np.concatenate([np.diff(group.indptr) for group in sparse])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.concatenate([group.indices for group in sparse])
    data = np.concatenate([group.data for group in sparse])
    return CSR(indptr, indices, data)


def trim(X: CSR) -> CSR:
    """Return rows that start at 0 in their arrays and fill them; indices and data are shared."""
    first = int(X.indptr[0])
    last = int(X.indptr[-1])
    indptr = X.indptr
    if first:
        indptr = indptr - first
    return CSR(indptr, X.indices[first:last], X.data[first:last])


def entries_of(X: CSR) -> Iterator[tuple[list[int], list[float]]]:
    """Yield indices and values of each row."""
    for start, stop in pairwise(X.indptr.tolist()):
        indices = X.indices[start:stop].tolist()
        values = X.data[start:stop].tolist()
        yield indices, values


def to_dense(X: Rows, columns: int) -> NDArray[np.float64]:
    """Return `X` as a C-order array of shape (rows, columns)."""
    if not isinstance(X, CSR):
        return X
    dense = np.zeros((rows_of(X), columns))
    indptr, indices, data = trim(X)
    rows = np.repeat(np.arange(rows_of(X)), np.diff(indptr))
    dense[rows, indices] = data
    return dense


def to_csr(X: Rows) -> CSR:
    """Return `X` as CSR rows; zeros of dense rows are left out."""
    if isinstance(X, CSR):
        return X
    from olscale.compiled.copies import copy_nonzeros, count_nonzeros

    X = read_only(X)
    indptr = np.zeros(len(X) + 1, dtype=np.int64)
    count_nonzeros(X, indptr)
    space = int(indptr[-1]) + 1  # the loop writes one entry too many
    indices = np.empty(space, dtype=np.int32)
    data = np.empty(space, X.dtype)
    copy_nonzeros(X, indices, data)
    return CSR(indptr, indices[:-1], data[:-1])


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous view of `array` that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def read_only_csr(X: Rows) -> CSR:
    """Return `X` as read-only CSR rows: with one kind of arrays a loop is compiled once."""
    rows = to_csr(X)
    indptr = read_only(rows.indptr)
    indices = read_only(rows.indices)
    return CSR(indptr, indices, read_only(rows.data))


def read_only_rows(X: Rows) -> Rows:
    """Return rows, dense or CSR, as read-only: loops compile once for any source of rows."""
    if isinstance(X, CSR):
        return read_only_csr(X)
    return read_only(X)
