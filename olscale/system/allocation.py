"""Keeping freed memory: chunks come and go by the ten megabytes, and fresh pages cost more than what is done with them."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_MMAP_THRESHOLD = 32 << 20
_KEPT = 512 << 20


@cache
def keep_freed_memory() -> bool:
    """Let glibc keep up to 512 MB of freed memory for the next chunk, for the rest of the process.

    By default it gives the memory of every large array back to the system and asks for new, which is zeroed page by
    page. Returns False, and does nothing, where the C library is another one.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD) and mallopt(_M_TRIM_THRESHOLD, _KEPT))
