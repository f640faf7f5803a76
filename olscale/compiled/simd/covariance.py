"""Vector code for covariances: a full symmetric matrix, or a variance per feature.

A full matrix takes an outer product and is multiplied in one pass. In numpy, with ``S[:, d:]`` and
the ends of `h` and `g` as padding:

>>> def subtract_multiply(S, h, x, g):
...     S -= np.outer(h[: len(S)], h).astype(S.dtype)
...     g[:] = x[: len(S)] @ S

As in `olscale.compiled.simd.columns` each sum runs in ascending order of the features; here
everything is in double precision.

A diagonal takes four features of a sparse row at once. Mean and variance of a feature are read and
written together, and four divisions take the time of two. Intermediate numbers are double precision
for any precision of the state, with each operation rounded separately and sums in ascending order
of the features: the bits are those of one feature after another. In numpy, with `A` as
``[[mean, variance], ...]``:

>>> def sum_moments(A, x):
...     return x @ A[:, 0], (x * x) @ A[:, 1], x @ x
>>> def move(A, x, a, gamma):
...     s = A[:, 1] * x
...     A[:, 0] += a * s
...     A[:, 1] /= 1.0 + gamma * (s * x)
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
    convert,
    load_feature,
    load_number,
    load_vector,
    open_arrays,
    store_vector,
    zero_slot,
)

# Columns whose sums and steps stay in registers, at the price of one pass over all rows per 64
# columns.
_BLOCK = 64
_DOUBLES = ir.VectorType(DOUBLE, VECTOR)


@intrinsic
def subtract_multiply(
    typing_context,
    S,
    h,
    x,
    g,
):
    """Subtract ``h h'`` from the symmetric matrix `S` and set ``g = S x`` with the result.

    `S` has shape (features, columns), `h` and `g` as many entries as it has columns, a multiple of
    `VECTOR`; those past the features are 0.

    Products and sums are float64; elements of `S` are rounded when stored, and multiplied as
    stored.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = open_arrays(context, builder, signature, arguments, 0, 1, 2, 3)
        width = builder.extract_value(arrays[0].shape, 1)
        block = INT64(_BLOCK)
        remainder = builder.urem(width, block)
        end = builder.sub(width, remainder)
        with cgutils.for_range_slice(builder, INT64(0), end, block) as (first, _):
            _write_block(builder, _BLOCK, arrays, first)
        # A loop for each width that the last block can have: fewer columns than 64, in full
        # vectors.
        for columns in range(VECTOR, _BLOCK, VECTOR):
            is_width = builder.icmp_signed("==", remainder, INT64(columns))
            with builder.if_then(is_width):
                _write_block(builder, columns, arrays, end)
        return context.get_dummy_value()

    return types.void(S, h, x, g), codegen


def _write_block(builder: Any, columns: int, arrays: list[Any], first: Any) -> None:
    """Write the loop over the rows of a block of columns, with sums and steps in registers."""
    S, h, x, g = arrays
    size = builder.extract_value(S.shape, 0)
    width = builder.extract_value(S.shape, 1)
    offsets = range(0, columns, VECTOR)
    starts = [builder.add(first, INT64(offset)) for offset in offsets]
    steps = [load_vector(builder, h.data, start, VECTOR) for start in starts]
    sums = [zero_slot(builder, _DOUBLES) for _ in starts]
    with cgutils.for_range(builder, size) as loop:
        row = builder.mul(loop.index, width)
        hj = load_number(builder, h.data, loop.index)
        xj = load_number(builder, x.data, loop.index)
        hj = broadcast(builder, hj, _DOUBLES)
        xj = broadcast(builder, xj, _DOUBLES)
        of_vectors = zip(starts, steps, sums, strict=True)
        for start, step, total in of_vectors:
            place = builder.add(row, start)
            stored = load_vector(builder, S.data, place, VECTOR)
            value = convert(builder, stored, DOUBLE)
            product = builder.fmul(hj, step)
            difference = builder.fsub(value, product)
            stored = convert(builder, difference, S.data.type.pointee)
            store_vector(builder, stored, S.data, place)
            # As stored: the product uses the matrix that the next row will find.
            value = convert(builder, stored, DOUBLE)
            accumulate(builder, total, xj, value)
    for start, total in zip(starts, sums, strict=True):
        products = builder.load(total)
        store_vector(builder, products, g.data, start)


_FOUR = 4
_PAIRS = ir.VectorType(DOUBLE, _FOUR)
_BOTH = ir.VectorType(DOUBLE, 2)
_TWO_PLACES = ir.VectorType(INT32, 2)
_FOUR_PLACES = ir.VectorType(INT32, _FOUR)


