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
    load_vector,
    open_arrays,
)

_VECTORS = 8
AT_ONCE = _VECTORS * VECTOR
"""Numbers that `few_lowest` holds in registers at once."""

_DOUBLES = ir.VectorType(DOUBLE, VECTOR)
_PLACES = ir.VectorType(INT64, VECTOR)
_BITS = ir.VectorType(ir.IntType(1), VECTOR)


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
            return builder.fsub(a, builder.fmul(b, c))

        place, value = _first_lowest(builder, builder.extract_value(arrays[0].shape, 0), write)
        return context.make_tuple(builder, both, (place, value))

    return both(offset, slope, f), codegen


@intrinsic
def lowest_of(typing_context, values, count):
    """Return the first place of the smallest of `count` `values`, as `lowest`, and its value.

    `values` has room for full vectors.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = open_arrays(context, builder, signature, arguments, 0)[0]
        count = arguments[1]
        infinities = broadcast(builder, DOUBLE(float("inf")), _DOUBLES)

        def write(at: Any) -> Any:
            places = builder.add(
                broadcast(builder, at, _PLACES), ir.Constant(_PLACES, list(range(VECTOR)))
            )
            inside = builder.icmp_signed("<", places, broadcast(builder, count, _PLACES))
            return builder.select(
                inside, load_vector(builder, numbers.data, at, VECTOR), infinities
            )

        return _first_lowest(builder, count, write)[0]

    return types.intp(values, types.intp), codegen


@intrinsic
def few_lowest(typing_context, values, indices, low):
    """Set `low` to the smallest `values`, ascending, and `indices` to places; return the number.

    There are as many as `low` is long, or fewer if fewer are below infinity; the length of `values`
    is a multiple of `AT_ONCE`. They stay in registers while one after the other is taken out.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, places, results = open_arrays(context, builder, signature, arguments, 0, 1, 2)
        most = builder.extract_value(results.shape, 0)
        size = builder.extract_value(numbers.shape, 0)
        infinity = DOUBLE(float("inf"))
        count = cgutils.alloca_once_value(builder, INT64(0))
        worst = cgutils.alloca_once_value(builder, infinity)
        left = [cgutils.alloca_once(builder, _DOUBLES) for _ in range(_VECTORS)]
        with cgutils.for_range_slice(builder, INT64(0), size, INT64(AT_ONCE)) as (start, _):
            for n, vector in enumerate(left):
                at = builder.add(start, INT64(n * VECTOR))
                builder.store(load_vector(builder, numbers.data, at, VECTOR), vector)
            smallest = cgutils.alloca_once(builder, _DOUBLES)
            rounds = builder.append_basic_block("rounds")
            take = builder.append_basic_block("take")
            done = builder.append_basic_block("done")
            builder.branch(rounds)
            builder.position_at_end(rounds)
            builder.store(_smallest(builder, [builder.load(vector) for vector in left]), smallest)
            value = builder.extract_element(builder.load(smallest), INT32(0))
            # A later number that is equal to the worst result comes after it: it is not taken.
            builder.cbranch(builder.fcmp_ordered("<", value, builder.load(worst)), take, done)
            builder.position_at_end(take)
            place = builder.add(start, _take_out(builder, left, builder.load(smallest)))
            _insert(builder, results.data, places.data, builder.load(count), most, value, place)
            more = builder.add(builder.load(count), INT64(1))
            builder.store(builder.select(builder.icmp_signed("<", more, most), more, most), count)
            # Once all places are taken, only numbers below the last of them still count.
            with builder.if_then(builder.icmp_signed(">=", more, most)):
                last = builder.gep(results.data, [builder.sub(most, INT64(1))])
                builder.store(builder.load(last), worst)
            builder.branch(rounds)
            builder.position_at_end(done)
        return builder.load(count)

    return types.intp(values, indices, low), codegen


