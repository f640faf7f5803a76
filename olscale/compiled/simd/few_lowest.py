"""Vector code for the few smallest of many numbers, in the order of their size."""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.columns import LANES, opened, splat

__all__ = ["PICKED", "few_lowest"]

_VECTORS = 8
PICKED = _VECTORS * LANES
"""Numbers that `few_lowest` takes a turn."""

_DOUBLE, _INT8, _INT32, _INT64 = ir.DoubleType(), ir.IntType(8), ir.IntType(32), ir.IntType(64)
_DOUBLES, _BITS = ir.VectorType(_DOUBLE, LANES), ir.VectorType(ir.IntType(1), LANES)


@intrinsic
def few_lowest(typing_context, values, picks, low):
    """Set `low` to the smallest of `values`, in ascending order, and `picks` to their places; return how many there are.

    Of equals the first comes first. There are as many as `low` is long, or fewer, if there are fewer below infinity;
    `values` has a multiple of `PICKED`. They stay in registers while one after the other is taken out.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, places, found = opened(context, builder, signature, arguments, 0, 1, 2)
        most, size = builder.extract_value(found.shape, 0), builder.extract_value(given.shape, 0)
        infinity = ir.Constant(_DOUBLE, float("inf"))
        count = cgutils.alloca_once_value(builder, _INT64(0))
        worst = cgutils.alloca_once_value(builder, infinity)
        builder.store(_INT64(0), count)
        builder.store(infinity, worst)
        left = [cgutils.alloca_once(builder, _DOUBLES) for _ in range(_VECTORS)]
        with cgutils.for_range_slice(builder, _INT64(0), size, _INT64(PICKED)) as (start, _):
            for n, vector in enumerate(left):
                at = builder.gep(given.data, [builder.add(start, _INT64(n * LANES))])
                builder.store(builder.load(builder.bitcast(at, _DOUBLES.as_pointer()), align=8), vector)
            smallest, rounds = cgutils.alloca_once(builder, _DOUBLES), builder.append_basic_block("rounds")
            take, done = builder.append_basic_block("take"), builder.append_basic_block("done")
            builder.branch(rounds)
            builder.position_at_end(rounds)
            builder.store(_smallest(builder, [builder.load(vector) for vector in left]), smallest)
            value = builder.extract_element(builder.load(smallest), _INT32(0))
            builder.cbranch(builder.fcmp_ordered("<", value, builder.load(worst)), take, done)
            builder.position_at_end(take)
            place = builder.add(start, _take_out(builder, left, builder.load(smallest)))
            _insert(builder, found.data, places.data, builder.load(count), most, value, place)
            more = builder.add(builder.load(count), _INT64(1))
            builder.store(builder.select(builder.icmp_signed("<", more, most), more, most), count)
            with builder.if_then(builder.icmp_signed(">=", more, most)):
                last = builder.gep(found.data, [builder.sub(most, _INT64(1))])
                builder.store(builder.load(last), worst)
            builder.branch(rounds)
            builder.position_at_end(done)
        return builder.load(count)

    return types.intp(values, picks, low), codegen


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _smallest(builder: Any, vectors: list[Any]) -> Any:
    """Return the smallest number of all vectors, in every lane."""
    while len(vectors) > 1:
        vectors = [_smaller(builder, vectors[n], vectors[n + 1]) for n in range(0, len(vectors), 2)]
    found, half = vectors[0], LANES // 2
    while half:
        mask = ir.Constant(ir.VectorType(_INT32, LANES), [n ^ half for n in range(LANES)])
        found = _smaller(builder, found, builder.shuffle_vector(found, found, mask))
        half //= 2
    return found


def _take_out(builder: Any, left: list[Any], smallest: Any) -> Any:
    """Put infinity for the first number that is the smallest; return its place."""
    equal = _INT64(0)
    for n, vector in enumerate(left):
        same = builder.bitcast(builder.fcmp_ordered("==", builder.load(vector), smallest), _INT8)
        equal = builder.or_(equal, builder.shl(builder.zext(same, _INT64), _INT64(n * LANES)))
    first = builder.and_(equal, builder.neg(equal))
    infinities = splat(builder, ir.Constant(_DOUBLE, float("inf")), _DOUBLES)
    for n, vector in enumerate(left):
        chosen = builder.bitcast(builder.trunc(builder.lshr(first, _INT64(n * LANES)), _INT8), _BITS)
        builder.store(builder.select(chosen, infinities, builder.load(vector)), vector)
    return builder.cttz(equal, ir.IntType(1)(0))


def _insert(builder: Any, low: Any, picks: Any, count: Any, most: Any, value: Any, place: Any) -> None:
    """Put a number and its place where they belong in the ascending order, after equals; the last drops out."""
    end = builder.sub(most, _INT64(1))
    at = cgutils.alloca_once(builder, _INT64)
    builder.store(builder.select(builder.icmp_signed("<", count, end), count, end), at)
    test, look = builder.append_basic_block("test"), builder.append_basic_block("look")
    shift, put = builder.append_basic_block("shift"), builder.append_basic_block("put")
    builder.branch(test)
    builder.position_at_end(test)
    now = builder.load(at)
    builder.cbranch(builder.icmp_signed(">", now, _INT64(0)), look, put)
    builder.position_at_end(look)
    before = builder.sub(now, _INT64(1))
    other = builder.load(builder.gep(low, [before]))
    builder.cbranch(builder.fcmp_ordered(">", other, value), shift, put)
    builder.position_at_end(shift)
    builder.store(other, builder.gep(low, [now]))
    builder.store(builder.load(builder.gep(picks, [before])), builder.gep(picks, [now]))
    builder.store(before, at)
    builder.branch(test)
    builder.position_at_end(put)
    builder.store(value, builder.gep(low, [builder.load(at)]))
    builder.store(place, builder.gep(picks, [builder.load(at)]))
