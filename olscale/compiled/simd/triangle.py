"""Vector code for half of a symmetric matrix: products with a vector, and rank-one updates.

The half is kept in panels of 8 rows, one after the other: rows r to r + 7 with the columns from r
on. So a panel is as wide as there are columns left, and the tile on the diagonal is kept in full.
In numpy, for panels cut out of a matrix `S`:

>>> import numpy as np
>>> def multiply(S, z, g):
...     for r in range(0, len(S), 8):
...         panel = S[r : r + 8, r:]
...         g[r : r + 8] += panel @ z[r:]
...         g[r + 8 :] += z[r : r + 8] @ panel[:, 8:]
>>> def subtract(S, H):
...     for r in range(0, len(S), 8):
...         S[r : r + 8, r:] -= H[:, r : r + 8].T @ H[:, r:]

A product and its sum are rounded together. Sums over columns run in eight groups, which are added
neighbours first.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT32,
    INT64,
    VECTOR,
    accumulate,
    broadcast,
    load_number,
    load_vector,
    multiply_add,
    open_arrays,
    store_vector,
    zero_slot,
)

PANEL = VECTOR
"""Rows of a panel; the number of columns is a multiple of this."""

_ROWS = 4  # rows of a panel whose sums are in registers at a time
_DOUBLES = ir.VectorType(DOUBLE, VECTOR)


def packed_size(width: int) -> int:
    """Return how many numbers the panels of a matrix of `width` columns hold.

    The width is a multiple of `PANEL`.

    Examples
    --------
    >>> packed_size(8), packed_size(16)
    (64, 192)
    """
    return width * (width + PANEL) // 2


@intrinsic
def multiply_panel(
    typing_context: Any,
    S: Any,
    start: Any,
    first: Any,
    z: Any,
    g: Any,
) -> Any:
    """Add to `g` the part of the product with `z` of the panel at `start`, from row `first` on."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half, vector, sums = open_arrays(
            context, builder, signature, arguments, 0, 3, 4
        )
        start, first = arguments[1:3]
        width = builder.extract_value(vector.shape, 0)
        length = builder.sub(width, first)
        for part in range(0, PANEL, _ROWS):
            rows = [builder.add(first, INT64(part + n)) for n in range(_ROWS)]
            bases = _row_bases(builder, start, first, length, part)
            factors = []
            for row in rows:
                number = load_number(builder, vector.data, row)
                factor = broadcast(builder, number, _DOUBLES)
                factors.append(factor)
            zeros = ir.Constant(_DOUBLES, [0.0] * VECTOR)
            totals = [zero_slot(builder, _DOUBLES) for _ in rows]
            for total in totals:
                builder.store(zeros, total)
            # The block on the diagonal is full: it is multiplied once, and not across as well.
            values = load_vector(builder, vector.data, first, VECTOR)
            for base, total in zip(bases, totals, strict=True):
                place = builder.add(base, first)
                line = load_vector(builder, half.data, place, VECTOR)
                accumulate(builder, total, line, values, fused=True)
            begin = builder.add(first, INT64(VECTOR))
            with cgutils.for_range_slice(builder, begin, width, INT64(VECTOR)) as (
                column,
                _,
            ):
                values = load_vector(builder, vector.data, column, VECTOR)
                across = load_vector(builder, sums.data, column, VECTOR)
                of_rows = zip(bases, factors, totals, strict=True)
                for base, factor, total in of_rows:
                    place = builder.add(base, column)
                    line = load_vector(builder, half.data, place, VECTOR)
                    accumulate(builder, total, line, values, fused=True)
                    across = multiply_add(builder, line, factor, across)
                store_vector(builder, across, sums.data, column)
            for row, total in zip(rows, totals, strict=True):
                place = builder.gep(sums.data, [row])
                before = builder.load(place)
                groups = builder.load(total)
                along = _sum(builder, groups)
                after = builder.fadd(before, along)
                builder.store(after, place)
        return context.get_dummy_value()

    return types.void(S, types.intp, types.intp, z, g), codegen


@intrinsic
def subtract_panel(
    typing_context: Any,
    S: Any,
    start: Any,
    first: Any,
    H: Any,
    count: Any,
) -> Any:
    """Subtract ``h h'``, for the first `count` rows h of `H`, from the panel at `start`.

    Its first row is `first`.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half, lines = open_arrays(context, builder, signature, arguments, 0, 3)
        start = arguments[1]
        first = arguments[2]
        count = arguments[4]
        width = builder.extract_value(lines.shape, 1)
        length = builder.sub(width, first)
        for part in range(0, PANEL, _ROWS):
            row = builder.add(first, INT64(part))
            bases = _row_bases(builder, start, first, length, part)
            slots = [zero_slot(builder, _DOUBLES) for _ in bases]
            with cgutils.for_range_slice(builder, first, width, INT64(VECTOR)) as (
                column,
                _,
            ):
                places = [builder.add(base, column) for base in bases]
                for place, slot in zip(places, slots, strict=True):
                    values = load_vector(builder, half.data, place, VECTOR)
                    builder.store(values, slot)
                with cgutils.for_range(builder, count) as loop:
                    line = builder.mul(loop.index, width)
                    start_of_h = builder.add(line, column)
                    h = load_vector(builder, lines.data, start_of_h, VECTOR)
                    own = builder.add(line, row)
                    for n, slot in enumerate(slots):
                        place_of_row = builder.add(own, INT64(n))
                        number = load_number(builder, lines.data, place_of_row)
                        negative = builder.fneg(number)
                        factor = broadcast(builder, negative, _DOUBLES)
                        before = builder.load(slot)
                        after = multiply_add(builder, h, factor, before)
                        builder.store(after, slot)
                for place, slot in zip(places, slots, strict=True):
                    values = builder.load(slot)
                    store_vector(builder, values, half.data, place)
        return context.get_dummy_value()

    return types.void(S, types.intp, types.intp, H, types.intp), codegen


def _row_bases(
    builder: Any,
    start: Any,
    first: Any,
    left: Any,
    part: int,
) -> list[Any]:
    """Return where column 0 of rows would be, so that other positions are those of columns."""
    bases = []
    for n in range(_ROWS):
        offset = builder.mul(INT64(part + n), left)
        begin = builder.add(start, offset)
        base = builder.sub(begin, first)
        bases.append(base)
    return bases


def _sum(builder: Any, vector: Any) -> Any:
    """Return the sum of the numbers of a vector, neighbours first."""
    numbers = [builder.extract_element(vector, INT32(n)) for n in range(VECTOR)]
    while len(numbers) > 1:
        even = numbers[::2]
        odd = numbers[1::2]
        pairs = zip(even, odd, strict=True)
        numbers = [builder.fadd(a, b) for a, b in pairs]
    return numbers[0]
