"""Parquet layout: one file a chunk, ``train/00000.parquet``.

Columns ``label`` (double), then ``indices`` (list of int32) and ``values`` (list of double) of sparse rows, or
``features`` (fixed-size list) of dense ones. Lists and elements are declared non-null, pages are plain and lz4, which is
what `read_plain` reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from olscale.data.chunk import CSR
from olscale.data.layouts._parquet_pages import read_plain
from olscale.data.layouts.base import Block, SplitReader, SplitWriter, StoredRows
from olscale.data.rebatch import join

__all__ = ["Reader", "Writer"]


def _file(i: int) -> str:
    return f"{i:05d}.parquet"


def _element(kind: Any) -> Any:
    return pa.field("element", kind, nullable=False)


def _table(X: StoredRows, label: NDArray[np.float64]) -> Any:
    fields, columns = [pa.field("label", pa.float64(), nullable=False)], [pa.array(label)]
    if isinstance(X, CSR):
        start, stop = int(X.indptr[0]), int(X.indptr[-1])
        offsets = pa.array((X.indptr - start).astype(np.int32))
        for name, values in (("indices", X.indices), ("values", X.data)):
            items = pa.array(values[start:stop])
            kind = pa.list_(_element(items.type))
            fields.append(pa.field(name, kind, nullable=False))
            columns.append(pa.ListArray.from_arrays(offsets, items, type=kind))
    else:
        items = pa.array(np.ascontiguousarray(X).reshape(-1))
        kind = pa.list_(_element(items.type), X.shape[1])
        fields.append(pa.field("features", kind, nullable=False))
        columns.append(pa.FixedSizeListArray.from_arrays(items, type=kind))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


class Writer(SplitWriter):
    """Writes one Parquet file a chunk."""

    _buffer: Any = None

    def append(self, parts: Sequence[Block]) -> str:
        """Write the next file and return its name."""
        name = _file(len(self.files))
        self.write(name, self._encode(join(parts)))
        return f"{self.split}/{name}"

    def _encode(self, block: Block) -> memoryview:
        # One buffer for all chunks: with a growing one half the time goes into fresh pages.
        room = _most_bytes(block)
        if self._buffer is None or self._buffer.size < room:
            self._buffer = pa.allocate_buffer(room)
        sink = pa.FixedSizeBufferWriter(self._buffer)
        pq.write_table(
            _table(block.X, block.label),
            sink,
            row_group_size=max(1, len(block)),
            compression="lz4",
            use_dictionary=False,
            write_statistics=False,
        )
        return memoryview(self._buffer)[: sink.tell()]

    def safe(self) -> int:
        """Return the number of files."""
        return len(self.files)

    def finish(self, columns: int) -> None:
        """Do nothing: every file was complete when it was written."""


def _most_bytes(block: Block) -> int:
    """Return more bytes than the file of `block` can take."""
    # Parquet stores no number in less than four bytes; levels take bits, and lz4 adds little where it cannot shrink.
    X, fixed = block.X, 1 << 20
    entries = block.nonzeros * 14 if isinstance(X, CSR) else X.size * (max(4, X.itemsize) + 1)
    return fixed + (entries + 16 * len(block)) * 9 // 8


class Reader(SplitReader):
    """Reads one Parquet file a chunk."""

    def read(self, i: int) -> Block:
        """Return chunk `i`."""
        name = _file(i)
        with self.directory.arrow_file(f"{self.shape.split}/{name}") as source:
            file = source.read_buffer()
            self.check(name, file)
            columns = read_plain(file) or _read(file)
        label = columns["label"][0]
        if self.shape.kind == "dense":
            return Block(columns["features"][0].reshape(len(label), self.shape.columns), label)
        (indices, indptr), (values, _) = columns["indices"], columns["values"]
        return Block(CSR(indptr, indices, values), label)


def _read(file: Any) -> dict[str, tuple[NDArray[Any], NDArray[np.int64]]]:
    """Return what `read_plain` would, as views of Arrow's buffers."""
    table = pq.ParquetFile(pa.BufferReader(file)).read(use_threads=False)
    found = {}
    for name in table.column_names:
        column = table.column(name)
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if name in ("indices", "values"):
            # `values` ignores an offset of the list array, `offsets` does not: together they are right for any slice.
            found[name] = array.values.to_numpy(), array.offsets.to_numpy().astype(np.int64)
        else:
            flat = (array.flatten() if name == "features" else array).to_numpy()
            found[name] = flat, np.arange(len(array) + 1)
    return found