@intrinsic
def sum_moments(
    typing_context,
    A,
    indices,
    data,
    start,
    stop,
):
    """Return ``x mu``, ``x^2 sigma`` and ``|x|^2`` of the sparse row `start` to `stop`.

    `A` has mean and variance of each feature next to each other and is flat.
    """
    result = types.UniTuple(types.float64, 3)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state, features, values = open_arrays(
            context, builder, signature, arguments, 0, 1, 2
        )
        first, last = arguments[3:]
        sums = zero_slot(builder, _BOTH)
        squares = zero_slot(builder, _BOTH)

        def add(p: Any, powers: Any) -> None:
            """Add the feature at `p`: one product and sum with ``(x, x^2)`` for both moments."""
            j = load_feature(builder, features, p)
            place = builder.mul(j, INT64(2))
            stored = load_vector(builder, state.data, place, 2)
            moments = convert(builder, stored, DOUBLE)
            accumulate(builder, sums, powers, moments)
            before = builder.load(squares)
            total = builder.fadd(before, powers)
            builder.store(total, squares)

        def powers(x: Any, n: int) -> Any:
            """Return x and its square for number `n` of four."""
            squared = builder.fmul(x, x)
            places = ir.Constant(_TWO_PLACES, [n, _FOUR + n])
            return builder.shuffle_vector(x, squared, places)

        entries = builder.sub(last, first)
        remainder = builder.urem(entries, INT64(_FOUR))
        end = builder.sub(last, remainder)
        with cgutils.for_range_slice(builder, first, end, INT64(_FOUR)) as (p, _):
            stored = load_vector(builder, values.data, p, _FOUR)
            x = convert(builder, stored, DOUBLE)
            for n in range(_FOUR):
                place = builder.add(p, INT64(n))
                both_powers = powers(x, n)
                add(place, both_powers)
        with cgutils.for_range(builder, last, start=end) as loop:
            stored = load_number(builder, values.data, loop.index)
            value = convert(builder, stored, DOUBLE)
            values_of_four = broadcast(builder, value, _PAIRS)
            both_powers = powers(values_of_four, 0)
            add(loop.index, both_powers)
        score_and_variance = builder.load(sums)
        score = builder.extract_element(score_and_variance, INT32(0))
        variance = builder.extract_element(score_and_variance, INT32(1))
        sums_of_powers = builder.load(squares)
        square = builder.extract_element(sums_of_powers, INT32(1))
        return context.make_tuple(builder, result, [score, variance, square])

    return result(A, indices, data, types.uint64, types.uint64), codegen


@intrinsic
def move_four(
    typing_context,
    A,
    m0,
    m1,
    m2,
    m3,
    data,
    p,
    a,
    gamma,
    tiny,
):
    """Move means and variances of flat `A` at `m0` to `m3` by the four values from ``data[p]``.

    The places are all different. With ``s = variance value``: ``mean += a s`` and
    ``variance /= 1 + gamma (s value)``. Return whether each variance is then at least `tiny`.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state, values = open_arrays(context, builder, signature, arguments, 0, 5)
        places = arguments[1 : 1 + _FOUR]
        first_entry = arguments[6]
        number = state.data.type.pointee
        stored = load_vector(builder, values.data, first_entry, _FOUR)
        x = convert(builder, stored, DOUBLE)
        factors = [broadcast(builder, argument, _PAIRS) for argument in arguments[7:]]
        a, gamma, tiny = factors

        # Four features per vector for the arithmetic, so that one division serves four variances.
        loaded = [load_vector(builder, state.data, place, 2) for place in places]
        stored_mean = _gather(builder, loaded, 0)
        mean = convert(builder, stored_mean, DOUBLE)
        stored_variance = _gather(builder, loaded, 1)
        variance = convert(builder, stored_variance, DOUBLE)
        s = builder.fmul(variance, x)
        variance_of_score = builder.fmul(s, x)
        growth = builder.fmul(gamma, variance_of_score)
        ones = ir.Constant(_PAIRS, [1.0] * _FOUR)
        divisor = builder.fadd(ones, growth)
        variance = builder.fdiv(variance, divisor)
        step = builder.fmul(a, s)
        mean = builder.fadd(mean, step)
        mean = convert(builder, mean, number)
        variance = convert(builder, variance, number)
        for n, place in enumerate(places):
            both = ir.Constant(_TWO_PLACES, [n, _FOUR + n])
            moments = builder.shuffle_vector(mean, variance, both)
            store_vector(builder, moments, state.data, place)
        # As stored: in float32 a variance may underflow that is fine in double precision.
        stored = convert(builder, variance, DOUBLE)
        large_enough = builder.fcmp_ordered(">=", stored, tiny)
        word = ir.IntType(_FOUR)
        bits = builder.bitcast(large_enough, word)
        all_set = ir.Constant(word, -1)
        return builder.icmp_unsigned("==", bits, all_set)

    starts = [types.uint64] * _FOUR
    numbers = [types.float64] * 3
    result = types.boolean(A, *starts, data, types.uint64, *numbers)
    return result, codegen


def _gather(builder: Any, loaded: list[Any], side: int) -> Any:
    """Return the means (side 0) or the variances (side 1) of four features as one vector."""
    side_of_pairs = ir.Constant(_TWO_PLACES, [side, 2 + side])
    first, second, third, fourth = loaded
    first_pair = builder.shuffle_vector(first, second, side_of_pairs)
    second_pair = builder.shuffle_vector(third, fourth, side_of_pairs)
    four_places = list(range(_FOUR))
    in_order = ir.Constant(_FOUR_PLACES, four_places)
    return builder.shuffle_vector(first_pair, second_pair, in_order)
