"""The contract between a dataset and the files it lies in.

A layout stores the chunks of one split below ``DEST/<split>/``. It stores what it is given, bit for bit: dense rows in
their own small type (pixels stay uint8), labels raw. Meaning (classes, checksums, order) belongs to the manifest and is
the same for every layout, so two layouts of the same rows are the same dataset.

A writer gets the chunks one after another, each with ``chunk_rows`` rows but the last, and learns the number of columns
only at the end, because the width of sparse text is known only after its last row. A reader reads any chunk at any time
and keeps no more than that chunk in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR
from olscale.data.storage import Directory

__all__ = ["Block", "SplitReader", "SplitShape", "SplitWriter", "StoredRows"]

StoredRows: TypeAlias = NDArray[Any] | CSR
"""Rows as stored: dense of any small numeric type, or CSR."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows as they are stored.

    Parameters
    ----------
    X : StoredRows
        Dense array of shape (rows, columns) in its stored type, or CSR rows.
    label : ndarray of shape (rows,), float64
        Raw labels: numbers, or positions in the manifest's ``label_names``.
    """

    X: StoredRows
    label: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.label)

    @property
    def nonzeros(self) -> int:
        """Stored entries (CSR) or entries that are not zero (dense)."""
        if isinstance(self.X, CSR):
            return int(self.X.indptr[-1] - self.X.indptr[0])
        return int(np.count_nonzero(self.X))


@dataclass(frozen=True, slots=True)
class SplitShape:
    """What a reader must know of a split before it opens a file."""

    split: str
    kind: str
    columns: int
    rows: int
    chunk_rows: int

    def span(self, i: int) -> tuple[int, int]:
        """Return first row and end of chunk `i`."""
        return i * self.chunk_rows, min((i + 1) * self.chunk_rows, self.rows)


class SplitWriter(ABC):
    """Writes the chunks of one split, in order.

    Parameters
    ----------
    directory : Directory
        The dataset's directory.
    split : str
        Name of the split, the directory below.
    chunk_rows : int
        Rows of every chunk but the last.
    """

    def __init__(self, directory: Directory, split: str, chunk_rows: int) -> None:
        self.directory, self.split, self.chunk_rows = directory, split, chunk_rows

    @abstractmethod
    def append(self, block: Block) -> str:
        """Write the next chunk and return the file (or the range of files) that holds it, for messages."""

    @abstractmethod
    def safe(self) -> int:
        """Return how many chunks a reader would find if the process ended now."""

    @abstractmethod
    def finish(self, columns: int) -> None:
        """Write what is still held back; `columns` is the width so far, the final one in the last call."""


class SplitReader(ABC):
    """Reads single chunks of one split.

    Parameters
    ----------
    directory : Directory
        The dataset's directory.
    shape : SplitShape
        From the manifest.
    """

    def __init__(self, directory: Directory, shape: SplitShape) -> None:
        self.directory, self.shape = directory, shape

    @abstractmethod
    def read(self, i: int) -> Block:
        """Return chunk `i`; any exception means that its files are damaged."""
