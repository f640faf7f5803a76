"""Gaussian numbers from random words, with the same bits on every machine.

They use nothing but + - * / and sqrt.

A word of 32 bits is a probability, and the number is its quantile: exact in the outer 2/4096,
elsewhere interpolated between the nearest two of 4,095 quantiles. This increases the variance by
less than 1e-4; no number is beyond 6.4.

References
----------
M. J. Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied
Statistics 37 (1988): PPND16.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled

_INTERVALS = 1 << 12
_LAST = np.uint64(_INTERVALS - 1)
_REST = np.uint64((1 << 20) - 1)
_BITS = np.uint64(20)
_ONE = np.uint64(1)
_LN2 = 0.6931471805599453
_SQRT2 = 1.4142135623730951

# Coefficients of PPND16, of the numerator and the denominator: |p - 1/2| <= 0.425, and the tails up
# to exp(-25). fmt: off
_CENTRE = (
    (
        3.3871328727963666080,
        133.14166789178437745,
        1971.5909503065514427,
        13731.693765509461125,
        45921.953931549871457,
        67265.770927008700853,
        33430.575583588128105,
        2509.0809287301226727,
    ),
    (
        1.0,
        42.313330701600911252,
        687.18700749205790830,
        5394.1960214247511077,
        21213.794301586595867,
        39307.895800092710610,
        28729.085735721942674,
        5226.4952788528545610,
    ),
)
_TAIL = (
    (
        1.42343711074968357734,
        4.63033784615654529590,
        5.76949722146069140550,
        3.64784832476320460504,
        1.27045825245236838258,
        0.241780725177450611770,
        0.0227238449892691845833,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187,
        1.67638483018380384940,
        0.689767334985100004550,
        0.148103976427480074590,
        0.0151986665636164571966,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
# fmt: on


@compiled
def _polynomial(coefficients: Any, x: float) -> float:
    total = 0.0
    for i in range(8):
        total = total * x + coefficients[7 - i]
    return total


@compiled
def _minus_log(p: float) -> float:
    """Return ``-ln p`` for 0 < p < 1, to a few units in the last place.

    Mathematical libraries differ in the last bits.
    """
    twos = 0
    while p < _SQRT2 / 2.0:
        p = p * 2.0
        twos = twos + 1
    s = (p - 1.0) / (p + 1.0)
    square = s * s
    series = 0.0
    for odd in range(25, 1, -2):
        series = (series + 1.0 / odd) * square
    return twos * _LN2 - 2.0 * (s + s * series)


@compiled
def quantile(p: float) -> float:
    """Return the `p` quantile of a standard Gaussian, for ``exp(-25) <= p <= 1 - exp(-25)``."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _polynomial(_CENTRE[0], r) / _polynomial(_CENTRE[1], r)
    r = np.sqrt(_minus_log(min(p, 1.0 - p))) - 1.6
    far = _polynomial(_TAIL[0], r) / _polynomial(_TAIL[1], r)
    return far if q > 0.0 else -far


@compiled
def gaussian(word: Any, table: Any) -> float:
    """Return the Gaussian number of a word, a uint64 below 2^32, with the table of `quantiles`."""
    interval = word >> _BITS
    if interval == 0 or interval == _LAST:
        return quantile((float(word) + 0.5) * 2.0**-32)
    low = float(table[interval])
    return low + (float(word & _REST) + 0.5) * 2.0**-20 * (float(table[interval + _ONE]) - low)


@compiled
def _fill_quantiles(table: Any) -> None:
    for i in range(1, table.shape[0]):
        table[i] = quantile(i / table.shape[0])


@cache
def quantiles() -> NDArray[np.float32]:
    """Return the quantiles of the probabilities i / 4096, without i = 0."""
    table = np.zeros(_INTERVALS, dtype=np.float32)
    _fill_quantiles(table)
    return table
