"""Numbers in text, for numba compiled loops.

They have the bits that strtod gives, see `olscale.compiled.decimal`. Python's ``float`` handles the
hard ones: more than 19 digits, or not normal doubles.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decimal import nearest, scaled
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.eight_bytes import byte_at, digit_run, digits_of, trailing_zeros
from olscale.compiled.many_bytes import other_than_digits

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
        rest = (_I, _N, _I, _T, _Y)
        matched = 0
        while matched < 5 and buffer[pos + matched] | 32 == rest[matched]:
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
    others = other_than_digits(buffer, pos)
    whole = int(np.int64(trailing_zeros(others)))
    if whole == 0 or whole > 8:
        return 0.0, 0
    mantissa = digits_of(buffer, pos, whole)
    count = 0
    end = pos + whole
    if byte_at(buffer, end) == mark:
        first = end + 1
        count = int(np.int64(trailing_zeros(others >> np.uint64(whole + 1))))
        end = first + count
        if whole + count > _MOST_DIGITS:
            return 0.0, 0
        if count > 8:
            second = min(count - 8, 8)
            third = max(count - 16, 0)
            mantissa = mantissa * _UNSIGNED_POWERS[8] + digits_of(buffer, first, 8)
            mantissa = mantissa * _UNSIGNED_POWERS[second] + digits_of(buffer, first + 8, second)
            mantissa = mantissa * _UNSIGNED_POWERS[third] + digits_of(buffer, first + 16, third)
        else:
            mantissa = mantissa * _UNSIGNED_POWERS[count] + digits_of(buffer, first, count)
    if whole + count <= _EXACT_DIGITS:
        value = np.float64(np.int64(mantissa)) / _FLOAT_POWERS[count]
    else:
        value = (
            nearest(mantissa, -count)[0] if mantissa != 0 else 0.0
        )  # such powers are exact: this always succeeds
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
def _any_number(buffer: NDArray[np.uint8], pos: int, mark: int) -> tuple[float, int, int]:
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
    value, done = scaled(np.uint64(mantissa), power)
    if not done:
        return 0.0, pos, HARD
    return -value if negative else value, pos, EXACT
