"""Vector code for dense rows and a gated sum of hyperplanes: products, and steps along it.

Weights are ``V[plane, output, feature, 2]``: for each feature the current weight and the term of
its mean over time, next to each other. Features are padded to fill cache lines, and those past the
end of a row are never touched. Products and sums are rounded together, as `multiply_add_numbers`
does. In numpy:

>>> import numpy as np
>>> def mix_multiply(x, V, c, indices, gates):
...     return x @ np.tensordot(gates, V[indices, c, : len(x)], 1)
>>> def mix_move(x, V, c, indices, gates, a, b):
...     for plane, gate in zip(indices, gates, strict=True):
...         V[plane, c, : len(x)] += gate * np.outer(x, [a, b])
"""

from collections.abc import Callable
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
    convert,
    load_number,
    load_vector,
    multiply_add,
    open_arrays,
    store_vector,
    zero_slot,
)

GROUPS = 4
"""Groups of features, by their number modulo 4, each summed separately and ascending.

Sparse rows use them too.
"""

assert 2 * GROUPS == VECTOR  # a vector has both weights of four features

# Groups of features that are mixed at once: their four sums are independent, so none waits for
# another, and gate and plane are looked up once per sixteen features.
_TILE = 4
_SUMS = ir.VectorType(DOUBLE, VECTOR)
_BITS = ir.VectorType(INT64, GROUPS)


@intrinsic
def multiply_add_numbers(typing_context, x, w, total):
    """Return ``x w + total`` in double precision, rounded once."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    number = types.float64
    return number(number, number, number), codegen


@intrinsic
def mix_multiply(
    typing_context,
    x,
    V,
    c,
    planes,
    indices,
    gates,
):
    """Return both products of a dense row with ``sum_n gates[n] V[indices[n], c]``.

    The sum runs over the first `planes`.
    """
    products = types.UniTuple(types.float64, 2)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, places, shares = open_arrays(
            context, builder, signature, arguments, 0, 1, 4, 5
        )
        output, count = arguments[2:4]
        zeros = _SUMS(None)
        total = zero_slot(builder, _SUMS)
        sums = [cgutils.alloca_once(builder, _SUMS) for _ in range(_TILE)]

        def mix(j: Any, groups: int, values: Callable[[int], Any]) -> None:
            for n in range(groups):
                builder.store(zeros, sums[n])
            with cgutils.for_range(builder, count) as loop:
                share = load_number(builder, shares.data, loop.index)
                gate = broadcast(builder, share, _SUMS)
                plane = load_number(builder, places.data, loop.index)
                for n in range(groups):
                    start = _start(builder, weights, plane, output, j, n)
                    stored = load_vector(builder, weights.data, start, VECTOR)
                    w = convert(builder, stored, DOUBLE)
                    accumulate(builder, sums[n], gate, w, fused=True)
            # The mixture of a tile is multiplied at once: it never goes to memory.
            for n in range(groups):
                numbers = values(n)
                mixture = builder.load(sums[n])
                accumulate(builder, total, numbers, mixture, fused=True)

        _visit_tiles(builder, row, mix)
        sums_of_groups = builder.load(total)
        numbers = []
        for n in range(VECTOR):
            number = builder.extract_element(sums_of_groups, INT32(n))
            numbers.append(number)
        # Groups 0 and 1, 2 and 3, then both: for the current weights (even places) and for the mean
        # (odd ones).
        while len(numbers) > 2:
            first_pairs = [number for n, number in enumerate(numbers) if n % 4 < 2]
            second_pairs = [number for n, number in enumerate(numbers) if n % 4 >= 2]
            pairs = zip(first_pairs, second_pairs, strict=True)
            numbers = [builder.fadd(a, b) for a, b in pairs]
        return context.make_tuple(builder, products, numbers)

    return products(x, V, types.intp, types.intp, indices, gates), codegen


@intrinsic
def mix_move(
    typing_context,
    x,
    V,
    c,
    planes,
    indices,
    gates,
    a,
    b,
):
    """Add the outer product of a row and ``gates[n] (a, b)`` to each ``V[indices[n], c]``.

    The row is dense; the first `planes` are moved.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, places, shares = open_arrays(
            context, builder, signature, arguments, 0, 1, 4, 5
        )
        output, count = arguments[2:4]
        steps_of_both = arguments[6:]
        steps = ir.Constant(_SUMS, ir.Undefined)
        for n in range(VECTOR):
            step = steps_of_both[n % 2]
            steps = builder.insert_element(steps, step, INT32(n))

        def move(j: Any, groups: int, values: Callable[[int], Any]) -> None:
            along = [builder.fmul(steps, values(n)) for n in range(groups)]
            with cgutils.for_range(builder, count) as loop:
                share = load_number(builder, shares.data, loop.index)
                gate = broadcast(builder, share, _SUMS)
                plane = load_number(builder, places.data, loop.index)
                for n in range(groups):
                    start = _start(builder, weights, plane, output, j, n)
                    stored = load_vector(builder, weights.data, start, VECTOR)
                    w = convert(builder, stored, DOUBLE)
                    new = multiply_add(builder, gate, along[n], w)
                    store_vector(builder, new, weights.data, start)

        _visit_tiles(builder, row, move)
        return context.get_dummy_value()

    result = types.void(
        x,
        V,
        types.intp,
        types.intp,
        indices,
        gates,
        types.float64,
        types.float64,
    )
    return result, codegen


def _visit_tiles(
    builder: Any,
    row: Any,
    visit: Callable[[Any, int, Callable[[int], Any]], None],
) -> None:
    """Call `visit` with a feature, a number of groups from it on, and the row's values there.

    Each value is given twice.

    Past the end of the row the values are 0. Tiles of zeros are skipped: images and counts have
    many, and their weights would come from main memory.
    """
    size = builder.extract_value(row.shape, 0)
    places = ir.VectorType(INT32, VECTOR)
    pairs = [n // 2 for n in range(VECTOR)]
    twice = ir.Constant(places, pairs)

    def four(j: Any, n: int) -> Any:
        start = builder.add(j, INT64(n * GROUPS))
        return load_vector(builder, row.data, start, GROUPS)

    def values(j: Any, n: int) -> Any:
        first = four(j, n)
        second = four(j, n)
        return builder.shuffle_vector(first, second, twice)

    def is_filled(j: Any) -> Any:
        """Return whether a tile has a value other than 0."""
        zeros = _BITS(None)
        bits = zeros
        for n in range(_TILE):
            bits_of_four = builder.bitcast(four(j, n), _BITS)
            bits = builder.or_(bits, bits_of_four)
        # The sign is shifted out, because -0 is 0 as well.
        ones = ir.Constant(_BITS, [1] * GROUPS)
        unsigned = builder.shl(bits, ones)
        is_set = builder.icmp_unsigned("!=", unsigned, zeros)
        word = ir.IntType(GROUPS)
        filled = builder.bitcast(is_set, word)
        return builder.icmp_unsigned("!=", filled, word(0))

    def last_values(j: Any) -> Any:
        # A vector there would reach past the end of the row, perhaps into memory of others.
        slot = zero_slot(builder, ir.VectorType(DOUBLE, GROUPS))
        numbers = builder.bitcast(slot, DOUBLE.as_pointer())
        count = builder.sub(size, j)
        with cgutils.for_range(builder, count) as loop:
            place = builder.add(j, loop.index)
            value = load_number(builder, row.data, place)
            address = builder.gep(numbers, [loop.index])
            builder.store(value, address)
        padded = builder.load(slot)
        return builder.shuffle_vector(padded, padded, twice)

    width = INT64(_TILE * GROUPS)
    after_tiles = builder.urem(size, width)
    tiles = builder.sub(size, after_tiles)
    after_groups = builder.urem(size, INT64(GROUPS))
    end = builder.sub(size, after_groups)
    with (
        cgutils.for_range_slice(builder, INT64(0), tiles, width) as (j, _),
        builder.if_then(is_filled(j)),
    ):
        visit(j, _TILE, lambda n: values(j, n))
    with cgutils.for_range_slice(builder, tiles, end, INT64(GROUPS)) as (j, _):
        visit(j, 1, lambda n: values(j, n))
    has_more = builder.icmp_signed("<", end, size)
    with builder.if_then(has_more):
        last = last_values(end)
        visit(end, 1, lambda _: last)


def _start(
    builder: Any,
    weights: Any,
    plane: Any,
    c: Any,
    j: Any,
    n: int,
) -> Any:
    """Return where four features' weights begin, the n-th four from `j` on, in a flat `V`."""
    outputs = builder.extract_value(weights.shape, 1)
    features = builder.extract_value(weights.shape, 2)
    first_output = builder.mul(plane, outputs)
    line = builder.add(first_output, c)
    first = builder.mul(line, features)
    feature = builder.add(first, j)
    feature = builder.add(feature, INT64(n * GROUPS))
    # Each feature has two weights: the current one and that of the mean.
    return builder.shl(feature, INT64(1))
