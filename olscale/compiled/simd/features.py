"""Vector code for Gaussian kernel values, and for the cosines and sines that approximate them.

Elementary functions have the bits of `olscale.compiled.elementary`. In a plain loop each number
waits for its own polynomial, two dozen operations one after the other; here four vectors of eight
take turns, operation by operation, which keeps the processor busy.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.elementary import (
    BIAS,
    COSINE,
    EVEN,
    HALF_PI,
    LEAST,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    ODD,
    ROUND,
    SINE,
    TWO_BY_PI,
)
from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT64,
    VECTOR,
    broadcast,
    load_vector,
    open_arrays,
    store_vector,
)

TURNS = 4
"""Number of vectors that take turns: more would not fit the registers."""

DOUBLES = ir.VectorType(DOUBLE, VECTOR)
WHOLES = ir.VectorType(INT64, VECTOR)


def all_of(number: float, kind: Any = DOUBLES) -> Any:
    """Return the vector filled with one constant."""
    return ir.Constant(kind, [number] * VECTOR)


class Vectors:
    """Vectors on which an operation is written for one after the other.

    A number stands for a vector filled with it.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    values : list of LLVM vectors of doubles
    """

    def __init__(self, builder: Any, values: list[Any]) -> None:
        self.builder = builder
        self.values = values

    def __add__(self, other: Any) -> "Vectors":
        return self._do(self.builder.fadd, other)

    def __sub__(self, other: Any) -> "Vectors":
        return self._do(self.builder.fsub, other)

    def __mul__(self, other: Any) -> "Vectors":
        return self._do(self.builder.fmul, other)

    def _do(self, operation: Callable[[Any, Any], Any], other: Any) -> "Vectors":
        if not isinstance(other, Vectors):
            other = self.filled(other)
        pairs = zip(self.values, other.values, strict=True)
        results = [operation(a, b) for a, b in pairs]
        return Vectors(self.builder, results)

    def filled(self, number: float) -> "Vectors":
        """Return as many vectors filled with one constant."""
        filled = [all_of(number)] * len(self.values)
        return Vectors(self.builder, filled)

    def map(self, operation: Callable[[Any], Any]) -> list[Any]:
        """Return the results of `operation` for each vector."""
        return [operation(vector) for vector in self.values]


def polynomial(factors: tuple[float, ...], z: Vectors) -> Vectors:
    """Return the polynomial with these factors, the highest power first."""
    total = z * factors[0] + factors[1]
    for factor in factors[2:]:
        total = total * z + factor
    return total


def exponentials(x: Vectors) -> Vectors:
    """Return `exponential` of each number."""
    builder = x.builder
    least = all_of(LEAST)
    enough = x.map(lambda vector: builder.fcmp_ordered(">=", vector, least))
    inside = _choose(enough, x, LEAST)
    shifted = inside * LOG2_E + ROUND
    k = shifted - ROUND
    r = (inside - k * LN2_HIGH) - k * LN2_LOW
    z = r * r
    # Powers of z with even and odd number apart: two chains of half the length.
    even_part = x.filled(EVEN[0])
    odd_part = x.filled(ODD[0])
    factors = zip(EVEN[1:], ODD[1:], strict=True)
    for even, odd in factors:
        even_part = even_part * z + even
        odd_part = odd_part * z + odd
    powers = shifted.map(lambda vector: _power_of_two(builder, vector))
    mantissa = even_part + r * odd_part
    values = mantissa * Vectors(builder, powers)
    return _choose(enough, values, 0.0)


def _power_of_two(builder: Any, shifted: Any) -> Any:
    """Return 2 to the whole numbers in the low bits of `shifted`: they become the exponent."""
    number = builder.bitcast(shifted, WHOLES)
    bias = all_of(BIAS, WHOLES)
    biased = builder.add(number, bias)
    bits_of_fraction = all_of(52, WHOLES)
    exponent = builder.shl(biased, bits_of_fraction)
    return builder.bitcast(exponent, DOUBLES)


def sines_cosines(x: Vectors) -> tuple[Vectors, Vectors]:
    """Return `sine_cosine` of each number."""
    builder = x.builder
    shifted = x * TWO_BY_PI + ROUND
    q = shifted - ROUND
    r = x
    for part in HALF_PI:
        r = r - q * part
    z = r * r
    s = polynomial(SINE, z)
    c = polynomial(COSINE, z)
    s = r + r * z * s
    c = x.filled(1.0) - z * 0.5 + z * z * c
    quadrants = shifted.map(lambda vector: builder.bitcast(vector, WHOLES))
    zeros = all_of(0, WHOLES)
    ones = all_of(1, WHOLES)
    sines = []
    cosines = []
    of_vectors = zip(quadrants, s.values, c.values, strict=True)
    for quadrant, sine, cosine in of_vectors:
        lowest_bit = builder.and_(quadrant, ones)
        odd = builder.icmp_signed("!=", lowest_bit, zeros)
        unsigned_sine = builder.select(odd, cosine, sine)
        signed_sine = _signed(builder, unsigned_sine, quadrant)
        sines.append(signed_sine)
        quadrant_after = builder.add(quadrant, ones)
        unsigned_cosine = builder.select(odd, sine, cosine)
        signed_cosine = _signed(builder, unsigned_cosine, quadrant_after)
        cosines.append(signed_cosine)
    return Vectors(builder, sines), Vectors(builder, cosines)


def _choose(tests: list[Any], values: Vectors, otherwise: float) -> Vectors:
    """Return the values where the tests hold, and one constant elsewhere."""
    builder = values.builder
    constant = all_of(otherwise)
    pairs = zip(tests, values.values, strict=True)
    chosen = [builder.select(test, value, constant) for test, value in pairs]
    return Vectors(builder, chosen)


def _signed(builder: Any, vector: Any, quadrant: Any) -> Any:
    """Return a vector with the sign of its quadrants, which is their second bit."""
    twos = all_of(2, WHOLES)
    second_bit = builder.and_(quadrant, twos)
    places_to_sign = all_of(62, WHOLES)
    sign = builder.shl(second_bit, places_to_sign)
    bits = builder.bitcast(vector, WHOLES)
    signed = builder.xor(bits, sign)
    return builder.bitcast(signed, DOUBLES)


@intrinsic
def gaussian_values(
    typing_context,
    count,
    gamma,
    size,
    sizes,
    k,
):
    """Turn the first `count` products in `k` into kernel values.

    Up to seven numbers after them become some number from 0 to 1.

    For a row of squared norm `size` and vectors of squared norms `sizes`; both arrays have room for
    full vectors:

    >>> import numpy as np
    >>> def gaussian_values(count, gamma, size, sizes, k):
    ...     k[:count] = np.exp(-gamma * np.maximum(0.0, size + sizes[:count] - 2.0 * k[:count]))
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        squares, products = open_arrays(context, builder, signature, arguments, 3, 4)
        count, gamma, size_of_row = arguments[:3]
        minus_gamma = builder.fneg(gamma)
        factor = broadcast(builder, minus_gamma, DOUBLES)
        size = broadcast(builder, size_of_row, DOUBLES)
        zeros = all_of(0.0)
        twos = all_of(2.0)

        def write(places: list[Any]) -> None:
            exponents = []
            for place in places:
                product = load_vector(builder, products.data, place, VECTOR)
                norm = load_vector(builder, squares.data, place, VECTOR)
                total = builder.fadd(size, norm)
                twice = builder.fmul(product, twos)
                distance = builder.fsub(total, twice)
                # Rounding makes distances below 0.
                positive = builder.fcmp_ordered(">", distance, zeros)
                distance = builder.select(positive, distance, zeros)
                exponent = builder.fmul(factor, distance)
                exponents.append(exponent)
            results = exponentials(Vectors(builder, exponents))
            for place, value in zip(places, results.values, strict=True):
                store_vector(builder, value, products.data, place)

        # The last vector may reach past the count: there is room, and what it leaves is not read.
        padded = builder.add(count, INT64(VECTOR - 1))
        vectors = builder.udiv(padded, INT64(VECTOR))
        _for_turns(builder, vectors, write)
        return context.get_dummy_value()

    result = types.void(
        types.intp,
        types.float64,
        types.float64,
        sizes,
        k,
    )
    return result, codegen


