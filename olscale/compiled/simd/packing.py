"""Sixteen numbers at a time, for the compiled loops that pack rows: one store for sixteen.

Written in LLVM's vector types: the machine code is right on every processor and fast where vectors
are wide. Loads and stores go through raw pointers: the caller guarantees that all sixteen lie
within its memory. Numba's platforms are all little-endian, and the order of the bits in a mask
relies on that.
"""

from typing import Any

from llvmlite import ir
from numba import types

from olscale.compiled.intrinsics import intrinsic

LANES = 16

_INT32 = ir.IntType(32)
_INT64 = ir.IntType(64)
_HALVES = ir.VectorType(ir.IntType(16), LANES)
_INDICES = ir.VectorType(_INT32, LANES)
_VALUES = ir.VectorType(ir.DoubleType(), LANES)
_ONES = ir.Constant(_VALUES, [1.0] * LANES)


def _address(context: Any, builder: Any, array: Any, value: Any, index: Any, vector: Any) -> Any:
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _splat(builder: Any, value: Any) -> Any:
    undefined = ir.Constant(_INDICES, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(_INDICES, [0] * LANES))


def _mask(builder: Any, found: Any) -> Any:
    return builder.zext(builder.bitcast(found, ir.IntType(LANES)), _INT64)


@intrinsic
def split_halves(typing_context: Any, halves: Any, i: Any, indices: Any, j: Any, high: Any) -> Any:
    """``halves[i:i+16] = indices[j:j+16] & 0xffff``; return a mask of those not in half `high`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(
            _address(context, builder, signature.args[2], arguments[2], arguments[3], _INDICES)
        )
        loaded.align = 4
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], _HALVES)
        builder.store(builder.trunc(loaded, _HALVES), address).align = 2
        upper = builder.lshr(loaded, ir.Constant(_INDICES, [16] * LANES))
        return _mask(builder, builder.icmp_unsigned("!=", upper, _splat(builder, arguments[4])))

    return types.uint64(halves, types.uintp, indices, types.uintp, types.uint32), codegen


@intrinsic
def join_halves(typing_context: Any, indices: Any, i: Any, halves: Any, j: Any, high: Any) -> Any:
    """``indices[i:i+16] = halves[j:j+16] + (high << 16)``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(
            _address(context, builder, signature.args[2], arguments[2], arguments[3], _HALVES)
        )
        loaded.align = 2
        upper = builder.shl(arguments[4], ir.Constant(_INT32, 16))
        joined = builder.or_(builder.zext(loaded, _INDICES), _splat(builder, upper))
        address = _address(
            context, builder, signature.args[0], arguments[0], arguments[1], _INDICES
        )
        builder.store(joined, address).align = 4
        return context.get_dummy_value()

    return types.void(indices, types.uintp, halves, types.uintp, types.uint32), codegen


@intrinsic
def others(typing_context: Any, data: Any, i: Any) -> Any:
    """Return a mask of the numbers in ``data[i:i+16]`` other than 1."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(
            _address(context, builder, signature.args[0], arguments[0], arguments[1], _VALUES)
        )
        loaded.align = 8
        return _mask(builder, builder.fcmp_unordered("!=", loaded, _ONES))  # NaN is not 1 either

    return types.uint64(data, types.uintp), codegen


@intrinsic
def fill_ones(typing_context: Any, data: Any, i: Any) -> Any:
    """``data[i:i+16] = 1``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], _VALUES)
        builder.store(_ONES, address).align = 8
        return context.get_dummy_value()

    return types.void(data, types.uintp), codegen


@intrinsic
def first_bit(typing_context: Any, mask: Any) -> Any:
    """Return the number of the lowest set bit; there must be one."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen
