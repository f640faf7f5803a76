"""Numbers in text, for numba compiled loops.

They have the bits that strtod gives: decimal digits times a power of ten, rounded correctly. Small
numbers are one exact multiplication or division (Clinger 1990, "How to read floating point numbers
accurately"). The others go by Eisel and Lemire's algorithm: a product with the leading 128 bits of
the power of five (Lemire 2021, "Number parsing at a gigabyte per second", section 5; Mushtak and
Lemire 2023 prove that it needs no fallback). Python's ``float`` handles the hard ones: more than 19
digits, or not normal doubles.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from olscale.compiled.byte_words import (
    byte_at,
    digit_run,
    digits_of,
    other_than_digits,
    trailing_zeros,
)
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.intrinsics import intrinsic

_SMALLEST = -342
_LARGEST = 308
_EXACT_POWERS = np.array([float(10**n) for n in range(23)])
_TWO_53 = np.uint64(2**53)
_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U3 = np.uint64(3)
_U9 = np.uint64(9)
_U52 = np.uint64(52)
_U63 = np.uint64(63)
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
        (word,) = arguments
        defined_for_zero = ir.IntType(1)(0)
        return builder.ctlz(word, defined_for_zero)

    return types.uint64(types.uint64), generate


@intrinsic
def _high_product(typing_context: Any, a: Any, b: Any) -> Generated:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Processors of 64 bits have an instruction for the product of 128 bits.
        wide = ir.IntType(128)
        factors = [builder.zext(argument, wide) for argument in arguments]
        product = builder.mul(*factors)
        upper_half = builder.lshr(product, wide(64))
        return builder.trunc(upper_half, ir.IntType(64))

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
    place = power - _SMALLEST
    five = _HIGH[place]
    low = factor * five
    high = _high_product(factor, five)
    if high & _LOW_9 == _LOW_9:
        carry = _high_product(factor, _LOW[place])
        low += carry
        if carry > low:
            high += _U1
    upper = high >> _U63
    shift = upper + _U9
    mantissa = high >> shift
    # 217706 / 65536 approximates log2(10) closely enough to give its floor over the whole range.
    log2_of_power = (217706 * power) >> 16
    exponent = log2_of_power + 63 + np.int64(upper) - np.int64(zeros) + 1023
    if exponent <= 0:
        return 0.0, False
    if (
        low <= _U1
        and -4 <= power <= 23
        and mantissa & _U3 == _U1
        and mantissa << shift == high
    ):
        mantissa -= _U1  # halfway between two doubles: round to the even one
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    if mantissa >> _U52 > _U1:
        mantissa = _HIDDEN
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    fraction = mantissa - _HIDDEN
    bits = fraction | (np.uint64(exponent) << _U52)
    return _double_of_bits(bits), True


EXACT, HARD, NOT_A_NUMBER = range(3)

_MOST_DIGITS = 19
"""Number of digits that always fit into 64 bits."""
_UNSIGNED_POWERS = np.array([10**n for n in range(_MOST_DIGITS + 1)], dtype=np.uint64)
_EXACT_DIGITS = 15
"""Number of digits that are always a double, as is their power of ten: one rounding."""
_SIGNED_POWERS = np.array([10**n for n in range(9)])
_FLOAT_POWERS = np.array([float(10**n) for n in range(_EXACT_DIGITS + 1)])
_PLUS, _MINUS, _ZERO = (ord(c) for c in "+-0")
_E, _N, _A, _I, _F, _T, _Y = (ord(c) for c in "enaifty")


@compiled
def _special(buffer: NDArray[np.uint8], pos: int) -> tuple[float, int, int]:
    """Parse nan, inf or infinity in any case."""
    a = buffer[pos] | 32
    b = 0
    c = 0
    if a == _N or a == _I:
        b = buffer[pos + 1] | 32
        if b == _A or b == _N:
            c = buffer[pos + 2] | 32
    if a == _N and b == _A and c == _N:
        return np.nan, pos + 3, EXACT
    if a == _I and b == _N and c == _F:
        pos += 3
        letters = (_I, _N, _I, _T, _Y)
        matched = 0
        while matched < 5 and buffer[pos + matched] | 32 == letters[matched]:
            matched += 1
        if matched == 5:
            pos += 5
        return np.inf, pos, EXACT
    return 0.0, pos, NOT_A_NUMBER


@compiled
def digits_at(buffer: NDArray[np.uint8], pos: int, mantissa: int) -> tuple[int, int]:
    """Append digits at `pos` to `mantissa`, which may overflow; return it and where they end."""
    while True:
        value, count = digit_run(buffer, pos)
        mantissa = mantissa * _SIGNED_POWERS[count] + value
        pos += count
        if count < 8:
            return mantissa, pos


@inlined
def _plain_number(buffer: NDArray[np.uint8], pos: int, mark: int) -> tuple[float, int]:
    """Return the number at `pos` and where it ends, which is 0 if it is not a plain number.

    Plain numbers begin with a digit, have no exponent, up to eight digits before the point and up
    to `_MOST_DIGITS` in total. No branch depends on the number of digits, only on whether they are
    few.
    """
    not_digits = other_than_digits(buffer, pos)
    digits = int(np.int64(trailing_zeros(not_digits)))
    if digits == 0 or digits > 8:
        return 0.0, 0
    mantissa = digits_of(buffer, pos, digits)
    count = 0
    end = pos + digits
    if byte_at(buffer, end) == mark:
        first = end + 1
        after_mark = not_digits >> np.uint64(digits + 1)
        count = int(np.int64(trailing_zeros(after_mark)))
        end = first + count
        if digits + count > _MOST_DIGITS:
            return 0.0, 0
        if count > 8:
            second = min(count - 8, 8)
            third = max(count - 16, 0)
            shifted = mantissa * _UNSIGNED_POWERS[8]
            mantissa = shifted + digits_of(buffer, first, 8)
            shifted = mantissa * _UNSIGNED_POWERS[second]
            mantissa = shifted + digits_of(buffer, first + 8, second)
            shifted = mantissa * _UNSIGNED_POWERS[third]
            mantissa = shifted + digits_of(buffer, first + 16, third)
        else:
            shifted = mantissa * _UNSIGNED_POWERS[count]
            mantissa = shifted + digits_of(buffer, first, count)
    if digits + count <= _EXACT_DIGITS:
        value = np.float64(np.int64(mantissa)) / _FLOAT_POWERS[count]
    else:
        # such powers are exact: this always succeeds
        value = nearest(mantissa, -count)[0] if mantissa != 0 else 0.0
    return value, (end if byte_at(buffer, end) | 32 != _E else 0)


@inlined
def number_at(buffer: NDArray[np.uint8], pos: int, mark: int) -> tuple[float, int, int]:
    """Return the number at `pos`, where it ends and how exact it is; `mark` is its point."""
    byte = byte_at(buffer, pos)
    value, end = _plain_number(buffer, pos + (byte == _MINUS), mark)
    if end:
        return -value if byte == _MINUS else value, end, EXACT
    return _any_number(buffer, pos, mark)


@compiled
def _any_number(
    buffer: NDArray[np.uint8], pos: int, mark: int
) -> tuple[float, int, int]:
    byte = byte_at(buffer, pos)
    negative = byte == _MINUS
    if negative or byte == _PLUS:
        pos += 1
    start = pos
    mantissa, pos = digits_at(buffer, pos, 0)
    digits = pos - start
    power = 0
    byte = byte_at(buffer, pos)
    if byte == mark:
        point = pos + 1
        mantissa, pos = digits_at(buffer, point, mantissa)
        power = point - pos
        digits -= power
        byte = byte_at(buffer, pos)
    if digits == 0:
        if pos != start:
            return 0.0, pos, NOT_A_NUMBER
        value, pos, state = _special(buffer, pos)
        return -value if negative else value, pos, state
    if byte | 32 == _E:
        pos += 1
        byte = byte_at(buffer, pos)
        if byte == _MINUS or byte == _PLUS:
            pos += 1
        first = pos
        exponent, pos = digits_at(buffer, pos, 0)
        if pos == first:
            return 0.0, pos, NOT_A_NUMBER
        if pos - first > 8:
            return 0.0, pos, HARD
        power += -exponent if byte == _MINUS else exponent
    if digits > _MOST_DIGITS:
        # Leading zeros do not count; 19 digits fit into 64 bits.
        while byte_at(buffer, start) == _ZERO or byte_at(buffer, start) == mark:
            digits -= byte_at(buffer, start) == _ZERO
            start += 1
        if digits > _MOST_DIGITS:
            return 0.0, pos, HARD
    value, is_exact = scaled(np.uint64(mantissa), power)
    if not is_exact:
        return 0.0, pos, HARD
    return -value if negative else value, pos, EXACT
