"""Rows of a split in any order, through buckets in a scratch file.

One pass over the split fills the buckets, which are then read one after the other.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from olscale.compiled.csr import take_rows
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.layouts.base import Block
from olscale.data.shuffle.in_memory import RowsInMemory, most_bytes, release
from olscale.data.shuffle.spill_file import SpillFile
from olscale.errors import ParameterError
from olscale.system.sizes import size_text

_Rows: TypeAlias = Iterator[tuple[NDArray[Any], Block]]
_Bucket: TypeAlias = tuple[RowsInMemory, NDArray[np.int64]]

# Smallest size of a slot in bytes: shorter reads would be little but seeks.
_SHORTEST_PIECE = 1 << 16
# Bytes beyond which longer slots gain nothing.
_PIECE = 1 << 20

# Share of the limit for rows of buckets in memory.
_SHARE = 0.6

# Bytes per row of a bucket: its places, entries, label, position, and its destination.
_FOUND_BYTES = 48

# Largest number of rows of a bucket: a row keeps its position within it in four bytes.
_MOST_ROWS = (1 << 31) - 1


# One scratch file without a name: the system frees it when the process ends, also by SIGKILL.
# Each run group makes its own pass, since ten permutations in one pass would need ten scratch
# files and fail together. The promise is half the speed of file order at least (`olscale bench
# permute`).
class ExternalShuffle:
    """Buckets filled on the first request; parameters and errors are those of `ordered_rows`."""

    def __init__(
        self,
        dataset: Dataset,
        split: str,
        order: NDArray[np.int64],
        limit: int,
    ) -> None:
        self._dataset = dataset
        self._split = split
        self._limit = limit
        self._order = order
        self._rows = len(order)
        self._title = f"{dataset.path} ({split} split)"
        self._sizes = self._bucket_sizes()
        self._first: SpillFile | None = None
        self._second: tuple[int, SpillFile] | None = None
        self._bucket: tuple[int, _Bucket] | None = None
        self._ahead: Future[NDArray[np.float64]] | None = (
            None  # reads the bucket after the current one
        )
        # One thread: all reads move the one position of the file.
        self._reader = ThreadPoolExecutor(1, "olscale-buckets")

    def chunk(self, i: int) -> Chunk:
        """Return chunk `i`; its bucket stays in memory until another is needed.

        If the next bucket also fits, a thread reads it meanwhile.
        """
        rows = self._dataset.manifest.chunk_rows
        size = self._sizes[-1]
        # A bucket is a number of whole chunks, so that no chunk needs two.
        number, start = divmod(i * rows, size)
        if self._bucket is None or self._bucket[0] != number:
            following = 0
            if self._bucket is not None:
                following = self._bucket[0] + 1
            forward = number == following
            self._bucket = None  # or memory would hold two buckets
            self._bucket = number, self._read(number, forward)
        rows_here, where = self._bucket[1]
        return self._dataset.decoded(rows_here.take(where[start : start + rows]))

    def _bucket_sizes(self) -> tuple[int, ...]:
        """Return the rows of a bucket, whole chunks.

        If there would be too many buckets, the rows of a wider bucket come first.
        """
        chunk_rows = self._dataset.manifest.chunk_rows
        rows = self._dataset.rows(self._split)
        chunk = chunk_bytes(self._dataset, self._split)
        # The order and its inverse; four chunks to decode one, and one for the slots of all
        # buckets.
        needed = 12 * rows + 5 * chunk
        if self._limit < needed:
            raise ParameterError(
                f"a memory limit of {size_text(self._limit)} is too small to permute "
                f"{self._title}: its order and five "
                f"chunks of {chunk_rows:,} rows need {size_text(needed)}; raise the limit, or "
                "ingest in chunks of fewer rows"
            )
        row = most_bytes(self._dataset, self._split) / rows + 24
        size = (
            max(1, int(min(self._limit * _SHARE / row, _MOST_ROWS)) // chunk_rows)
            * chunk_rows
        )
        count = -(-self._rows // size)
        # The slots of all buckets share an eighth of the limit.
        most = max(2, self._limit // 8 // _SHORTEST_PIECE)
        if count <= most:
            return (size,)
        return (size * min(-(-count // most), _MOST_ROWS // size), size)

    def _read(self, number: int, forward: bool) -> _Bucket:
        pending = self._ahead
        self._ahead = None
        if pending is not None and not forward:
            pending.exception()  # wait for it: only one thread may read the file
            pending = None
        buckets, place = self._find(number)
        words = (
            buckets.read(place, buckets.memory(place))
            if pending is None
            else pending.result()
        )
        if forward and place + 1 < len(buckets):
            following = buckets.memory(place + 1)
            if (
                words.nbytes + following.nbytes + _FOUND_BYTES * self._sizes[-1]
                <= self._limit * _SHARE
            ):
                # The main thread owns its memory: memory that another thread allocates would stay
                # with that thread when freed.
                self._ahead = self._reader.submit(buckets.read, place + 1, following)
        return buckets.rows(place, words)

    def _find(self, number: int) -> tuple[SpillFile, int]:
        """Return the file of bucket `number`, and its number there."""
        if self._first is None:
            release(0)  # this object may use all of the limit
            self._first = self._scatter(self._file_order(), self._rows, self._sizes[0])
            # The rows carry their positions now, and the order takes 8 bytes a row.
            self._order = np.empty(0, np.int64)
            # Memory that decoding used; a bucket would not fit into it.
            pa.default_memory_pool().release_unused()
        if len(self._sizes) == 1:
            return self._first, number
        wide, narrow = divmod(number, self._sizes[0] // self._sizes[1])
        if self._second is None or self._second[0] != wide:
            # Before the next one is written: the scratch folder need not have room for both.
            self._second = None
            rows = min(self._sizes[0], self._rows - wide * self._sizes[0])
            self._second = (
                wide,
                self._scatter(self._first.pieces(wide), rows, self._sizes[1]),
            )
        return self._second[1], narrow

    def _scatter(self, source: _Rows, rows: int, size: int) -> SpillFile:
        room = min(self._limit // 8, -(-rows // size) * _PIECE)
        buckets = SpillFile(rows, size, room, self._title)
        for position, block in source:
            buckets.add(position, block)
            del position, block  # or memory would hold two blocks during the next read
        return buckets

    def _file_order(self) -> _Rows:
        """Yield the rows in the order as they are read, with their positions in the order."""
        rows = self._dataset.rows(self._split)
        position: NDArray[Any] = np.full(
            rows, -1, np.int32 if rows < 1 << 31 else np.int64
        )
        position[self._order] = np.arange(len(self._order), dtype=position.dtype)
        for i, start in enumerate(self._dataset.chunk_starts(self._split)):
            block = self._dataset.block(self._split, i)
            places = position[start : start + len(block)]
            # Rows that a fold leaves out have no position.
            if places.min() < 0:
                index = np.flatnonzero(places >= 0)
                block = Block(take_rows(block.X, index), block.label[index])
                places = places[index]
            yield places, block
            del places, block


def chunk_bytes(dataset: Dataset, split: str) -> int:
    """Return the mean bytes of a full chunk of `split` as learners receive it."""
    rows = min(dataset.rows(split), dataset.manifest.chunk_rows)
    if dataset.kind == "dense":
        return rows * (dataset.manifest.stored_columns + 1) * 8
    return int(rows * (12 * dataset.nonzeros(split) / max(1, dataset.rows(split)) + 24))
