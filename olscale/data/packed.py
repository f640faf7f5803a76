"""Packed rows: sparse rows in a third of their room, to hold them in memory and in scratch files.

Most features of wide sparse data say that something is there, and their value is 1; and most of them are frequent, so that
their indices lie close together. An entry takes two bytes: how far its index is from the one before it, and whether its
value is another than 1. A step of more than 32,766 takes six; a value other than 1 takes eight more, in another place.
Nothing is compressed that it would take a second pass to find, and what comes back has the same bits.

A piece is a number of rows in words of eight bytes. From its front there is a record for each row: its position (int32),
how many entries, units and values it has (int32 each), its label (float64), then its units of two bytes, filled up to a
word. The values stand at the end of the piece, those of the first row last, from right to left: their number is not known
before the row was read, and so it is read once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR
from olscale.jit import kernel, prefetch

__all__ = ["ENTRY_BYTES", "ROW_BYTES", "Packed", "PackedRows", "Pieces", "find", "pack", "row_words", "unpack"]

ENTRY_BYTES = 14
"""Bytes of an entry at most."""
ROW_BYTES = 60
"""Bytes of a row at most, besides its entries."""

_AHEAD = 4  # rows asked for ahead: rows taken in no order would each be waited for
_LINE = np.uint64(8)  # words of a cache line
_HEADER = np.uint64(3)
_LONG = np.uint32((1 << 16) - 1)
_INDEX = np.uint32((1 << 31) - 1)
_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(n) for n in range(5))
_BIT, _HALF = np.uint32(1), np.uint32(16)


class Pieces(NamedTuple):
    """Where pieces lie in an array of words: records in ``begin:middle``, values in ``middle:end``.

    Attributes
    ----------
    words : float64 array
    begin, middle, end : int64 arrays of shape (pieces,)
    rows : int
        Rows of all pieces.
    """

    words: NDArray[np.float64]
    begin: NDArray[np.int64]
    middle: NDArray[np.int64]
    end: NDArray[np.int64]
    rows: int


class Packed(NamedTuple):
    """Sparse rows in pieces, with their records found.

    Attributes
    ----------
    words : float64 array
    record, values : int64 arrays of shape (rows,)
        Where the record of each row begins, and where its values end.
    entries : int32 array of shape (rows,)
    """

    words: NDArray[np.float64]
    record: NDArray[np.int64]
    values: NDArray[np.int64]
    entries: NDArray[np.int32]


@kernel
def _pack(
    indptr: Any, indices: Any, data: Any, label: Any, position: Any, size: Any, first: Any, slots: Any, words: Any
) -> Any:
    fronts, backs, counts = slots
    fours, twos = words.view(np.int32), words.view(np.uint16)
    for i in range(first, len(label)):
        slot = position[i] // size
        low, high = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        record, value = np.uint64(fronts[slot]), np.uint64(backs[slot])
        if record + _HEADER + _TWO * (high - low) > value:
            return i
        if i + _AHEAD < len(label):
            for p in range(np.uint64(indptr[i + _AHEAD]), np.uint64(indptr[i + _AHEAD + 1]), _LINE):
                prefetch(data, p)
                prefetch(indices, p)
        begin = _FOUR * (record + _HEADER)
        unit, last = begin, np.uint32(0)
        for p in range(low, high):
            number, index = data[p], np.uint32(indices[p])
            other = number != 1.0
            words[value - _ONE] = number  # overwritten by the next one if it is a 1
            value -= np.uint64(other)
            code = np.uint32((index - last) << _BIT | np.uint32(other))
            last = index
            if code < _LONG:
                twos[unit] = code
                unit += _ONE
            else:
                twos[unit] = _LONG
                twos[unit + _ONE] = np.uint16(code)
                twos[unit + _TWO] = code >> _HALF
                unit += _THREE
        fours[_TWO * record] = position[i] - slot * size
        fours[_TWO * record + _ONE] = high - low
        fours[_TWO * record + _TWO] = unit - begin
        fours[_TWO * record + _THREE] = np.uint64(backs[slot]) - value
        words[record + _TWO] = label[i]
        fronts[slot], backs[slot] = record + _HEADER + ((unit - begin + _THREE) >> _TWO), value
        counts[slot] += 1
    return len(label)


@kernel
def _find(begin: Any, middle: Any, end: Any, rows: Any, words: Any, position: Any, label: Any) -> None:
    record, values, entries = rows
    fours = words.view(np.int32)
    i = 0
    for piece in range(len(begin)):
        at, value = begin[piece], end[piece]
        while at < middle[piece]:
            record[i], values[i] = at, value
            position[i], entries[i], label[i] = fours[2 * at], fours[2 * at + 1], words[at + 2]
            value -= fours[2 * at + 3]
            at += 3 + ((fours[2 * at + 2] + 3) >> 2)
            i += 1


@kernel
def _unpack(words: Any, record: Any, values: Any, order: Any, new_indptr: Any, new_indices: Any, new_data: Any) -> None:
    fours, twos = words.view(np.int32), words.view(np.uint16)
    entry = _ZERO
    for i in range(len(order)):
        if i + 2 * _AHEAD < len(order):
            prefetch(words, np.uint64(record[order[i + 2 * _AHEAD]]))
        if i + _AHEAD < len(order):
            ahead = order[i + _AHEAD]
            at, value = np.uint64(record[ahead]), np.uint64(values[ahead])
            units = np.uint64(fours[_TWO * at + _TWO])
            for p in range(at + _LINE, at + _HEADER + ((units + _THREE) >> _TWO), _LINE):
                prefetch(words, p)
            for p in range(value - np.uint64(fours[_TWO * at + _THREE]), value, _LINE):
                prefetch(words, p)
        at, value = np.uint64(record[order[i]]), np.uint64(values[order[i]])
        unit = _FOUR * (at + _HEADER)
        stop = unit + np.uint64(fours[_TWO * at + _TWO])
        index = np.uint32(0)
        while unit < stop:
            code = np.uint32(twos[unit])
            unit += _ONE
            if code == _LONG:
                code = np.uint32(twos[unit]) | np.uint32(twos[unit + _ONE]) << _HALF
                unit += _TWO
            index = np.uint32(index + (code >> _BIT)) & _INDEX  # beyond the last index there is, a step goes back
            other = code & _BIT
            number = words[value - _ONE]  # read in any case: no branch depends on it
            new_indices[entry] = index
            new_data[entry] = number if other else 1.0
            value -= np.uint64(other)
            entry += _ONE
        new_indptr[i + 1] = entry


def row_words(entries: int) -> int:
    """Return the words that a row with `entries` entries takes at most."""
    return 3 + 2 * entries


def pack(
    X: CSR,
    label: NDArray[np.float64],
    position: NDArray[Any],
    size: int,
    first: int,
    slots: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    words: NDArray[np.float64],
) -> int:
    """Put down rows of `X` from `first` on, each in the slot of its position; return the first one that does not fit.

    Parameters
    ----------
    X : CSR
    label : float64 array of shape (rows,)
    position : int array of shape (rows,)
    size : int
        Positions of a slot. A record keeps the position within its slot.
    first : int
    slots : tuple of int64 arrays of shape (slots,)
        Where the next record begins, where the next values end, and how many rows there are; brought up to date.
    words : float64 array
        Where all slots lie.

    Examples
    --------
    >>> X = CSR(np.array([0, 2, 3]), np.array([1, 5, 2], np.int32), np.array([1.0, 0.5, 1.0]))
    >>> words, one = np.empty(20), np.array([0])
    >>> slots = (one.copy(), one + 20, one.copy())
    >>> pack(X, np.zeros(2), np.array([1, 0]), 2, 0, slots, words)
    2
    >>> rows, label, position = find(Pieces(words, one, slots[0], one + 20, 2))
    >>> position, unpack(rows, position).data
    (array([1, 0], dtype=int32), array([1. , 1. , 0.5]))
    """
    return int(_pack(*X, label, position, size, first, slots, words))


def find(pieces: Pieces) -> tuple[Packed, NDArray[np.float64], NDArray[np.int32]]:
    """Return the rows of pieces, their labels and their positions."""
    n = pieces.rows
    rows = Packed(pieces.words, np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32))
    label, position = np.empty(n), np.empty(n, np.int32)
    _find(pieces.begin, pieces.middle, pieces.end, rows[1:], pieces.words, position, label)
    return rows, label, position


def unpack(rows: Packed, order: NDArray[np.int64]) -> CSR:
    """Return the rows at `order` as CSR rows."""
    entries = int(rows.entries[order].sum())
    indptr, indices, data = np.zeros(len(order) + 1, np.int64), np.empty(entries, np.int32), np.empty(entries)
    _unpack(rows.words, rows.record, rows.values, order, indptr, indices, data)
    return CSR(indptr, indices, data)


class PackedRows:
    """Rows that are packed block by block, into memory that is asked for once.

    Parameters
    ----------
    rows, entries : int
        How many there will be. What they turn out not to need is never touched.

    Examples
    --------
    >>> blocks = PackedRows(2, 2)
    >>> for index in (7, 3):
    ...     blocks.add(CSR(np.array([0, 1]), np.array([index], np.int32), np.array([0.5])), np.zeros(1))
    >>> rows, label = blocks.rows()
    >>> unpack(rows, np.array([1, 0])).indices
    array([3, 7], dtype=int32)
    """

    def __init__(self, rows: int, entries: int) -> None:
        self._words = np.empty(3 * rows + 2 * entries)
        self._bounds = [(0, 0, 0)]
        self._rows = 0

    def add(self, X: CSR, label: NDArray[np.float64]) -> None:
        """Pack the rows of `X` behind those before."""
        begin, n = self._bounds[-1][-1], len(label)
        end = begin + 3 * n + 2 * int(X.indptr[-1] - X.indptr[0])
        front, back, count = (np.array([number]) for number in (begin, end, 0))
        pack(X, label, np.arange(n), max(1, n), 0, (front, back, count), self._words)
        middle, values = int(front[0]), end - int(back[0])
        self._words[middle : middle + values] = self._words[end - values : end]
        self._bounds.append((begin, middle, middle + values))
        self._rows += n

    def rows(self) -> tuple[Packed, NDArray[np.float64]]:
        """Return all rows and their labels."""
        begin, middle, end = np.array(self._bounds).T
        return find(Pieces(self._words[: end[-1]], begin, middle, end, self._rows))[:2]
