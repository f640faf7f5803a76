"""Zarr v3 layout: one group a split.

Dense rows are the array ``X`` of shape (rows, columns), a zarr chunk for each chunk of the dataset, in their own type.
Sparse rows follow AnnData's convention: group attributes ``encoding-type: csr_matrix``, ``encoding-version`` and
``shape``; arrays ``data``, ``indices``, ``indptr``. Labels are the array ``label``. Row-wise arrays are cut where the
dataset is cut. The entries of sparse rows cannot be (zarr's grid is regular, rows differ in length), so they are cut
into pieces a good deal smaller than a chunk: a read decodes at most one piece too many.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec

from olscale.data.chunk import CSR
from olscale.data.layouts.base import Block, SplitReader, SplitWriter
from olscale.data.storage import Directory

__all__ = ["Reader", "Writer"]

_PIECE = 1 << 19
"""Most entries of one piece of ``data`` and ``indices`` (4 MB and 2 MB)."""


class _Column:
    """An array that grows by whole zarr chunks, so that none is written twice."""

    def __init__(self, group: Any, name: str, dtype: Any, piece: int, width: tuple[int, ...] = ()) -> None:
        # Few different values (ones, frequencies) are typical of sparse rows: whole numbers repeat, shuffled bytes do not.
        shuffle: Literal["noshuffle", "shuffle"] = "noshuffle" if name == "data" else "shuffle"
        self.array = group.create_array(
            name,
            shape=(0, *width),
            chunks=(piece, *width),
            dtype=dtype,
            compressors=BloscCodec(cname="lz4", clevel=5, shuffle=shuffle),
            fill_value=0,
            # A chunk of zeros is written as well: a missing file then always means damage.
            config={"write_empty_chunks": True},
        )
        self.piece, self.written = piece, 0
        self.held: list[NDArray[Any]] = []
        self.held_rows = 0

    def append(self, values: NDArray[Any]) -> None:
        self.held.append(values)
        self.held_rows += len(values)
        whole = self.held_rows // self.piece * self.piece
        if whole:
            self._write(whole)

    def finish(self) -> None:
        if self.held_rows:
            self._write(self.held_rows)

    def _write(self, rows: int) -> None:
        values = self.held[0] if len(self.held) == 1 else np.concatenate(self.held)
        start, self.written = self.written, self.written + rows
        self.array.resize((self.written, *self.array.shape[1:]))
        self.array[start : self.written] = values[:rows]
        # A copy: a view of the rest would keep the whole chunk alive.
        self.held, self.held_rows = [values[rows:].copy()], len(values) - rows


class Writer(SplitWriter):
    """Writes one zarr group a split."""

    def __init__(self, directory: Directory, split: str, chunk_rows: int) -> None:
        super().__init__(directory, split, chunk_rows)
        self._group: Any = None
        self._columns: dict[str, _Column] = {}
        self._rows = self._entries = self._piece = 0

    def append(self, block: Block) -> str:
        """Write the next chunk and return the name of the files that hold its rows."""
        if self._group is None:
            self._begin(block)
        self._columns["label"].append(block.label)
        self._rows += len(block)
        if not isinstance(block.X, CSR):
            self._columns["X"].append(block.X)
            return f"{self.split}/X/c/{(self._rows - 1) // self.chunk_rows}/0"
        indptr, indices, data = block.X
        span = slice(int(indptr[0]), int(indptr[-1]))
        first, self._entries = self._entries, self._entries + span.stop - span.start
        self._columns["indptr"].append(indptr[1:] - indptr[0] + first)
        self._columns["indices"].append(indices[span])
        self._columns["data"].append(data[span])
        low, high = first // self._piece, max(first, self._entries - 1) // self._piece
        return f"{self.split}/{{data,indices}}/c/{low}" + (f"-{high}" if high > low else "")

    def _begin(self, block: Block) -> None:
        store = self.directory.zarr_store(self.split, read_only=False)
        self._group = zarr.create_group(store=store, zarr_format=3)
        self._add("label", np.float64, self.chunk_rows)
        if not isinstance(block.X, CSR):
            self._add("X", block.X.dtype, self.chunk_rows, (block.X.shape[1],))
            return
        self._piece = min(_PIECE, max(1024, block.nonzeros))
        self._add("data", np.float64, self._piece)
        self._add("indices", np.int32, self._piece)
        self._add("indptr", np.int64, self.chunk_rows)
        self._columns["indptr"].append(np.zeros(1, dtype=np.int64))

    def _add(self, name: str, dtype: Any, piece: int, width: tuple[int, ...] = ()) -> None:
        self._columns[name] = _Column(self._group, name, dtype, piece, width)

    def finish(self, columns: int) -> None:
        """Write the last pieces and, for sparse rows, the attributes."""
        for column in self._columns.values():
            column.finish()
        if "indptr" in self._columns:
            self._group.attrs.update(
                {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [self._rows, columns]}
            )


class Reader(SplitReader):
    """Reads spans of rows of one zarr group."""

    _arrays: dict[str, Any] | None = None

    def _open(self) -> dict[str, Any]:
        if self._arrays is None:
            store = self.directory.zarr_store(self.shape.split, read_only=True)
            group = zarr.open_group(store=store, mode="r", zarr_format=3)
            names = ("label", "X") if self.shape.kind == "dense" else ("label", "indptr", "indices", "data")
            self._arrays = {name: group[name] for name in names}
        return self._arrays

    def read(self, i: int) -> Block:
        """Return chunk `i`."""
        arrays, (start, stop) = self._open(), self.shape.span(i)
        label = np.asarray(arrays["label"][start:stop])
        if self.shape.kind == "dense":
            return Block(np.asarray(arrays["X"][start:stop]), label)
        indptr = np.asarray(arrays["indptr"][start : stop + 1])
        first, last = int(indptr[0]), int(indptr[-1])
        indices, data = np.asarray(arrays["indices"][first:last]), np.asarray(arrays["data"][first:last])
        return Block(CSR(indptr - first, indices, data), label)
