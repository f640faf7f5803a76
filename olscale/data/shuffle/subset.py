"""Rows of a split in an order other than the file's: three methods with the same chunks."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import Chunk, join_chunks
from olscale.data.dataset import Dataset
from olscale.data.shuffle.external import ExternalShuffle, chunk_bytes
from olscale.data.shuffle.in_memory import most_bytes, split_in_memory


class OrderedRows(Protocol):
    """Chunks by number."""

    def chunk(self, i: int) -> Chunk:
        """Return chunk number `i`."""


def ordered_rows(
    dataset: Dataset,
    split: str,
    order: NDArray[np.int64],
    limit: int,
) -> OrderedRows:
    """Return the rows of `split` at `order`, in chunks of as many rows as the file's.

    Parameters
    ----------
    dataset : Dataset
    split : str
    order : int64 array of shape (rows,)
        Distinct rows of the split.
    limit : int
        Bytes of memory available. Only memory and speed depend on it.

    Raises
    ------
    ParameterError
        If the limit is too small for the order itself and a few chunks.
    """
    if (
        most_bytes(dataset, split) + order.nbytes + 3 * chunk_bytes(dataset, split)
        <= limit
    ):
        return InMemory(dataset, split, order, limit)
    # As the rows of a fold in file order, which need neither memory nor a scratch file.
    if np.all(order[1:] > order[:-1]):
        return Subset(dataset, split, order)
    return ExternalShuffle(dataset, split, order, limit)


class InMemory:
    """Rows of a split held in memory, shared by all its readers in this process."""

    def __init__(
        self,
        dataset: Dataset,
        split: str,
        order: NDArray[np.int64],
        limit: int,
    ) -> None:
        self._dataset = dataset
        self._split = split
        self._order = order
        self._limit = limit

    def chunk(self, i: int) -> Chunk:
        """Return chunk number `i`."""
        size = self._dataset.manifest.chunk_rows
        rows = split_in_memory(
            self._dataset, self._split, self._limit - self._order.nbytes
        )
        return self._dataset.decoded(rows.take(self._order[i * size : (i + 1) * size]))


class Subset:
    """Rows in ascending order, taken from the file; each of its chunks is read once per pass."""

    def __init__(
        self,
        dataset: Dataset,
        split: str,
        order: NDArray[np.int64],
    ) -> None:
        self._dataset = dataset
        self._split = split
        self._order = order
        self._last: tuple[int, Chunk] | None = None

    def chunk(self, i: int) -> Chunk:
        """Return chunk number `i`."""
        size = self._dataset.manifest.chunk_rows
        order = self._order[i * size : (i + 1) * size]
        parts = []
        for number in np.unique(order // size).tolist():
            chunk = self._read(number)
            parts.append(chunk.take(order[order // size == number] - number * size))
            del chunk  # or memory would hold two chunks during the next read
        return join_chunks(parts)

    def _read(self, number: int) -> Chunk:
        if self._last is None or self._last[0] != number:
            # Or memory would hold two chunks during the read.
            self._last = None
            self._last = number, self._dataset.chunk(self._split, number)
        return self._last[1]
