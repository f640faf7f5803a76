"""The compressors of both layouts, called without the rest of the package that contains them.

Importing numcodecs imports a dozen codecs and looks for more in all installed packages: that takes
as long as importing NumPy, and longer than to compress 36 MB of text's numbers. Its modules for
blosc and lz4 contain the C libraries, whose functions are called here as numcodecs calls them, with
the same bytes. Where they are not to be had like that, numcodecs itself is used.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHUFFLED = 1
NOT_SHUFFLED = 0
_OVERHEAD = 16
_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t
_INT = ctypes.c_int


def blosc_lz4(values: NDArray[Any], level: int, shuffle: int) -> bytes:
    """Return an array as a buffer of blosc, whose blocks are in order, compressed by lz4.

    Parameters
    ----------
    values : ndarray
        C-contiguous.
    level : int
        From 0 to 9.
    shuffle : {SHUFFLED, NOT_SHUFFLED}
        Whether the bytes of the numbers are regrouped by their place.
    """
    compress = _function(
        "blosc",
        "blosc_compress_ctx",
        (
            _INT,
            _INT,
            _SIZE,
            _SIZE,
            _POINTER,
            _POINTER,
            _SIZE,
            ctypes.c_char_p,
            _SIZE,
            _INT,
        ),
    )
    if compress is None:
        from numcodecs import blosc

        # Several threads would write blocks in the order in which they finish.
        blosc.use_threads = False
        packed: bytes = blosc.Blosc("lz4", level, shuffle).encode(values)
        return packed
    out = np.empty(values.nbytes + _OVERHEAD, dtype=np.uint8)
    size = compress(
        level,
        shuffle,
        values.itemsize,
        values.nbytes,
        _address(values),
        _address(out),
        out.nbytes,
        b"lz4",
        0,
        1,
    )
    return _packed(out, size, values)


def lz4_block(values: NDArray[Any], acceleration: int) -> bytes:
    """Return an array, C-contiguous and not empty, as a block of lz4 without its size."""
    compress = _function(
        "lz4", "LZ4_compress_fast", (_POINTER, _POINTER, _INT, _INT, _INT)
    )
    if compress is None:
        from numcodecs.lz4 import LZ4

        block: bytes = LZ4(acceleration).encode(values)[4:]
        return block
    # The bound of lz4's own header file.
    out = np.empty(values.nbytes + values.nbytes // 255 + _OVERHEAD, dtype=np.uint8)
    size = compress(
        _address(values), _address(out), values.nbytes, out.nbytes, acceleration
    )
    return _packed(out, size, values)


def _packed(out: NDArray[np.uint8], size: int, values: NDArray[Any]) -> bytes:
    if size <= 0:
        raise ValueError(f"{values.nbytes} bytes cannot be compressed: too many")
    return out[:size].tobytes()


def _address(values: NDArray[Any]) -> int:
    address: int = values.__array_interface__["data"][0]
    return address


@cache
def _function(
    module: str, name: str, kinds: Sequence[Any]
) -> Callable[..., int] | None:
    """Return a C function in a module of numcodecs; None if it is not to be had."""
    spec = find_spec("numcodecs")
    folders = getattr(spec, "submodule_search_locations", None) or ()
    for folder in folders:
        for suffix in EXTENSION_SUFFIXES:
            path = Path(folder) / f"{module}{suffix}"
            if path.is_file():
                try:
                    function = getattr(ctypes.CDLL(str(path)), name)
                except (OSError, AttributeError):
                    return None
                function.argtypes = kinds
                function.restype = _INT
                return function  # type: ignore[no-any-return]
    return None
