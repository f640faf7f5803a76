"""The decorator of compiled loops, and a cache that notices every change."""

from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar

import numba
from numba.extending import register_jitable

from olscale.system.source_digest import package_digest
from olscale.system.user_source import source_digest

P = ParamSpec("P")
R = TypeVar("R")


# numba's cache watches only the file that a compiled loop stands in, while ours inline primitives and update rules of other
# files. Stale machine code after an edit there would be a wrong result, so every compiled loop is stamped with all sources.
_STAMP = package_digest("compiled", "data", "learners", "bench")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, release the GIL while it runs and keep the machine code for later processes.

    Bits are fixed: no fastmath, no threads, sums in the order they are written.
    """
    dispatcher: Any = numba.njit(nogil=True, cache=True)(function)
    file = dispatcher._cache._cache_file
    if is_ours(function.__module__):
        file._source_stamp = stamp = _STAMP
    else:  # what it inlines of the user's other modules is in their digest
        digest = source_digest([function.__module__], [function.__module__.partition(".")[0]])
        stamp = f"{_STAMP} {digest}"
        file._source_stamp = (stamp, file._source_stamp)
    # numba compares versions before it unpickles an index, whose signatures name classes that an edit may have renamed.
    file._version = f"{file._version} {stamp}"
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Have compiled loops that call `function` contain its code, as if it was written there.

    For small functions on named tuples of arrays: a call would pass each array by its seven numbers, through memory.
    """
    # By LLVM: numba's own inlining takes a write to an array that came in a named tuple for dead code, and drops it.
    inline: Callable[P, R] = register_jitable(forceinline=True)(function)
    return inline


def is_ours(module: str) -> bool:
    """Tell whether a module belongs to this package, so that the stamp covers it."""
    return module.partition(".")[0] == __name__.partition(".")[0]


@cache
def uncached(loop: Callable[P, R]) -> Callable[P, R]:
    """Return a compiled loop of ours for arguments of types defined elsewhere.

    Machine code made for those must not get into our cache: it would outlive an edit of their source, and no process that
    cannot import them could read the cache any more.
    """
    function: Any = loop
    fresh: Callable[P, R] = numba.njit(nogil=True)(function.py_func)
    return fresh
