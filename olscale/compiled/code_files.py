"""Where machine code is kept: checked files, code that ships with the package, a private folder.

Files have a checksum: code with a wrong bit would run with any result.

Shipped code lets a first use compile nothing. It is made for a level of x86-64 (a set of
instructions that most processors have) rather than for one processor, and lies in
``olscale/machine_code/LEVEL`` in the files of numba's cache. It is only read. A wheel built by
``make wheel-with-machine-code`` contains it; without it, loops are compiled at first use.

Where numba has no folder, neither in the package nor in the user's home, code goes to a temporary
folder of this process, which its children share. Its name cannot be predicted and only its user can
open it, since machine code is run without inspection.
"""

from __future__ import annotations

import atexit
import inspect
import logging
import os
import pickle
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.caching import IndexDataCacheFile

from olscale.system.regular_file import read_regular
from olscale.system.source_digest import STAMPED, package_digest

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


PACKAGE = Path(__file__).parents[1]

FOLDER = PACKAGE / "machine_code"

LEVEL = "x86-64-v3"
"""The level of x86 servers since Haswell and Zen; the next lower makes LOL ten times slower."""

STAMP_FILE = "sources.txt"
"""Name of the file, in the folder of a level, with the digest of the sources."""

_INSTRUCTIONS = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")

_HARMLESS = {
    "NUMBA_CACHE_DIR",
    "NUMBA_NUM_THREADS",
    "NUMBA_DEBUG_CACHE",
    "NUMBA_CACHE_LOCATOR_CLASSES",
}
"""Variables of numba that do not affect its machine code."""


def is_usable(environment: Mapping[str, str], instructions: Mapping[str, bool]) -> bool:
    """Return whether a process with this environment and these instructions runs shipped code.

    Examples
    --------
    >>> is_usable({"NUMBA_OPT": "0"}, dict.fromkeys(_INSTRUCTIONS, True))
    False
    """
    if environment.get("OLSCALE_MACHINE_CODE") == "0":
        return False
    if any(name.startswith("NUMBA_") and name not in _HARMLESS for name in environment):
        return False
    return all(instructions.get(name, False) for name in _INSTRUCTIONS)


@cache
def shipped_folder() -> Path | None:
    """Return the folder of the shipped code for this process, None if these sources have none."""
    folder = FOLDER / LEVEL
    stamp = folder / STAMP_FILE
    if not stamp.is_file() or stamp.read_text() != package_digest(*STAMPED):
        return None
    if is_usable(os.environ, llvm.get_host_cpu_features()):
        return folder
    return None


def shipped_file(
    function: Callable[..., Any],
    name: str,
    version: str,
    stamp: str,
) -> CheckedCodeFile | None:
    """Return the shipped cache of a function of this package, None if there is none."""
    folder = shipped_folder()
    if folder is None:
        return None
    place = Path(inspect.getfile(function)).parent.relative_to(PACKAGE)
    file = CheckedCodeFile(str(folder / place), name, stamp)
    file._version = version
    return file


def shipped_key(key: Any) -> Any:
    """Return numba's key of machine code for the level: without the name of a processor."""
    signature, (triple, _, _), hashes = key
    return signature, (triple, LEVEL, ""), hashes


_logger = logging.getLogger(__name__)


@cache
def use_private_cache() -> Path:
    """Make numba keep machine code in a temporary folder of this process; return the folder."""
    folder = tempfile.mkdtemp(prefix="olscale-machine-code-")
    atexit.register(_remove, folder, os.getpid())
    config.CACHE_DIR = folder
    os.environ["NUMBA_CACHE_DIR"] = folder
    return Path(folder)


@cache
def say_it_is_private() -> None:
    """Report the folder of the machine code, once, if it is private to this process."""
    if use_private_cache.cache_info().currsize:
        _logger.warning(
            "machine code is made anew by each command: neither the package nor the home folder "
            "can be written to; "
            "name a folder that can in NUMBA_CACHE_DIR"
        )


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
