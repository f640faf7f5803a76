"""Arguments of loops whose loads and stores nothing checks: what such a loop must not touch is guarded.

The text ends, with the room it is promised, where a page begins that may not be touched: a load
beyond ends the process. Arrays are followed by marks that must stay. Run with
``NUMBA_BOUNDSCHECK=1`` (and a ``NUMBA_CACHE_DIR`` of its own) for array accesses to be checked as
well.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.lines import ROOM_BYTES
from tests.fuzz.mutate import LARGEST
from tests.fuzz.target import Broken

_ROOM = ROOM_BYTES - 1  # `TextBlocks` may end a last line in the first byte of the room
_MARK = 77
_MARKS = 4


def guarded_text(text: bytes) -> NDArray[np.uint8]:
    """Return `text` and the room behind it."""
    whole = _pages()
    buffer = whole[len(whole) - len(text) - _ROOM :]
    buffer[: len(text)] = np.frombuffer(text, np.uint8)
    return buffer


@cache
def _pages() -> NDArray[np.uint8]:
    size = -(-(LARGEST + 2 + _ROOM) // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, size + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(
        ctypes.c_void_p(address + size), ctypes.c_size_t(mmap.PAGESIZE), 0
    ):
        raise OSError(ctypes.get_errno(), "mprotect")
    return np.frombuffer(pages, np.uint8, size)


def marked(length: int, dtype: type, width: Sequence[int] = ()) -> NDArray[Any]:
    """Return an array of `length` rows before the marks."""
    return np.full((length + _MARKS, *width), _MARK, dtype=dtype)[:-_MARKS]


def check_marks(arrays: Sequence[NDArray[Any]]) -> None:
    """Raise `Broken` if a loop wrote behind one of `arrays`."""
    if any((array.base[-_MARKS:] != _MARK).any() for array in arrays):
        raise Broken("it wrote behind its arrays")
