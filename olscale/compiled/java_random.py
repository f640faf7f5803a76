"""The random numbers of ``java.util.Random``, bit for bit, as compiled functions.

Programs in Java, MOA among them, define their streams by this generator: the same seed gives the
same rows only with the same numbers. It is a linear congruential generator of 48 bits, whose
methods the documentation of the class states as formulas. Gaussians are those of the polar method,
with the logarithm of ``StrictMath``, which is fdlibm's.

References
----------
Java SE 17, documentation of ``java.util.Random``: ``next``, ``nextInt(int)``, ``nextDouble``,
``nextGaussian``.

D. E. Knuth, The Art of Computer Programming 2, 3rd edition, 1997, sections 3.2.1 and 3.4.1 C.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import FloatArray
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.elementary import LN2_HIGH, LN2_LOW, LOGARITHM, bits_of, from_bits

_MULTIPLIER = np.uint64(0x5DEECE66D)
_ADDEND = np.uint64(0xB)
_MASK = np.uint64((1 << 48) - 1)
_STATE_BITS = 48
# What separates these seeds from those of NumPy's generators.
_TAG = 0x30A
_INT_SPAN = 1 << 31
_DOUBLE_UNIT = 2.0**-53


class JavaRandom(NamedTuple):
    """The state of one generator, which the compiled functions advance.

    Parameters
    ----------
    bits : ndarray of shape (1,), uint64
        The 48 bits.
    spare : ndarray of shape (2,), float64
        Whether the second Gaussian of a pair waits (1 or 0), and that Gaussian.
    """

    bits: NDArray[np.uint64]
    spare: FloatArray


def java_random(seed: int) -> JavaRandom:
    """Return the state of ``new Random(seed)``.

    Examples
    --------
    >>> random = java_random(42)
    >>> next_int(random, 100), next_double(random), next_gaussian(random)
    (30, 0.05466526274716077, 0.2669736057242196)
    """
    scrambled = (seed ^ int(_MULTIPLIER)) & int(_MASK)
    return JavaRandom(
        bits=np.array([scrambled], dtype=np.uint64),
        spare=np.zeros(2),
    )


def java_seed(entropy: Sequence[int], seed: int = 0) -> int:
    """Return the seed of Java's generator in a run of this entropy.

    Learners of MOA have that of `seed` 0, and those that draw the same numbers by default, so that
    both begin alike.

    Examples
    --------
    >>> java_seed((0, 1)) < 2**31, java_seed((0, 1), seed=2) == java_seed((0, 1))
    (True, False)
    """
    # A key, not one more number of the entropy: that would be the entropy of another run.
    key = (seed,) if seed > 0 else ()
    sequence = np.random.SeedSequence([_TAG, *entropy], spawn_key=key)
    (word,) = sequence.generate_state(1)
    return int(word >> 1)


@inlined
def _next(random: Any, count: int) -> int:
    """Return the next `count` bits, at most 31, as a number of 0 or more."""
    state = (random.bits[0] * _MULTIPLIER + _ADDEND) & _MASK
    random.bits[0] = state
    low_bits = np.uint64(_STATE_BITS - count)
    return np.int64(state >> low_bits)  # type: ignore[return-value]


@compiled
def next_int(random: Any, bound: int) -> int:
    """Return a whole number from 0 to ``bound - 1``."""
    number = _next(random, 31)
    if bound & (bound - 1) == 0:
        return (bound * number) >> 31
    remainder = number % bound
    # The last, incomplete range of `bound` numbers below 2^31 is drawn again.
    while number - remainder + (bound - 1) >= _INT_SPAN:
        number = _next(random, 31)
        remainder = number % bound
    return remainder


@compiled
def next_double(random: Any) -> float:
    """Return a number from 0 to 1, of 53 bits."""
    high = _next(random, 26)
    low = _next(random, 27)
    return ((high << 27) + low) * _DOUBLE_UNIT


@compiled
def next_gaussian(random: Any) -> float:
    """Return a number of the standard normal distribution."""
    if random.spare[0] != 0.0:
        random.spare[0] = 0.0
        return float(random.spare[1])
    square = 0.0
    first = 0.0
    second = 0.0
    while square >= 1.0 or square == 0.0:
        first = 2.0 * next_double(random) - 1.0
        second = 2.0 * next_double(random) - 1.0
        square = first * first + second * second
    logarithm = strict_logarithm(square)
    scale = sqrt(-2.0 * logarithm / square)
    random.spare[0] = 1.0
    random.spare[1] = second * scale
    return first * scale


@compiled
def strict_logarithm(x: float) -> float:
    """Return the natural logarithm of a finite normal `x` above 0 as ``StrictMath.log`` does.

    Other logarithms of the same accuracy differ in the last bit: fdlibm adds up the terms in
    another order where the fraction is far from 1, and splits off powers of two elsewhere than at
    the square root of 2.
    """
    bits = bits_of(x)
    exponent = (bits >> 52) - 1023
    high = (bits >> 32) & 0xFFFFF
    upper = (high + 0x95F64) & 0x100000
    exponent += upper >> 20
    mantissa = bits & 0x000FFFFFFFFFFFFF
    one = 0x3FF0000000000000
    if upper != 0:
        one = 0x3FE0000000000000
    f: float = from_bits(one | mantissa) - 1.0
    k = float(exponent)
    if (0xFFFFF & (2 + high)) < 3:
        return _near_one(f, k)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (LOGARITHM[1] + w * (LOGARITHM[3] + w * LOGARITHM[5]))
    odd = z * (
        LOGARITHM[0] + w * (LOGARITHM[2] + w * (LOGARITHM[4] + w * LOGARITHM[6]))
    )
    rest = odd + even
    if ((high - 0x6147A) | (0x6B851 - high)) > 0:
        half = 0.5 * f * f
        if exponent == 0:
            return f - (half - s * (half + rest))
        return k * LN2_HIGH - ((half - (s * (half + rest) + k * LN2_LOW)) - f)
    if exponent == 0:
        return f - s * (f - rest)
    return k * LN2_HIGH - ((s * (f - rest) - k * LN2_LOW) - f)


@inlined
def _near_one(f: float, k: float) -> float:
    """Return ``log(2^k (1 + f))`` for ``|f| < 2^-20``."""
    if f == 0.0:
        if k == 0.0:
            return 0.0
        return k * LN2_HIGH + k * LN2_LOW
    rest = f * f * (0.5 - 0.33333333333333333 * f)
    if k == 0.0:
        return f - rest
    return k * LN2_HIGH - ((rest - k * LN2_LOW) - f)
