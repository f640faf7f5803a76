"""Packed rows: sparse rows in a third of their room, to hold them in memory and in scratch files.

Most features of wide sparse data say that something is there, and their value is 1; and most of
them are frequent, so that their indices lie close together. An entry takes the lower half of its
index, two bytes, and a bit that says whether its value is another than 1; such a value takes eight
bytes more. Entries whose indices have the same upper half are a run of four bytes. Nothing is
looked for that would take a second pass, and what comes back has the same bits.

A piece is a number of rows in words of eight bytes. From its front there is a record for each row:
its position (int32), how many entries, runs and other values it has (int32 each), its label
(float64), then lower halves and runs (length and upper half, uint16 each), filled up to a word, and
the bits. The values stand at the end of the piece, those of the first row last, from right to left:
their number is not known before the row was read, and so it is read once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.compiled.packed_rows import find_rows, pack_rows, unpack_rows
from olscale.compiled.simd.packing import LANES

ENTRY_BYTES = 15
"""Bytes of an entry at most."""
ROW_BYTES = 66
"""Bytes of a row at most, besides its entries."""
SPARE_WORDS = 4
"""Words behind the last piece that are read as part of a vector, whatever is in them."""


class Pieces(NamedTuple):
    """Where pieces, of `rows` rows in all, lie in an array of words: records in ``begin:middle``, values in ``middle:end``.

    Behind the last one there is memory for `SPARE_WORDS` more.
    """

    words: NDArray[np.float64]
    begin: NDArray[np.int64]
    middle: NDArray[np.int64]
    end: NDArray[np.int64]
    rows: int


class Packed(NamedTuple):
    """Sparse rows in pieces: where the record of each row begins, where its values end, and how many entries it has."""

    words: NDArray[np.float64]
    record: NDArray[np.int64]
    values: NDArray[np.int64]
    entries: NDArray[np.int32]


def row_words(entries: int) -> int:
    """Return the words that a row with `entries` entries takes at most."""
    return 5 + 2 * entries


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
        Where the next record begins, where the next values end, and how many rows there are;
        brought up to date.
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
    return int(pack_rows(*X, label, position, size, first, slots, words))


def find(pieces: Pieces) -> tuple[Packed, NDArray[np.float64], NDArray[np.int32]]:
    """Return the rows of pieces, their labels and their positions."""
    n = pieces.rows
    rows = Packed(pieces.words, np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32))
    label = np.empty(n)
    position = np.empty(n, np.int32)
    find_rows(pieces.begin, pieces.middle, pieces.end, rows[1:], pieces.words, position, label)
    return rows, label, position


def unpack(rows: Packed, order: NDArray[np.int64]) -> CSR:
    """Return the rows at `order` as CSR rows."""
    entries = int(rows.entries[order].sum())
    indptr = np.zeros(len(order) + 1, np.int64)
    indices = np.empty(entries + LANES, np.int32)
    data = np.empty(entries + LANES)
    unpack_rows(rows.words, rows.record, rows.values, order, indptr, indices, data)
    return CSR(indptr, indices[:entries], data[:entries])


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
        self._words = np.empty(rows * row_words(0) + 2 * entries + SPARE_WORDS)
        self._bounds = [(0, 0, 0)]
        self._rows = 0

    def add(self, X: CSR, label: NDArray[np.float64]) -> None:
        """Pack the rows of `X` behind those before."""
        begin = self._bounds[-1][-1]
        n = len(label)
        end = begin + n * row_words(0) + 2 * int(X.indptr[-1] - X.indptr[0])
        front, back, count = (np.array([number]) for number in (begin, end, 0))
        pack(X, label, np.arange(n), max(1, n), 0, (front, back, count), self._words)
        middle = int(front[0])
        values = end - int(back[0])
        self._words[middle : middle + values] = self._words[end - values : end]
        self._bounds.append((begin, middle, middle + values))
        self._rows += n

    def pieces(self) -> Pieces:
        """Return where the rows lie; words of no meaning follow."""
        begin, middle, end = np.array(self._bounds).T
        return Pieces(self._words[: end[-1]], begin, middle, end, self._rows)

    def rows(self) -> tuple[Packed, NDArray[np.float64]]:
        """Return all rows and their labels."""
        return find(self.pieces())[:2]
