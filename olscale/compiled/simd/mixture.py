"""Vector code for dense rows and a gated sum of hyperplanes: the product with it, and a step along it.

Weights are ``V[plane, output, feature, 2]``, pairs that belong together; there are as many features as fill cache lines, and
those past the end of a row are never touched. Products and sums are rounded together, as `fused_product` does.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.columns import fused, opened, splat

__all__ = ["PARTS", "fused_product", "mixed_product", "mixed_step"]

PARTS = 4
"""Parts of a sum over the features: those whose number is n modulo 4 are summed by themselves, in ascending order."""

_LANES = 2 * PARTS
_TILE = 4
_DOUBLE, _INT32, _INT64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_SUMS, _FEATURES = ir.VectorType(_DOUBLE, _LANES), ir.VectorType(_DOUBLE, PARTS)


@intrinsic
def fused_product(typing_context, x, w, total):
    """Return ``x w + total`` in double precision, rounded once."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), codegen


@intrinsic
def mixed_product(typing_context, x, V, c, planes, picks, gates):
    """Return the product of a dense row with ``sum_n gates[n] V[picks[n], c]`` over the first `planes` picks, a pair."""
    pair = types.UniTuple(types.float64, 2)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, chosen, shares = opened(context, builder, signature, arguments, 0, 1, 4, 5)
        total = cgutils.alloca_once_value(builder, ir.Constant(_SUMS, [0.0] * _LANES))
        builder.store(ir.Constant(_SUMS, [0.0] * _LANES), total)
        sums = [cgutils.alloca_once(builder, _SUMS) for _ in range(_TILE)]

        def mix(j: Any, lines: int, values: Callable[[int], Any]) -> None:
            for n in range(lines):
                builder.store(ir.Constant(_SUMS, [0.0] * _LANES), sums[n])
            with cgutils.for_range(builder, arguments[3]) as loop:
                gate = splat(builder, builder.load(builder.gep(shares.data, [loop.index])), _SUMS)
                plane = builder.load(builder.gep(chosen.data, [loop.index]))
                for n in range(lines):
                    line = _line(context, builder, weights, plane, arguments[2], j, n)
                    builder.store(fused(builder, gate, _loaded(context, builder, line), builder.load(sums[n])), sums[n])
            for n in range(lines):
                builder.store(fused(builder, values(n), builder.load(sums[n]), builder.load(total)), total)

        _walk(builder, row, mix)
        parts = [builder.extract_element(builder.load(total), _INT32(n)) for n in range(_LANES)]
        while len(parts) > 2:
            parts = [builder.fadd(parts[n], parts[n + 2]) for n in range(len(parts)) if n % 4 < 2]
        return context.make_tuple(builder, pair, parts)

    return pair(x, V, types.intp, types.intp, picks, gates), codegen


