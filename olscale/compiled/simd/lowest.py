"""Vector code for the smallest of many numbers, and for the few smallest in ascending order.

The first among equals comes first, as in a stable sort:

>>> import numpy as np
>>> def few_lowest(values, m):
...     indices = np.argsort(values, kind="stable")[:m]
...     return indices[values[indices] < np.inf]
>>> few_lowest(np.array([3.0, 1.0, np.inf, 1.0]), 2).tolist()
[1, 3]
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT8,
    INT32,
    INT64,
    VECTOR,
    broadcast,
    load_number,
    load_vector,
    open_arrays,
)

_VECTORS = 8
AT_ONCE = _VECTORS * VECTOR
"""Numbers that `few_lowest` holds in registers at once."""

_DOUBLES = ir.VectorType(DOUBLE, VECTOR)
_PLACES = ir.VectorType(INT64, VECTOR)
_BITS = ir.VectorType(ir.IntType(1), VECTOR)
_IN_ORDER = ir.Constant(_PLACES, list(range(VECTOR)))
_INFINITY = DOUBLE(float("inf"))


@intrinsic
def lowest(typing_context, offset, slope, f):
    """Return the first place where ``offset - slope f`` is smallest, and its value there.

    Lengths are multiples of `VECTOR`. The place is 0 if no number is below infinity:
    ``few_lowest(offset - slope * f, 1)`` in the docstring of the module.
    """
    both = types.Tuple((types.intp, types.float64))

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = open_arrays(context, builder, signature, arguments, 0, 1, 2)

        def write(at: Any) -> Any:
            a, b, c = (load_vector(builder, array.data, at, VECTOR) for array in arrays)
            product = builder.fmul(b, c)
            return builder.fsub(a, product)

        size = builder.extract_value(arrays[0].shape, 0)
        place, value = _first_lowest(builder, size, write)
        return context.make_tuple(builder, both, (place, value))

    return both(offset, slope, f), codegen


@intrinsic
def lowest_of(typing_context, values, count):
    """Return the first place of the smallest of `count` `values`, as `lowest`, and its value.

    `values` has room for full vectors.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (numbers,) = open_arrays(context, builder, signature, arguments, 0)
        count = arguments[1]
        infinities = broadcast(builder, _INFINITY, _DOUBLES)

        def write(at: Any) -> Any:
            starts = broadcast(builder, at, _PLACES)
            places = builder.add(starts, _IN_ORDER)
            ends = broadcast(builder, count, _PLACES)
            inside = builder.icmp_signed("<", places, ends)
            vector = load_vector(builder, numbers.data, at, VECTOR)
            return builder.select(inside, vector, infinities)

        place, _ = _first_lowest(builder, count, write)
        return place

    return types.intp(values, types.intp), codegen


