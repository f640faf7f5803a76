"""Vector code for Gaussian kernel values, and for the cosines and sines that approximate them."""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.turns import DOUBLES, TURNS, Vectors, all_of, exponentials, sines_cosines
from olscale.compiled.simd.vectors import (
    INT64,
    VECTOR,
    broadcast,
    load_vector,
    open_arrays,
    store_vector,
)


@intrinsic
def gaussian_values(typing_context, count, gamma, size, sizes, k):
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
                total = builder.fadd(size, load_vector(builder, squares.data, place, VECTOR))
                distance = builder.fsub(total, builder.fmul(product, all_of(2.0)))
                positive = builder.fcmp_ordered(
                    ">", distance, all_of(0.0)
                )  # rounding makes distances below 0
                exponents.append(
                    builder.fmul(factor, builder.select(positive, distance, all_of(0.0)))
                )
            for place, value in zip(
                places, exponentials(Vectors(builder, exponents)).values, strict=True
            ):
                store_vector(builder, value, products.data, place)

        _for_turns(
            builder,
            builder.udiv(builder.add(arguments[0], INT64(VECTOR - 1)), INT64(VECTOR)),
            write,
        )
        return context.get_dummy_value()

    return types.void(types.intp, types.float64, types.float64, sizes, k), codegen


@intrinsic
def fourier_values(typing_context, angles, factor, scale, cosines, sines):
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
        given, *results = open_arrays(context, builder, signature, arguments, 0, 4, 3)
        factor, scale = (broadcast(builder, number, DOUBLES) for number in arguments[1:3])

        def write(places: list[Any]) -> None:
            numbers = [load_vector(builder, given.data, place, VECTOR) for place in places]
            found = sines_cosines(
                Vectors(builder, [builder.fmul(factor, vector) for vector in numbers])
            )
            for result, vectors in zip(results, found, strict=True):
                for place, vector in zip(places, vectors.values, strict=True):
                    store_vector(builder, builder.fmul(scale, vector), result.data, place)

        vectors = builder.udiv(builder.extract_value(given.shape, 0), INT64(VECTOR))
        _for_turns(builder, vectors, write)
        return builder.mul(vectors, INT64(VECTOR))

    return types.intp(angles, types.float64, types.float64, cosines, sines), codegen


def _for_turns(builder: Any, vectors: Any, write: Callable[[list[Any]], None]) -> None:
    """Let `write` write the loop for vectors of arrays, given where those that take turns begin."""
    first = INT64(0)
    for turns in (TURNS, 1):
        count = builder.udiv(builder.sub(vectors, first), INT64(turns))
        with cgutils.for_range(builder, count) as loop:
            start = builder.add(first, builder.mul(loop.index, INT64(turns)))
            write(
                [
                    builder.mul(builder.add(start, INT64(turn)), INT64(VECTOR))
                    for turn in range(turns)
                ]
            )
        first = builder.mul(count, INT64(turns))
