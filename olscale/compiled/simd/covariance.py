"""Vector code for a symmetric matrix: subtract an outer product and multiply with a row, in one sweep.

As in `lanes`, each sum runs in ascending order of the features; here all of it is in double precision.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.columns import LANES, opened, splat

__all__ = ["subtract_multiply"]

_DOUBLE = ir.DoubleType()


@intrinsic
def subtract_multiply(typing_context, S, h, x, g):
    """Subtract ``h h'`` from the symmetric matrix `S` and set ``g = S x`` with the result, in one sweep over `S`.

    `S` has shape (features, columns), `h` and `g` as many entries as it has columns, a multiple of `LANES`; those past the
    features are 0.

    Products and sums are float64; elements of `S` are rounded as they are stored, and multiplied as stored.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, column, row, product = opened(context, builder, signature, arguments, 0, 1, 2, 3)
        width = builder.extract_value(matrix.shape, 1)
        rest = builder.urem(width, width.type(_SQUARE_BLOCK))
        whole = builder.sub(width, rest)
        step = width.type(_SQUARE_BLOCK)
        with cgutils.for_range_slice(builder, width.type(0), whole, step, intp=width.type) as (at, _):
            _square_block(builder, _SQUARE_BLOCK, matrix, column, row, product, at)
        for columns in range(LANES, _SQUARE_BLOCK, LANES):
            with builder.if_then(builder.icmp_signed("==", rest, width.type(columns))):
                _square_block(builder, columns, matrix, column, row, product, whole)
        return context.get_dummy_value()

    return types.void(S, h, x, g), codegen


_SQUARE_BLOCK = 64


def _square_block(builder: Any, columns: int, S: Any, h: Any, x: Any, g: Any, first: Any) -> None:
    """Write the loop over the rows of a block of columns: their sums and their part of h stay in registers."""
    scalar = S.data.type.pointee
    wide, stored = ir.VectorType(_DOUBLE, LANES), ir.VectorType(scalar, LANES)
    size, width = (builder.extract_value(S.shape, axis) for axis in range(2))
    places = [builder.add(first, width.type(n)) for n in range(0, columns, LANES)]

    def vector(array: Any, place: Any, kind: Any) -> Any:
        return builder.bitcast(builder.gep(array.data, [place]), kind.as_pointer())

    def load(address: Any) -> Any:
        value = builder.load(address)
        value.align = 4 if address.type.pointee.element == ir.FloatType() else 8
        return value if value.type == wide else builder.fpext(value, wide)

    steps = [load(vector(h, place, wide)) for place in places]
    sums = [cgutils.alloca_once_value(builder, ir.Constant(wide, [0.0] * LANES)) for _ in places]
    for total in sums:
        builder.store(ir.Constant(wide, [0.0] * LANES), total)
    with cgutils.for_range(builder, size) as loop:
        row = builder.mul(loop.index, width)
        hj, xj = (builder.load(builder.gep(array.data, [loop.index])) for array in (h, x))
        hj, xj = splat(builder, hj, wide), splat(builder, xj, wide)
        for place, step, total in zip(places, steps, sums, strict=True):
            address = vector(S, builder.add(row, place), stored)
            value = builder.fsub(load(address), builder.fmul(hj, step))
            if scalar != _DOUBLE:
                value = builder.fptrunc(value, stored)
            builder.store(value, address).align = 8 if scalar == _DOUBLE else 4
            if scalar != _DOUBLE:
                value = builder.fpext(value, wide)
            builder.store(builder.fadd(builder.load(total), builder.fmul(xj, value)), total)
    for place, total in zip(places, sums, strict=True):
        builder.store(builder.load(total), vector(g, place, wide)).align = 8
