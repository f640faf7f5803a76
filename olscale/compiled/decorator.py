"""The decorator of compiled loops, and a cache that notices every change."""

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar

import numba
from numba import types
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys
from numba.extending import register_jitable

from olscale.compiled.checked_code import CheckedCodeFile
from olscale.compiled.inlining import InlinedCompiler
from olscale.compiled.machine_code import begin_machine_code, end_machine_code, tell_it_is_made
from olscale.compiled.private_cache import say_it_is_private, use_private_cache
from olscale.compiled.shipped_code import shipped_file, shipped_key
from olscale.system.source_digest import STAMPED, package_digest
from olscale.system.user_source import source_digest

P = ParamSpec("P")
R = TypeVar("R")


# numba's cache watches only the file that a compiled loop stands in, while ours inline primitives
# and update rules of other files. Stale machine code after an edit there would be a wrong result,
# so every compiled loop is stamped with all sources.
_STAMP = package_digest(*STAMPED)


NO_C_ENTRY = {"no_cfunc_wrapper": True}
"""Options without which numba makes an entry for C that nobody calls, and optimizes the loop once more in it."""

INLINED = {"forceinline": True, "pipeline_class": InlinedCompiler, **NO_C_ENTRY}
"""Options of code that is to stand where it is called."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, release the GIL while it runs and keep the machine code for later processes.

    Bits are fixed: no fastmath, no threads, sums in the order they are written.
    """
    dispatcher: Any = numba.njit(nogil=True, **NO_C_ENTRY)(function)
    dispatcher.get_call_template = partial(_call_for_types, dispatcher.get_call_template)
    with suppress(
        OSError
    ):  # without any folder that can be written to, each process compiles for itself
        dispatcher._cache = _Cache(function)
    return dispatcher  # type: ignore[no-any-return]


def _call_for_types(call: Callable[..., Any], args: Any, kws: Any) -> Any:
    """Return what numba's `get_call_template` gives for the types of the arguments, whatever their values.

    To numba a count that starts at 0 is "the integer 0" until it has seen the loop that raises it,
    and a call with it would be compiled for that once, and for all integers once more.
    """
    return call(
        tuple(map(types.unliteral, args)),
        {name: types.unliteral(kind) for name, kind in kws.items()},
    )


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache of the machine code of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            super().__init__(function)
        except RuntimeError:  # numba has no place for it
            use_private_cache()
            super().__init__(function)
        stamp_of_file = self._impl.locator.get_source_stamp()
        file = self._cache_file = CheckedCodeFile(
            self._cache_path, self._impl.filename_base, stamp_of_file
        )
        self._ours = is_ours(function.__module__)
        if self._ours:
            file._source_stamp = stamp = _STAMP
        else:  # what it inlines of the user's other modules is in their digest
            digest = source_digest([function.__module__], [function.__module__.partition(".")[0]])
            stamp = f"{_STAMP} {digest}"
            file._source_stamp = (stamp, stamp_of_file)
        # numba compares versions before it unpickles an index, whose signatures name classes that
        # an edit may have renamed.
        file._version = f"{file._version} {stamp}"
        self._shipped = None
        if self._ours:
            self._shipped = shipped_file(function, self._impl.filename_base, file._version, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what the cache has for a signature, None if it has nothing.

        numba first imports all that it can compile, SciPy's linear algebra among it, which takes as
        long as importing numba. Machine code of ours needs numba's runtime and no more; whoever
        compiles has the rest imported then.
        """
        begin_machine_code()
        try:
            if self._ours:
                rtsys.initialize(target_context)
            else:
                target_context.refresh()
            key = self._index_key(sig, target_context.codegen())
            code = self._read(self._cache_file, key, target_context)
            if code is None and self._shipped is not None:
                code = self._read(self._shipped, shipped_key(key), target_context)
            return code
        finally:
            end_machine_code()

    def _read(self, file: Any, key: Any, target_context: Any) -> Any:
        """Return what a file has for a key. One that a power cut or a full disk has left cut or empty has nothing."""
        try:
            data = file.load(key)
            return None if data is None else self._impl.rebuild(target_context, data)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for later processes, where there is room for it: a full disk ends nothing else."""
        say_it_is_private()
        try:
            super().save_overload(sig, data)
        except OSError:
            return
        except Exception:
            # The index that it would be added to is damaged: another one is begun.
            with suppress(OSError):
                self._cache_file.flush()
                super().save_overload(sig, data)


def machine_code_folder(loop: Any) -> str:
    """Return the folder in which the machine code of a compiled loop is kept; empty where it is nowhere."""
    return str(loop._cache.cache_path or "")


_SELDOM = (20_000, 50, 1_000)
"""Thresholds of the garbage collector while numba compiles, which makes many objects that stay: an eighth less time."""


class _Compilation(event.Listener):  # type: ignore[misc]
    """Counts the time of compilation, and has the garbage collector look seldom meanwhile."""

    def __init__(self) -> None:
        self._before: list[tuple[int, int, int]] = []

    def on_start(self, event: Any) -> None:
        begin_machine_code()
        tell_it_is_made()
        self._before.append(gc.get_threshold())
        if self._before[0][0]:  # else whoever runs this has turned it off
            gc.set_threshold(*_SELDOM)

    def on_end(self, event: Any) -> None:
        gc.set_threshold(*self._before.pop())
        end_machine_code()


event.register("numba:compile", _Compilation())


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Have compiled loops that call `function` contain its code, as if it was written there.

    For small functions on named tuples of arrays: a call would pass each array by its seven
    numbers, through memory.
    """
    # By LLVM: numba's own inlining takes a write to an array that came in a named tuple for dead
    # code, and drops it.
    inline: Callable[P, R] = register_jitable(**INLINED)(function)
    return inline


def is_ours(module: str) -> bool:
    """Tell whether a module belongs to this package, so that the stamp covers it."""
    return module.partition(".")[0] == __name__.partition(".")[0]


@cache
def uncached(loop: Callable[P, R]) -> Callable[P, R]:
    """Return a compiled loop of ours for arguments of types defined elsewhere.

    Machine code made for those must not get into our cache: it would outlive an edit of their
    source, and no process that cannot import them could read the cache any more.
    """
    function: Any = loop
    fresh: Callable[P, R] = numba.njit(nogil=True, **NO_C_ENTRY)(function.py_func)
    return fresh
