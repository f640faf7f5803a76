"""Vector code for prototypes: a row's products with all of them, while another row is added to one.

As in `simd.columns` each column is summed by itself in ascending order of the features; but each product and its
sum are rounded together, which halves the work where a processor has an instruction for it and is the same everywhere.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.simd.columns import BLOCKS, Block, opened

__all__ = ["nearest_dense"]

_FAR = 16
_INT64 = ir.IntType(64)


def _nearest(columns: int) -> Callable[..., None]:
    @intrinsic
    def block(typing_context, before, column, a, row, S, first, f):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            earlier, values, weights, sums = opened(context, builder, signature, arguments, 0, 3, 4, 6)
            block = Block(context, builder, columns, weights, arguments[5])
            column, a = arguments[1:3]
            size = builder.extract_value(values.shape, 0)

            def move(j: Any) -> None:
                place = builder.gep(weights.data, [builder.add(builder.mul(j, block.width), column)])
                step, stored = builder.load(builder.gep(earlier.data, [j])), builder.load(place)
                if a.type != block.scalar:
                    step, stored = (builder.fpext(value, a.type) for value in (step, stored))
                moved = builder.fadd(stored, builder.fmul(a, step))
                builder.store(moved if moved.type == block.scalar else builder.fptrunc(moved, block.scalar), place)

            def add(j: Any) -> None:
                block.add(builder.load(builder.gep(values.data, [j])), j, once=True)

            # Some features ahead of the sums: what was just written in part cannot be read as a whole at once.
            pending = builder.icmp_signed(">=", column, _INT64(0))
            ready = builder.select(builder.icmp_signed("<", size, _INT64(_FAR)), size, _INT64(_FAR))
            with builder.if_then(pending), cgutils.for_range(builder, ready) as loop:
                move(loop.index)
            stop = builder.select(pending, builder.sub(size, ready), _INT64(0))
            with cgutils.for_range(builder, stop) as loop:
                move(builder.add(loop.index, _INT64(_FAR)))
                add(loop.index)
            with cgutils.for_range(builder, size, start=stop) as loop:
                add(loop.index)
            block.store(sums.data)
            return context.get_dummy_value()

        return types.void(before, types.intp, a, row, S, types.intp, f), codegen

    return block  # type: ignore[no-any-return]


nearest_dense = {columns: _nearest(columns) for columns in BLOCKS}
"""For each size of block: ``block(before, column, a, row, S, first, f)`` sets ``f[first:first + size]`` to the products of
`row` with these columns of `S`. If `column` is not negative, ``a before`` is first added to that column of `S`, of this
block or a later one, in the precision of `a`; rows have that of `S`."""
