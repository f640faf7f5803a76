"""Packed rows: sparse rows in a third of their size, for memory and scratch files.

Most features of wide sparse data mark presence with the value 1, and most of them are frequent, so
that their indices are close together. An entry takes the lower half of its index, two bytes, and a
bit that says whether its value differs from 1; such a value takes eight more bytes. Entries whose
indices have the same upper half are a run of four bytes. Packing takes one pass, and unpacking
restores the same bits.

A piece is a number of rows in words of eight bytes. At its front there is a record for each row:
its position (int32), the numbers of its entries, runs and other values (int32 each), its label
(float64), then lower halves and runs (length and upper half, uint16 each), padded to a word, and
the bits. The values stand at the end of the piece, those of the first row last, from right to left:
their number is known only after reading the row, which is read once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.compiled.packed_rows import find_rows, pack_rows, unpack_rows
from olscale.compiled.simd.packing import LANES

ENTRY_BYTES = 15
"""Largest number of bytes of an entry."""
ROW_BYTES = 66
"""Largest number of bytes of a row, besides its entries."""
SPARE_WORDS = 4
"""Words after the last piece that are read as part of a vector, with any content."""


class Pieces(NamedTuple):
    """Pieces of `rows` rows: words with records in ``begin:middle``, values in ``middle:end``.

    After the last one there is memory for `SPARE_WORDS` more.
    """

    words: NDArray[np.float64]
    begin: NDArray[np.int64]
    middle: NDArray[np.int64]
    end: NDArray[np.int64]
    rows: int


class Packed(NamedTuple):
    """Sparse rows in pieces: start of each record, end of its values, and number of entries."""

    words: NDArray[np.float64]
    record: NDArray[np.int64]
    values: NDArray[np.int64]
    entries: NDArray[np.int32]


def row_words(entries: int) -> int:
    """Return the largest number of words that a row with `entries` entries takes."""
    return 5 + 2 * entries


# A URL-like row takes 1,309 bytes as arrays and about 400 like this. Steps between indices in a
# varying number of bytes are smaller but slower: their lengths are mispredicted.
def pack(
    X: CSR,
    label: NDArray[np.float64],
    position: NDArray[Any],
    size: int,
    first: int,
    slots: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    words: NDArray[np.float64],
) -> int:
    """Pack rows of `X` from `first` on, each in its slot; return the first that does not fit.

    Parameters
    ----------
    X : CSR
    label : float64 array of shape (rows,)
    position : int array of shape (rows,)
    size : int
        Positions per slot. A record keeps the position within its slot.
    first : int
    slots : tuple of int64 arrays of shape (slots,)
        Where the next record begins, where the next values end, and the number of rows; updated.
    words : float64 array
        Memory of all slots.

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
    record = np.empty(n, np.int64)
    values = np.empty(n, np.int64)
    entries = np.empty(n, np.int32)
    rows = Packed(pieces.words, record, values, entries)
    label = np.empty(n)
    position = np.empty(n, np.int32)
    find_rows(
        pieces.begin, pieces.middle, pieces.end, rows[1:], pieces.words, position, label
    )
    return rows, label, position


def unpack(rows: Packed, order: NDArray[np.int64]) -> CSR:
    """Return the rows at `order` as CSR rows."""
    entries = int(rows.entries[order].sum())
    indptr = np.zeros(len(order) + 1, np.int64)
    # The loop writes whole vectors, beyond the last entry too.
    indices = np.empty(entries + LANES, np.int32)
    data = np.empty(entries + LANES)
    unpack_rows(rows.words, rows.record, rows.values, order, indptr, indices, data)
    return CSR(indptr, indices[:entries], data[:entries])


class PackedRows:
    """Rows that are packed block by block, into memory allocated once.

    Parameters
    ----------
    rows, entries : int
        Their final numbers. Unused memory is never touched.

    Examples
    --------
    >>> blocks = PackedRows(2, 2)
    >>> for index in (7, 3):
    ...     row = CSR(np.array([0, 1]), np.array([index], np.int32), np.array([0.5]))
    ...     blocks.add(row, np.zeros(1))
    >>> rows, label = blocks.rows()
    >>> unpack(rows, np.array([1, 0])).indices
    array([3, 7], dtype=int32)
    """

    def __init__(self, rows: int, entries: int) -> None:
        # Room for the worst case: pages that nothing is written to take no memory.
        words = rows * row_words(0) + 2 * entries
        self._words = np.empty(words + SPARE_WORDS)
        self._bounds = [(0, 0, 0)]
        self._rows = 0

    def add(self, X: CSR, label: NDArray[np.float64]) -> None:
        """Append the rows of `X`, packed."""
        begin = self._bounds[-1][-1]
        n = len(label)
        entries = int(X.indptr[-1] - X.indptr[0])
        end = begin + n * row_words(0) + 2 * entries
        # One slot for all rows, as long as they can be at worst.
        front = np.array([begin])
        back = np.array([end])
        count = np.array([0])
        slots = (front, back, count)
        pack(X, label, np.arange(n), max(1, n), 0, slots, self._words)
        middle = int(front[0])
        values = end - int(back[0])
        # Close the gap between the records and their values.
        self._words[middle : middle + values] = self._words[end - values : end]
        self._bounds.append((begin, middle, middle + values))
        self._rows += n

    def pieces(self) -> Pieces:
        """Return the location of the rows; words without meaning follow."""
        begin, middle, end = np.array(self._bounds).T
        return Pieces(self._words[: end[-1]], begin, middle, end, self._rows)

    def rows(self) -> tuple[Packed, NDArray[np.float64]]:
        """Return all rows and their labels."""
        return find(self.pieces())[:2]
