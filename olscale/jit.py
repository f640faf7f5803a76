"""Compiling kernels: one decorator, a cache that notices every change, and a prefetch instruction."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numba.extending
from llvmlite import ir
from numba import types
from numba.core.imputils import impl_ret_borrowed
from numba.np.arrayobj import make_array, populate_array

from olscale.user_source import source_digest

__all__ = ["borrowed", "flat", "intrinsic", "is_ours", "kernel", "prefetch", "uncached"]

P = ParamSpec("P")
R = TypeVar("R")


def _sources_digest() -> str:
    here = Path(__file__).parent
    digest = hashlib.sha256()
    kernels = [path for floor in ("data", "learners", "bench") for path in sorted((here / floor).rglob("*.py"))]
    for path in [here / "jit.py", *kernels]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


# numba's cache watches only the file a kernel stands in, while our kernels inline primitives and update rules of other
# files; a stale machine code after an edit there would be a wrong result. So every kernel is stamped with all sources.
_STAMP = _sources_digest()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call, release the GIL while it runs and keep the machine code for later processes.

    Bits are fixed: no fastmath, no threads, sums in the order they are written.
    """
    compiled: Any = numba.njit(nogil=True, cache=True)(function)
    file = compiled._cache._cache_file
    if is_ours(function.__module__):
        file._source_stamp = _STAMP
    else:  # what it inlines of the user's other modules is in their digest
        file._source_stamp = (
            _STAMP,
            source_digest([function.__module__], [function.__module__.partition(".")[0]]),
            file._source_stamp,
        )
    return compiled  # type: ignore[no-any-return]


def is_ours(module: str) -> bool:
    """Tell whether a module belongs to this package, so that the stamp covers it."""
    return module.partition(".")[0] == __name__.partition(".")[0]


@cache
def uncached(compiled: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel of ours for arguments of types defined elsewhere.

    Machine code made for those must not get into our cache: it would outlive an edit of their source, and no process that
    cannot import them could read the cache any more.
    """
    function: Any = compiled
    fresh: Callable[P, R] = numba.njit(nogil=True)(function.py_func)
    return fresh


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make `function`, which writes LLVM code, callable from kernels; type checkers see no signature of it."""
    return numba.extending.intrinsic(function)


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the memory for ``array[index]`` ahead of its use (1-D arrays, kept in all cache levels).

    An array that can be written to is asked for as its owner. Nothing happens where `index` is past the end.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        int32 = ir.IntType(32)
        signature_ = ir.FunctionType(ir.VoidType(), [address.type, int32, int32, int32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [address.type], signature_)
        builder.call(call, [address, int32(int(array.mutable)), int32(3), int32(1)])
        return context.get_dummy_value()

    return types.void(array, types.uintp), codegen


@intrinsic
def flat(typing_context: Any, array: Any) -> Any:
    """Return a C-contiguous array as one dimension; ``reshape`` does the same but costs some 40 ns a call."""
    if array.layout != "C":
        return None
    result = types.Array(array.dtype, 1, "C", readonly=not array.mutable)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = make_array(array)(context, builder, arguments[0])
        view = make_array(result)(context, builder)
        populate_array(
            view,
            data=source.data,
            shape=[source.nitems],
            strides=[source.itemsize],
            itemsize=source.itemsize,
            meminfo=source.meminfo,
            parent=source.parent,
        )
        return impl_ret_borrowed(context, builder, result, view._getvalue())

    return result(array), codegen


@intrinsic
def borrowed(typing_context: Any, array: Any) -> Any:
    """Return an array of the caller's as one that nobody owns: its views count no references, some 5 ns each time.

    For arguments of a kernel only, which live as long as it runs.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = make_array(array)(context, builder, arguments[0])
        view = make_array(array)(context, builder)
        populate_array(
            view,
            data=source.data,
            shape=source.shape,
            strides=source.strides,
            itemsize=source.itemsize,
            meminfo=None,
        )
        return view._getvalue()

    return array(array), codegen
