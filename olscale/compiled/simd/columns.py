"""Vector code for rows and many columns of weights: products, updates, and both at once.

Products and sums have the precision of the weights, with product and sum rounded separately (in
`multiply_csr_fused` together); updates are computed in double precision and rounded when stored.
Each of these is, in numpy:

>>> import numpy as np
>>> def multiply(x, W, f):
...     f[: W.shape[1]] = 0.0
...     for j, value in enumerate(x):  # ascending order, each column by itself
...         f[: W.shape[1]] += W.dtype.type(value) * W[j]
...     return x @ x
>>> def move(x, W, a):
...     for j, value in enumerate(x):
...         W[j] = W[j] + value * a
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.blocks import ColumnBlock, for_each_block, for_first_columns
from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT64,
    accumulate,
    convert,
    load_feature,
    load_number,
    open_arrays,
    zero_slot,
)

# Nonzeros by which rows of the weights are fetched ahead of their use. A row of 64 columns is 8
# cache lines, so fewer rows than with one column are in flight at a time.
_AHEAD = 160
# Steps of 16 columns fit the registers of AVX2 together with the weights; those of 64 would not.
_WIDEST_MOVE = 16


@intrinsic
def multiply_dense(typing_context, x, W, f):
    """Set ``f = x W`` for a dense row and return ``x x``; `f` may be longer than the columns."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 2
        )
        square = zero_slot(builder, DOUBLE)

        def multiply_block(block: ColumnBlock, squared: bool) -> None:
            size = builder.extract_value(row.shape, 0)
            with cgutils.for_range(builder, size) as loop:
                value = load_number(builder, row.data, loop.index)
                weights_of_feature = block.load(loop.index)
                block.add(value, weights_of_feature)
                if squared:
                    accumulate(builder, square, value, value)

        def write(block: ColumnBlock) -> None:
            # The first block sums the square too: it is computed while the sums of the columns wait
            # for each other.
            is_first = builder.icmp_signed("==", block.first, INT64(0))
            with builder.if_else(is_first) as (first, later):
                with first:
                    multiply_block(block, squared=True)
                with later:
                    multiply_block(block, squared=False)
            block.store_sums(sums.data)

        for_each_block(builder, weights, write)
        return builder.load(square)

    return types.float64(x, W, f), codegen


@intrinsic
def multiply_first(
    typing_context,
    x,
    W,
    columns,
    f,
):
    """Set ``f = x W`` for the first `columns` of `W` alone.

    The rows of `W`, and `f`, have room for full vectors of eight.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 3
        )

        def write(block: ColumnBlock) -> None:
            size = builder.extract_value(row.shape, 0)
            with cgutils.for_range(builder, size) as loop:
                value = load_number(builder, row.data, loop.index)
                weights_of_feature = block.load(loop.index)
                block.add(value, weights_of_feature)
            block.store_sums(sums.data)

        for_first_columns(builder, weights, arguments[2], write)
        return context.get_dummy_value()

    return types.void(x, W, types.intp, f), codegen


@intrinsic
def move_multiply_dense(
    typing_context,
    before,
    a,
    x,
    W,
    f,
):
    """Add the outer product of the dense row `before` and `a`, then do `multiply_dense` with `x`.

    Weights are moved and multiplied while they are in registers: fetching them takes most of the
    time of either operation.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        earlier, steps, row, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 2, 3, 4
        )
        square = zero_slot(builder, DOUBLE)

        def write(block: ColumnBlock) -> None:
            vectors = block.load_steps(steps.data)
            builder.store(DOUBLE(0.0), square)
            size = builder.extract_value(row.shape, 0)
            with cgutils.for_range(builder, size) as loop:
                value = load_number(builder, row.data, loop.index)
                old = load_number(builder, earlier.data, loop.index)
                moved = block.move(loop.index, old, vectors)
                block.add(value, moved)
                accumulate(builder, square, value, value)
            block.store_sums(sums.data)

        for_each_block(builder, weights, write)
        return builder.load(square)

    return types.float64(before, a, x, W, f), codegen


