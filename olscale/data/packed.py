"""Packed rows: sparse rows without the values that are 1, to hold them in memory and in scratch files.

Most features of wide sparse data say that something is there, and their value is 1. An entry with that value is kept as
the complement of its index, any other as its index and its value: 4 bytes in place of 12, and never more than 12.
What comes back has the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR
from olscale.jit import kernel, prefetch

__all__ = ["Packed", "pack", "room_for", "unpack"]

_AHEAD = 4  # rows asked for ahead: rows taken in no order would each be waited for
_INDICES_A_LINE, _VALUES_A_LINE = np.uint64(16), np.uint64(8)
_ONE = np.uint64(1)


class Packed(NamedTuple):
    """Sparse rows: row `i` has ``indices[indptr[i]:indptr[i+1]]`` and the values ``values[starts[i]:starts[i+1]]``.

    Attributes
    ----------
    indptr, starts : int64 arrays of shape (rows + 1,)
    indices : int32 array
        The index of an entry, or its complement (a negative number) if the value is 1.
    values : float64 array
        Values other than 1.
    """

    indptr: NDArray[np.int64]
    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]


@kernel
def _pack(
    indptr: Any, indices: Any, data: Any, order: Any, new_indptr: Any, starts: Any, new_indices: Any, values: Any
) -> None:
    entry, value = np.uint64(0), np.uint64(0)
    for i in range(order.shape[0]):
        if i + _AHEAD < order.shape[0]:
            ahead = order[i + _AHEAD]
            for p in range(np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1]), _VALUES_A_LINE):
                prefetch(data, p)
                prefetch(indices, p)
        for p in range(np.uint64(indptr[order[i]]), np.uint64(indptr[order[i] + 1])):
            other = data[p] != 1.0
            values[value] = data[p]  # overwritten by the next one if it is a 1
            value += np.uint64(other)
            new_indices[entry] = indices[p] if other else ~indices[p]
            entry += _ONE
        new_indptr[i + 1], starts[i + 1] = entry, value


@kernel
def _unpack(
    indptr: Any, starts: Any, indices: Any, values: Any, order: Any, new_indptr: Any, new_indices: Any, data: Any
) -> None:
    entry = np.uint64(0)
    for i in range(order.shape[0]):
        if i + _AHEAD < order.shape[0]:
            ahead = order[i + _AHEAD]
            for p in range(np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1]), _INDICES_A_LINE):
                prefetch(indices, p)
            for p in range(np.uint64(starts[ahead]), np.uint64(starts[ahead + 1]), _VALUES_A_LINE):
                prefetch(values, p)
        value = np.uint64(starts[order[i]])
        for p in range(np.uint64(indptr[order[i]]), np.uint64(indptr[order[i] + 1])):
            one = indices[p] < 0
            new_indices[entry] = ~indices[p] if one else indices[p]
            data[entry] = 1.0 if one else values[value]
            value += np.uint64(not one)
            entry += _ONE
        new_indptr[i + 1] = entry


def room_for(rows: int, entries: int) -> Packed:
    """Return uninitialised arrays that any `rows` rows with `entries` entries fit in."""
    # One entry more than there are: a value is written before it is known whether it is kept.
    indptr, starts = np.zeros(rows + 1, np.int64), np.zeros(rows + 1, np.int64)
    return Packed(indptr, starts, np.empty(entries + 1, np.int32), np.empty(entries + 1, np.float64))


def pack(X: CSR, order: NDArray[np.int64], room: Packed) -> Packed:
    """Return the rows of `X` at `order`, packed.

    Parameters
    ----------
    X : CSR
    order : int64 array
        Rows to take, in that order.
    room : Packed
        Arrays to write to, from `room_for`; what is returned is views of them. Used again and again they take half the time.

    Examples
    --------
    >>> X = CSR(np.array([0, 2, 3]), np.array([1, 5, 2], np.int32), np.array([1.0, 0.5, 1.0]))
    >>> rows = pack(X, np.array([1, 0]), room_for(2, 3))
    >>> rows.indices, rows.values
    (array([-3, -2,  5], dtype=int32), array([0.5]))
    >>> unpack(rows, np.array([1, 0])).data
    array([1. , 0.5, 1. ])
    """
    indptr, starts = room.indptr[: len(order) + 1], room.starts[: len(order) + 1]
    _pack(X.indptr, X.indices, X.data, order, indptr, starts, room.indices, room.values)
    return Packed(indptr, starts, room.indices[: indptr[-1]], room.values[: starts[-1]])


def unpack(rows: Packed, order: NDArray[np.int64]) -> CSR:
    """Return the rows at `order` as CSR rows."""
    entries = int((rows.indptr[order + 1] - rows.indptr[order]).sum())
    indptr, indices, data = np.zeros(len(order) + 1, np.int64), np.empty(entries, np.int32), np.empty(entries)
    _unpack(*rows, order, indptr, indices, data)
    return CSR(indptr, indices, data)