@intrinsic
def fourier_values(
    typing_context,
    angles,
    factor,
    scale,
    cosines,
    sines,
):
    """Set `cosines` and `sines` to `scale` times those of ``factor * angles``; return how many.

    Only full vectors are set.

    >>> import numpy as np
    >>> def fourier_values(angles, factor, scale, cosines, sines):
    ...     whole = len(angles) - len(angles) % 8
    ...     cosines[:whole] = scale * np.cos(factor * angles[:whole])
    ...     sines[:whole] = scale * np.sin(factor * angles[:whole])
    ...     return whole
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        angle, sine, cosine = open_arrays(
            context, builder, signature, arguments, 0, 4, 3
        )
        factor = broadcast(builder, arguments[1], DOUBLES)
        scale = broadcast(builder, arguments[2], DOUBLES)

        def write(places: list[Any]) -> None:
            numbers = []
            for place in places:
                number = load_vector(builder, angle.data, place, VECTOR)
                numbers.append(number)
            scaled = [builder.fmul(factor, vector) for vector in numbers]
            both = sines_cosines(Vectors(builder, scaled))
            for result, vectors in zip((sine, cosine), both, strict=True):
                of_places = zip(places, vectors.values, strict=True)
                for place, vector in of_places:
                    value = builder.fmul(scale, vector)
                    store_vector(builder, value, result.data, place)

        size = builder.extract_value(angle.shape, 0)
        vectors = builder.udiv(size, INT64(VECTOR))
        _for_turns(builder, vectors, write)
        return builder.mul(vectors, INT64(VECTOR))

    result = types.intp(
        angles,
        types.float64,
        types.float64,
        cosines,
        sines,
    )
    return result, codegen


def _for_turns(builder: Any, vectors: Any, write: Callable[[list[Any]], None]) -> None:
    """Let `write` write the loop for vectors of arrays, given where those that take turns begin."""
    first = INT64(0)
    for turns in (TURNS, 1):
        remaining = builder.sub(vectors, first)
        count = builder.udiv(remaining, INT64(turns))
        with cgutils.for_range(builder, count) as loop:
            offset = builder.mul(loop.index, INT64(turns))
            start = builder.add(first, offset)
            places = []
            for turn in range(turns):
                vector = builder.add(start, INT64(turn))
                place = builder.mul(vector, INT64(VECTOR))
                places.append(place)
            write(places)
        first = builder.mul(count, INT64(turns))
