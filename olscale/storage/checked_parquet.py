"""Parquet files with a checksum of all their bytes, so that any reader can detect damage."""

import zlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_MARK = b"olscale.crc32"
# Key of the checksum in the file's metadata, and its placeholder during computation.
_BLANK = b"00000000"


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
    checksum = _checksum(data, place)
    end = place + len(_BLANK)
    parts = (data[:place], checksum, data[end:])
    return b"".join(parts)


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
    end = place + len(_BLANK)
    return data[place:end] == _checksum(data, place)


def _checksum_place(data: bytes) -> int:
    """Return where the eight digits of the checksum stand, in a file that has them."""
    begin = data.rfind(_MARK)
    end = begin + len(_MARK)
    # Between key and value stand type and length of the value, a byte each.
    return end + 2


def _checksum(data: bytes, place: int) -> bytes:
    # The checksum of the file with blanks where its own digits stand.
    end = place + len(_BLANK)
    crc = zlib.crc32(data[:place])
    crc = zlib.crc32(_BLANK, crc)
    crc = zlib.crc32(data[end:], crc)
    return b"%08x" % crc
