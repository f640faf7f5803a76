"""Elementary functions of several vectors in turns, with the bits of `compiled.elementary`.

In a plain loop each number waits for its own polynomial, two dozen operations one after the other;
here four vectors of eight take turns, operation by operation, which keeps the processor busy.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

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
from olscale.compiled.simd.vectors import DOUBLE, INT64, VECTOR

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
        others = other.values if isinstance(other, Vectors) else [all_of(other)] * len(self.values)
        return Vectors(
            self.builder, [operation(a, b) for a, b in zip(self.values, others, strict=True)]
        )

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
    p = Vectors(builder, [even] * len(x.values)), Vectors(builder, [odd] * len(x.values))
    for a, b in zip(EVEN[1:], ODD[1:], strict=True):
        p = p[0] * z + a, p[1] * z + b
    bits = shifted.map(
        lambda vector: builder.add(builder.bitcast(vector, WHOLES), all_of(BIAS, WHOLES))
    )
    powers = [builder.bitcast(builder.shl(vector, all_of(52, WHOLES)), DOUBLES) for vector in bits]
    values = (p[0] + r * p[1]) * Vectors(builder, powers)
    return Vectors(builder, _choose(builder, enough, values.values, 0.0))


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
        odd = builder.icmp_signed("!=", builder.and_(number, all_of(1, WHOLES)), all_of(0, WHOLES))
        sines.append(_signed(builder, builder.select(odd, cosine, sine), number))
        after = builder.add(number, all_of(1, WHOLES))
        cosines.append(_signed(builder, builder.select(odd, sine, cosine), after))
    return Vectors(builder, sines), Vectors(builder, cosines)


def _choose(builder: Any, tests: list[Any], values: list[Any], otherwise: float) -> list[Any]:
    return [
        builder.select(test, value, all_of(otherwise))
        for test, value in zip(tests, values, strict=True)
    ]


def _signed(builder: Any, vector: Any, quadrant: Any) -> Any:
    """Return a vector with the sign of its quadrants, which is their second bit."""
    sign = builder.shl(builder.and_(quadrant, all_of(2, WHOLES)), all_of(62, WHOLES))
    return builder.bitcast(builder.xor(builder.bitcast(vector, WHOLES), sign), DOUBLES)