@intrinsic
def mixed_step(typing_context, x, V, c, planes, picks, gates, a, b):
    """Add the outer product of a dense row and ``gates[n] (a, b)`` to each ``V[picks[n], c]`` of the first `planes`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, weights, chosen, shares = opened(context, builder, signature, arguments, 0, 1, 4, 5)
        steps = ir.Constant(_SUMS, ir.Undefined)
        for n in range(_LANES):
            steps = builder.insert_element(steps, arguments[6 + n % 2], _INT32(n))

        def move(j: Any, lines: int, values: Callable[[int], Any]) -> None:
            along = [builder.fmul(steps, values(n)) for n in range(lines)]
            with cgutils.for_range(builder, arguments[3]) as loop:
                gate = splat(builder, builder.load(builder.gep(shares.data, [loop.index])), _SUMS)
                plane = builder.load(builder.gep(chosen.data, [loop.index]))
                for n in range(lines):
                    line = _line(context, builder, weights, plane, arguments[2], j, n)
                    moved = fused(builder, gate, along[n], _loaded(context, builder, line))
                    kind = line.type.pointee
                    moved = moved if kind.element == _DOUBLE else builder.fptrunc(moved, kind)
                    builder.store(moved, line).align = context.get_abi_sizeof(kind.element)

        _walk(builder, row, move)
        return context.get_dummy_value()

    return types.void(x, V, types.intp, types.intp, picks, gates, types.float64, types.float64), codegen


def _walk(builder: Any, row: Any, visit: Callable[[Any, int, Callable[[int], Any]], None]) -> None:
    """Call `visit` with a feature, a number of lines from it on, and the values of the features in each line, twice each.

    Past the end of the row the values are 0. Tiles of zeros are left out: images and counts have many, and their weights
    would come from far.
    """
    size = builder.extract_value(row.shape, 0)
    twice = ir.Constant(ir.VectorType(_INT32, _LANES), [n // 2 for n in range(_LANES)])

    def four(j: Any, n: int) -> Any:
        at = builder.gep(row.data, [builder.add(j, _INT64(n * PARTS))])
        return builder.load(builder.bitcast(at, _FEATURES.as_pointer()), align=8)

    def values(j: Any, n: int) -> Any:
        return builder.shuffle_vector(four(j, n), four(j, n), twice)

    def anything(j: Any) -> Any:
        """Tell whether a tile has a value that is not 0."""
        bits = ir.VectorType(_INT64, PARTS)
        found = ir.Constant(bits, [0] * PARTS)
        for n in range(_TILE):
            found = builder.or_(found, builder.bitcast(four(j, n), bits))
        unsigned = builder.shl(found, ir.Constant(bits, [1] * PARTS))
        there = builder.icmp_unsigned("!=", unsigned, ir.Constant(bits, [0] * PARTS))
        return builder.icmp_unsigned("!=", builder.bitcast(there, ir.IntType(PARTS)), ir.IntType(PARTS)(0))

    def rest(j: Any) -> Any:
        left = cgutils.alloca_once(builder, _FEATURES)
        builder.store(ir.Constant(_FEATURES, [0.0] * PARTS), left)
        place = builder.bitcast(left, _DOUBLE.as_pointer())
        with cgutils.for_range(builder, builder.sub(size, j)) as loop:
            value = builder.load(builder.gep(row.data, [builder.add(j, loop.index)]))
            builder.store(value, builder.gep(place, [loop.index]))
        return builder.shuffle_vector(builder.load(left), builder.load(left), twice)

    tiles = builder.sub(size, builder.urem(size, _INT64(_TILE * PARTS)))
    whole = builder.sub(size, builder.urem(size, _INT64(PARTS)))
    with (
        cgutils.for_range_slice(builder, _INT64(0), tiles, _INT64(_TILE * PARTS)) as (j, _),
        builder.if_then(anything(j)),
    ):
        visit(j, _TILE, lambda n: values(j, n))
    with cgutils.for_range_slice(builder, tiles, whole, _INT64(PARTS)) as (j, _):
        visit(j, 1, lambda n: values(j, n))
    with builder.if_then(builder.icmp_signed("<", whole, size)):
        last = rest(whole)
        visit(whole, 1, lambda _: last)


def _line(context: Any, builder: Any, weights: Any, plane: Any, c: Any, j: Any, n: int) -> Any:
    """Return the address of the pairs of four features, the n-th four from feature `j` on."""
    outputs, features = (builder.extract_value(weights.shape, axis) for axis in (1, 2))
    first = builder.mul(builder.add(builder.mul(plane, outputs), c), features)
    first = builder.shl(builder.add(builder.add(first, j), _INT64(n * PARTS)), _INT64(1))
    number = weights.data.type.pointee
    return builder.bitcast(builder.gep(weights.data, [first]), ir.VectorType(number, _LANES).as_pointer())


def _loaded(context: Any, builder: Any, line: Any) -> Any:
    number = line.type.pointee.element
    found = builder.load(line, align=context.get_abi_sizeof(number))
    return found if number == _DOUBLE else builder.fpext(found, _SUMS)