def _multiply_csr(fused: bool = False) -> Callable[..., Any]:
    """Return the code of `multiply_csr`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        features, values, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 4, 5
        )
        start, stop = arguments[2:4]
        size = builder.extract_value(features.shape, 0)
        last = builder.sub(size, INT64(1))
        square = zero_slot(builder, DOUBLE)

        def write(block: ColumnBlock) -> None:
            builder.store(DOUBLE(0.0), square)
            with cgutils.for_range(builder, stop, start=start) as loop:
                # Past the end of the row are the features of the next one: their weights will be
                # needed soon.
                entry_ahead = builder.add(loop.index, INT64(_AHEAD))
                is_inside = builder.icmp_signed("<", entry_ahead, last)
                entry_ahead = builder.select(is_inside, entry_ahead, last)
                feature_ahead = load_feature(builder, features, entry_ahead)
                block.prefetch(feature_ahead)
                value = load_number(builder, values.data, loop.index)
                feature = load_feature(builder, features, loop.index)
                weights_of_feature = block.load(feature)
                block.add(value, weights_of_feature, fused)
                accumulate(builder, square, value, value)
            block.store_sums(sums.data)

        for_each_block(builder, weights, write)
        return builder.load(square)

    return codegen


@intrinsic
def multiply_csr(
    typing_context,
    indices,
    data,
    start,
    stop,
    W,
    f,
):
    """Set ``f = x W`` for the sparse row `start` to `stop` and return ``x x``.

    `f` may have more entries than there are columns.
    """
    signature = types.float64(indices, data, types.intp, types.intp, W, f)
    return signature, _multiply_csr()


@intrinsic
def multiply_csr_fused(
    typing_context,
    indices,
    data,
    start,
    stop,
    W,
    f,
):
    """Do `multiply_csr` with each product and its sum rounded together."""
    signature = types.float64(indices, data, types.intp, types.intp, W, f)
    return signature, _multiply_csr(fused=True)


@intrinsic
def multiply_places(
    typing_context,
    places,
    values,
    stop,
    W,
    columns,
    f,
):
    """Do `multiply_first` with the sparse row of `values` up to `stop`, for cached weights."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, row, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 1, 3, 5
        )
        stop = arguments[2]
        columns = arguments[4]

        def write(block: ColumnBlock) -> None:
            with cgutils.for_range(builder, stop) as loop:
                value = load_number(builder, row.data, loop.index)
                place = load_feature(builder, at, loop.index)
                weights_at_place = block.load(place)
                block.add(value, weights_at_place)
            block.store_sums(sums.data)

        for_first_columns(builder, weights, columns, write)
        return context.get_dummy_value()

    result = types.void(
        places,
        values,
        types.intp,
        W,
        types.intp,
        f,
    )
    return result, codegen


@intrinsic
def move_csr(
    typing_context,
    indices,
    data,
    start,
    stop,
    W,
    a,
):
    """Add the outer product of the sparse row `start` to `stop` and `a` to `W`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        features, values, weights, steps = open_arrays(
            context, builder, signature, arguments, 0, 1, 4, 5
        )
        start, stop = arguments[2:4]

        def write(block: ColumnBlock) -> None:
            vectors = block.load_steps(steps.data)
            with cgutils.for_range(builder, stop, start=start) as loop:
                stored = load_number(builder, values.data, loop.index)
                feature = load_feature(builder, features, loop.index)
                value = convert(builder, stored, DOUBLE)
                block.move(feature, value, vectors)

        for_each_block(builder, weights, write, _WIDEST_MOVE)
        return context.get_dummy_value()

    result = types.void(
        indices,
        data,
        types.intp,
        types.intp,
        W,
        a,
    )
    return result, codegen
