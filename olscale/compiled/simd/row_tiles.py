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
    load_feature,
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
        bytes_of_step = builder.extract_value(sums.strides, 0)
        step = builder.sdiv(bytes_of_step, INT64(8))

        def write(vector: Any, count: int) -> None:
            offset = builder.mul(vector, INT64(VECTOR))
            start = builder.add(column, offset)
            starts = [builder.add(start, INT64(n * VECTOR)) for n in range(count)]
            rows = []
            for r in range(ROWS):
                entries_before = builder.mul(length, INT64(r))
                beginning = builder.add(first, entries_before)
                rows.append(beginning)
            totals = [[zero_slot(builder, _DOUBLES) for _ in starts] for _ in rows]
            with cgutils.for_range(builder, stop) as loop:
                place = load_feature(builder, at, loop.index)
                p = load_feature(builder, position, loop.index)
                line = builder.mul(place, width)
                w = []
                for start in starts:
                    place_of_vector = builder.add(line, start)
                    weight = load_vector(builder, weights.data, place_of_vector, VECTOR)
                    w.append(weight)
                for beginning, totals_of_row in zip(rows, totals, strict=True):
                    entry = builder.add(beginning, p)
                    value = load_number(builder, row.data, entry)
                    x = broadcast(builder, value, _DOUBLES)
                    for total, weight in zip(totals_of_row, w, strict=True):
                        accumulate(builder, total, x, weight)
            for r, totals_of_row in enumerate(totals):
                row_of_sums = builder.mul(step, INT64(r))
                for total, start in zip(totals_of_row, starts, strict=True):
                    products = builder.load(total)
                    place_of_vector = builder.add(row_of_sums, start)
                    store_vector(builder, products, sums.data, place_of_vector)

        wide = builder.udiv(vectors, INT64(_WIDE))
        with cgutils.for_range(builder, wide) as loop:
            vector = builder.mul(loop.index, INT64(_WIDE))
            write(vector, _WIDE)
        done = builder.mul(wide, INT64(_WIDE))
        end = builder.append_basic_block("rows.done")
        remaining = builder.sub(vectors, done)
        choice = builder.switch(remaining, end)
        for count in range(1, _WIDE):
            case = builder.append_basic_block(f"rows.{count}")
            choice.add_case(INT64(count), case)
            builder.position_at_end(case)
            write(done, count)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    result = types.void(
        places,
        positions,
        types.intp,
        values,
        types.intp,
        types.intp,
        W,
        types.intp,
        types.intp,
        K,
    )
    return result, codegen
