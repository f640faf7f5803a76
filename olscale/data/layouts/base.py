"""The contract between a dataset and its files.

A layout stores the chunks of one split below ``DEST/<split>/``. It stores its input bit for bit:
dense rows in their own small type (pixels stay uint8), labels raw. Meaning (classes, checksums,
order) belongs to the manifest and is the same for every layout, so two layouts of the same rows are
the same dataset.

A writer receives the chunks one after another, each with ``chunk_rows`` rows except the last, and
learns the number of columns only at the end, because the width of sparse text is known only after
its last row. A reader reads any chunk at any time and holds only that chunk in memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.storage.base import Storage

StoredRows: TypeAlias = NDArray[Any] | CSR
"""Rows as stored: dense of any small numeric type, or CSR."""


def crc32(data: Any) -> int:
    """Return the crc32 of the bytes of `data`."""
    from isal.isal_zlib import crc32

    return int(crc32(data))


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
    """Facts that a reader needs about a split before it opens a file.

    `files` are the crc32 of its files by their names below the split; None in datasets of format
    version 1.
    """

    split: str
    kind: str
    columns: int
    rows: int
    chunk_rows: int
    files: Mapping[str, int] | None

    def span(self, i: int) -> tuple[int, int]:
        """Return first row and end of chunk `i`."""
        return i * self.chunk_rows, min((i + 1) * self.chunk_rows, self.rows)


class SplitWriter(ABC):
    """Writes the chunks of one split, in order.

    Parameters
    ----------
    directory : Storage
        The dataset's directory.
    split : str
        Name of the split, the directory below.
    chunk_rows : int
        Rows of every chunk but the last.

    Attributes
    ----------
    files : dict of str to int
        The crc32 of every file written, by its name below the split.
    """

    def __init__(self, directory: Storage, split: str, chunk_rows: int) -> None:
        self.directory = directory
        self.split = split
        self.chunk_rows = chunk_rows
        self.files: dict[str, int] = {}

    def write(self, name: str, data: Any) -> None:
        """Write file `name` below the split."""
        self.directory.write(f"{self.split}/{name}", data)
        # Of what was meant to be written, not of what a disk gives back.
        self.files[name] = crc32(data)

    @abstractmethod
    def append(self, parts: Sequence[Block]) -> str:
        """Write the next chunk, the rows of `parts`, and return its file (or files) for messages.

        `olscale.compiled.csr.stack_rows` joins the rows of parts.
        """

    @abstractmethod
    def safe(self) -> int:
        """Return how many chunks a reader would find if the process ended now."""

    @abstractmethod
    def finish(self, columns: int) -> None:
        """Write buffered rows; `columns` is the width so far, final in the last call."""


class SplitReader(ABC):
    """Reads single chunks of one split.

    Parameters
    ----------
    directory : Storage
        The dataset's directory.
    shape : SplitShape
        From the manifest.
    """

    def __init__(self, directory: Storage, shape: SplitShape) -> None:
        self.directory = directory
        self.shape = shape

    def file(self, name: str) -> bytes:
        """Return the bytes of file `name` below the split."""
        content = self.directory.read(f"{self.shape.split}/{name}")
        self.check(name, content)
        return content

    def check(self, name: str, content: Any) -> None:
        """Raise ValueError if `content` is not what was written to file `name`."""
        # Format version 1 has checksums of decoded chunks, which `Dataset.block` compares.
        if self.shape.files is None:
            return
        got = crc32(content)
        expected = self.shape.files.get(name)
        if got != expected:
            right = "no such file"
            if expected is not None:
                right = f"{expected:08x}"
            raise ValueError(
                f"the checksum of {self.shape.split}/{name} is {got:08x}, expected {right}"
            )

    @abstractmethod
    def read(self, i: int) -> Block:
        """Return chunk `i`; any exception means that its files are damaged."""
