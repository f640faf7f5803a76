"""Buckets: rows that come in one order, put down in a scratch file so that a range of another order is read at once.

Every row has a position in the order that is wanted. A bucket is a range of positions. Rows are gathered in memory to a run,
sorted by bucket, and the run is written in one sweep: the file is written from front to back, and a bucket is read as one
piece of each run. It is sorting by distribution (J. S. Vitter, External memory algorithms and data structures, ACM Computing
Surveys 33(2), 2001), where the order is known beforehand.

The file has no name: the system frees it when the process ends, however it ends, so there is never anything to clean up.
Where the pieces lie is known to this process only. Each has a checksum.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR, nbytes, stack_rows
from olscale.data.held import Held
from olscale.data.layouts.base import Block
from olscale.data.packed import Packed, pack, room_for
from olscale.errors import DatasetError

__all__ = ["Buckets", "scratch_folder"]


class Buckets:
    """Rows by bucket.

    Parameters
    ----------
    positions : int
        How many positions there are.
    size : int
        Positions of a bucket; the last one may have fewer.
    run_bytes : int
        Bytes of rows that are gathered before they are sorted and written.
    title : str
        What is permuted, for error messages.

    Examples
    --------
    >>> buckets = Buckets(positions=4, size=2, run_bytes=100, title="four numbers")
    >>> buckets.add(np.array([3, 0, 1, 2]), Block(np.array([[30], [0], [10], [20]], dtype=np.uint8), np.zeros(4)))
    >>> rows, where = buckets.read(1)
    >>> rows.take(where).X.tolist()
    [[20], [30]]
    """

    def __init__(self, positions: int, size: int, run_bytes: int, title: str) -> None:
        self._size, self._run_bytes, self._title = size, run_bytes, title
        self._waiting: list[tuple[NDArray[Any], Block]] = []
        self._bytes = 0
        self._room: Packed | None = None
        self._kinds: list[tuple[np.dtype[Any], tuple[int, ...]]] = []
        self._small = np.int32 if size < 1 << 31 else np.int64
        self._end = 0
        self._pieces: list[list[_Piece]] = [[] for _ in range(-(-positions // size))]
        with self._told():
            folder = scratch_folder()
            folder.mkdir(parents=True, exist_ok=True)
            self._file: Any = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - open as long as we are
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, position: NDArray[Any], block: Block) -> None:
        """Put down the rows of `block`, each at its position; in the end every position must have been given once."""
        self._waiting.append((position, block))
        self._bytes += nbytes(block.X)
        if self._bytes >= self._run_bytes:
            self._flush()

    def pieces(self, number: int) -> Iterator[tuple[NDArray[Any], Block]]:
        """Yield the rows of bucket `number` as they were put down, with their positions counted from its first one."""
        self._end_of_rows()
        for piece in self._pieces[number]:
            rows, position = self._load([piece])
            yield position, rows.take(np.arange(len(position)))

    def read(self, number: int) -> tuple[Held, NDArray[np.int64]]:
        """Return the rows of bucket `number` and, for each of its positions in order, which row belongs there."""
        self._end_of_rows()
        rows, position = self._load(self._pieces[number])
        where = np.empty(len(position), np.int64)
        where[position] = np.arange(len(position))
        return rows, where

    def _end_of_rows(self) -> None:
        self._flush()
        self._room = None

    def _flush(self) -> None:
        if self._waiting:
            waiting, self._waiting, self._bytes = self._waiting, [], 0
            position, block = waiting[0]
            if len(waiting) > 1:
                position = np.concatenate([position for position, _ in waiting])
                label = np.concatenate([block.label for _, block in waiting])
                block = Block(stack_rows([block.X for _, block in waiting]), label)
            self._write(position, block)

    def _write(self, position: NDArray[np.int64], block: Block) -> None:
        bucket = position // self._size
        order = np.argsort(bucket.astype(np.uint16) if len(self) < 1 << 16 else bucket, kind="stable")  # 16 bits: radix
        counts = np.bincount(bucket, minlength=len(self))
        bounds = np.concatenate([[0], np.cumsum(counts)])
        arrays, cuts = [(position % self._size)[order].astype(self._small), block.label[order]], [bounds] * 2
        if isinstance(block.X, CSR):
            X = self._packed(block.X, order)
            arrays += [np.diff(X.indptr).astype(np.int32), np.diff(X.starts).astype(np.int32), X.indices, X.values]
            cuts += [bounds, bounds, X.indptr[bounds], X.starts[bounds]]
        else:
            arrays, cuts = [*arrays, block.X[order]], [*cuts, bounds]
        self._kinds = [(array.dtype, array.shape[1:]) for array in arrays]
        with self._told():
            self._file.seek(self._end)
            for number in np.flatnonzero(counts):
                parts = [array[cut[number] : cut[number + 1]] for array, cut in zip(arrays, cuts, strict=True)]
                sizes = tuple(len(part) for part in parts)
                self._pieces[number].append(_Piece(self._end, sizes, _checksum(parts)))
                for part in parts:
                    self._end += _write(self._file, part)

    def _packed(self, X: CSR, order: NDArray[np.int64]) -> Packed:
        rows, entries = len(order), int(X.indptr[-1] - X.indptr[0])
        if self._room is None or len(self._room.indptr) <= rows or len(self._room.indices) <= entries:
            self._room = room_for(rows, entries + entries // 8)
        return pack(X, order, self._room)

    def _load(self, pieces: Sequence[_Piece]) -> tuple[Held, NDArray[np.int64]]:
        totals = np.sum([piece.sizes for piece in pieces], axis=0)
        arrays = [np.empty((total, *tail), dtype) for total, (dtype, tail) in zip(totals, self._kinds, strict=True)]
        first = np.zeros(len(arrays), np.int64)
        with self._told():
            for piece in pieces:
                last = first + piece.sizes
                parts = [array[low:high] for array, low, high in zip(arrays, first, last, strict=True)]
                self._file.seek(piece.offset)
                for part in parts:
                    _read(self._file, part)
                if _checksum(parts) != piece.checksum:
                    raise OSError("what is read is not what was written")
                first = last
        position, label, *rest = arrays
        if len(rest) == 1:
            return Held(rest[0], label), position
        lengths, others, indices, values = rest
        return Held(Packed(_ends(lengths), _ends(others), indices, values), label), position

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in one line what is wrong with the scratch folder."""
        try:
            yield
        except OSError as error:
            raise DatasetError(
                f"cannot permute {self._title} in scratch folder {scratch_folder()}: {error.strerror or error}; "
                "rows take as much there as in memory: name another folder in OLSCALE_SCRATCH, or raise the memory limit"
            ) from error


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of one bucket in one run: where they lie in the file, the lengths of their arrays, and the crc32 of these."""

    offset: int
    sizes: tuple[int, ...]
    checksum: int


def scratch_folder() -> Path:
    """Return the folder for scratch files: OLSCALE_SCRATCH, or the system's folder for temporary files (TMPDIR)."""
    return Path(os.environ.get("OLSCALE_SCRATCH") or tempfile.gettempdir())


def _ends(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    return ends


def _bytes(array: NDArray[Any]) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _checksum(arrays: Sequence[NDArray[Any]]) -> int:
    from isal.isal_zlib import crc32

    code = 0
    for array in arrays:
        code = crc32(_bytes(array), code)
    return code


def _write(file: Any, array: NDArray[Any]) -> int:
    rest = _bytes(array)
    while rest:
        rest = rest[file.write(rest) :]
    return array.nbytes


def _read(file: Any, array: NDArray[Any]) -> None:
    rest = _bytes(array)
    while rest:
        got = file.readinto(rest)
        if not got:
            raise OSError("the scratch file is shorter than what was written")
        rest = rest[got:]
