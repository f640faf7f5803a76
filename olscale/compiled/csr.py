"""Rows of numbers, dense or CSR: counted, cut, taken, stacked and converted."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import Array, FloatArray, IntArray
from olscale.errors import ParameterError


class _Arrays(NamedTuple):
    indptr: IntArray
    indices: NDArray[np.int32]
    data: FloatArray


class CSR(_Arrays):
    """Sparse rows: row `i` has ``indices[indptr[i]:indptr[i+1]]`` and the same span of `data`.

    `indptr` need not start at 0, so a slice of rows shares the arrays of all rows.

    Attributes
    ----------
    columns : int, optional
        Number of features, which the arrays do not say; rows of a `Chunk` know it.

    Examples
    --------
    >>> rows = sized(CSR(np.array([0, 1, 1]), np.array([2], np.int32), np.array([0.5])), 3)
    >>> rows.shape, rows.to_numpy().tolist()
    ((2, 3), [[0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    """

    columns: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features.

        Raises
        ------
        ParameterError
            If these rows do not know their number of features.
        """
        if self.columns is None:
            raise ParameterError(
                "these sparse rows do not know their number of features; those of a chunk do: "
                "chunk.X, or chunk.shape"
            )
        rows = len(self.indptr) - 1
        return rows, self.columns

    def to_numpy(self) -> FloatArray:
        """Return the rows as an array of shape (rows, features)."""
        return to_dense(self, self.shape[1])

    def to_scipy(self) -> Any:
        """Return the rows as a ``scipy.sparse.csr_array`` of shape (rows, features)."""
        return to_scipy(self, self.shape[1])


Rows: TypeAlias = FloatArray | CSR
"""Dense rows, a C-order float64 array of shape (rows, columns), or `CSR` rows."""


def is_consistent(X: CSR, columns: int) -> bool:
    """Return whether arrays from elsewhere are sorted rows of `columns` features.

    Examples
    --------
    >>> is_consistent(CSR(np.array([0, 1]), np.array([2], np.int32), np.array([0.5])), 2)
    False
    """
    indptr, indices, data = X
    if not len(indptr):
        return False
    first = indptr[0]
    last = indptr[-1]
    lengths = np.diff(indptr)
    if first < 0 or (lengths < 0).any():
        return False
    if last > len(indices) or len(indices) != len(data):
        return False
    used = indices[first:last]
    # Only at the first value of a row may an index be less than the one before it.
    # Sorted and without repeats: loops rely on both.
    rises = np.diff(used) > 0
    starts = indptr[1:-1] - first
    has_one_before = (starts > 0) & (starts < len(used))
    starts = starts[has_one_before]
    rises[starts - 1] = True
    in_range = (used >= 0) & (used < columns)
    return bool(in_range.all() and rises.all())


def rows_of(X: Rows) -> int:
    """Return the number of rows in `X`."""
    if isinstance(X, CSR):
        return len(X.indptr) - 1
    return len(X)


def nbytes(X: Rows) -> int:
    """Return the bytes of the values of `X`, and of its indices if it is sparse."""
    # Dense rows know their size.
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
        indptr = X.indptr[start : stop + 1]
        return CSR(indptr, X.indices, X.data)
    return X[start:stop]


def take_rows(X: Rows, index: IntArray) -> Rows:
    """Return the rows of `X` at `index`, in that order, as a copy."""
    if not isinstance(X, CSR):
        # Of short rows three times as fast as indexing; other layouts would be copied as a whole.
        if X.flags.c_contiguous and index.dtype != np.bool_:
            return np.take(X, index, axis=0)
        return X[index]
    from olscale.compiled.copies import gather_rows

    starts = X.indptr[index]
    stops = X.indptr[index + 1]
    lengths = stops - starts
    indptr = np.zeros(len(index) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    entries = indptr[-1]
    indices = np.empty(entries, X.indices.dtype)
    data = np.empty(entries, X.data.dtype)
    gather_rows(*X, index, indptr, indices, data)
    return CSR(indptr, indices, data)


def stack_rows(groups: Sequence[Rows]) -> Rows:
    """Return the rows of `groups`, all dense or all `CSR`, one below the other, as a copy."""
    if not isinstance(groups[0], CSR):
        dense = [group for group in groups if not isinstance(group, CSR)]
        return np.concatenate(dense)
    # Rows of a slice may begin anywhere in their arrays.
    sparse = [trim(group) for group in groups if isinstance(group, CSR)]
    lengths = np.concatenate([np.diff(group.indptr) for group in sparse])
    ends = np.cumsum(lengths)
    indptr = np.concatenate([[0], ends])
    return CSR(
        indptr=indptr.astype(np.int64),
        indices=np.concatenate([group.indices for group in sparse]),
        data=np.concatenate([group.data for group in sparse]),
    )


def trim(X: CSR) -> CSR:
    """Return rows that start at 0 in their arrays and fill them; indices and data are shared."""
    first = int(X.indptr[0])
    last = int(X.indptr[-1])
    indptr = X.indptr
    if first:
        indptr = indptr - first
    return CSR(
        indptr,
        X.indices[first:last],
        X.data[first:last],
    )


def entries_of(X: CSR) -> Iterator[tuple[list[int], list[float]]]:
    """Yield indices and values of each row."""
    for start, stop in pairwise(X.indptr.tolist()):
        indices = X.indices[start:stop].tolist()
        values = X.data[start:stop].tolist()
        yield indices, values


def to_dense(X: Rows, columns: int) -> FloatArray:
    """Return `X` as a C-order array of shape (rows, columns)."""
    if not isinstance(X, CSR):
        return X
    rows = rows_of(X)
    dense = np.zeros((rows, columns))
    indptr, indices, data = trim(X)
    lengths = np.diff(indptr)
    row_of_each = np.repeat(np.arange(rows), lengths)
    dense[row_of_each, indices] = data
    return dense


def sized(X: Rows, columns: int) -> Rows:
    """Return new `CSR` rows on the same arrays that know their number of features."""
    if not isinstance(X, CSR):
        return X
    rows = CSR(*X)
    rows.columns = columns
    return rows


def to_scipy(X: Rows, columns: int) -> Any:
    """Return `X` as a ``scipy.sparse.csr_array`` of shape (rows, columns), with its own indptr."""
    from scipy.sparse import csr_array

    if not isinstance(X, CSR):
        return csr_array(X)
    indptr, indices, data = trim(X)
    shape = (rows_of(X), columns)
    return csr_array((data, indices, indptr), shape=shape)


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


def read_only(array: Array) -> Array:
    """Return a contiguous view of `array` that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def read_only_csr(X: Rows) -> CSR:
    """Return `X` as read-only CSR rows: with one kind of arrays a loop is compiled once."""
    rows = to_csr(X)
    return CSR(
        read_only(rows.indptr),
        read_only(rows.indices),
        read_only(rows.data),
    )


def read_only_rows(X: Rows) -> Rows:
    """Return rows, dense or CSR, as read-only: loops compile once for any source of rows."""
    if isinstance(X, CSR):
        return read_only_csr(X)
    return read_only(X)
