"""Eight or thirty-two bytes of text at a time, for numba compiled loops.

Loops over single digits or bytes mispredict their end at nearly every token or cell. A 64-bit word
gives the end of a run of digits and its value without a branch; a vector of 32 bytes shows what
follows. Loads go through raw pointers: the caller guarantees seven bytes, or `BYTES` - 1 for a
vector, of room after the last byte that may be examined. Numba's platforms are all little-endian,
and the order of the digits relies on that.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.vectors import INT8, INT32, INT64, open_arrays

_ZEROS = np.uint64(0x3030303030303030)
_PAST_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_QUADS = np.uint64(0x0000FFFF0000FFFF)
_HALF = np.uint64(0x00000000FFFFFFFF)
_U0 = np.uint64(0)
_U3 = np.uint64(3)
_U8 = np.uint64(8)
_U16 = np.uint64(16)
_U32 = np.uint64(32)
_U64 = np.uint64(64)
_TEN = np.uint64(10)
_HUNDRED = np.uint64(100)
_MYRIAD = np.uint64(10_000)


def _load(bits: int, result: Any) -> Callable[..., Any]:
    """Return the maker of a load of `bits` bits at any byte of an array, extended to `result`."""

    def maker(
        typing_context: Any, array: Any, pos: Any
    ) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            (text,) = open_arrays(context, builder, signature, arguments, 0)
            first = builder.gep(text.data, [arguments[1]])
            word = ir.IntType(bits)
            address = builder.bitcast(first, word.as_pointer())
            loaded = builder.load(address)
            # Numbers in a text begin at any byte.
            loaded.align = 1
            if bits < 64:
                return builder.zext(loaded, INT64)
            return loaded

        return result(array, types.int64), generate

    return maker


byte_at = intrinsic(_load(8, types.int64))
"""``byte_at(array, pos)``: the byte at `pos` as int64."""

word_at = intrinsic(_load(64, types.uint64))
"""``word_at(array, pos)``: the eight bytes from `pos` on, the first in the lowest bits."""


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the number of zeros below the lowest one of a word, 64 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (word,) = arguments
        defined_for_zero = ir.IntType(1)(0)
        return builder.cttz(word, defined_for_zero)

    return types.uint64(types.uint64), generate


@compiled
def digit_run(buffer: NDArray[np.uint8], pos: int) -> tuple[int, int]:
    """Return the value of the digits from `pos` on, at most eight, and their number."""
    digits = word_at(buffer, pos) ^ _ZEROS
    # A carry out of a byte that is not a digit reaches only bytes after it, and only the first such
    # byte counts.
    carried = digits + _PAST_NINE
    beyond_nine = (carried | digits) & _HIGH_BITS
    bits = trailing_zeros(beyond_nine) & ~np.uint64(7)
    if bits == _U0:
        return 0, 0
    value = _value(digits << _U64 - bits)
    count = bits >> _U3
    return int(np.int64(value)), int(np.int64(count))


@inlined
def digits_of(buffer: NDArray[np.uint8], pos: int, count: int) -> np.uint64:
    """Return the value of `count` bytes from `pos` on, at most eight, all digits."""
    digits = word_at(buffer, pos) ^ _ZEROS
    # A shift of a word by all its bits would not give zero.
    if count > 0:
        bits = _U8 * np.uint64(count)
        return _value(digits << _U64 - bits)
    return _U0


@inlined
def _value(digits: np.uint64) -> np.uint64:
    """Return the value of eight digits, the first in the lowest byte of a word."""
    pairs = (digits * _TEN + (digits >> _U8)) & _PAIRS
    quads = (pairs * _HUNDRED + (pairs >> _U16)) & _QUADS
    return (quads * _MYRIAD + (quads >> _U32)) & _HALF


BYTES = 32
"""Bytes of a vector. LLVM splits it into two or four where the processor's are shorter."""

_MASK = ir.IntType(BYTES)
_VECTOR = ir.VectorType(INT8, BYTES)
_LANES = ir.VectorType(INT32, BYTES)
_FLAGS = ir.VectorType(ir.IntType(1), BYTES)


# One comparison shows where the digits before and after the point end; in a loop over digits,
# each run would wait for the end of the one before. Tables of 9 columns are parsed at three times
# the speed.
@intrinsic
def other_than_digits(typing_context: Any, array: Any, pos: Any) -> Any:
    """Return a word whose bit `i` says that the byte at ``pos + i`` of an array is not a digit."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = _load_text(context, builder, signature, arguments)
        # Bytes below "0" wrap around to large numbers: one comparison sees both sides.
        zeros = _repeated(ord("0"))
        nines = _repeated(9)
        above_zero = builder.sub(text, zeros)
        beyond_nine = builder.icmp_unsigned(">", above_zero, nines)
        return _bits(builder, beyond_nine)

    return types.uint64(array, types.int64), generate


@intrinsic
def bytes_like(
    typing_context: Any,
    array: Any,
    pos: Any,
    first: Any,
    second: Any,
    third: Any,
) -> Any:
    """Return a word whose bit `i` says that the byte at ``pos + i`` is one of three."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = _load_text(context, builder, signature, arguments)
        alike = ir.Constant(_FLAGS, None)
        no_bytes = ir.Constant(_VECTOR, None)
        zeros = ir.Constant(_LANES, [0] * BYTES)
        for argument in arguments[2:]:
            byte = builder.trunc(argument, INT8)
            lane = builder.insert_element(no_bytes, byte, INT32(0))
            everywhere = builder.shuffle_vector(lane, lane, zeros)
            is_equal = builder.icmp_unsigned("==", text, everywhere)
            alike = builder.or_(alike, is_equal)
        return _bits(builder, alike)

    result = types.uint64(
        array,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
    )
    return result, generate


def _load_text(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    (text,) = open_arrays(context, builder, signature, arguments, 0)
    first = builder.gep(text.data, [arguments[1]])
    address = builder.bitcast(first, _VECTOR.as_pointer())
    loaded = builder.load(address)
    loaded.align = 1
    return loaded


def _repeated(byte: int) -> ir.Constant:
    return ir.Constant(_VECTOR, [byte] * BYTES)


def _bits(builder: Any, flags: Any) -> Any:
    mask = builder.bitcast(flags, _MASK)
    return builder.zext(mask, INT64)
