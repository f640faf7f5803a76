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
        is_short = builder.icmp_signed("<", size, INT64(_FAR))
        ready = builder.select(is_short, size, INT64(_FAR))

        def move(j: Any) -> None:
            line = builder.mul(j, width)
            place = builder.add(line, column)
            address = builder.gep(weights.data, [place])
            value = load_number(builder, earlier.data, j)
            total = builder.load(address)
            before = convert(builder, total, a.type)
            x = convert(builder, value, a.type)
            step = builder.fmul(a, x)
            after = builder.fadd(before, step)
            rounded = convert(builder, after, address.type.pointee)
            builder.store(rounded, address)

        def write(block: ColumnBlock) -> None:
            def add(j: Any) -> None:
                value = load_number(builder, values.data, j)
                sums_of_rows = block.load(j)
                block.add(value, sums_of_rows, fused=True)

            # The first block adds the row, in any column: later blocks then find it there.
            is_first = builder.icmp_signed("==", block.first, INT64(0))
            has_column = builder.icmp_signed(">=", column, INT64(0))
            pending = builder.and_(is_first, has_column)
            with builder.if_then(pending), cgutils.for_range(builder, ready) as loop:
                move(loop.index)
            size_after_ready = builder.sub(size, ready)
            stop = builder.select(pending, size_after_ready, INT64(0))
            with cgutils.for_range(builder, stop) as loop:
                feature_ahead = builder.add(loop.index, INT64(_FAR))
                move(feature_ahead)
                add(loop.index)
            with cgutils.for_range(builder, size, start=stop) as loop:
                add(loop.index)
            block.store_sums(sums.data)

        for_each_block(builder, weights, write)
        return context.get_dummy_value()

    return types.void(before, types.intp, a, row, S, f), codegen
