"""Decimal digits times a power of ten, rounded correctly to a double, for numba compiled loops.

Small numbers are one exact multiplication or division (Clinger 1990, "How to read floating point
numbers accurately"). The others go by Eisel and Lemire's algorithm: a product with the leading 128
bits of the power of five (Lemire 2021, "Number parsing at a gigabyte per second", section 5;
Mushtak and Lemire 2023 prove that it needs no fallback). Results that are not normal doubles are
left to the caller.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import intrinsic

_SMALLEST = -342
_LARGEST = 308
_EXACT_POWERS = np.array([float(10**n) for n in range(23)])
_TWO_53 = np.uint64(2**53)
_U0, _U1, _U3, _U9, _U52, _U63 = (np.uint64(n) for n in (0, 1, 3, 9, 52, 63))
_LOW_9 = np.uint64(0x1FF)
_HIDDEN = np.uint64(1 << 52)


def _power_of_five(q: int) -> int:
    """Return the leading 128 bits of 5**q, rounded down for q >= 0 and up for q < 0."""
    power: int = 5 ** abs(q)
    if q >= 0:
        return power << 128 >> power.bit_length()
    bits = (power - 1).bit_length()
    if q >= -27:
        return (1 << bits + 127) // power + 1
    reciprocal: int = (1 << 2 * bits + 128) // power + 1
    return reciprocal >> reciprocal.bit_length() - 128


_FIVES = [_power_of_five(q) for q in range(_SMALLEST, _LARGEST + 1)]
_HIGH = np.array([five >> 64 for five in _FIVES], dtype=np.uint64)
_LOW = np.array([five & (2**64 - 1) for five in _FIVES], dtype=np.uint64)

Generated = tuple[Any, Callable[..., Any]]


@intrinsic
def _leading_zeros(typing_context: Any, word: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def _high_product(typing_context: Any, a: Any, b: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _double_of_bits(typing_context: Any, word: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@compiled
def scaled(digits: np.uint64, power: int) -> tuple[float, bool]:
    """Return ``digits * 10**power`` as the nearest double, and whether that succeeded."""
    if digits == _U0:
        return 0.0, True
    if digits <= _TWO_53 and -22 <= power <= 22:
        value = np.float64(np.int64(digits))
        if power < 0:
            value /= _EXACT_POWERS[-power]
        else:
            value *= _EXACT_POWERS[power]
        return value, True
    return nearest(digits, power)


@compiled
def nearest(digits: np.uint64, power: int) -> tuple[float, bool]:
    """Return the result of `scaled` for non-zero `digits` by Eisel and Lemire's algorithm.

    It needs no division.
    """
    if power < _SMALLEST or power > _LARGEST:
        return 0.0, False
    zeros = _leading_zeros(digits)
    factor = digits << zeros
    low = factor * _HIGH[power - _SMALLEST]
    high = _high_product(factor, _HIGH[power - _SMALLEST])
    if high & _LOW_9 == _LOW_9:
        carry = _high_product(factor, _LOW[power - _SMALLEST])
        low += carry
        if carry > low:
            high += _U1
    upper = high >> _U63
    shift = upper + _U9
    mantissa = high >> shift
    # 217706 / 65536 approximates log2(10) closely enough to give its floor over the whole range.
    exponent = ((217706 * power) >> 16) + 63 + np.int64(upper) - np.int64(zeros) + 1023
    if exponent <= 0:
        return 0.0, False
    if low <= _U1 and -4 <= power <= 23 and mantissa & _U3 == _U1 and mantissa << shift == high:
        mantissa -= _U1  # halfway between two doubles: round to the even one
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    if mantissa >> _U52 > _U1:
        mantissa = _HIDDEN
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    return _double_of_bits((mantissa - _HIDDEN) | (np.uint64(exponent) << _U52)), True
