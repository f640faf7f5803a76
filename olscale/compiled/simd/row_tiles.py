"""Vector code for a few rows at once: weights in a register are multiplied with all of them.

In numpy:

>>> import numpy as np
>>> def multiply_rows(places, positions, stop, values, first, length, W, column, vectors, K):
...     columns = slice(column, column + 8 * vectors)
...     K[:4, columns] = 0.0
...     for p in range(stop):  # each sum by itself, in this order
...         row_values = values[first + positions[p] + length * np.arange(4)]
...         K[:4, columns] += np.outer(row_values, W[places[p], columns])
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
    load_number,
    load_vector,
    open_arrays,
    store_vector,
    zero_slot,
)

ROWS = 4
"""Rows of a tile."""

_WIDE = 4
"""Vectors of a tile: its sixteen sums leave registers for the weights and a value per row."""

_DOUBLES = ir.VectorType(DOUBLE, VECTOR)


@intrinsic
def multiply_rows(
    typing_context,
    places,
    positions,
    stop,
    values,
    first,
    length,
    W,
    column,
    vectors,
    K,
):
    """Set `vectors` vectors of columns, from `column` on, of four rows of `K` to products with `W`.

    A row has `length` of the `values`, one row after another from `first` on. The bits are those of
    `olscale.compiled.simd.columns.multiply_places`.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, position, row, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 3, 6, 9
        )
        stop, first, length, column, vectors = (arguments[n] for n in (2, 4, 5, 7, 8))
        width = builder.extract_value(weights.shape, 1)
        # The rows of K need not be adjacent.
        step = builder.sdiv(builder.extract_value(sums.strides, 0), INT64(8))

        def write(vector: Any, count: int) -> None:
            start = builder.add(column, builder.mul(vector, INT64(VECTOR)))
            starts = [builder.add(start, INT64(n * VECTOR)) for n in range(count)]
            rows = [
                builder.add(first, builder.mul(length, INT64(r))) for r in range(ROWS)
            ]
            totals = [[zero_slot(builder, _DOUBLES) for _ in starts] for _ in rows]
            with cgutils.for_range(builder, stop) as loop:
                place, p = (
                    builder.zext(load_number(builder, array.data, loop.index), INT64)
                    for array in (at, position)
                )
                line = builder.mul(place, width)
                w = [
                    load_vector(builder, weights.data, builder.add(line, start), VECTOR)
                    for start in starts
                ]
                for beginning, totals_of_row in zip(rows, totals, strict=True):
                    value = load_number(builder, row.data, builder.add(beginning, p))
                    for total, weight in zip(totals_of_row, w, strict=True):
                        accumulate(
                            builder, total, broadcast(builder, value, _DOUBLES), weight
                        )
            for r, totals_of_row in enumerate(totals):
                for total, start in zip(totals_of_row, starts, strict=True):
                    store_vector(
                        builder,
                        builder.load(total),
                        sums.data,
                        builder.add(builder.mul(step, INT64(r)), start),
                    )

        wide = builder.udiv(vectors, INT64(_WIDE))
        with cgutils.for_range(builder, wide) as loop:
            write(builder.mul(loop.index, INT64(_WIDE)), _WIDE)
        done = builder.mul(wide, INT64(_WIDE))
        end = builder.append_basic_block("rows.done")
        choice = builder.switch(builder.sub(vectors, done), end)
        for count in range(1, _WIDE):
            case = builder.append_basic_block(f"rows.{count}")
            choice.add_case(INT64(count), case)
            builder.position_at_end(case)
            write(done, count)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    kinds = (types.intp, values, types.intp, types.intp, W, types.intp, types.intp, K)
    return types.void(places, positions, *kinds), codegen
