"""Parquet columns as our writer makes them, decoded in place.

pyarrow takes more than twice as long for nested columns: it unpacks two levels per entry. This
module skips runs of levels without information. It reads files of one row group with plain pages of
the second version, compressed with lz4, that hold numbers or non-null lists of numbers. All others
are left to pyarrow: `read_plain` returns None.

A page is a header (a struct in Thrift's compact protocol), the repetition levels of its entries (0
where a row begins), their definition levels (0 if the row is empty, so that its entry has no value)
and the compressed values.

References
----------
Apache Parquet, "Data Pages" and "Encodings": https://parquet.apache.org/docs/file-format/
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numcodecs.lz4 import LZ4
from numpy.typing import NDArray

from olscale.compiled.byte_words import byte_at, trailing_zeros, word_at
from olscale.compiled.decorator import compiled
from olscale.data.layouts._parquet_file import CREATED_BY

_WRITERS = (CREATED_BY, b"parquet-cpp-arrow")
_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("<i4"),
    4: np.dtype("<f4"),
    5: np.dtype("<f8"),
}
_LZ4_RAW = 7
# Fields of Parquet's structs. The footer is decoded here, since a damaged one may crash the process
# in pyarrow.
_SCHEMA = 2
_ROWS = 3
_GROUPS = 4
_CREATED = 6
_TYPE = 1
_REPETITION = 3
_NAME = 4
_CONVERTED = 6
_LOGICAL = 10
_COLUMN = 3
_PATH = 3
_CODEC_FIELD = 4
_BYTES = 7
_FIRST = 9
_DICTIONARY = 11
_CODEC: Any = LZ4()
# More than a header of our pages takes.
_HEADER_BYTES = 256
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_KIND = 1
_PACKED = 3
_DATA_PAGE = 8
_ENTRIES = 1
_ENCODING = 4
_DEFINITION_BYTES = 5
_REPETITION_BYTES = 6
_IS_PACKED = 7
_DATA_PAGE_V2 = 3
_PLAIN = 0


def read_plain(
    file: memoryview,
) -> dict[str, tuple[NDArray[Any], NDArray[np.int64]]] | None:
    """Return values and row offsets of each column by name; None if `file` has another form.

    Parameters
    ----------
    file : memoryview
        The bytes of the file, writable: some are temporarily overwritten.

    Raises
    ------
    Exception
        Of nearly any class, when the file is damaged; not all damage is detected.
    """
    try:
        # The last eight bytes are the footer's length and the magic number.
        end = len(file) - 8
        length = int.from_bytes(bytes(file[end : end + 4]), "little")
        footer = _struct(bytes(file[max(0, end - length) : end]), 0)[0]
        if (
            len(footer[_GROUPS]) != 1
            or not footer[_CREATED].startswith(_WRITERS)
            or not all(map(_ours, footer[_SCHEMA][1:]))
        ):
            return None
        rows = footer[_ROWS]
        offsets = _Offsets()
        columns = {}
        for column in footer[_GROUPS][0][1]:
            column = column[_COLUMN]
            pages = list(_pages(file, column))
            begins, present = (
                offsets.of(pages, rows)
                if len(column[_PATH]) == 3
                else _flat(pages, rows)
            )
            columns[str(column[_PATH][0], "utf-8")] = (
                _values(pages, _TYPES[column[1]], present),
                begins,
            )
        return columns
    except _OtherPages:
        return None


def _ours(element: dict[int, Any]) -> bool:
    """Return whether an element of the schema is a non-null number or list of numbers."""
    plain = _TYPE not in element or (
        element[_TYPE] in _TYPES and not {_CONVERTED, _LOGICAL} & element.keys()
    )
    return plain and element[_REPETITION] == (2 if element[_NAME] == b"list" else 0)


class _OtherPages(Exception):  # noqa: N818 - no error: pyarrow reads them
    """Pages are of another kind than ours."""


@dataclass(frozen=True, slots=True)
class _Page:
    entries: int
    levels: tuple[bytes, bytes]
    file: memoryview
    start: int
    end: int
    packed: bool

    def unpack(self, out: NDArray[Any]) -> None:
        """Write the values to `out`, which they must fill."""
        if self.packed and len(out):
            # The codec takes the size from the four bytes before the block, which hold levels or a
            # header.
            start = self.start - 4
            levels = bytes(self.file[self.start - 4 : self.start])
            self.file[start : self.start] = out.nbytes.to_bytes(4, "little")
            _CODEC.decode(self.file[start : self.end], out)
            self.file[start : self.start] = levels
        elif out.nbytes != self.end - self.start:
            raise ValueError(
                f"a page of {self.end - self.start} bytes, expected {out.nbytes}"
            )
        else:
            out.view(np.uint8)[:] = np.frombuffer(
                self.file[self.start : self.end], np.uint8
            )


def _values(
    pages: Sequence[_Page], dtype: np.dtype[Any], present: Sequence[int]
) -> NDArray[Any]:
    values = np.empty(sum(present), dtype)
    used = 0
    for page, count in zip(pages, present, strict=True):
        page.unpack(values[used : used + count])
        used += count
    return values


def _flat(pages: Sequence[_Page], rows: int) -> tuple[NDArray[np.int64], list[int]]:
    present = [page.entries for page in pages]
    if sum(present) != rows or any(count < 0 for count in present):
        raise ValueError(f"{sum(present)} entries in {rows} rows")
    return np.arange(rows + 1), present


class _Offsets:
    """Where the rows of nested columns begin, decoded once for columns with the same levels."""

    def __init__(self) -> None:
        self._levels: list[Any] = []
        self._found: Any = None

    def of(
        self, pages: Sequence[_Page], rows: int
    ) -> tuple[NDArray[np.int64], list[int]]:
        """Return row offsets, and the number of values in each page."""
        # Indices and values have the same levels, which are decoded once for both.
        levels = [(page.entries, page.levels) for page in pages]
        if levels != self._levels:
            self._levels = levels
            self._found = _offsets(pages, rows)
        offsets: tuple[NDArray[np.int64], list[int]] = self._found
        return offsets


def _offsets(pages: Sequence[_Page], rows: int) -> tuple[NDArray[np.int64], list[int]]:
    begins = np.empty(rows + 1, np.int64)
    empty = np.empty(rows, np.int64)
    entries = begun = missing = 0
    present = []
    for page in pages:
        repetition, definition = (
            np.frombuffer(levels, np.uint8) for levels in page.levels
        )
        begun += _found(_zeros(repetition, page.entries, entries, begins[begun:-1]))
        absent = _found(_zeros(definition, page.entries, entries, empty[missing:]))
        entries = entries + page.entries
        missing = missing + absent
        present.append(page.entries - absent)
    if begun != rows or any(count < 0 for count in present):
        raise ValueError(f"{begun} rows, expected {rows}")
    begins[-1] = entries
    if missing:
        # Empty rows have an entry but no value, and offsets count values.
        begins -= np.searchsorted(empty[:missing], begins)
    return begins, present


def _pages(file: memoryview, chunk: Any) -> Iterator[_Page]:
    at = chunk[_FIRST]
    end = chunk[_FIRST] + chunk[_BYTES]
    if _DICTIONARY in chunk or chunk[_CODEC_FIELD] != _LZ4_RAW:
        raise _OtherPages
    while at < end:
        header, length = _struct(bytes(file[at : at + _HEADER_BYTES]), 0)
        # Levels of the first version are compressed with the values.
        if header[_KIND] != _DATA_PAGE_V2 or header[_DATA_PAGE][_ENCODING] != _PLAIN:
            raise _OtherPages
        data = header[_DATA_PAGE]
        at += length
        after = at + header[_PACKED]
        middle = at + data[_REPETITION_BYTES]
        values = middle + data[_DEFINITION_BYTES]
        # A slice beyond the end would be shorter without an error.
        if not at <= middle <= values <= after <= end:
            raise ValueError(f"a page of {header[_PACKED]} bytes, {end - at} are left")
        levels = bytes(file[at:middle]), bytes(file[middle:values])
        yield _Page(
            data[_ENTRIES], levels, file, values, after, data.get(_IS_PACKED, True)
        )
        at = after


def _struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Return the values of a Thrift struct by field, and its end."""
    fields: dict[int, Any] = {}
    field = 0
    while data[at]:
        kind = data[at] & 15
        step = data[at] >> 4
        # Field numbers in long form, which our writer never needs.
        if not step:
            raise _OtherPages
        field += step
        fields[field], at = (
            (kind == 1, at + 1) if kind in (1, 2) else _value(data, at + 1, kind)
        )
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (4, 5, 6):
        number, at = _varint(data, at)
        return (number >> 1) ^ -(number & 1), at
    if kind == 8:
        length, at = _varint(data, at)
        return data[at : at + length], at + length
    if kind == 9:
        size = data[at] >> 4
        of = data[at] & 15
        size, at = _varint(data, at + 1) if size == 15 else (size, at + 1)
        items = []
        for _ in range(size):
            item, at = _value(data, at, of)
            items.append(item)
        return items, at
    if kind == 12:
        return _struct(data, at)
    raise _OtherPages


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while data[at] > 127:
        number |= (data[at] & 127) << shift
        at = at + 1
        shift = shift + 7
    return number | data[at] << shift, at + 1


