"""Slots: equal spans of memory, each for the rows of one bucket, filled as the rows arrive."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.compiled.decorator import compiled
from olscale.data.layouts.base import Block, StoredRows
from olscale.data.row_codec import Pieces, find, pack, row_words
from olscale.data.shuffle.in_memory import RowsInMemory


@compiled
def _dense_words(octets: Any) -> Any:
    return 2 + (octets + 7) // 8


@compiled
def _lay(
    X: Any, label: Any, position: Any, size: Any, first: Any, slots: Any, room: Any, words: Any
) -> Any:
    fronts, _, counts = slots
    octets = words.view(np.uint8)
    fours = words.view(np.int32)
    width = X.shape[1]
    record = _dense_words(width)
    for i in range(first, len(label)):
        slot = position[i] // size
        at = fronts[slot]
        if at + record > (slot + 1) * room:
            return i
        fours[2 * at] = position[i] - slot * size
        words[at + 1] = label[i]
        for j in range(width):
            octets[8 * (at + 2) + j] = X[i, j]
        fronts[slot] = at + record
        counts[slot] += 1
    return len(label)


def record_type(X: StoredRows) -> np.dtype[Any] | None:
    """Return the record type of a dense row, position and label first; None for packed rows."""
    if isinstance(X, CSR):
        return None
    words = _dense_words(X.shape[1] * X.itemsize)
    # The position takes a word of its own, so that the label is aligned.
    formats = [np.int32, np.float64, (X.dtype, (X.shape[1],))]
    return np.dtype(
        {
            "names": ["position", "label", "X"],
            "formats": formats,
            "offsets": [0, 8, 16],
            "itemsize": 8 * words,
        }
    )


class WriteBuffer:
    """Slots of `room` words for `count` buckets of `size` positions; `rows` counts their rows."""

    def __init__(self, count: int, room: int, size: int) -> None:
        self.room = room
        self.rows = np.zeros(count, np.int64)
        self._size = size
        self._words = np.empty(count * room)
        self._begin = np.arange(count) * room
        self._front = self._begin.copy()
        self._back = self._begin + room

    def put(self, position: NDArray[Any], block: Block, first: int) -> int:
        """Add rows of `block` from row `first` on; return the first that does not fit."""
        slots = (self._front, self._back, self.rows)
        if isinstance(block.X, CSR):
            return pack(block.X, block.label, position, self._size, first, slots, self._words)
        X = np.ascontiguousarray(block.X).view(np.uint8)
        return int(_lay(X, block.label, position, self._size, first, slots, self.room, self._words))

    def content(self, number: int) -> tuple[NDArray[np.float64], int]:
        """Return the content of slot `number` as one piece, and the words of its records."""
        begin, front, back = (
            int(where[number]) for where in (self._begin, self._front, self._back)
        )
        # Moved next to the records, so that a slot is written as one piece.
        values = self._words[back : begin + self.room]
        self._words[front : front + len(values)] = values
        return self._words[begin : front + len(values)], front - begin

    def clear(self, number: int) -> None:
        """Empty slot `number`."""
        self.rows[number] = 0
        self._front[number], self._back[number] = (
            self._begin[number],
            self._begin[number] + self.room,
        )


def words_of(X: StoredRows, row: int) -> int:
    """Return the number of words that a slot must have for a row."""
    if isinstance(X, CSR):
        return row_words(int(X.indptr[row + 1] - X.indptr[row]))
    return int(_dense_words(X.shape[1] * X.itemsize))


def open_pieces(
    pieces: Pieces, record: np.dtype[Any] | None
) -> tuple[RowsInMemory, NDArray[np.int32]]:
    """Return the rows of written slots, in the order they were added, and their positions."""
    if record is None:
        rows, label, position = find(pieces)
        return RowsInMemory(rows, label), position
    records = pieces.words.view(record)
    return RowsInMemory(records["X"], records["label"]), records["position"]
