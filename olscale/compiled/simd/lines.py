"""Vector code for lines of numbers: their combinations, sums of their squares, and powers.

Every sum has the bits of the plain loop over its own numbers. In numpy:

>>> import numpy as np
>>> def combine_lines(A, x, f):
...     f[:] = 0.0
...     for line, factor in zip(A, x):
...         f[:] += factor * line
>>> def add_squares(A, x, f):
...     for line in A:
...         f[:] += line[: len(f)] * line[: len(f)] * x[: len(f)]
>>> def square_repeatedly(x, times, f):
...     power = x.astype(float)
...     for _ in range(times):
...         power *= power
...     f[: len(x)] = power
"""

from collections.abc import Callable
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
)

_DOUBLES = ir.VectorType(DOUBLE, VECTOR)

# Two combinations of four lines have factors in eight registers. More lines at once are no faster:
# the lines come from the second cache, which is slower than the arithmetic.
_LINES = 4

_AT_ONCE = 8
"""Vectors at once: each waits for its own multiplications only."""


def _combine_lines(vectors: int) -> Callable[..., Any]:
    """Return the code of combinations by the numbers of several `vectors`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines, *arrays = open_arrays(
            context, builder, signature, arguments, *range(1 + 2 * vectors)
        )
        factors_of = arrays[:vectors]
        results = arrays[vectors:]
        width = builder.extract_value(lines.shape, 1)

        def visit_columns(write: Callable[[Any], None]) -> None:
            with cgutils.for_range_slice(builder, INT64(0), width, INT64(VECTOR)) as (
                j,
                _,
            ):
                write(j)

        def clear(j: Any) -> None:
            for result in results:
                store_vector(builder, _DOUBLES(None), result.data, j)

        def write(first: Any, number: int) -> None:
            places = [builder.add(first, INT64(n)) for n in range(number)]
            starts = [builder.mul(place, width) for place in places]
            factors = []
            for array in factors_of:
                numbers = [load_number(builder, array.data, place) for place in places]
                of_lines = [broadcast(builder, n, _DOUBLES) for n in numbers]
                factors.append(of_lines)

            def add(j: Any) -> None:
                ends = [builder.add(start, j) for start in starts]
                read = [load_vector(builder, lines.data, at, VECTOR) for at in ends]
                for result, of_lines in zip(results, factors, strict=True):
                    total = load_vector(builder, result.data, j, VECTOR)
                    factors_and_lines = zip(of_lines, read, strict=True)
                    for factor, line in factors_and_lines:
                        product = builder.fmul(factor, line)
                        total = builder.fadd(total, product)
                    store_vector(builder, total, result.data, j)

            visit_columns(add)

        visit_columns(clear)
        count = builder.extract_value(lines.shape, 0)
        for_tiles(builder, count, _LINES, write)
        return context.get_dummy_value()

    return codegen


@intrinsic
def combine_lines(typing_context, A, x, f):
    """Set `f` to the sum of the lines of `A`, which are full vectors, times the numbers of `x`."""
    return types.void(A, x, f), _combine_lines(1)


@intrinsic
def combine_lines_twice(
    typing_context,
    A,
    x,
    y,
    f,
    g,
):
    """Do `combine_lines` with `x` and `f`, and with `y` and `g`: lines are read once."""
    return types.void(A, x, y, f, g), _combine_lines(2)


@intrinsic
def add_squares(typing_context, A, x, f):
    """Add to `f` the squares of the numbers in each line of `A`, times those of `x`.

    There is room for full vectors, as many as it takes for `f`; lines may be longer.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines, factors, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 2
        )
        count = builder.extract_value(lines.shape, 0)
        width = builder.extract_value(lines.shape, 1)

        def write(first: Any, number: int) -> None:
            starts = _starts_of(builder, first, number)
            shares = [load_vector(builder, factors.data, at, VECTOR) for at in starts]
            totals = []
            for at in starts:
                sums_before = load_vector(builder, sums.data, at, VECTOR)
                total = cgutils.alloca_once_value(builder, sums_before)
                totals.append(total)
            with cgutils.for_range(builder, count) as loop:
                line = builder.mul(loop.index, width)
                of_vectors = zip(starts, shares, totals, strict=True)
                for at, share, total in of_vectors:
                    place = builder.add(line, at)
                    numbers = load_vector(builder, lines.data, place, VECTOR)
                    squares = builder.fmul(numbers, numbers)
                    accumulate(builder, total, squares, share)
            for at, total in zip(starts, totals, strict=True):
                sums_after = builder.load(total)
                store_vector(builder, sums_after, sums.data, at)

        vectors = _vectors_of(builder, sums)
        for_tiles(builder, vectors, _AT_ONCE, write)
        return context.get_dummy_value()

    return types.void(A, x, f), codegen


@intrinsic
def square_repeatedly(typing_context, x, times, f):
    """Set `f` to the numbers of `x`, of either precision, squared `times` times.

    `f` is in double precision; both have room for full vectors, as many as it takes for `x`.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, results = open_arrays(context, builder, signature, arguments, 0, 2)

        def write(first: Any, number: int) -> None:
            powers = []
            starts = _starts_of(builder, first, number)
            for at in starts:
                stored = load_vector(builder, numbers.data, at, VECTOR)
                value = convert(builder, stored, DOUBLE)
                power = cgutils.alloca_once_value(builder, value)
                powers.append(power)
            with cgutils.for_range(builder, arguments[1]):
                for power in powers:
                    value = builder.load(power)
                    square = builder.fmul(value, value)
                    builder.store(square, power)
            for at, power in zip(starts, powers, strict=True):
                value = builder.load(power)
                store_vector(builder, value, results.data, at)

        vectors = _vectors_of(builder, numbers)
        for_tiles(builder, vectors, _AT_ONCE, write)
        return context.get_dummy_value()

    return types.void(x, types.intp, f), codegen


def _starts_of(builder: Any, first: Any, number: int) -> list[Any]:
    """Return where `number` vectors begin, of which `first` says how many come before them."""
    starts = []
    for n in range(number):
        vector = builder.add(first, INT64(n))
        start = builder.mul(vector, INT64(VECTOR))
        starts.append(start)
    return starts


def _vectors_of(builder: Any, array: Any) -> Any:
    """Return how many vectors hold a flat array; the last may reach past its end."""
    size = builder.extract_value(array.shape, 0)
    padded = builder.add(size, INT64(VECTOR - 1))
    return builder.udiv(padded, INT64(VECTOR))


def for_tiles(
    builder: Any,
    count: Any,
    most: int,
    write: Callable[[Any, int], None],
) -> None:
    """Let `write` write the code for tiles of `most` of `count` members, and for fewer at the end.

    It gets the first member and their number.
    """
    full = builder.udiv(count, INT64(most))
    with cgutils.for_range(builder, full) as loop:
        first = builder.mul(loop.index, INT64(most))
        write(first, most)
    first = builder.mul(full, INT64(most))
    end = builder.append_basic_block("tiles.done")
    remaining = builder.sub(count, first)
    choice = builder.switch(remaining, end)
    for number in range(1, most):
        case = builder.append_basic_block(f"tiles.{number}")
        choice.add_case(INT64(number), case)
        builder.position_at_end(case)
        write(first, number)
        builder.branch(end)
    builder.position_at_end(end)