def _first_lowest(builder: Any, size: Any, write: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the place of the first of the smallest of `size` numbers, and that number.

    `write` writes the code that makes a vector of them.
    """
    best = cgutils.alloca_once_value(builder, ir.Constant(_DOUBLES, [float("inf")] * VECTOR))
    where = cgutils.alloca_once_value(builder, ir.Constant(_PLACES, [0] * VECTOR))
    # Place n of the vectors has the smallest of the numbers n, n + 8, n + 16 ... and its position.
    with cgutils.for_range_slice(builder, INT64(0), size, INT64(VECTOR)) as (at, _):
        value = write(at)
        # Less, not less or equal: the first among equals stays. NaN, as in a model that diverged,
        # is never less.
        less = builder.fcmp_ordered("<", value, builder.load(best))
        builder.store(builder.select(less, value, builder.load(best)), best)
        builder.store(
            builder.select(less, broadcast(builder, at, _PLACES), builder.load(where)), where
        )
    values = builder.load(best)
    starts = builder.load(where)
    starts = builder.add(starts, ir.Constant(_PLACES, list(range(VECTOR))))
    half = VECTOR // 2
    while half:
        # Number n is compared with number n ^ half, so after three rounds each place has the
        # smallest of all.
        other = _swap(builder, values, half)
        others = _swap(builder, starts, half)
        equal = builder.and_(
            builder.fcmp_ordered("==", other, values), builder.icmp_signed("<", others, starts)
        )
        better = builder.or_(builder.fcmp_ordered("<", other, values), equal)
        values = builder.select(better, other, values)
        starts = builder.select(better, others, starts)
        half //= 2
    value, place = (builder.extract_element(vector, INT32(0)) for vector in (values, starts))
    # Nothing is below infinity if every number is infinite or NaN.
    is_finite = builder.fcmp_ordered("<", value, DOUBLE(float("inf")))
    return builder.select(is_finite, place, INT64(0)), value


def _swap(builder: Any, vector: Any, half: int) -> Any:
    """Return a vector with the numbers n and ``n ^ half`` exchanged."""
    order = ir.Constant(ir.VectorType(INT32, VECTOR), [n ^ half for n in range(VECTOR)])
    return builder.shuffle_vector(vector, vector, order)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _smallest(builder: Any, vectors: list[Any]) -> Any:
    """Return a vector filled with the smallest number of all vectors."""
    while len(vectors) > 1:
        vectors = [_smaller(builder, vectors[n], vectors[n + 1]) for n in range(0, len(vectors), 2)]
    smallest = vectors[0]
    half = VECTOR // 2
    while half:
        smallest = _smaller(builder, smallest, _swap(builder, smallest, half))
        half //= 2
    return smallest


def _take_out(builder: Any, left: list[Any], smallest: Any) -> Any:
    """Replace the first of the smallest numbers by infinity; return its place."""
    # One bit per number marks the equal ones: the lowest set bit is the first among them.
    equal = INT64(0)
    for n, vector in enumerate(left):
        same = builder.bitcast(builder.fcmp_ordered("==", builder.load(vector), smallest), INT8)
        equal = builder.or_(equal, builder.shl(builder.zext(same, INT64), INT64(n * VECTOR)))
    first = builder.and_(equal, builder.neg(equal))
    infinities = broadcast(builder, DOUBLE(float("inf")), _DOUBLES)
    for n, vector in enumerate(left):
        chosen = builder.bitcast(builder.trunc(builder.lshr(first, INT64(n * VECTOR)), INT8), _BITS)
        builder.store(builder.select(chosen, infinities, builder.load(vector)), vector)
    return builder.cttz(equal, ir.IntType(1)(0))


def _insert(
    builder: Any, low: Any, indices: Any, count: Any, most: Any, value: Any, place: Any
) -> None:
    """Insert a number and its place in ascending order, after equals; the last drops out."""
    end = builder.sub(most, INT64(1))
    at = cgutils.alloca_once(builder, INT64)
    builder.store(builder.select(builder.icmp_signed("<", count, end), count, end), at)
    test = builder.append_basic_block("test")
    look = builder.append_basic_block("look")
    shift = builder.append_basic_block("shift")
    put = builder.append_basic_block("put")
    builder.branch(test)
    builder.position_at_end(test)
    now = builder.load(at)
    builder.cbranch(builder.icmp_signed(">", now, INT64(0)), look, put)
    builder.position_at_end(look)
    before = builder.sub(now, INT64(1))
    other = builder.load(builder.gep(low, [before]))
    builder.cbranch(builder.fcmp_ordered(">", other, value), shift, put)
    builder.position_at_end(shift)
    builder.store(other, builder.gep(low, [now]))
    builder.store(builder.load(builder.gep(indices, [before])), builder.gep(indices, [now]))
    builder.store(before, at)
    builder.branch(test)
    builder.position_at_end(put)
    builder.store(value, builder.gep(low, [builder.load(at)]))
    builder.store(place, builder.gep(indices, [builder.load(at)]))
