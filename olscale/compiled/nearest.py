"""Exponential and logarithm that are rounded to the nearest number, but for about 1 in 1,000.

Those of `olscale.compiled.elementary` may be the next number. Where tiny differences decide, as
between two splits of equal merit, others' results are met by the nearest number only. The rest
after a step of a table is small, so that its rounding hardly counts.
"""

from decimal import Context, Decimal

import numpy as np

from olscale.compiled.decorator import inlined
from olscale.compiled.elementary import (
    BIAS,
    LEAST,
    LN2_HIGH,
    LN2_LOW,
    ROUND,
    bits_of,
    from_bits,
)

_STEPS = 128
_EXACT = Context(prec=50)
_LN2 = _EXACT.ln(2)
_STEPS_BY_LN2 = float(_STEPS / _LN2)
_FRACTION = 0x000FFFFFFFFFFFFF
_ONE = 0x3FF0000000000000
_UPPER = ~0x7FFFFFF
_GRID = 2.0**40


def _powers() -> np.ndarray:
    """Return ``2^(i / 128)`` as numbers, and what they lack."""
    rows = []
    for i in range(_STEPS):
        logarithm = _EXACT.multiply(_LN2, Decimal(i) / _STEPS)
        power = _EXACT.exp(logarithm)
        nearest = float(power)
        residual = power - Decimal(nearest)
        rows.append([nearest, float(residual)])
    return np.array(rows)


def _steps_of_logarithm() -> np.ndarray:
    """Return factors that bring each interval of numbers near 1, and minus their logarithms.

    The intervals are of 1/128 from 1 to 2, where those of the upper half count as halved. A factor
    has few digits, so that products with it are exact, and so has the first part of a logarithm.
    """
    rows = []
    for i in range(_STEPS):
        middle = 1.0 + (i + 0.5) / _STEPS
        if 2 * i >= _STEPS:
            middle *= 0.5
        factor = round(1024.0 / middle) / 1024.0
        # Near 1, where logarithms vanish, they need all their digits.
        if i in (0, _STEPS - 1):
            factor = 1.0
        logarithm = -_EXACT.ln(Decimal(factor))
        upper = round(float(logarithm) * _GRID) / _GRID
        lower = logarithm - Decimal(upper)
        rows.append([factor, upper, float(lower)])
    return np.array(rows)


_POWERS = _powers()
_NEAR_ONE = _steps_of_logarithm()


@inlined
def nearest_exponential(x: float) -> float:
    """Return ``e^x`` for `x` from -708 to 708, within 0.51 of its last digit; 0 below."""
    if x < LEAST:
        return 0.0
    shifted = x * _STEPS_BY_LN2 + ROUND
    k = shifted - ROUND
    ln2_high = LN2_HIGH / _STEPS
    ln2_low = LN2_LOW / _STEPS
    r = (x - k * ln2_high) - k * ln2_low
    steps = int(k)
    i = steps & (_STEPS - 1)
    q = 1.0 / 24.0 + r * (1.0 / 120.0 + r / 720.0)
    p = r + r * r * (0.5 + r * (1.0 / 6.0 + r * q))
    power = _POWERS[i, 0]
    mantissa = power + (_POWERS[i, 1] + power * p)
    exponent = ((steps - i) >> 7) + BIAS
    return float(mantissa * from_bits(exponent << 52))


@inlined
def nearest_logarithm(x: float) -> float:
    """Return the natural logarithm of a finite `x` of at least 2.3e-308, within 0.51 digits."""
    bits = bits_of(x)
    k = float((bits >> 52) - BIAS)
    i = (bits >> 45) & (_STEPS - 1)
    z = from_bits((bits & _FRACTION) | _ONE)
    if 2 * i >= _STEPS:
        z *= 0.5
        k += 1.0
    factor = _NEAR_ONE[i, 0]
    upper = from_bits(bits_of(z) & _UPPER)
    r = (upper * factor - 1.0) + (z - upper) * factor
    q = 1.0 / 7.0 - r * (0.125 - r * (1.0 / 9.0 - r * 0.1))
    q = 1.0 / 3.0 - r * (0.25 - r * (0.2 - r * (1.0 / 6.0 - r * q)))
    q = r * r * (r * q - 0.5)
    high = k * LN2_HIGH + _NEAR_ONE[i, 1]
    total = high + r
    lost = (high - total) + r
    low = k * LN2_LOW + _NEAR_ONE[i, 2] + q
    return float(total + (lost + low))
