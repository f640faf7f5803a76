"""Parquet columns as our writer makes them, decoded straight into place.

pyarrow's own way to nested columns takes more than twice as long: it unpacks two levels for each entry. Here the runs of
levels that say nothing are passed over. Read are files of one row group with plain pages of the first version, packed as
lz4 or not at all, that hold numbers or non-null lists of numbers. All others are pyarrow's: `read_plain` returns None.

A page is a header (a struct in Thrift's compact protocol) and, packed together, the repetition levels of its entries (0
where a row begins), their definition levels (0 where the row is empty, so that its entry has no value) and the values.

References
----------
Apache Parquet, "Data Pages" and "Encodings": https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from olscale.data.formats._swar import byte_at
from olscale.jit import kernel

__all__ = ["read_plain"]

_WRITER = "parquet-cpp-arrow"
"""What others call lz4 may be another form of it."""
_TYPES: dict[str, np.dtype[Any]] = {"INT32": np.dtype("<i4"), "FLOAT": np.dtype("<f4"), "DOUBLE": np.dtype("<f8")}
_CODECS = {"UNCOMPRESSED": None, "LZ4": pa.Codec("lz4_raw")}
_HEADER_BYTES = 256
_KIND, _SIZE, _PACKED, _DATA_PAGE = 1, 2, 3, 5
_ENTRIES, _ENCODING = 1, 2
"""Fields of a page's header, and of the struct in its field `_DATA_PAGE`."""


def read_plain(file: Any) -> dict[str, tuple[NDArray[Any], NDArray[np.int64]]] | None:
    """Return values and row offsets of each column by its name; None where `file` has another form.

    Parameters
    ----------
    file : pyarrow.Buffer
        The whole file.

    Raises
    ------
    Exception
        Of nearly any class, when the file is damaged; not all damage is found.
    """
    metadata = pq.read_metadata(pa.BufferReader(file))
    if metadata.num_row_groups != 1 or not str(metadata.created_by).startswith(_WRITER):
        return None
    found = {}
    for i in range(metadata.num_columns):
        chunk, column = metadata.row_group(0).column(i), metadata.schema.column(i)
        levels = column.max_repetition_level, column.max_definition_level
        plain = chunk.physical_type in _TYPES and column.logical_type.type == "NONE" and chunk.compression in _CODECS
        if not plain or levels not in ((0, 0), (1, 1)) or chunk.has_dictionary_page:
            return None
        try:
            found[column.path.partition(".")[0]] = _read(file, chunk, metadata.num_rows, levels == (1, 1))
        except _OtherPages:
            return None
    return found


class _OtherPages(Exception):  # noqa: N818 - no error: pyarrow reads them
    """Pages are of another kind than ours."""


def _read(file: Any, chunk: Any, rows: int, nested: bool) -> tuple[NDArray[Any], NDArray[np.int64]]:
    values = np.empty(chunk.num_values, _TYPES[chunk.physical_type])
    raw, width = values.view(np.uint8), values.itemsize
    begins, empty = np.empty(rows + 1, np.int64), np.empty(rows, np.int64)
    seen = used = begun = missing = 0
    for page, entries in _pages(file, chunk):
        present = entries
        if nested:
            repetition, page = _levels(page)
            definition, page = _levels(page)
            begun += _found(_zeros(repetition, entries, seen, begins[begun:-1]))
            absent = _found(_zeros(definition, entries, seen, empty[missing:]))
            missing, present = missing + absent, entries - absent
        raw[used * width : (used + present) * width] = page[: present * width]
        seen, used = seen + entries, used + present
    if seen != len(values) or (nested and begun != rows):
        raise ValueError(f"{seen} entries in {begun} rows, expected {len(values)} in {rows}")
    if not nested:
        return values, np.arange(rows + 1)
    begins[-1] = seen
    if missing:
        begins -= np.searchsorted(empty[:missing], begins)
    return values[:used], begins


def _pages(file: Any, chunk: Any) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Yield the unpacked bytes of each page and the number of its entries."""
    codec = _CODECS[chunk.compression]
    at, end = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
    while at < end:
        header, length = _struct(bytes(file[at : at + _HEADER_BYTES]), 0)
        if header[_KIND] != 0 or header[_DATA_PAGE][_ENCODING] != 0:
            raise _OtherPages
        at += length
        if not 0 <= header[_PACKED] <= end - at:
            raise ValueError(f"a page of {header[_PACKED]} bytes, {end - at} are left")
        packed = file[at : at + header[_PACKED]]
        page = packed if codec is None else codec.decompress(packed, header[_SIZE])
        yield np.frombuffer(page, np.uint8), header[_DATA_PAGE][_ENTRIES]
        at += header[_PACKED]


def _struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Return the numbers and structs of a Thrift struct by their field, and where it ends."""
    fields: dict[int, Any] = {}
    field = 0
    while data[at]:
        kind, step = data[at] & 15, data[at] >> 4
        field += step
        if kind == 12:
            fields[field], at = _struct(data, at + 1)
        elif step and kind in (4, 5, 6):
            number = shift = 0
            more = True
            while more:
                at += 1
                number |= (data[at] & 127) << shift
                more, shift = data[at] > 127, shift + 7
            fields[field], at = (number >> 1) ^ -(number & 1), at + 1
        else:
            raise _OtherPages
    return fields, at + 1


def _levels(page: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    end = 4 + int.from_bytes(page[:4].tobytes(), "little")
    return page[4:end], page[end:]


def _found(count: int) -> int:
    if count < 0:
        raise ValueError("the levels of a page are damaged")
    return count


@kernel
def _zeros(levels: NDArray[np.uint8], entries: int, first: int, out: NDArray[np.int64]) -> int:
    """Write where `levels`, of one bit each, are 0, counted from `first`; return how many, or -1 where they are damaged.

    They lie in runs of one level and groups of eight ("RLE/bit-packing hybrid").
    """
    at, done, count = 0, 0, 0
    while done < entries:
        run, shift, byte = 0, 0, 128
        while byte > 127:
            if at == len(levels) or shift > 28:
                return -1
            byte = byte_at(levels, at)
            run |= (byte & 127) << shift
            shift += 7
            at += 1
        groups = run >> 1 if run & 1 else 1
        length = 8 if run & 1 else run >> 1
        for _ in range(groups):
            if at == len(levels):
                return -1
            bits = byte_at(levels, at)
            at += 1
            present = min(length, entries - done)
            if bits != 255 if run & 1 else bits == 0:
                for i in range(present):
                    if run & 1 == 0 or (bits >> i) & 1 == 0:
                        if count == len(out):
                            return -1
                        out[count] = first + done + i
                        count += 1
            done += present
    return count
