"""Zarr v3 layout: one group per split.

Dense rows are the array ``X`` of shape (rows, columns), one zarr chunk per chunk of the dataset, in
their own type. Sparse rows follow AnnData's convention: group attributes ``encoding-type:
csr_matrix``, ``encoding-version`` and ``shape``; arrays ``data``, ``indices``, ``indptr``. Labels
are the array ``label``. Row-wise arrays are cut where the dataset is cut. The entries of sparse
rows cannot be (zarr's grid is regular, rows differ in length), so they are cut into pieces much
smaller than a chunk: a read decodes at most one extra piece.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, trim
from olscale.data.layouts._packing import NOT_SHUFFLED, SHUFFLED, blosc_lz4
from olscale.data.layouts.base import Block, SplitReader, SplitWriter
from olscale.storage.base import Storage

# Most entries of one piece of ``data`` and ``indices`` (4 MB and 2 MB).
_PIECE = 1 << 19
_LEVEL = 5
# The header that blosc writes has the bytes of the data, and those of the file.
_HEADER = struct.Struct("<4xI4xI")


class _Column:
    """An array that grows by whole zarr chunks, so that none is written twice.

    Metadata and chunks have the bytes that zarr would write, without zarr: importing it takes as
    long as writing a small dataset, and it writes chunks at half the speed. The shape is written
    last: until then a reader relies on the manifest.

    Parameters
    ----------
    write : callable
        Writes a file below the split and records its checksum.
    describe : callable
        Writes the metadata of the named array.
    """

    def __init__(
        self,
        write: Callable[[str, Any], None],
        describe: Callable[[str, Mapping[str, Any]], None],
        name: str,
        dtype: Any,
        piece: int,
        width: tuple[int, ...],
    ) -> None:
        # Sparse rows often have few distinct values (ones, frequencies): whole numbers repeat,
        # shuffled bytes do not.
        self._shuffle = NOT_SHUFFLED if name == "data" else SHUFFLED
        self._describe = describe
        self._name = name
        self._dtype = np.dtype(dtype)
        self._width = width
        self._write_file = write
        self._path = f"{name}/c"
        self._tail = "/0" * len(width)
        self._piece = piece
        self._pieces = 0
        self.written = 0
        self._held: list[NDArray[Any]] = []
        self._held_rows = 0
        self._say_shape()

    def append(self, values: NDArray[Any]) -> None:
        at = 0
        while len(values) - at >= self._piece - self._held_rows:
            stop = at + self._piece - self._held_rows
            self._write([*self._held, values[at:stop]])
            self._held = []
            self._held_rows = 0
            at = stop
        if at < len(values):
            # No copy, although this keeps a whole chunk alive until the next.
            self._held.append(values[at:])
            self._held_rows += len(values) - at

    def finish(self) -> None:
        if self._held:
            rows = self._held_rows
            missing = np.zeros((self._piece - rows, *self._width), dtype=self._dtype)
            self._write([*self._held, missing])
            self._held = []
            self._held_rows = 0
            self.written = self.written - len(missing)
        self._say_shape()

    def _write(self, parts: list[NDArray[Any]]) -> None:
        piece = np.ascontiguousarray(
            parts[0] if len(parts) == 1 else np.concatenate(parts),
            dtype=self._dtype,
        )
        self._write_file(
            f"{self._path}/{self._pieces}{self._tail}",
            blosc_lz4(piece, _LEVEL, self._shuffle),
        )
        self._pieces += 1
        self.written += self._piece

    def _say_shape(self) -> None:
        piece = (self._piece, *self._width)
        self._describe(
            self._name,
            array_metadata(
                (self.written, *self._width), piece, self._dtype, self._shuffle
            ),
        )


def array_metadata(
    shape: tuple[int, ...],
    piece: tuple[int, ...],
    dtype: np.dtype[Any],
    shuffle: int,
) -> dict[str, Any]:
    """Return zarr's ``zarr.json`` of an array: shape, shape of a piece, type, blosc's `shuffle`."""
    order = {} if dtype.itemsize == 1 else {"configuration": {"endian": "little"}}
    packing = {
        "typesize": dtype.itemsize,
        "cname": "lz4",
        "clevel": _LEVEL,
        "shuffle": "shuffle" if shuffle == SHUFFLED else "noshuffle",
        "blocksize": 0,
    }
    return {
        "shape": shape,
        "data_type": dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": piece}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": dtype.type(0).item(),
        "codecs": [
            {"name": "bytes", **order},
            {"name": "blosc", "configuration": packing},
        ],
        "attributes": {},
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


def group_metadata(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return zarr's ``zarr.json`` of a group with `attributes`."""
    return {"attributes": attributes, "zarr_format": 3, "node_type": "group"}


