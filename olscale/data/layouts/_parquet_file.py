"""Parquet files of sparse rows, encoded as `_parquet_pages` reads them.

pyarrow takes three times as long: it examines the two levels of each entry one by one, although
those of a row are one 0 bit and many 1 bits. A file has one row group and no dictionary; pages are
plain, of the second version (whose levels precede the compressed part, so that values are
compressed and decompressed without a copy), compressed with lz4, and end where a row ends.

References
----------
Apache Parquet, "File Format", "Data Pages" and "Encodings":

https://parquet.apache.org/docs/file-format/
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, trim
from olscale.data.layouts._packing import lz4_block
from olscale.data.layouts.base import Block

CREATED_BY = b"olscale parquet 2"
_MAGIC = b"PAR1"
# Entries of a page: 4 MB of values. Reading a page costs some 10 us, whatever its size.
_PAGE_ENTRIES = 1 << 19
# A quarter faster than without acceleration, also to decompress; files grow by a fifth.
_ACCELERATION = 17
_LZ4_RAW = 7
_PLAIN = 0
_RLE = 3
_DATA_PAGE_V2 = 3
_INT32 = 1
_DOUBLE = 5
_REQUIRED = 0
_REPEATED = 2
_LIST = 3

# Where the groups of seven bits of a number begin.
_SEVENS = np.arange(0, 63, 7)

# A value in Thrift's compact protocol: its type and its bytes.
_Thrift: TypeAlias = tuple[int, bytes]
_TRUE: _Thrift = 1, b""
_FALSE: _Thrift = 2, b""


@dataclass(frozen=True, slots=True)
class _Page:
    """Entries of a column, each a value or an empty row, with their levels."""

    values: NDArray[Any]
    entries: int
    rows: int
    repetition: bytes = b""
    definition: bytes = b""


def sparse_file(parts: Sequence[Block]) -> bytes:
    """Return a Parquet file with columns ``label``, ``indices`` and ``values`` of `parts`."""
    rows = sum(map(len, parts))
    sparse = [trim(part.X) for part in parts if isinstance(part.X, CSR)]
    indptr = np.concatenate([[0], *(np.diff(X.indptr) for X in sparse)]).cumsum()
    label = np.concatenate([part.label for part in parts])
    pages = list(_cut(indptr))
    content: list[Any] = [_MAGIC]
    at = len(_MAGIC)
    columns = []
    size = 0
    for name, kind, of in (
        ("label", _DOUBLE, [_Page(label, rows, rows)]),
        ("indices", _INT32, _filled(pages, indptr, [X.indices for X in sparse])),
        ("values", _DOUBLE, _filled(pages, indptr, [X.data for X in sparse])),
    ):
        start = at
        unpacked = 0
        entries = 0
        for page in of:
            # Not all readers accept an empty lz4 block.
            packed = b""
            if len(page.values):
                packed = lz4_block(page.values, _ACCELERATION)
            levels = page.repetition + page.definition
            header = _page_header(page, len(packed))
            content += [header, levels, packed]
            at += len(header) + len(levels) + len(packed)
            unpacked += len(header) + len(levels) + page.values.nbytes
            entries += page.entries
        path = [name] if name == "label" else [name, "list", "element"]
        columns.append(_column(kind, path, entries, unpacked, at - start, start))
        size += unpacked
    footer = _footer(rows, columns, size)
    return b"".join([*content, footer, len(footer).to_bytes(4, "little"), _MAGIC])


def _cut(indptr: NDArray[np.int64]) -> Iterator[tuple[int, int, int, bytes, bytes]]:
    """Yield first row, end, entries, repetition and definition levels of each page."""
    first = 0
    rows = len(indptr) - 1
    while first < rows:
        last = (
            int(np.searchsorted(indptr, indptr[first] + _PAGE_ENTRIES, side="right"))
            - 1
        )
        # One row at least, even if it alone exceeds a page.
        last = min(max(last, first + 1), rows)
        lengths = np.diff(indptr[first : last + 1])
        # An empty row takes an entry that has no value.
        entry_counts = np.maximum(lengths, 1)
        entries = int(entry_counts.sum())
        starts = np.cumsum(entry_counts) - entry_counts
        yield (
            first,
            last,
            entries,
            _levels(entries, starts),
            _levels(entries, starts[lengths == 0]),
        )
        first = last


def _filled(
    pages: Sequence[tuple[int, int, int, bytes, bytes]],
    indptr: NDArray[np.int64],
    parts: Sequence[NDArray[Any]],
) -> Iterator[_Page]:
    """Yield `pages` with their values, without a copy if a page lies in one part."""
    ends = np.cumsum([len(part) for part in parts])
    for first, last, entries, repetition, definition in pages:
        low = int(indptr[first])
        high = int(indptr[last])
        pieces = [
            part[max(0, low - begin) : high - begin]
            for part, end in zip(parts, ends.tolist(), strict=True)
            if (begin := end - len(part)) < high and end > low
        ]
        values = (
            pieces[0] if len(pieces) == 1 else np.concatenate([parts[0][:0], *pieces])
        )
        yield _Page(
            np.ascontiguousarray(values), entries, last - first, repetition, definition
        )


def _levels(entries: int, zeros: NDArray[np.int64]) -> bytes:
    """Return levels that are 0 at `zeros` and 1 elsewhere, as runs or single bits.

    The shorter of the two is used.
    """
    bits = -(-entries // 8)
    # A 0 takes two bytes as a run, and most pages of short rows have too many zeros.
    if 2 * len(zeros) <= bits:
        runs = _runs(entries, zeros)
        if len(runs) <= bits:
            return runs
    ones = np.ones(8 * bits, np.uint8)
    ones[zeros] = 0
    return _varint(bits << 1 | 1) + np.packbits(ones, bitorder="little").tobytes()


def _runs(entries: int, zeros: NDArray[np.int64]) -> bytes:
    """Return runs of equal levels: twice their length, in groups of seven bits, and the level.

    Without a compiled loop: a small dataset is written faster than Numba is imported.
    """
    ones = np.diff(zeros, prepend=-1, append=entries) - 1
    groups = 2 * ones[:, np.newaxis] >> _SEVENS
    octets = groups & 127 | np.where(groups > 127, 128, 0)
    level = np.where(ones > 0, 1, 0)
    # For each row a run of ones, if any, then one 0, except after the last row.
    a_zero = np.broadcast_to([2, 0], (len(ones), 2))
    is_there = np.ones((len(ones), 2), np.bool_)
    is_there[-1] = False
    is_written = np.column_stack([groups > 0, level > 0, is_there])
    return (
        np.column_stack([octets, level, a_zero])[is_written].astype(np.uint8).tobytes()
    )


def _page_header(page: _Page, packed: int) -> bytes:
    levels = len(page.repetition) + len(page.definition)
    data = {
        1: _i32(page.entries),
        2: _i32(page.entries - len(page.values)),
        3: _i32(page.rows),
        4: _i32(_PLAIN),
        5: _i32(len(page.definition)),
        6: _i32(len(page.repetition)),
        7: _TRUE if packed else _FALSE,
    }
    sizes = {2: _i32(levels + page.values.nbytes), 3: _i32(levels + packed)}
    return _struct({1: _i32(_DATA_PAGE_V2), **sizes, 8: (12, _struct(data))})


def _column(
    kind: int,
    path: list[str],
    entries: int,
    size: int,
    packed: int,
    start: int,
) -> _Thrift:
    chunk = {
        1: _i32(kind),
        2: _list([_i32(_PLAIN), _i32(_RLE)]),
        3: _list([_text(name) for name in path]),
        4: _i32(_LZ4_RAW),
        5: _i64(entries),
        6: _i64(size),
        7: _i64(packed),
        9: _i64(start),
    }
    return 12, _struct({2: _i64(0), 3: (12, _struct(chunk))})


def _footer(rows: int, columns: list[_Thrift], size: int) -> bytes:
    schema = [
        {4: _text("schema"), 5: _i32(3)},
        {1: _i32(_DOUBLE), 3: _i32(_REQUIRED), 4: _text("label")},
    ]
    for name, kind in (("indices", _INT32), ("values", _DOUBLE)):
        # Both annotations mark a list; old readers know only the first.
        annotated = {6: _i32(_LIST), 10: (12, _struct({3: (12, _struct({}))}))}
        schema += [
            {3: _i32(_REQUIRED), 4: _text(name), 5: _i32(1), **annotated},
            {3: _i32(_REPEATED), 4: _text("list"), 5: _i32(1)},
            {1: _i32(kind), 3: _i32(_REQUIRED), 4: _text("element")},
        ]
    group = (12, _struct({1: _list(columns), 2: _i64(size), 3: _i64(rows)}))
    return _struct(
        {
            1: _i32(2),
            2: _list([(12, _struct(element)) for element in schema]),
            3: _i64(rows),
            4: _list([group]),
            6: _text(CREATED_BY.decode()),
        }
    )


# Thrift's compact protocol.


def _struct(fields: Mapping[int, _Thrift]) -> bytes:
    content = bytearray()
    last = 0
    for field, (kind, value) in sorted(fields.items()):
        content.append((field - last) << 4 | kind)
        content += value
        last = field
    return bytes(content) + b"\0"


def _list(items: Sequence[_Thrift]) -> _Thrift:
    size = len(items)
    kind = items[0][0]
    head = (
        bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _varint(size)
    )
    return 9, head + b"".join(value for _, value in items)


def _text(text: str) -> _Thrift:
    return 8, _varint(len(text)) + text.encode()


def _i32(number: int) -> _Thrift:
    return 5, _varint(number << 1)


def _i64(number: int) -> _Thrift:
    return 6, _varint(number << 1)


def _varint(number: int) -> bytes:
    content = bytearray()
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    content.append(number)
    return bytes(content)
