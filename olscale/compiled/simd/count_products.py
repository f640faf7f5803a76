"""Vector code for the products of the counts of a row's features in two classes.

Eight features are taken together, four a vector, with both counts of each next to each other. A
product is its mantissa and its exponent, so that none overflows. In numpy, with `counts` of shape
(features, 2):

>>> import numpy as np
>>> def multiply_counts(
...     features, values, start, stop, counts, alpha, unit, products,
...     first_counts, second_counts, uncommon, owners, row, kept
... ):
...     products[:] = [[1.0] * 8, [0.0] * 8, [0.0] * 8]
...     for first in range(start, stop, 8):
...         size = min(8, stop - first)
...         x = np.zeros(8)
...         x[:size] = values[first : first + size]
...         j = features[np.minimum(np.arange(first, first + 8), stop - 1)]
...         t = counts[j] + alpha
...         is_common = (x == unit) | (x == 2 * unit) | (x == 3 * unit)
...         powers = [np.ones_like(t), t, t * t, (t * t) * t]
...         factors = np.choose(np.where(is_common, x, 0).astype(int)[:, None], powers)
...         product = products[0] * (factors[:4] * factors[4:]).ravel()
...         mantissas, exponents = np.frexp(product)
...         products[0] = 2 * mantissas
...         products[1] += exponents - 1
...         products[2] += x
...         first_counts[kept] = t[:, 0]
...         second_counts[kept] = t[:, 1]
...         uncommon[kept] = np.where(is_common, 0, x)
...         owners[kept] = row
...         kept += not is_common[:size].all()
...     return kept
>>> def move_counts(features, values, start, stop, counts, *others):
...     *others, first_weight, second_weight = others
...     kept = multiply_counts(features, values, start, stop, counts, *others)
...     steps = np.outer(values[start:stop], [first_weight, second_weight])
...     counts[features[start:stop]] += steps
...     return kept
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
    broadcast,
    load_feature,
    load_number,
    load_vector,
    open_arrays,
    store_vector,
    zero_slot,
)

_DOUBLES = ir.VectorType(DOUBLE, VECTOR)
_INTEGERS = ir.VectorType(INT64, VECTOR)
_FLAGS = ir.IntType(VECTOR)
_FRACTION = ir.Constant(_INTEGERS, [0x000FFFFFFFFFFFFF] * VECTOR)
_ONE = ir.Constant(_INTEGERS, [0x3FF0000000000000] * VECTOR)
_ONES = ir.Constant(_DOUBLES, [1.0] * VECTOR)
_COMMON = (1.0, 2.0, 3.0)
_HALVES = (0, VECTOR // 2)
_OF_CLASS = (list(range(0, 2 * VECTOR, 2)), list(range(1, 2 * VECTOR, 2)))


def _pick(builder: Any, first: Any, second: Any, places: list[int]) -> Any:
    """Return the numbers at constant places of two vectors, one behind the other."""
    at = ir.Constant(ir.VectorType(INT32, len(places)), places)
    return builder.shuffle_vector(first, second, at)


def _join(builder: Any, parts: list[Any]) -> Any:
    """Return vectors one behind the other, as one."""
    while len(parts) > 1:
        places = list(range(2 * parts[0].type.count))
        parts = [
            _pick(builder, parts[n], parts[n + 1], places)
            for n in range(0, len(parts), 2)
        ]
    return parts[0]


def _multiply(moves: bool) -> Callable[..., Any]:
    """Return the code of the products, which also `moves` the counts or not."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        indices, data, pairs, results, *spaces, owners = open_arrays(
            context, builder, signature, arguments, 0, 1, 4, 7, 8, 9, 10, 11
        )
        first, last = arguments[2:4]
        alpha = broadcast(builder, arguments[5], _DOUBLES)
        commons = []
        for number in _COMMON:
            common = builder.fmul(arguments[6], DOUBLE(number))
            commons.append(broadcast(builder, common, _DOUBLES))
        if moves:
            weights = _DOUBLES(None)
            for n in range(VECTOR):
                step = arguments[14 + n % 2]
                weights = builder.insert_element(weights, step, INT32(n))
        mantissas = cgutils.alloca_once_value(builder, _ONES)
        exponents = zero_slot(builder, _INTEGERS)
        lengths = zero_slot(builder, _DOUBLES)
        kept = cgutils.alloca_once_value(builder, arguments[13])

        def multiply(places: list[Any], x: Any, outside: Any) -> None:
            """Write the code for eight features; flags say which are `outside` the row."""
            lines = [
                builder.shl(load_feature(builder, indices, place), INT64(1))
                for place in places
            ]
            factors = []
            added = []
            moved = []
            number = builder.load(kept)
            at = builder.mul(number, INT64(VECTOR))
            for half in _HALVES:
                four = range(half, half + VECTOR // 2)
                stored = _join(
                    builder,
                    [load_vector(builder, pairs.data, lines[n], 2) for n in four],
                )
                x_twice = _pick(builder, x, x, [n for n in four for _ in range(2)])
                t = builder.fadd(stored, alpha)
                square = builder.fmul(t, t)
                cube = builder.fmul(square, t)
                factor = _ONES
                for power, common in zip((t, square, cube), commons, strict=True):
                    is_power = builder.fcmp_ordered("==", x_twice, common)
                    factor = builder.select(is_power, power, factor)
                factors.append(factor)
                added.append(t)
                if moves:
                    step = builder.fmul(weights, x_twice)
                    moved.append(builder.fadd(stored, step))
            product_before = builder.load(mantissas)
            product_of_factors = builder.fmul(*factors)
            product = builder.fmul(product_before, product_of_factors)
            bits = builder.bitcast(product, _INTEGERS)
            exponent = builder.lshr(bits, _INTEGERS([52] * VECTOR))
            unbiased = builder.sub(exponent, _INTEGERS([1023] * VECTOR))
            exponents_before = builder.load(exponents)
            exponents_after = builder.add(exponents_before, unbiased)
            builder.store(exponents_after, exponents)
            fraction = builder.or_(builder.and_(bits, _FRACTION), _ONE)
            builder.store(builder.bitcast(fraction, _DOUBLES), mantissas)
            lengths_before = builder.load(lengths)
            lengths_after = builder.fadd(lengths_before, x)
            builder.store(lengths_after, lengths)
            is_common = ir.Constant(ir.VectorType(ir.IntType(1), VECTOR), None)
            for common in commons:
                equal = builder.fcmp_ordered("==", x, common)
                is_common = builder.or_(is_common, equal)
            for c in range(2):
                of_class = _pick(builder, added[0], added[1], _OF_CLASS[c])
                store_vector(builder, of_class, spaces[c].data, at)
            other = builder.select(is_common, _DOUBLES(None), x)
            store_vector(builder, other, spaces[2].data, at)
            builder.store(arguments[12], builder.gep(owners.data, [number]))
            flags = builder.or_(builder.bitcast(is_common, _FLAGS), outside)
            # Without a branch, which data could make unpredictable.
            is_kept = builder.icmp_unsigned("!=", flags, _FLAGS(2**VECTOR - 1))
            one_if_kept = builder.zext(is_kept, INT64)
            number_after = builder.add(number, one_if_kept)
            builder.store(number_after, kept)
            if moves:
                # Backwards: a place outside stands for the last of the row, which is stored later.
                for n in reversed(range(VECTOR)):
                    half, place = divmod(2 * n, VECTOR)
                    pair = _pick(builder, moved[half], moved[half], [place, place + 1])
                    store_vector(builder, pair, pairs.data, lines[n])

        size = builder.sub(last, first)
        full = builder.udiv(size, INT64(VECTOR))
        with cgutils.for_range(builder, full) as loop:
            offset = builder.mul(loop.index, INT64(VECTOR))
            p = builder.add(first, offset)
            places = [builder.add(p, INT64(n)) for n in range(VECTOR)]
            x = load_vector(builder, data.data, p, VECTOR)
            multiply(places, x, _FLAGS(0))
        offset = builder.mul(full, INT64(VECTOR))
        p = builder.add(first, offset)
        with builder.if_then(builder.icmp_signed("<", p, last)):
            end = builder.sub(last, INT64(1))
            places = []
            x = _DOUBLES(None)
            for n in range(VECTOR):
                place = builder.add(p, INT64(n))
                inside = builder.icmp_signed("<", place, last)
                place = builder.select(inside, place, end)
                value = load_number(builder, data.data, place)
                value = builder.select(inside, value, DOUBLE(0.0))
                places.append(place)
                x = builder.insert_element(x, value, INT32(n))
            number = builder.trunc(builder.sub(last, p), _FLAGS)
            multiply(places, x, builder.shl(_FLAGS(2**VECTOR - 1), number))
        store_vector(builder, builder.load(mantissas), results.data, INT64(0))
        powers = builder.sitofp(builder.load(exponents), _DOUBLES)
        store_vector(builder, powers, results.data, INT64(VECTOR))
        store_vector(builder, builder.load(lengths), results.data, INT64(2 * VECTOR))
        return builder.load(kept)

    return codegen


@intrinsic
def multiply_counts(
    typing_context,
    features,
    values,
    start,
    stop,
    counts,
    alpha,
    unit,
    products,
    first_counts,
    second_counts,
    uncommon,
    owners,
    row,
    kept,
):
    """Set `products` to mantissas, exponents and sums of the values `start` to `stop` of `row`.

    Eights of features with a value other than 1, 2 and 3, whose powers of counts are no products,
    are appended to the `kept` ones: their counts plus alpha, values, 0 for the others, and the row
    as their owner. Return how many there are then; there must be room for all. `unit` is 1, or NaN
    for counts so large that their powers overflow: then no value is common. All arrays are flat.
    """
    result = types.intp(
        features,
        values,
        types.intp,
        types.intp,
        counts,
        alpha,
        unit,
        products,
        first_counts,
        second_counts,
        uncommon,
        owners,
        types.int64,
        types.int64,
    )
    return result, _multiply(False)


@intrinsic
def move_counts(
    typing_context,
    features,
    values,
    start,
    stop,
    counts,
    alpha,
    unit,
    products,
    first_counts,
    second_counts,
    uncommon,
    owners,
    row,
    kept,
    first_weight,
    second_weight,
):
    """Do `multiply_counts`, and add the row, times the weights, to the counts of both classes."""
    result = types.intp(
        features,
        values,
        types.intp,
        types.intp,
        counts,
        alpha,
        unit,
        products,
        first_counts,
        second_counts,
        uncommon,
        owners,
        types.int64,
        types.int64,
        first_weight,
        second_weight,
    )
    return result, _multiply(True)