class ZarrWriter(SplitWriter):
    """Writes one zarr group per split."""

    def __init__(self, directory: Storage, split: str, chunk_rows: int) -> None:
        super().__init__(directory, split, chunk_rows)
        self._columns: dict[str, _Column] = {}
        self._rows = self._entries = self._piece = 0
        self._ends: list[tuple[int, int]] = []

    def append(self, parts: Sequence[Block]) -> str:
        """Write the next chunk and return the name of the files that hold its rows."""
        if not self._columns:
            self._begin(parts)
        first = self._entries
        for part in parts:
            self._columns["label"].append(part.label)
            self._rows += len(part)
            if isinstance(part.X, CSR):
                indptr, indices, data = trim(part.X)
                self._columns["indptr"].append(indptr[1:] + self._entries)
                self._columns["indices"].append(indices)
                self._columns["data"].append(data)
                self._entries += len(data)
            else:
                self._columns["X"].append(part.X)
        self._ends.append((self._rows, self._entries))
        if "X" in self._columns:
            return f"{self.split}/X/c/{(self._rows - 1) // self.chunk_rows}/0"
        low = first // self._piece
        high = max(first, self._entries - 1) // self._piece
        return f"{self.split}/{{data,indices}}/c/{low}" + (
            f"-{high}" if high > low else ""
        )

    def _begin(self, parts: Sequence[Block]) -> None:
        block = parts[0]
        self._describe("", group_metadata({}))
        self._add("label", np.float64, self.chunk_rows)
        if not isinstance(block.X, CSR):
            self._add("X", block.X.dtype, self.chunk_rows, (block.X.shape[1],))
            return
        # The last piece is filled up with zeros, so that a small dataset gets small pieces.
        self._piece = min(_PIECE, max(1024, sum(part.nonzeros for part in parts)))
        self._add("data", np.float64, self._piece)
        self._add("indices", np.int32, self._piece)
        self._add("indptr", np.int64, self.chunk_rows)
        self._columns["indptr"].append(np.zeros(1, dtype=np.int64))

    def _add(
        self,
        name: str,
        dtype: Any,
        piece: int,
        width: tuple[int, ...] = (),
    ) -> None:
        self._columns[name] = _Column(
            self.write, self._describe, name, dtype, piece, width
        )

    def _describe(self, name: str, metadata: Mapping[str, Any]) -> None:
        """Write the metadata of an array, or of the group if `name` is empty; no checksum."""
        path = f"{self.split}/{name}/zarr.json" if name else f"{self.split}/zarr.json"
        # Written once more when the shape is known, so that the manifest cannot have its checksum.
        self.directory.replace(path, json.dumps(metadata, indent=2).encode())

    def safe(self) -> int:
        """Return the number of chunks whose rows and entries are all in files."""
        written = {name: column.written for name, column in self._columns.items()}
        # `indptr` has one entry more than there are rows.
        rows = min(
            written["label"], written["X"] if "X" in written else written["indptr"] - 1
        )
        entries = min(written.get("data", 0), written.get("indices", 0))
        return sum(last <= rows and end <= entries for last, end in self._ends)

    def finish(self, columns: int) -> None:
        """Write the last pieces and, for sparse rows, the attributes."""
        for column in self._columns.values():
            column.finish()
        if "indptr" in self._columns:
            shape = [self._rows, columns]
            attributes = {
                "encoding-type": "csr_matrix",
                "encoding-version": "0.1.0",
                "shape": shape,
            }
            self._describe("", group_metadata(attributes))


