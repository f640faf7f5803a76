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
        start, stop, mask = arguments[2:5]
        width = builder.extract_value(weights.shape, 1)
        first = INT64(0)

        def loop_over_row(vectors: int, first: Any) -> None:
            """Write the loop for some vectors of columns, or for the only column at `first`."""

            def load(array: Any, at: Any) -> Any:
                if vectors:
                    return load_vector(builder, array.data, at, VECTOR)
                return load_number(builder, array.data, at)

            kind = _DOUBLES if vectors else DOUBLE
            offsets = [n * VECTOR for n in range(max(1, vectors))]
            starts = [builder.add(first, INT64(offset)) for offset in offsets]
            totals = [zero_slot(builder, kind) for _ in starts]
            for total, at in zip(totals, starts, strict=True):
                before = load(sums, at)
                builder.store(before, total)
            with cgutils.for_range(builder, stop, start=start) as loop:
                number = load_number(builder, places.data, loop.index)
                feature = builder.sext(number, INT64)
                masked = builder.and_(feature, mask)
                line = builder.mul(masked, width)
                value = load_number(builder, row.data, loop.index)
                if vectors:
                    x = broadcast(builder, value, _DOUBLES)
                else:
                    x = value
                for total, at in zip(totals, starts, strict=True):
                    place = builder.add(line, at)
                    stored = load(weights, place)
                    weight = convert(builder, stored, DOUBLE)
                    accumulate(builder, total, x, weight)
            for total, at in zip(totals, starts, strict=True):
                after = builder.load(total)
                if vectors:
                    store_vector(builder, after, sums.data, at)
                else:
                    address = builder.gep(sums.data, [at])
                    builder.store(after, address)

        # 64 columns at a time fit the registers; then 8, then one by one.
        for vectors in (8, 1, 0):
            size = INT64(max(1, vectors * VECTOR))
            remaining = builder.sub(width, first)
            count = builder.udiv(remaining, size)
            with cgutils.for_range(builder, count) as loop:
                offset = builder.mul(loop.index, size)
                first_of_block = builder.add(first, offset)
                loop_over_row(vectors, first_of_block)
            covered = builder.mul(count, size)
            first = builder.add(first, covered)
        return context.get_dummy_value()

    result = types.void(
        features,
        values,
        types.intp,
        types.intp,
        types.intp,
        W,
        f,
    )
    return result, codegen
