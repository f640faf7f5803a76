"""The byte loop over SVMlight text, whose loads and stores nothing checks: guarded on both sides.

The text ends, with the eight bytes of room it is promised, where a page begins that may not be touched: a load beyond
them ends the process. The arrays are as long as the reader makes them and are followed by marks that must stay. Run with
``NUMBA_BOUNDSCHECK=1`` (and a ``NUMBA_CACHE_DIR`` of its own) for its array accesses to be checked as well.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats import _svmlight_loop as loop
from olscale.errors import FormatError
from tests.fuzz.batches import ROWS
from tests.fuzz.mutate import LARGEST
from tests.fuzz.target import Broken, Target
from tests.fuzz.texts import SVMLIGHT, SVMLIGHT_WORDS, one

ROOM = 8
MARK = 77
_MARKS = 4


@cache
def guarded() -> NDArray[np.uint8]:
    """Return bytes behind which a page lies that may be neither read nor written."""
    size = -(-(LARGEST + 2 + ROOM) // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, size + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address + size), ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    return np.frombuffer(pages, np.uint8, size)


def marked(length: int, dtype: type, width: tuple[int, ...] = ()) -> NDArray[np.generic]:
    return np.full((length + _MARKS, *width), MARK, dtype=dtype)


def read_kernel(folder: Path) -> None:
    text = (folder / "rows.svm").read_bytes()
    text = text if text.endswith(b"\n") else text + b"\n"
    whole = guarded()
    buffer = whole[len(whole) - len(text) - ROOM :]
    buffer[: len(text)] = np.frombuffer(text, np.uint8)
    pos, size = 0, len(text)
    while pos < size:
        left = size - pos
        rows, pairs, hards = min(left // 2 + 1, ROWS), left // 4 + 1, left // 2 + 1
        arrays = [
            marked(rows, np.float64),
            marked(rows + 1, np.int64),
            marked(pairs, np.int32),
            marked(pairs, np.float64),
        ]
        arrays.append(marked(hards, np.int64, (3,)))
        arrays[1][0] = 0
        given = [array[:-_MARKS] for array in arrays]
        before = pos
        pos, _, got, _, _, _, fault, token, _ = loop.parse_rows(buffer, pos, size, ROWS, 10**6, True, 0, 0, *given)
        if any((array[-_MARKS:] != MARK).any() for array in arrays):
            raise Broken("it wrote behind its arrays")
        if not 0 <= token <= size or (not before < pos <= size and not fault):
            raise Broken(f"it went from {before} to {pos} of {size}, token at {token}")
        if fault:
            raise FormatError("rows.svm", f"fault {fault}")
        if got > ROWS or int(arrays[1][got]) > pairs:
            raise Broken(f"{got} rows, {arrays[1][got]} pairs")


TARGETS = (Target("svmlight-kernel", lambda: one("rows.svm", SVMLIGHT), read_kernel, SVMLIGHT_WORDS),)
