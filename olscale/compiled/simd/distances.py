"""Vector code for the squared distances of a few rows from many, which are read once for all.

Both are feature-major, and the distances are sums over the features in ascending order:

>>> import numpy as np
>>> def set_distances_together(X, rows, start, stop, squares):
...     squares[:, start:stop] = 0.0
...     for x, line in zip(X, rows):  # one feature after the other
...         difference = x[:, np.newaxis] - line[start:stop]
...         squares[:, start:stop] += difference * difference
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.lines import for_tiles
from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT64,
    VECTOR,
    broadcast,
    load_number,
    load_vector,
    open_arrays,
    store_vector,
)

TOGETHER = 8
"""Rows whose distances are computed together."""

_ROWS = 4
"""Rows whose numbers are in registers."""

_PLACES = 16
"""Vectors of places that stay in the second cache while all rows are compared with them."""

# The numbers of four rows at four features fill half of the registers. The sums go through the
# first cache, but the lines of the features are read from start to end, as processors expect.
_FEATURES = 4

_DOUBLES = ir.VectorType(DOUBLE, VECTOR)


@intrinsic
def set_distances_together(
    typing_context,
    X,
    rows,
    start,
    stop,
    squares,
):
    """Set the squared distances of `TOGETHER` rows from the places `start` to `stop`.

    These are a multiple of full vectors; `X` has shape (features, `TOGETHER`), `rows` (features,
    places), and `squares` (`TOGETHER`, places).
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, lines, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 4
        )
        start = arguments[2]
        stop = arguments[3]
        width = builder.extract_value(lines.shape, 1)
        length = builder.extract_value(sums.shape, 1)
        zeros = _DOUBLES(None)

        def compare(first_row: int, start: Any, stop: Any) -> None:
            """Write the code for some rows and places."""
            rows_of_tile = range(first_row, first_row + _ROWS)
            totals_at = [builder.mul(length, INT64(row)) for row in rows_of_tile]

            def write(feature: Any, count: int) -> None:
                features = [builder.add(feature, INT64(n)) for n in range(count)]
                starts = [builder.mul(j, width) for j in features]
                values = []
                for j in features:
                    line_of_feature = builder.mul(j, INT64(TOGETHER))
                    first = builder.add(line_of_feature, INT64(first_row))
                    places = [builder.add(first, INT64(r)) for r in range(_ROWS)]
                    loaded = [load_number(builder, numbers.data, at) for at in places]
                    of_rows = [broadcast(builder, x, _DOUBLES) for x in loaded]
                    values.append(of_rows)

                with cgutils.for_range_slice(builder, start, stop, INT64(VECTOR)) as (
                    place,
                    _,
                ):
                    ends = [builder.add(begin, place) for begin in starts]
                    read = [load_vector(builder, lines.data, at, VECTOR) for at in ends]
                    for r, first in enumerate(totals_at):
                        at = builder.add(first, place)
                        total = load_vector(builder, sums.data, at, VECTOR)
                        for of_rows, line in zip(values, read, strict=True):
                            difference = builder.fsub(of_rows[r], line)
                            square = builder.fmul(difference, difference)
                            total = builder.fadd(total, square)
                        store_vector(builder, total, sums.data, at)

            with cgutils.for_range_slice(builder, start, stop, INT64(VECTOR)) as (
                place,
                _,
            ):
                for first in totals_at:
                    at = builder.add(first, place)
                    store_vector(builder, zeros, sums.data, at)
            features = builder.extract_value(lines.shape, 0)
            for_tiles(builder, features, _FEATURES, write)

        size = INT64(_PLACES * VECTOR)
        with cgutils.for_range_slice(builder, start, stop, size) as (first_place, _):
            end = builder.add(first_place, size)
            is_last = builder.icmp_signed(">", end, stop)
            end = builder.select(is_last, stop, end)
            for first_row in range(0, TOGETHER, _ROWS):
                compare(first_row, first_place, end)
        return context.get_dummy_value()

    return types.void(X, rows, types.intp, types.intp, squares), codegen
