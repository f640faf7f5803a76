"""Numbers in text, for numba compiled loops.

They have the bits that strtod gives, see `olscale.compiled.decimal`. Those of more than 19 digits and those that are not
normal doubles are left to Python's ``float``: they are hard.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decimal import scaled
from olscale.compiled.decorator import compiled
from olscale.compiled.eight_bytes import byte_at, digit_run

EXACT, HARD, NOT_A_NUMBER = range(3)

_INT_POWERS = np.array([10**n for n in range(9)])
_PLUS, _MINUS, _ZERO = (ord(c) for c in "+-0")
_E, _N, _A, _I, _F, _T, _Y = (ord(c) for c in "enaifty")


@compiled
def _special(buffer: NDArray[np.uint8], pos: int) -> tuple[float, int, int]:
    """Parse nan, inf or infinity in any case."""
    a, b, c = buffer[pos] | 32, 0, 0
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
    """Append the digits at `pos` to `mantissa` (it may overflow: count them); return it and where they end."""
    while True:
        value, count = digit_run(buffer, pos)
        mantissa = mantissa * _INT_POWERS[count] + value
        pos += count
        if count < 8:
            return mantissa, pos


@compiled
def number_at(buffer: NDArray[np.uint8], pos: int, mark: int) -> tuple[float, int, int]:
    """Return the number at `pos`, where it ends and how far it can be trusted; `mark` is its decimal point."""
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
    if digits > 19:
        # Leading zeros do not count; 19 digits fit into 64 bits.
        while byte_at(buffer, start) == _ZERO or byte_at(buffer, start) == mark:
            digits -= byte_at(buffer, start) == _ZERO
            start += 1
        if digits > 19:
            return 0.0, pos, HARD
    value, done = scaled(np.uint64(mantissa), power)
    if not done:
        return 0.0, pos, HARD
    return -value if negative else value, pos, EXACT
