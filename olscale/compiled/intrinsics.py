"""Instructions that numba does not offer: a prefetch, and arrays without reference counts."""

from collections.abc import Callable
from typing import Any

import numba.extending
from llvmlite import ir
from numba import types
from numba.core.imputils import impl_ret_borrowed


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make `function`, which writes LLVM code, callable from compiled loops, untyped."""
    return numba.extending.intrinsic(function)


def _fill(view: Any, **parts: Any) -> None:
    """Write the parts of an array's structure."""
    # This imports numba's arrays and strings, which only compilation needs: cached machine code
    # loads without them.
    from numba.np.arrayobj import populate_array

    populate_array(view, **parts)


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Fetch ``array[index]`` ahead of its use (1-D arrays, kept in all cache levels).

    A writable array is fetched for writing. Nothing happens if `index` is past the end.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_of = context.make_array(signature.args[0])
        data = array_of(context, builder, arguments[0]).data
        element = builder.gep(data, [arguments[1]])
        pointer = ir.IntType(8).as_pointer()
        address = builder.bitcast(element, pointer)
        int32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, int32, int32, int32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        for_writing = int32(int(array.mutable))
        in_all_caches = int32(3)
        of_data = int32(1)
        builder.call(call, [address, for_writing, in_all_caches, of_data])
        return context.get_dummy_value()

    return types.void(array, types.uintp), codegen


@intrinsic
def flat(typing_context: Any, array: Any) -> Any:
    """Return a C-contiguous array as one dimension.

    ``reshape`` does the same but costs about 40 ns per call.
    """
    if array.layout != "C":
        return None
    result = types.Array(array.dtype, 1, "C", readonly=not array.mutable)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(array)(context, builder, arguments[0])
        view = context.make_array(result)(context, builder)
        _fill(
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
def borrowed(typing_context: Any, arrays: Any) -> Any:
    """Return an argument's array without an owner: its views count no references.

    Counting takes about 5 ns each time. Of a tuple, all arrays in it are returned so, at any depth:
    a call that passes twenty arrays would count for longer than it computes.

    Use it only for arguments of a compiled loop, which live as long as the loop runs.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _borrow(context, builder, arrays, arguments[0])

    return arrays(arrays), codegen


def _borrow(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return a value of numba's type `kind` whose arrays have no owner."""
    if isinstance(kind, types.BaseTuple):
        for n, member in enumerate(kind):
            old = builder.extract_value(value, n)
            new = _borrow(context, builder, member, old)
            value = builder.insert_value(value, new, n)
        return value
    if not isinstance(kind, types.Array):
        return value
    source = context.make_array(kind)(context, builder, value)
    view = context.make_array(kind)(context, builder)
    _fill(
        view,
        data=source.data,
        shape=source.shape,
        strides=source.strides,
        itemsize=source.itemsize,
        meminfo=None,
    )
    return view._getvalue()


@intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """Return the number of the lowest set bit of an unsigned 64-bit integer other than 0."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (bits,) = arguments
        undefined_for_zero = ir.IntType(1)(1)
        return builder.cttz(bits, undefined_for_zero)

    return types.intp(types.uint64), codegen
