"""Vector code for a sparse row times a matrix whose rows are picked by bits of a feature.

The matrix is in single precision, and the low bits count. The sums of 64 columns stay in registers
during the pass over the row; products and sums are in double precision, in ascending order:

>>> import numpy as np
>>> def add_picked(features, values, start, stop, mask, W, f):
...     for p in range(start, stop):
...         f += values[p] * W[features[p] & mask].astype(float)
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT64,
    VECTOR,
    accumulate,
    broadcast,
    convert,
    load_number,
    load_vector,
    open_arrays,
    store_vector,
    zero_slot,
)

_DOUBLES = ir.VectorType(DOUBLE, VECTOR)


@intrinsic
def add_picked(
    typing_context,
    features,
    values,
    start,
    stop,
    mask,
    W,
    f,
):
    """Add the sparse row `start` to `stop` times the rows of `W` at ``features & mask`` to `f`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places, row, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 5, 6
        )
        width = builder.extract_value(weights.shape, 1)
        first = INT64(0)

        def loop_over_row(vectors: int, first: Any) -> None:
            """Write the loop for some vectors of columns, or for the only column at `first`."""

            def load(array: Any, at: Any) -> Any:
                if vectors:
                    return load_vector(builder, array.data, at, VECTOR)
                return load_number(builder, array.data, at)

            kind = _DOUBLES if vectors else DOUBLE
            starts = [
                builder.add(first, INT64(n * VECTOR)) for n in range(max(1, vectors))
            ]
            totals = [zero_slot(builder, kind) for _ in starts]
            for total, at in zip(totals, starts, strict=True):
                builder.store(load(sums, at), total)
            with cgutils.for_range(builder, arguments[3], start=arguments[2]) as loop:
                number = load_number(builder, places.data, loop.index)
                feature = builder.sext(number, INT64)
                masked = builder.and_(feature, arguments[4])
                line = builder.mul(masked, width)
                value = load_number(builder, row.data, loop.index)
                if vectors:
                    x = broadcast(builder, value, _DOUBLES)
                else:
                    x = value
                for total, at in zip(totals, starts, strict=True):
                    stored = load(weights, builder.add(line, at))
                    weight = convert(builder, stored, DOUBLE)
                    accumulate(builder, total, x, weight)
            for total, at in zip(totals, starts, strict=True):
                if vectors:
                    store_vector(builder, builder.load(total), sums.data, at)
                else:
                    builder.store(builder.load(total), builder.gep(sums.data, [at]))

        # 64 columns at a time fit the registers; then 8, then one by one.
        for vectors in (8, 1, 0):
            size = INT64(max(1, vectors * VECTOR))
            remaining = builder.sub(width, first)
            count = builder.udiv(remaining, size)
            with cgutils.for_range(builder, count) as loop:
                offset = builder.mul(loop.index, size)
                loop_over_row(vectors, builder.add(first, offset))
            covered = builder.mul(count, size)
            first = builder.add(first, covered)
        return context.get_dummy_value()

    return types.void(
        features, values, types.intp, types.intp, types.intp, W, f
    ), codegen
