"""Vector code for a symmetric matrix: subtract an outer product and multiply, in one pass.

In numpy, with ``S[:, d:]`` and the ends of `h` and `g` as padding:

>>> def subtract_multiply(S, h, x, g):
...     S -= np.outer(h[: len(S)], h).astype(S.dtype)
...     g[:] = x[: len(S)] @ S

As in `olscale.compiled.simd.columns` each sum runs in ascending order of the features; here
everything is in double precision.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.vectors import (
    DOUBLE,
    VECTOR,
    accumulate,
    broadcast,
    convert,
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
def subtract_multiply(typing_context, S, h, x, g):
    """Subtract ``h h'`` from the symmetric matrix `S` and set ``g = S x`` with the result.

    `S` has shape (features, columns), `h` and `g` as many entries as it has columns, a multiple of
    `VECTOR`; those past the features are 0.

    Products and sums are float64; elements of `S` are rounded when stored, and multiplied as
    stored.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = open_arrays(context, builder, signature, arguments, 0, 1, 2, 3)
        width = builder.extract_value(arrays[0].shape, 1)
        rest = builder.urem(width, width.type(_BLOCK))
        whole = builder.sub(width, rest)
        with cgutils.for_range_slice(builder, width.type(0), whole, width.type(_BLOCK)) as (
            first,
            _,
        ):
            _write_block(builder, _BLOCK, arrays, first)
        # A loop for each width that the last block can have: fewer columns than 64, in full
        # vectors.
        for columns in range(VECTOR, _BLOCK, VECTOR):
            with builder.if_then(builder.icmp_signed("==", rest, width.type(columns))):
                _write_block(builder, columns, arrays, whole)
        return context.get_dummy_value()

    return types.void(S, h, x, g), codegen


def _write_block(builder: Any, columns: int, arrays: list[Any], first: Any) -> None:
    """Write the loop over the rows of a block of columns, with sums and steps in registers."""
    S, h, x, g = arrays
    size, width = (builder.extract_value(S.shape, axis) for axis in range(2))
    starts = [builder.add(first, width.type(n)) for n in range(0, columns, VECTOR)]
    steps = [load_vector(builder, h.data, start, VECTOR) for start in starts]
    sums = [zero_slot(builder, _DOUBLES) for _ in starts]
    with cgutils.for_range(builder, size) as loop:
        row = builder.mul(loop.index, width)
        hj, xj = (builder.load(builder.gep(array.data, [loop.index])) for array in (h, x))
        hj = broadcast(builder, hj, _DOUBLES)
        xj = broadcast(builder, xj, _DOUBLES)
        for start, step, total in zip(starts, steps, sums, strict=True):
            place = builder.add(row, start)
            value = convert(builder, load_vector(builder, S.data, place, VECTOR), DOUBLE)
            value = convert(
                builder, builder.fsub(value, builder.fmul(hj, step)), S.data.type.pointee
            )
            store_vector(builder, value, S.data, place)
            # As stored: the product uses the matrix that the next row will find.
            accumulate(builder, total, xj, convert(builder, value, DOUBLE))
    for start, total in zip(starts, sums, strict=True):
        store_vector(builder, builder.load(total), g.data, start)
