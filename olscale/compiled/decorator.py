"""The decorator of compiled loops, and a cache that notices every change.

Inlined code is optimized where it is called, and not before as well: numba makes machine code of
each function separately, then puts the function's LLVM code into its callers and optimizes that
with theirs. Functions that only our compiled loops call do not need their own machine code.
"""

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar

import numba
from llvmlite import ir
from llvmlite.binding import parse_assembly
from numba import types
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys
from numba.extending import register_jitable

from olscale.compiled.code_files import (
    CheckedCodeFile,
    say_it_is_private,
    shipped_file,
    shipped_key,
    use_private_cache,
)
from olscale.compiled.compile_once import code_or_lock, compile_once
from olscale.compiled.machine_code import (
    begin_machine_code,
    end_machine_code,
    tell_it_is_made,
)
from olscale.system.source_digest import STAMPED, package_digest
from olscale.system.user_source import source_digest

_ENVIRONMENT = "_ZN08NumbaEnv"
_POINTER = ir.IntType(8).as_pointer()


class InlinedCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler for such functions, as option `pipeline_class`."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile into a library of our own."""
        self.state.library = _Inlined(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _Inlined(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code that is linked into its callers in the form of numba's lowering."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        """Put only the pointers to environments into memory, which numba sets by name."""
        pointers = self._codegen._create_empty_module(self.name)
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                pointer = ir.GlobalVariable(pointers, _POINTER, variable.name)
                pointer.linkage = "common"
                pointer.initializer = ir.Constant(_POINTER, None)
        self._pointers = parse_assembly(str(pointers))
        self._codegen._add_module(self._pointers)
        self._codegen._engine.finalize_object()
        self._finalized = True


P = ParamSpec("P")
R = TypeVar("R")


# numba's cache watches only the file that defines a compiled loop, while our loops inline
# primitives and update rules of other files. Stale machine code after an edit there would give
# wrong results, so every compiled loop is stamped with all sources.
_STAMP = package_digest(*STAMPED)


NO_C_ENTRY = {"no_cfunc_wrapper": True}
"""Options that skip numba's unused entry for C, in which the loop would be optimized again."""

# numba hands `forceinline` down: a part that an inlined function calls is inlined by force as well.
# Without that, forests compile faster and learn much slower: calls pass arrays through memory.
NESTED = {"pipeline_class": InlinedCompiler, **NO_C_ENTRY}
"""Options of code that only compiled loops contain."""

INLINED = {"forceinline": True, **NESTED}
"""Options of code that is inlined where it is called."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, release the GIL while it runs, and cache the machine code.

    Bits are fixed: no fastmath, no threads, sums in the order they are written.
    """
    dispatcher: Any = numba.njit(nogil=True, **NO_C_ENTRY)(function)
    dispatcher.get_call_template = partial(
        _call_for_types, dispatcher.get_call_template
    )
    # without a writable folder each process compiles for itself
    with suppress(OSError):
        dispatcher._cache = _Cache(function)
        dispatcher.compile = partial(compile_once, dispatcher.compile)
    return dispatcher  # type: ignore[no-any-return]


def _call_for_types(call: Callable[..., Any], args: Any, kws: Any) -> Any:
    """Return the result of numba's `get_call_template` for types without literal values.

    numba types a count that starts at 0 as "the integer 0" until it has seen the loop that raises
    it, and would compile a call for that type first and then again for all integers.
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
        except RuntimeError:  # numba has no folder for it
            use_private_cache()
            super().__init__(function)
        stamp_of_file = self._impl.locator.get_source_stamp()
        file = self._cache_file = CheckedCodeFile(
            self._cache_path, self._impl.filename_base, stamp_of_file
        )
        self._ours = is_ours(function.__module__)
        if self._ours:
            file._source_stamp = stamp = _STAMP
        else:  # the digest covers what it inlines from the user's other modules
            digest = source_digest(
                [function.__module__], [function.__module__.partition(".")[0]]
            )
            stamp = f"{_STAMP} {digest}"
            file._source_stamp = (stamp, stamp_of_file)
        # numba compares versions before it unpickles an index, whose signatures name classes that
        # an edit may have renamed.
        file._version = f"{file._version} {stamp}"
        self._shipped = None
        if self._ours:
            self._shipped = shipped_file(
                function, self._impl.filename_base, file._version, stamp
            )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached code for a signature, or None.

        numba first imports all that it can compile, such as SciPy's linear algebra, which takes as
        long as importing numba. Our machine code needs only numba's runtime; the rest is imported
        when something is compiled.
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
            if code is None:
                code = code_or_lock(
                    f"{self._cache_file._index_path}.lock",
                    partial(self._read, self._cache_file, key, target_context),
                )
            return code
        finally:
            end_machine_code()

    def _read(self, file: Any, key: Any, target_context: Any) -> Any:
        """Return what a file holds for a key, or None.

        A file that a power cut or a full disk has left truncated or empty holds nothing.
        """
        try:
            data = file.load(key)
            if data is None:
                return None
            return self._impl.rebuild(target_context, data)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for later processes; a full disk must not end anything else."""
        say_it_is_private()
        try:
            super().save_overload(sig, data)
        except OSError:
            return
        except Exception:
            # The index to add it to is damaged: start another one.
            with suppress(OSError):
                self._cache_file.flush()
                super().save_overload(sig, data)


def machine_code_folder(loop: Any) -> str:
    """Return the folder with the machine code of a compiled loop; empty if there is none."""
    return str(loop._cache.cache_path or "")


_SELDOM = (20_000, 50, 1_000)
"""Thresholds of the garbage collector during compilation, which takes an eighth less time.

numba makes many objects that stay.
"""


class _Compilation(event.Listener):  # type: ignore[misc]
    """Counts the time of compilation, and makes the garbage collector run rarely meanwhile."""

    def __init__(self) -> None:
        self._before: list[tuple[int, int, int]] = []

    def on_start(self, event: Any) -> None:
        begin_machine_code()
        tell_it_is_made()
        self._before.append(gc.get_threshold())
        if self._before[0][0]:  # otherwise the user has turned it off
            gc.set_threshold(*_SELDOM)

    def on_end(self, event: Any) -> None:
        gc.set_threshold(*self._before.pop())
        end_machine_code()


event.register("numba:compile", _Compilation())


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled loops that call `function` contain its code, as if it was written there.

    For small functions on named tuples of arrays: a call would pass the seven numbers of each array
    through memory.
    """
    # By LLVM: numba's own inlining takes a write to an array in a named tuple for dead code and
    # drops it.
    inline: Callable[P, R] = register_jitable(**INLINED)(function)
    return inline


def nested(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled loops that call `function` contain its code, once for all calls.

    For parts of a large loop that has one form for all layouts of rows. As `compiled` functions
    each of them would be optimized, and made machine code, once more than the loop: twice the time
    of a tree. Called from Python it is not compiled.
    """
    part: Callable[P, R] = register_jitable(**NESTED)(function)
    return part


def is_ours(module: str) -> bool:
    """Return whether a module belongs to this package, so that the stamp covers it."""
    return module.partition(".")[0] == __name__.partition(".")[0]


@cache
def uncached(loop: Callable[P, R]) -> Callable[P, R]:
    """Return one of our compiled loops for arguments of types defined elsewhere.

    Machine code for such types must not enter our cache: it would outlive an edit of their source,
    and processes that cannot import them could no longer read the cache.
    """
    function: Any = loop
    fresh: Callable[P, R] = numba.njit(nogil=True, **NO_C_ENTRY)(function.py_func)
    return fresh