class _Pieces:
    """The rows of one array, decoded from its files in place, twice as fast as zarr's slices.

    The last piece is kept if the next chunk begins in it, as a view: the chunk's memory stays with
    it until then.
    """

    def __init__(self, reader: SplitReader, name: str) -> None:
        path = f"{reader.shape.split}/{name}/zarr.json"
        self._file = reader.file
        self._path = f"{name}/c"
        metadata = reader.directory.read(path)
        try:
            self._describe(name, json.loads(metadata))
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            raise ValueError(f"{path}: {error or repr(error)}") from error
        self._tail = "/0" * len(self._width)
        self._none = np.empty((0, *self._width), self._dtype)
        self._kept = 0, self._none

    def _describe(self, name: str, metadata: dict[str, Any]) -> None:
        """Set type and piece shape from the metadata of the array."""
        self._dtype = np.dtype(metadata["data_type"])
        self._piece, *self._width = metadata["chunk_grid"]["configuration"][
            "chunk_shape"
        ]
        names = [codec["name"] for codec in metadata["codecs"]]
        if (
            names != ["bytes", "blosc"]
            or metadata["shape"][1:] != self._width
            or self._piece < 1
        ):
            raise ValueError(f"{name} was written anew by another program")

    def read(self, first: int, last: int) -> NDArray[Any]:
        """Return rows `first` to `last` of the array."""
        if not first < last:
            return np.empty((last - first, *self._width), dtype=self._dtype)
        low = first // self._piece
        high = -(-last // self._piece)
        since, cached = self._kept
        prefix = cached[first - since :] if since <= first else cached[:0]
        # The cached rows are at the end of a piece, so everything before can be skipped.
        start = first if len(prefix) else low * self._piece
        end = high * self._piece
        out = np.empty((end - start, *self._width), dtype=self._dtype)
        out[: len(prefix)] = prefix
        for number in range(low + bool(len(prefix)), high):
            self._decode(number, out[number * self._piece - start :][: self._piece])
        since = max(first, end - self._piece)
        self._kept = since, out[since - start :] if last < end else self._none
        return out[first - start : last - start]

    def _decode(self, number: int, out: NDArray[Any]) -> None:
        packed = self._file(f"{self._path}/{number}{self._tail}")
        # The decoder trusts the sizes in the header, so it must not see a truncated file.
        if len(packed) < _HEADER.size or _HEADER.unpack_from(packed) != (
            out.nbytes,
            len(packed),
        ):
            raise ValueError(
                f"{len(packed)} bytes are not a whole piece of {out.nbytes} bytes"
            )
        from numcodecs.blosc import decompress

        decompress(packed, out)


class ZarrReader(SplitReader):
    """Reads spans of rows of one zarr group."""

    _arrays: dict[str, _Pieces] | None = None

    def _open(self) -> dict[str, _Pieces]:
        if self._arrays is None:
            names = (
                ("label", "X")
                if self.shape.kind == "dense"
                else ("label", "indptr", "indices", "data")
            )
            self._arrays = {name: _Pieces(self, name) for name in names}
        return self._arrays

    def read(self, i: int) -> Block:
        arrays, (start, stop) = self._open(), self.shape.span(i)
        label = arrays["label"].read(start, stop)
        if self.shape.kind == "dense":
            return Block(arrays["X"].read(start, stop), label)
        indptr = arrays["indptr"].read(start, stop + 1)
        first = int(indptr[0])
        last = int(indptr[-1])
        return Block(
            CSR(
                indptr - first,
                arrays["indices"].read(first, last),
                arrays["data"].read(first, last),
            ),
            label,
        )


# the names by which a layout is opened
Reader = ZarrReader
Writer = ZarrWriter