@intrinsic
def few_lowest(typing_context, values, indices, low):
    """Set `low` to the smallest `values`, ascending, and `indices` to places; return the number.

    There are as many as `low` is long, or fewer if fewer are below infinity; the length of `values`
    is a multiple of `AT_ONCE`. They stay in registers while one after the other is taken out.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, places, results = open_arrays(
            context, builder, signature, arguments, 0, 1, 2
        )
        most = builder.extract_value(results.shape, 0)
        size = builder.extract_value(numbers.shape, 0)
        count = cgutils.alloca_once_value(builder, INT64(0))
        worst = cgutils.alloca_once_value(builder, _INFINITY)
        slots = [cgutils.alloca_once(builder, _DOUBLES) for _ in range(_VECTORS)]
        with cgutils.for_range_slice(builder, INT64(0), size, INT64(AT_ONCE)) as (
            start,
            _,
        ):
            for n, vector in enumerate(slots):
                at = builder.add(start, INT64(n * VECTOR))
                loaded = load_vector(builder, numbers.data, at, VECTOR)
                builder.store(loaded, vector)
            smallest = cgutils.alloca_once(builder, _DOUBLES)
            rounds = builder.append_basic_block("rounds")
            take = builder.append_basic_block("take")
            done = builder.append_basic_block("done")
            builder.branch(rounds)
            builder.position_at_end(rounds)
            vectors = [builder.load(vector) for vector in slots]
            smallest_of_all = _smallest(builder, vectors)
            builder.store(smallest_of_all, smallest)
            copies_of_value = builder.load(smallest)
            value = builder.extract_element(copies_of_value, INT32(0))
            # A later number that is equal to the worst result comes after it: it is not taken.
            worst_now = builder.load(worst)
            is_better = builder.fcmp_ordered("<", value, worst_now)
            builder.cbranch(is_better, take, done)
            builder.position_at_end(take)
            copies_of_value = builder.load(smallest)
            place_of_block = _take_out(builder, slots, copies_of_value)
            place = builder.add(start, place_of_block)
            count_before = builder.load(count)
            _insert(
                builder,
                results.data,
                places.data,
                count_before,
                most,
                value,
                place,
            )
            count_before = builder.load(count)
            more = builder.add(count_before, INT64(1))
            has_room = builder.icmp_signed("<", more, most)
            count_after = builder.select(has_room, more, most)
            builder.store(count_after, count)
            # Once all places are taken, only numbers below the last of them still count.
            is_full = builder.icmp_signed(">=", more, most)
            with builder.if_then(is_full):
                last = builder.sub(most, INT64(1))
                last_result = load_number(builder, results.data, last)
                builder.store(last_result, worst)
            builder.branch(rounds)
            builder.position_at_end(done)
        return builder.load(count)

    return types.intp(values, indices, low), codegen


def _first_lowest(
    builder: Any, size: Any, write: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """Return the place of the first of the smallest of `size` numbers, and that number.

    `write` writes the code that makes a vector of them.
    """
    infinities = ir.Constant(_DOUBLES, [float("inf")] * VECTOR)
    zeros = ir.Constant(_PLACES, [0] * VECTOR)
    best = cgutils.alloca_once_value(builder, infinities)
    where = cgutils.alloca_once_value(builder, zeros)
    # Place n of the vectors has the smallest of the numbers n, n + 8, n + 16 ... and its position.
    with cgutils.for_range_slice(builder, INT64(0), size, INT64(VECTOR)) as (at, _):
        value = write(at)
        # Less, not less or equal: the first among equals stays. NaN, as in a model that diverged,
        # is never less.
        best_before = builder.load(best)
        less = builder.fcmp_ordered("<", value, best_before)
        lower = builder.select(less, value, best_before)
        builder.store(lower, best)
        start = broadcast(builder, at, _PLACES)
        start_before = builder.load(where)
        place_of_lower = builder.select(less, start, start_before)
        builder.store(place_of_lower, where)
    values = builder.load(best)
    starts = builder.load(where)
    starts = builder.add(starts, _IN_ORDER)
    half = VECTOR // 2
    while half:
        # Number n is compared with number n ^ half, so after three rounds each place has the
        # smallest of all.
        values_across = _swap(builder, values, half)
        starts_across = _swap(builder, starts, half)
        equal = builder.fcmp_ordered("==", values_across, values)
        earlier = builder.icmp_signed("<", starts_across, starts)
        first_of_equals = builder.and_(equal, earlier)
        less = builder.fcmp_ordered("<", values_across, values)
        better = builder.or_(less, first_of_equals)
        values = builder.select(better, values_across, values)
        starts = builder.select(better, starts_across, starts)
        half //= 2
    value = builder.extract_element(values, INT32(0))
    place = builder.extract_element(starts, INT32(0))
    # Nothing is below infinity if every number is infinite or NaN.
    is_finite = builder.fcmp_ordered("<", value, _INFINITY)
    place = builder.select(is_finite, place, INT64(0))
    return place, value


def _swap(builder: Any, vector: Any, half: int) -> Any:
    """Return a vector with the numbers n and ``n ^ half`` exchanged."""
    places = ir.VectorType(INT32, VECTOR)
    partners = [n ^ half for n in range(VECTOR)]
    order = ir.Constant(places, partners)
    return builder.shuffle_vector(vector, vector, order)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    less = builder.fcmp_ordered("<", a, b)
    return builder.select(less, a, b)


def _smallest(builder: Any, vectors: list[Any]) -> Any:
    """Return a vector filled with the smallest number of all vectors."""
    # In pairs rather than one after the other: fewer comparisons wait for others.
    while len(vectors) > 1:
        even = vectors[::2]
        odd = vectors[1::2]
        pairs = zip(even, odd, strict=True)
        vectors = [_smaller(builder, a, b) for a, b in pairs]
    smallest = vectors[0]
    half = VECTOR // 2
    while half:
        across = _swap(builder, smallest, half)
        smallest = _smaller(builder, smallest, across)
        half //= 2
    return smallest


def _take_out(builder: Any, slots: list[Any], smallest: Any) -> Any:
    """Replace the first of the smallest numbers by infinity; return its place."""
    # One bit per number marks the equal ones: the lowest set bit is the first among them.
    equal = INT64(0)
    for n, vector in enumerate(slots):
        numbers = builder.load(vector)
        is_smallest = builder.fcmp_ordered("==", numbers, smallest)
        byte = builder.bitcast(is_smallest, INT8)
        word = builder.zext(byte, INT64)
        first_bit = INT64(n * VECTOR)
        bits = builder.shl(word, first_bit)
        equal = builder.or_(equal, bits)
    negative = builder.neg(equal)
    lowest_bit = builder.and_(equal, negative)
    infinities = broadcast(builder, _INFINITY, _DOUBLES)
    for n, vector in enumerate(slots):
        first_bit = INT64(n * VECTOR)
        bits = builder.lshr(lowest_bit, first_bit)
        byte = builder.trunc(bits, INT8)
        chosen = builder.bitcast(byte, _BITS)
        numbers = builder.load(vector)
        remaining = builder.select(chosen, infinities, numbers)
        builder.store(remaining, vector)
    return builder.cttz(equal, ir.IntType(1)(0))


def _insert(
    builder: Any,
    low: Any,
    indices: Any,
    count: Any,
    most: Any,
    value: Any,
    place: Any,
) -> None:
    """Insert a number and its place in ascending order, after equals; the last drops out."""
    end = builder.sub(most, INT64(1))
    at = cgutils.alloca_once(builder, INT64)
    has_room = builder.icmp_signed("<", count, end)
    start = builder.select(has_room, count, end)
    builder.store(start, at)
    test = builder.append_basic_block("test")
    compare = builder.append_basic_block("compare")
    shift = builder.append_basic_block("shift")
    insert = builder.append_basic_block("insert")
    builder.branch(test)
    builder.position_at_end(test)
    place_now = builder.load(at)
    is_inside = builder.icmp_signed(">", place_now, INT64(0))
    builder.cbranch(is_inside, compare, insert)
    builder.position_at_end(compare)
    before = builder.sub(place_now, INT64(1))
    number_before = load_number(builder, low, before)
    is_greater = builder.fcmp_ordered(">", number_before, value)
    builder.cbranch(is_greater, shift, insert)
    builder.position_at_end(shift)
    number_address = builder.gep(low, [place_now])
    builder.store(number_before, number_address)
    index_before = load_number(builder, indices, before)
    index_address = builder.gep(indices, [place_now])
    builder.store(index_before, index_address)
    builder.store(before, at)
    builder.branch(test)
    builder.position_at_end(insert)
    place_now = builder.load(at)
    number_address = builder.gep(low, [place_now])
    builder.store(value, number_address)
    index_address = builder.gep(indices, [place_now])
    builder.store(place, index_address)
