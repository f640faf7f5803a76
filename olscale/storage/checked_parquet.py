"""Parquet files with a checksum of all their bytes, so that any reader can detect damage."""

import zlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_MARK = b"olscale.crc32"
_BLANK = b"00000000"
"""Key of the checksum in the file's metadata, and its placeholder during computation."""


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    """Return the Parquet file of a table, with a CRC-32.

    `options` are those of ``pyarrow.parquet.ParquetWriter``.
    """
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_MARK: _BLANK})
    data = sink.getvalue().to_pybytes()
    place = _checksum_place(data)
    return b"".join((data[:place], _checksum(data, place), data[place + len(_BLANK) :]))


def checksum_matches(data: bytes, checked: bool = False) -> bool:
    """Return whether a file has the bytes it was written with.

    Parameters
    ----------
    data : bytes
    checked : bool
        Whether a file without a checksum is damaged; those of earlier versions have none.

    Examples
    --------
    >>> data = parquet_bytes(pa.table({"night": ["2026-01-01"]}))
    >>> checksum_matches(data), checksum_matches(data.replace(b"-01-01", b"-01-02", 1))
    (True, False)
    """
    if _MARK not in data:
        return not checked
    place = _checksum_place(data)
    return data[place : place + len(_BLANK)] == _checksum(data, place)


def _checksum_place(data: bytes) -> int:
    """Return where the eight digits of the checksum stand, in a file that has them."""
    return (
        data.rfind(_MARK) + len(_MARK) + 2
    )  # between key and value: type and length of the value, a byte each


def _checksum(data: bytes, place: int) -> bytes:
    crc = zlib.crc32(data[place + len(_BLANK) :], zlib.crc32(_BLANK, zlib.crc32(data[:place])))
    return b"%08x" % crc
