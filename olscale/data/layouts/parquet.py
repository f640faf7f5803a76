"""Parquet layout: one file per chunk, ``train/00000.parquet``.

Columns ``label`` (double), then ``indices`` (list of int32) and ``values`` (list of double) of
sparse rows, or ``features`` (fixed-size list) of dense ones. Lists and elements are declared
non-null, pages are plain, lz4 and of the second version, which is what `read_plain` reads.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.layouts.base import Block, SplitReader, SplitWriter
from olscale.data.stored_rows import join


def _file(i: int) -> str:
    return f"{i:05d}.parquet"


def _dense_table(X: NDArray[Any], label: NDArray[np.float64]) -> Any:
    import pyarrow as pa

    items = pa.array(np.ascontiguousarray(X).reshape(-1))
    kind = pa.list_(pa.field("element", items.type, nullable=False), X.shape[1])
    columns = [pa.array(label), pa.FixedSizeListArray.from_arrays(items, type=kind)]
    fields = [
        pa.field("label", pa.float64(), nullable=False),
        pa.field("features", kind, nullable=False),
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


class ParquetWriter(SplitWriter):
    """Writes one Parquet file per chunk."""

    _buffer: Any = None

    def append(self, parts: Sequence[Block]) -> str:
        """Write the next file and return its name."""
        from olscale.data.layouts._parquet_file import sparse_file

        name = _file(len(self.files))
        if isinstance(parts[0].X, CSR):
            self.write(name, sparse_file(parts))
        else:
            self.write(name, self._dense_file(join(parts)))
        return f"{self.split}/{name}"

    def _dense_file(self, block: Block) -> memoryview:
        # Imported here and in the reader: sparse rows are written without pyarrow, in less time
        # than its import takes.
        import pyarrow as pa
        import pyarrow.parquet as pq

        X: Any = block.X
        # Parquet stores every number in at least four bytes, levels take bits, and lz4 adds little
        # to incompressible data.
        values = X.size * (max(4, X.itemsize) + 1)
        labels = 16 * len(block)
        room = (1 << 20) + (values + labels) * 9 // 8
        # One buffer for all chunks: with a growing one half the time goes into new memory pages.
        if self._buffer is None or self._buffer.size < room:
            self._buffer = pa.allocate_buffer(room)
        sink = pa.FixedSizeBufferWriter(self._buffer)
        pq.write_table(
            _dense_table(X, block.label),
            sink,
            row_group_size=max(1, len(block)),
            data_page_version="2.0",
            compression="lz4",
            use_dictionary=False,
            write_statistics=False,
        )
        return memoryview(self._buffer)[: sink.tell()]

    def safe(self) -> int:
        """Return the number of files."""
        return len(self.files)

    def finish(self, columns: int) -> None:
        """Do nothing: every file is complete once written."""


class ParquetReader(SplitReader):
    """Reads one Parquet file per chunk."""

    def read(self, i: int) -> Block:
        # It imports compiled loops, which nothing else here needs.
        from olscale.data.layouts._parquet_pages import read_plain

        name = _file(i)
        file = self.directory.map(f"{self.shape.split}/{name}")
        self.check(name, file)
        # pyarrow reads the pages of other writers, in twice the time.
        columns = read_plain(file) or _read(file)
        label = columns["label"][0]
        if self.shape.kind == "dense":
            features = columns["features"][0]
            return Block(features.reshape(len(label), self.shape.columns), label)
        indices, indptr = columns["indices"]
        values, _ = columns["values"]
        return Block(CSR(indptr, indices, values), label)


def _read(file: memoryview) -> dict[str, tuple[NDArray[Any], NDArray[np.int64]]]:
    """Return the result of `read_plain`, as views of Arrow's buffers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.ParquetFile(pa.BufferReader(file)).read(use_threads=False)
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if name in ("indices", "values"):
            # `values` ignores the offset of a list array, `offsets` does not: together they are
            # right for any slice.
            offsets = array.offsets.to_numpy().astype(np.int64)
            columns[name] = array.values.to_numpy(), offsets
        else:
            values = array.flatten() if name == "features" else array
            columns[name] = values.to_numpy(), np.arange(len(array) + 1)
    return columns


# the names by which a layout is opened
Reader = ParquetReader
Writer = ParquetWriter
