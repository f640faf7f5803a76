"""Buckets of rows in a scratch file: rows arrive in one order, and are read in another.

Every row has a position in the requested order. A bucket is a range of positions. Rows arrive one
after another, each is packed into the slot of its bucket, and a full slot is written as a piece:
the file is written from front to back, and a bucket is read piece by piece. This is sorting by
distribution (J. S. Vitter, External memory algorithms and data structures, ACM Computing Surveys
33(2), 2001), where the order is known beforehand.

The file has no name: the system frees it when the process ends, however it ends, so there is never
anything to clean up. Only this process knows where the pieces are. Each has a checksum.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, slice_rows
from olscale.compiled.decorator import compiled
from olscale.data.layouts.base import Block, StoredRows, crc32
from olscale.data.row_codec import SPARE_WORDS, Pieces, find, pack, row_words
from olscale.data.shuffle.in_memory import RowsInMemory
from olscale.errors import DatasetError


@compiled
def _dense_words(octets: Any) -> Any:
    return 2 + (octets + 7) // 8


@compiled
def _lay(
    X: Any,
    label: Any,
    position: Any,
    size: Any,
    first: Any,
    slots: Any,
    room: Any,
    words: Any,
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
            return pack(
                block.X, block.label, position, self._size, first, slots, self._words
            )
        X = np.ascontiguousarray(block.X).view(np.uint8)
        return int(
            _lay(
                X,
                block.label,
                position,
                self._size,
                first,
                slots,
                self.room,
                self._words,
            )
        )

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
    pieces: Pieces,
    record: np.dtype[Any] | None,
) -> tuple[RowsInMemory, NDArray[np.int32]]:
    """Return the rows of written slots, in the order they were added, and their positions."""
    if record is None:
        rows, label, position = find(pieces)
        return RowsInMemory(rows, label), position
    records = pieces.words.view(record)
    return RowsInMemory(records["X"], records["label"]), records["position"]


class SpillFile:
    """Rows by bucket, in a scratch file without a name.

    Parameters
    ----------
    positions : int
        Number of positions.
    size : int
        Positions per bucket; the last one may have fewer.
    room : int
        Bytes of memory for rows that wait to be written: each bucket has a slot, written when full.
    title : str
        Name of the permuted rows, for error messages.

    Examples
    --------
    >>> buckets = SpillFile(positions=4, size=2, room=100, title="four numbers")
    >>> X = np.array([[30], [0], [10], [20]], dtype=np.uint8)
    >>> buckets.add(np.array([3, 0, 1, 2]), Block(X, np.zeros(4)))
    >>> rows, where = buckets.rows(1, buckets.read(1, buckets.memory(1)))
    >>> rows.take(where).X.tolist()
    [[20], [30]]
    """

    def __init__(
        self,
        positions: int,
        size: int,
        room: int,
        title: str,
    ) -> None:
        self._size = size
        self._title = title
        self._pieces: list[list[_Piece]] = [[] for _ in range(-(-positions // size))]
        self._slots: WriteBuffer | None = WriteBuffer(
            len(self), room // 8 // len(self), size
        )
        self._record: np.dtype[Any] | None = None
        self._end = 0
        with self._one_line_errors():
            folder = scratch_folder()
            folder.mkdir(parents=True, exist_ok=True)
            # Open as long as this object lives: a block would close it.
            self._file: Any = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, position: NDArray[Any], block: Block) -> None:
        """Add the rows of `block`; in the end every position must have occurred once."""
        assert self._slots is not None, "rows come before they are read"
        self._record = record_type(block.X)
        row = self._slots.put(position, block, 0)
        while row < len(block):
            number = int(position[row]) // self._size
            if self._slots.rows[number]:
                self._write(number, self._slots, number)
            else:  # longer than a slot
                # A piece of its own lets all slots be shorter than the longest row.
                single_slot = WriteBuffer(1, words_of(block.X, row), self._size)
                long_row = Block(
                    slice_rows(block.X, row, row + 1), block.label[row : row + 1]
                )
                single_slot.put(
                    position[row : row + 1] - number * self._size, long_row, 0
                )
                self._write(number, single_slot, 0)
                row += 1
            row = self._slots.put(position, block, row)

    def pieces(self, number: int) -> Iterator[tuple[NDArray[Any], Block]]:
        """Yield the rows of bucket `number` as they were added, with positions within it."""
        self._end_of_rows()
        for piece in self._pieces[number]:
            rows, position = self._rows_of(
                [piece], self._read_pieces([piece], _memory([piece]))
            )
            yield position, rows.take(np.arange(len(position)))

    def memory(self, number: int) -> NDArray[np.float64]:
        """Return memory for `read`."""
        self._end_of_rows()
        return _memory(self._pieces[number])

    def read(self, number: int, words: NDArray[np.float64]) -> NDArray[np.float64]:
        """Read bucket `number` into `words`, and return them; any thread may, one at a time."""
        return self._read_pieces(self._pieces[number], words)

    def rows(
        self,
        number: int,
        words: NDArray[np.float64],
    ) -> tuple[RowsInMemory, NDArray[np.int64]]:
        """Return the rows of bucket `number`, from `words`, and the row of each position."""
        rows, position = self._rows_of(self._pieces[number], words)
        where = np.empty(len(position), np.int64)
        where[position] = np.arange(len(position))
        return rows, where

    def _end_of_rows(self) -> None:
        if self._slots is not None:
            for number in np.flatnonzero(self._slots.rows).tolist():
                self._write(number, self._slots, number)
        # Frees the memory of the slots before the first bucket is read.
        self._slots = None

    def _write(self, number: int, slots: WriteBuffer, slot: int) -> None:
        words, records = slots.content(slot)
        with self._one_line_errors():
            self._file.seek(self._end)
            _all(self._file.write, words)
        rows = int(slots.rows[slot])
        self._pieces[number].append(
            _Piece(self._end, rows, records, len(words), crc32(_bytes(words)))
        )
        self._end += words.nbytes
        slots.clear(slot)

    def _read_pieces(
        self,
        pieces: Sequence[_Piece],
        words: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        low = 0
        with self._one_line_errors():
            for piece in pieces:
                piece_words = words[low : low + piece.words]
                self._file.seek(piece.offset)
                _all(self._file.readinto, piece_words)
                # A failing disk returns other bytes without an error.
                if crc32(_bytes(piece_words)) != piece.checksum:
                    raise OSError("what is read is not what was written")
                low += piece.words
        return words

    def _rows_of(
        self,
        pieces: Sequence[_Piece],
        words: NDArray[np.float64],
    ) -> tuple[RowsInMemory, NDArray[np.int32]]:
        end = np.cumsum([piece.words for piece in pieces])
        begin = end - [piece.words for piece in pieces]
        middle = begin + [piece.records for piece in pieces]
        rows = sum(piece.rows for piece in pieces)
        return open_pieces(Pieces(words, begin, middle, end, rows), self._record)

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        """Report in one line what is wrong with the scratch folder."""
        try:
            yield
        except OSError as error:
            raise DatasetError(
                f"cannot permute {self._title} in scratch folder {scratch_folder()}: "
                f"{error.strerror or error}; "
                "rows take as much there as in memory: name another folder in OLSCALE_SCRATCH, or "
                "raise the memory limit"
            ) from error


@dataclass(frozen=True, slots=True)
class _Piece:
    """A written slot: its place, its rows, the words of its records and in all, and their crc32."""

    offset: int
    rows: int
    records: int
    words: int
    checksum: int


def _memory(pieces: Sequence[_Piece]) -> NDArray[np.float64]:
    # Unpacking reads whole vectors, also behind the last word.
    return np.empty(sum(piece.words for piece in pieces) + SPARE_WORDS)[:-SPARE_WORDS]


def scratch_folder() -> Path:
    """Return the folder for scratch files: OLSCALE_SCRATCH or the system's (TMPDIR)."""
    return Path(os.environ.get("OLSCALE_SCRATCH") or tempfile.gettempdir())


def _bytes(words: NDArray[np.float64]) -> memoryview:
    return memoryview(words.view(np.uint8))  # type: ignore[arg-type]


def _all(transfer: Callable[[memoryview], int], words: NDArray[np.float64]) -> None:
    """Write or read all of `words`: a call may end early."""
    remaining = _bytes(words)
    while remaining:
        count = transfer(remaining)
        if not count:
            raise OSError("the scratch file is shorter than what was written")
        remaining = remaining[count:]