def _found(count: int) -> int:
    if count < 0:
        raise ValueError("the levels of a page are damaged")
    return count


@compiled
def _zeros(
    levels: NDArray[np.uint8],
    entries: int,
    first: int,
    out: NDArray[np.int64],
) -> int:
    """Write the positions, from `first` on, of zeros in `levels`; return their number.

    They are stored as runs of one level and groups of eight bits ("RLE/bit-packing hybrid"). The
    result is -1 if they are damaged.
    """
    at = 0
    done = 0
    count = 0
    while done < entries:
        run = 0
        shift = 0
        byte = 128
        while byte > 127:
            if at == len(levels) or shift > 28:
                return -1
            byte = byte_at(levels, at)
            run |= (byte & 127) << shift
            shift += 7
            at += 1
        groups = run >> 1 if run & 1 else 1
        length = 8 if run & 1 else run >> 1
        while groups > 0:
            # Most levels are ones: test eight groups at once, and visit only their zeros.
            if (
                run & 1
                and groups >= 8
                and at + 8 <= len(levels)
                and entries - done >= 64
            ):
                zeros = ~word_at(levels, at)
                while zeros != _NONE:
                    if count == len(out):
                        return -1
                    out[count] = first + done + np.int64(trailing_zeros(zeros))
                    zeros &= zeros - _ONE
                    count += 1
                groups = groups - 8
                at = at + 8
                done = done + 64
                continue
            if at == len(levels):
                return -1
            bits = byte_at(levels, at)
            at = at + 1
            groups = groups - 1
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
