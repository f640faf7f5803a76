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
from olscale.compiled.simd.vectors import DOUBLE, INT32, INT64, broadcast, open_arrays

LANES = 16

_HALVES = ir.VectorType(ir.IntType(16), LANES)
_INDICES = ir.VectorType(INT32, LANES)
_VALUES = ir.VectorType(DOUBLE, LANES)
_ONES = ir.Constant(_VALUES, [1.0] * LANES)


def _address(builder: Any, array: Any, index: Any, vector: Any) -> Any:
    first = builder.gep(array.data, [index])
    return builder.bitcast(first, vector.as_pointer())


def _mask(builder: Any, bits: Any) -> Any:
    word = builder.bitcast(bits, ir.IntType(LANES))
    return builder.zext(word, INT64)


@intrinsic
def split_halves(
    typing_context: Any,
    halves: Any,
    i: Any,
    indices: Any,
    j: Any,
    high: Any,
) -> Any:
    """``halves[i:i+16] = indices[j:j+16] & 0xffff``; return a mask of those not in half `high`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, target = open_arrays(context, builder, signature, arguments, 2, 0)
        _, first_half, _, first_index, high_half = arguments
        address = _address(builder, source, first_index, _INDICES)
        loaded = builder.load(address)
        # Rows begin at any number: a vector is no better aligned than its numbers.
        loaded.align = 4
        lower = builder.trunc(loaded, _HALVES)
        address = _address(builder, target, first_half, _HALVES)
        stored = builder.store(lower, address)
        stored.align = 2
        bits_of_half = ir.Constant(_INDICES, [16] * LANES)
        upper = builder.lshr(loaded, bits_of_half)
        expected = broadcast(builder, high_half, _INDICES)
        differs = builder.icmp_unsigned("!=", upper, expected)
        return _mask(builder, differs)

    result = types.uint64(
        halves,
        types.uintp,
        indices,
        types.uintp,
        types.uint32,
    )
    return result, codegen


@intrinsic
def join_halves(
    typing_context: Any,
    indices: Any,
    i: Any,
    halves: Any,
    j: Any,
    high: Any,
) -> Any:
    """``indices[i:i+16] = halves[j:j+16] + (high << 16)``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, target = open_arrays(context, builder, signature, arguments, 2, 0)
        _, first_index, _, first_half, high_half = arguments
        address = _address(builder, source, first_half, _HALVES)
        loaded = builder.load(address)
        loaded.align = 2
        shifted = builder.shl(high_half, INT32(16))
        lower = builder.zext(loaded, _INDICES)
        upper = broadcast(builder, shifted, _INDICES)
        joined = builder.or_(lower, upper)
        address = _address(builder, target, first_index, _INDICES)
        stored = builder.store(joined, address)
        stored.align = 4
        return context.get_dummy_value()

    result = types.void(
        indices,
        types.uintp,
        halves,
        types.uintp,
        types.uint32,
    )
    return result, codegen


@intrinsic
def others_than_one(typing_context: Any, data: Any, i: Any) -> Any:
    """Return a mask of the numbers in ``data[i:i+16]`` other than 1."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (numbers,) = open_arrays(context, builder, signature, arguments, 0)
        address = _address(builder, numbers, arguments[1], _VALUES)
        loaded = builder.load(address)
        loaded.align = 8
        # Unordered, since NaN is not 1 either.
        differs = builder.fcmp_unordered("!=", loaded, _ONES)
        return _mask(builder, differs)

    return types.uint64(data, types.uintp), codegen


@intrinsic
def fill_ones(typing_context: Any, data: Any, i: Any) -> Any:
    """``data[i:i+16] = 1``."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (numbers,) = open_arrays(context, builder, signature, arguments, 0)
        address = _address(builder, numbers, arguments[1], _VALUES)
        stored = builder.store(_ONES, address)
        stored.align = 8
        return context.get_dummy_value()

    return types.void(data, types.uintp), codegen


@intrinsic
def first_bit(typing_context: Any, mask: Any) -> Any:
    """Return the number of the lowest set bit; there must be one."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (mask,) = arguments
        undefined_for_zero = ir.IntType(1)(1)
        return builder.cttz(mask, undefined_for_zero)

    return types.uint64(types.uint64), codegen
