"""Elementary functions with fixed bits, fast in loops over many numbers.

Those of the C library are called number by number, ten times slower than their arithmetic; NumPy's
use the vector instructions of the machine, and so have different bits on each. These are additions
and multiplications in a fixed order, which LLVM turns into vector code with the same bits.
"""

from math import sqrt
from typing import Any

from llvmlite import ir
from numba import types

from olscale.compiled.decorator import inlined
from olscale.compiled.intrinsics import intrinsic


@intrinsic
def bits_of(typing_context: Any, number: Any) -> Any:
    """Return the 64 bits of a float64 as an integer."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def from_bits(typing_context: Any, bits: Any) -> Any:
    """Return the float64 with these 64 bits."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def quotient(typing_context: Any, over: Any, under: Any) -> Any:
    """Return ``over / under``, without Python's test for zero, which prevents vector code."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fdiv(*arguments)

    return types.float64(types.float64, types.float64), codegen


LEAST = -708.0
"""Bound below which the exponential is 0.

It is 3e-308 there, so that numbers near the least are not lost in steps.
"""

LOG2_E = 1.4426950408889634
# the high part has 20 zeros at its end
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Added to a number below 2^51 it leaves the nearest integer in the last bits of the sum.
ROUND = 6755399441055744.0
BIAS = 1023

# 1 / n! for even and odd n from 13 down. `olscale.compiled.simd.features` uses all of these too.
EVEN = (
    2.08767569878681e-09,
    2.755731922398589e-07,
    2.48015873015873e-05,
    1.388888888888889e-03,
    4.1666666666666664e-02,
    0.5,
    1.0,
)
ODD = (
    1.6059043836821613e-10,
    2.505210838544172e-08,
    2.7557319223985893e-06,
    1.984126984126984e-04,
    8.333333333333333e-03,
    1.6666666666666666e-01,
    1.0,
)


TWO_BY_PI = 0.6366197723675814
# In three parts: the first two have 33 bits, so that their products with q are exact.
HALF_PI = (
    1.57079632673412561417e00,
    6.07710050630396597660e-11,
    2.02226624879595063154e-21,
)
SINE = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
    -1.66666666666666324348e-01,
)
COSINE = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
)


@inlined
def exponential(x: float) -> float:
    """Return ``e^x`` for `x` from -708 to 708, within 3e-16 relative; 0 below.

    A Taylor polynomial of degree 13 in ``r = x - k ln 2``, times 2^k.
    """
    inside = max(x, LEAST)
    shifted = inside * LOG2_E + ROUND
    k = shifted - ROUND
    r = (inside - k * LN2_HIGH) - k * LN2_LOW
    # Even and odd powers are separate: two sums that need not wait for each other.
    z = r * r
    even = EVEN[0]
    odd = ODD[0]
    even = even * z + EVEN[1]
    odd = odd * z + ODD[1]
    even = even * z + EVEN[2]
    odd = odd * z + ODD[2]
    even = even * z + EVEN[3]
    odd = odd * z + ODD[3]
    even = even * z + EVEN[4]
    odd = odd * z + ODD[4]
    even = even * z + EVEN[5]
    odd = odd * z + ODD[5]
    even = even * z + EVEN[6]
    odd = odd * z + ODD[6]
    p = even + r * odd
    power = from_bits((bits_of(shifted) + BIAS) << 52)
    return p * power if x >= LEAST else 0.0


SQRT_2 = 1.4142135623730951
_FRACTION = 0x000FFFFFFFFFFFFF
_ONE = 0x3FF0000000000000

# From the logarithm of msun: 2 / 3, 2 / 5 and so on, adjusted to minimize the error.
LOGARITHM = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


@inlined
def _logarithm_of(k: float, f: float) -> float:
    """Return ``log(2^k (1 + f))`` for `f` from sqrt(1/2) - 1 to sqrt(2) - 1."""
    s = quotient(f, 2.0 + f)
    z = s * s
    w = z * z
    odd = LOGARITHM[0] + w * (LOGARITHM[2] + w * (LOGARITHM[4] + w * LOGARITHM[6]))
    even = LOGARITHM[1] + w * (LOGARITHM[3] + w * LOGARITHM[5])
    rest = z * odd + w * even
    half = 0.5 * f * f
    return float(k * LN2_HIGH - ((half - (s * (half + rest) + k * LN2_LOW)) - f))


@inlined
def logarithm(x: float) -> float:
    """Return the natural logarithm of a finite `x` of at least 2.3e-308, within 3e-16 relative."""
    bits = bits_of(x)
    k = (bits >> 52) - BIAS
    fraction = from_bits((bits & _FRACTION) | _ONE)
    if fraction > SQRT_2:
        fraction *= 0.5
        k += 1
    return _logarithm_of(float(k), fraction - 1.0)


@inlined
def logarithm_of_sum(x: float) -> float:
    """Return ``log(1 + x)`` for `x` from 0 to 1, within 3e-16 relative."""
    if x > SQRT_2 - 1.0:
        return _logarithm_of(1.0, 0.5 * (x - 1.0))
    return _logarithm_of(0.0, x)


@inlined
def falling_power(t: float, power: float) -> float:
    """Return ``t^-power`` for ``t >= 1`` and ``power >= 0``.

    It is within 4e-16 relative for the powers 0, 1/2 and 1.

    Other powers are ``exp(-power log t)``, within ``3e-16 (1 + power log t)``.
    """
    if power == 0.0:
        return 1.0
    if power == 0.5:
        return 1.0 / sqrt(t)
    if power == 1.0:
        return 1.0 / t
    return exponential(-power * logarithm(t))


@inlined
def sine_cosine(x: float) -> tuple[float, float]:
    """Return sine and cosine of `x`, within 3e-16 absolute for numbers up to 1e5.

    `x` is reduced to ``[-pi/4, pi/4]`` in three steps; there the polynomials of the C library's
    msun hold.
    """
    shifted = x * TWO_BY_PI + ROUND
    q = shifted - ROUND
    r = x - q * HALF_PI[0]
    r = r - q * HALF_PI[1]
    r = r - q * HALF_PI[2]
    z = r * r
    s = (
        (((SINE[0] * z + SINE[1]) * z + SINE[2]) * z + SINE[3]) * z + SINE[4]
    ) * z + SINE[5]
    s = r + r * z * s
    c = (
        (((COSINE[0] * z + COSINE[1]) * z + COSINE[2]) * z + COSINE[3]) * z + COSINE[4]
    ) * z + COSINE[5]
    c = 1.0 - 0.5 * z + z * z * c
    bits = bits_of(shifted)
    swapped = (bits & 1) != 0
    sine, cosine = (c, s) if swapped else (s, c)
    # The second bit of the quadrant is the sign: it is shifted to the sign bit of a number.
    sine = from_bits(bits_of(sine) ^ ((bits & 2) << 62))
    cosine = from_bits(bits_of(cosine) ^ (((bits + 1) & 2) << 62))
    return sine, cosine
