"""Vector code for pairs of mean and variance: four features of a sparse row at once.

A pair is read and written whole, and four divisions take the time of two. Numbers are double precision in between, whatever
the precision of the pairs, each operation rounded by itself and sums in ascending order of the features: the bits are
those of one feature after another.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic

__all__ = ["moments_of_pairs", "move_four"]

_FOUR = 4
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_DOUBLES = ir.VectorType(ir.DoubleType(), _FOUR)
_PAIR = ir.VectorType(ir.DoubleType(), 2)


@intrinsic
def moments_of_pairs(typing_context, A, indices, data, start, stop):
    """Return ``x mu``, ``x^2 sigma`` and ``|x|^2`` of the sparse row `start` to `stop`, for pairs `A`, flat."""
    result = types.UniTuple(types.float64, 3)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pairs, features, values = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip((A, indices, data), arguments, strict=False)
        )
        number = pairs.type.pointee
        first, last = arguments[3:]
        sums = cgutils.alloca_once_value(builder, ir.Constant(_PAIR, [0.0, 0.0]))
        squares = cgutils.alloca_once_value(builder, ir.Constant(_PAIR, [0.0, 0.0]))

        def add(p: Any, both: Any) -> None:
            """Add the feature at `p` with ``both = (x, x^2)``."""
            j = builder.zext(builder.load(builder.gep(features, [p])), _INT64)
            place = builder.gep(pairs, [builder.mul(j, _INT64(2))])
            pointer = builder.bitcast(place, ir.VectorType(number, 2).as_pointer())
            pair = _wide(builder, builder.load(pointer, align=context.get_abi_sizeof(number)))
            builder.store(builder.fadd(builder.load(sums), builder.fmul(both, pair)), sums)
            builder.store(builder.fadd(builder.load(squares), both), squares)

        def pair(x: Any, n: int) -> Any:
            """Return x and its square of number `n` of four."""
            return builder.shuffle_vector(x, builder.fmul(x, x), ir.Constant(ir.VectorType(_INT32, 2), [n, _FOUR + n]))

        size = context.get_abi_sizeof(values.type.pointee)
        whole = builder.sub(last, builder.urem(builder.sub(last, first), _INT64(_FOUR)))
        with cgutils.for_range_slice(builder, first, whole, _INT64(_FOUR)) as (p, _):
            x = _load(builder, values, p, size)
            for n in range(_FOUR):
                add(builder.add(p, _INT64(n)), pair(x, n))
        with cgutils.for_range(builder, last, start=whole) as loop:
            value = builder.load(builder.gep(values, [loop.index]))
            value = value if value.type == ir.DoubleType() else builder.fpext(value, ir.DoubleType())
            add(loop.index, pair(_splat(builder, value), 0))
        score, variance = (builder.extract_element(builder.load(sums), _INT32(n)) for n in range(2))
        square = builder.extract_element(builder.load(squares), _INT32(1))
        return context.make_tuple(builder, result, [score, variance, square])

    return result(A, indices, data, types.uint64, types.uint64), codegen


@intrinsic
def move_four(typing_context, A, m0, m1, m2, m3, data, p, a, gamma, tiny):
    """Move the pairs of `A`, flat, that begin at `m0` to `m3`, all different, by the four values from ``data[p]``.

    With ``s = variance value``: ``mean += a s`` and ``variance /= 1 + gamma (s value)``. Return whether each variance is
    then at least `tiny`.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pairs = context.make_array(A)(context, builder, arguments[0]).data
        values = context.make_array(data)(context, builder, arguments[5]).data
        number = pairs.type.pointee
        pair, size = ir.VectorType(number, 2), context.get_abi_sizeof(number)
        places = [builder.bitcast(builder.gep(pairs, [start]), pair.as_pointer()) for start in arguments[1 : 1 + _FOUR]]
        x = _load(builder, values, arguments[6], context.get_abi_sizeof(values.type.pointee))
        a, gamma, tiny = (_splat(builder, argument) for argument in arguments[7:])

        loaded = [builder.load(place, align=size) for place in places]
        mean, variance = (_wide(builder, _column(builder, loaded, side)) for side in range(2))
        s = builder.fmul(variance, x)
        growth = builder.fmul(gamma, builder.fmul(s, x))
        variance = builder.fdiv(variance, builder.fadd(ir.Constant(_DOUBLES, [1.0] * _FOUR), growth))
        mean = builder.fadd(mean, builder.fmul(a, s))
        if number != ir.DoubleType():
            narrow = ir.VectorType(number, _FOUR)
            mean, variance = builder.fptrunc(mean, narrow), builder.fptrunc(variance, narrow)
        for n, place in enumerate(places):
            both = ir.Constant(ir.VectorType(_INT32, 2), [n, _FOUR + n])
            builder.store(builder.shuffle_vector(mean, variance, both), place, align=size)
        fine = builder.fcmp_ordered(">=", _wide(builder, variance), tiny)
        every = builder.bitcast(fine, ir.IntType(_FOUR))
        return builder.icmp_unsigned("==", every, ir.Constant(ir.IntType(_FOUR), -1))

    starts = [types.uint64] * _FOUR
    return types.boolean(A, *starts, data, types.uint64, types.float64, types.float64, types.float64), codegen


def _load(builder: Any, data: Any, first: Any, size: int) -> Any:
    """Return four numbers of an array as doubles."""
    vector = ir.VectorType(data.type.pointee, _FOUR)
    return _wide(builder, builder.load(builder.bitcast(builder.gep(data, [first]), vector.as_pointer()), align=size))


def _column(builder: Any, pairs: list[Any], side: int) -> Any:
    """Return the first or the second numbers of four pairs."""
    two = ir.Constant(ir.VectorType(_INT32, 2), [side, 2 + side])
    halves = [builder.shuffle_vector(pairs[n], pairs[n + 1], two) for n in (0, 2)]
    return builder.shuffle_vector(*halves, ir.Constant(ir.VectorType(_INT32, _FOUR), list(range(_FOUR))))


def _wide(builder: Any, vector: Any) -> Any:
    doubles = ir.VectorType(ir.DoubleType(), vector.type.count)
    return vector if vector.type == doubles else builder.fpext(vector, doubles)


def _splat(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(_DOUBLES, ir.Undefined), value, _INT32(0))
    mask = ir.Constant(ir.VectorType(_INT32, _FOUR), [0] * _FOUR)
    return builder.shuffle_vector(one, ir.Constant(_DOUBLES, ir.Undefined), mask)
