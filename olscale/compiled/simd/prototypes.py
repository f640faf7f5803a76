"""Vector code for prototypes: a dense row's products with all, while another row is added.

In numpy:

>>> def add_multiply(S, before, column, a, row):
...     if column >= 0:
...         S[:, column] += a * before
...     return row @ S

As in `olscale.compiled.simd.columns` each column is summed separately in ascending order of the
features; but each product and its sum are rounded together, which halves the work where a processor
has an instruction for it and gives the same bits everywhere.
"""

from typing import Any

from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.blocks import ColumnBlock, for_each_block
from olscale.compiled.simd.vectors import INT64, convert, load_number, open_arrays

# Features by which the added row is ahead of the products. A processor forwards a number that was
# just written to a load of that number, but not to a load of the vector around it, which would wait
# until the write is in the cache.
_FAR = 16


@intrinsic
def add_multiply_dense(
    typing_context,
    before,
    column,
    a,
    row,
    S,
    f,
):
    """Add ``a before`` to a column of `S`, unless `column` is negative; then set ``f = row S``.

    Rows have the precision of `S`; the sum is computed in that of `a`. `f` may have more entries
    than there are columns.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        earlier, values, weights, sums = open_arrays(
            context, builder, signature, arguments, 0, 3, 4, 5
        )
        column, a = arguments[1:3]
        width = builder.extract_value(weights.shape, 1)
        size = builder.extract_value(values.shape, 0)
        ready = builder.select(
            builder.icmp_signed("<", size, INT64(_FAR)), size, INT64(_FAR)
        )

        def move(j: Any) -> None:
            place = builder.gep(
                weights.data, [builder.add(builder.mul(j, width), column)]
            )
            value, total = (
                builder.load(address)
                for address in (builder.gep(earlier.data, [j]), place)
            )
            sum_ = builder.fadd(
                convert(builder, total, a.type),
                builder.fmul(a, convert(builder, value, a.type)),
            )
            builder.store(convert(builder, sum_, place.type.pointee), place)

        def write(block: ColumnBlock) -> None:
            def add(j: Any) -> None:
                block.add(
                    load_number(builder, values.data, j), block.load(j), fused=True
                )

            # The first block adds the row, in any column: later blocks then find it there.
            pending = builder.and_(
                builder.icmp_signed("==", block.first, INT64(0)),
                builder.icmp_signed(">=", column, INT64(0)),
            )
            with builder.if_then(pending), cgutils.for_range(builder, ready) as loop:
                move(loop.index)
            stop = builder.select(pending, builder.sub(size, ready), INT64(0))
            with cgutils.for_range(builder, stop) as loop:
                move(builder.add(loop.index, INT64(_FAR)))
                add(loop.index)
            with cgutils.for_range(builder, size, start=stop) as loop:
                add(loop.index)
            block.store_sums(sums.data)

        for_each_block(builder, weights, write)
        return context.get_dummy_value()

    return types.void(before, types.intp, a, row, S, f), codegen
