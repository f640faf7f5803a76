"""Files of machine code with a checksum: code with a wrong bit would run with any result."""

from __future__ import annotations

import pickle
import zlib
from io import BytesIO
from typing import Any

from numba.core.caching import IndexDataCacheFile

from olscale.system.regular_file import read_regular

_CRC_BYTES = 4


class CheckedCodeFile(IndexDataCacheFile):  # type: ignore[misc]
    """numba's files of a function, the index and the code per signature, with a CRC-32 appended."""

    def _save_index(self, overloads: dict[Any, str]) -> None:
        # Two pickles: what follows the version is read only by code of the same version.
        data = pickle.dumps(self._version, protocol=-1) + self._dump(
            (self._source_stamp, overloads)
        )
        with self._open_for_write(self._index_path) as file:
            file.write(data + _crc(data))

    def _load_index(self) -> dict[Any, str]:
        try:
            data = read_regular(self._index_path)
        except FileNotFoundError:
            return {}
        content = BytesIO(_whole(data))
        if pickle.load(content) != self._version:
            return {}
        stamp, overloads = pickle.load(content)
        return overloads if stamp == self._source_stamp else {}

    def _save_data(self, name: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(data + _crc(data))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_whole(read_regular(self._data_path(name))))


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CRC_BYTES, "big")


def _whole(data: bytes) -> bytes:
    """Return what precedes the checksum; raise `ValueError` if the checksum is wrong."""
    content = data[:-_CRC_BYTES]
    if data[-_CRC_BYTES:] != _crc(content):
        raise ValueError("its checksum is wrong or missing")
    return content
