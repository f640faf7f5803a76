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
        if isinstance(other, Vectors):
            operands = other.values
        else:
            operands = [all_of(other)] * len(self.values)
        results = [operation(a, b) for a, b in zip(self.values, operands, strict=True)]
        return Vectors(self.builder, results)

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
    enough = x.map(lambda vector: builder.fcmp_ordered(">=", vector, all_of(LEAST)))
    inside = Vectors(builder, _choose(builder, enough, x.values, LEAST))
    shifted = inside * LOG2_E + ROUND
    k = shifted - ROUND
    r = (inside - k * LN2_HIGH) - k * LN2_LOW
    z = r * r
    even = all_of(EVEN[0])
    odd = all_of(ODD[0])
    # Powers of z with even and odd number apart: two chains of half the length.
    even_part = Vectors(builder, [even] * len(x.values))
    odd_part = Vectors(builder, [odd] * len(x.values))
    for a, b in zip(EVEN[1:], ODD[1:], strict=True):
        even_part = even_part * z + a
        odd_part = odd_part * z + b
    powers = shifted.map(lambda vector: _power_of_two(builder, vector))
    values = (even_part + r * odd_part) * Vectors(builder, powers)
    return Vectors(builder, _choose(builder, enough, values.values, 0.0))


def _power_of_two(builder: Any, shifted: Any) -> Any:
    """Return 2 to the whole numbers in the low bits of `shifted`: they become the exponent."""
    number = builder.bitcast(shifted, WHOLES)
    biased = builder.add(number, all_of(BIAS, WHOLES))
    exponent = builder.shl(biased, all_of(52, WHOLES))
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
    c = Vectors(builder, [all_of(1.0)] * len(x.values)) - z * 0.5 + z * z * c
    bits = shifted.map(lambda vector: builder.bitcast(vector, WHOLES))
    sines = []
    cosines = []
    for number, sine, cosine in zip(bits, s.values, c.values, strict=True):
        lowest_bit = builder.and_(number, all_of(1, WHOLES))
        odd = builder.icmp_signed("!=", lowest_bit, all_of(0, WHOLES))
        unsigned_sine = builder.select(odd, cosine, sine)
        sines.append(_signed(builder, unsigned_sine, number))
        after = builder.add(number, all_of(1, WHOLES))
        unsigned_cosine = builder.select(odd, sine, cosine)
        cosines.append(_signed(builder, unsigned_cosine, after))
    return Vectors(builder, sines), Vectors(builder, cosines)


def _choose(
    builder: Any,
    tests: list[Any],
    values: list[Any],
    otherwise: float,
) -> list[Any]:
    return [
        builder.select(test, value, all_of(otherwise))
        for test, value in zip(tests, values, strict=True)
    ]


def _signed(builder: Any, vector: Any, quadrant: Any) -> Any:
    """Return a vector with the sign of its quadrants, which is their second bit."""
    second_bit = builder.and_(quadrant, all_of(2, WHOLES))
    sign = builder.shl(second_bit, all_of(62, WHOLES))
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
        factor = broadcast(builder, builder.fneg(arguments[1]), DOUBLES)
        size = broadcast(builder, arguments[2], DOUBLES)

        def write(places: list[Any]) -> None:
            exponents = []
            for place in places:
                product = load_vector(builder, products.data, place, VECTOR)
                norm = load_vector(builder, squares.data, place, VECTOR)
                total = builder.fadd(size, norm)
                twice = builder.fmul(product, all_of(2.0))
                distance = builder.fsub(total, twice)
                # Rounding makes distances below 0.
                positive = builder.fcmp_ordered(">", distance, all_of(0.0))
                distance = builder.select(positive, distance, all_of(0.0))
                exponents.append(builder.fmul(factor, distance))
            values = exponentials(Vectors(builder, exponents)).values
            for place, value in zip(places, values, strict=True):
                store_vector(builder, value, products.data, place)

        # The last vector may reach past the count: there is room, and what it leaves is not read.
        padded = builder.add(arguments[0], INT64(VECTOR - 1))
        vectors = builder.udiv(padded, INT64(VECTOR))
        _for_turns(builder, vectors, write)
        return context.get_dummy_value()

    return types.void(types.intp, types.float64, types.float64, sizes, k), codegen


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
            numbers = [
                load_vector(builder, angle.data, place, VECTOR) for place in places
            ]
            scaled = [builder.fmul(factor, vector) for vector in numbers]
            both = sines_cosines(Vectors(builder, scaled))
            for result, vectors in zip((sine, cosine), both, strict=True):
                for place, vector in zip(places, vectors.values, strict=True):
                    value = builder.fmul(scale, vector)
                    store_vector(builder, value, result.data, place)

        size = builder.extract_value(angle.shape, 0)
        vectors = builder.udiv(size, INT64(VECTOR))
        _for_turns(builder, vectors, write)
        return builder.mul(vectors, INT64(VECTOR))

    return types.intp(angles, types.float64, types.float64, cosines, sines), codegen


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
                places.append(builder.mul(vector, INT64(VECTOR)))
            write(places)
        first = builder.mul(count, INT64(turns))
