"""Vector code for many columns at once: products of a row with a block of columns, and the smallest of many numbers.

LLVM keeps a sum in a register over the whole row only if the number of columns is known when it compiles. So a block of
a fixed number of columns is written out in LLVM's vector types here; the machine code is right on every processor and
fast where vectors are wide. Each column is summed by itself in ascending order of the features, product and sum rounded
one after the other (in the fused blocks together), in the precision of the weights: the bits are those of a plain loop
over that column.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from olscale.compiled.intrinsics import intrinsic
from olscale.compiled.pages import aligned_zeros

__all__ = [
    "BLOCKS",
    "LANES",
    "Block",
    "add_csr",
    "aligned_copy",
    "aligned_zeros",
    "block_csr",
    "block_dense",
    "first_dense",
    "fused_csr",
    "lowest",
    "moving_dense",
    "opened",
    "padded",
    "splat",
    "whole_lanes",
]

BLOCKS = (64, 16, 8, 4, 2, 1)
LANES = 8
_LINE = 64
_AHEAD = 160  # nonzeros by which rows of the weights are fetched ahead of their use
_DOUBLE = ir.DoubleType()
_INT8P, _INT32, _INT64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)


def padded(columns: int) -> int:
    """Return the number of columns, not fewer than `columns`, that is handled in the fewest blocks.

    Examples
    --------
    >>> [padded(k) for k in (1, 3, 8, 10, 60, 65)]
    [1, 4, 8, 16, 64, 80]
    """
    if columns > BLOCKS[2]:
        return -(-columns // 16) * 16
    return int(2 ** np.ceil(np.log2(columns)))


def whole_lanes(columns: int) -> int:
    """Return the number of columns, not fewer than `columns`, that fills whole vectors."""
    return -(-columns // LANES) * LANES


def aligned_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that begins at a cache line, in the huge pages that `numpy.empty` asks for: all of it is written to."""
    space = np.empty(array.nbytes + _LINE, dtype=np.uint8)
    first = -space.ctypes.data % _LINE
    copy = space[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _vectors(columns: int, scalar: Any) -> tuple[int, Any]:
    """Return how many vectors hold `columns` numbers, and their type: at most 64 bytes each."""
    most = _LINE // (4 if isinstance(scalar, ir.FloatType) else 8)
    lanes = min(columns, most)
    return columns // lanes, ir.VectorType(scalar, lanes)


def splat(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector of one number."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_INT32, 0))
    mask = ir.Constant(ir.VectorType(_INT32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)


def fused(builder: Any, x: Any, w: Any, total: Any) -> Any:
    """Return ``x w + total`` for vectors, rounded once."""
    vector = x.type
    name = f"llvm.fma.v{vector.count}f{64 if vector.element == _DOUBLE else 32}"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
    return builder.call(function, [x, w, total])


class Block:
    """Sums of one block of columns while the code that computes them is built."""

    def __init__(self, context: Any, builder: Any, columns: int, weights: Any, first: Any) -> None:
        self.builder, self.columns, self.first = builder, columns, first
        self.data, self.width = weights.data, builder.extract_value(weights.shape, 1)
        self.scalar = weights.data.type.pointee
        self.count, self.vector = _vectors(columns, self.scalar)
        zero = ir.Constant(self.vector, [0.0] * self.vector.count)
        self.sums = [cgutils.alloca_once_value(builder, zero) for _ in range(self.count)]

    def row(self, feature: Any) -> Any:
        """Return where the weights of a feature lie."""
        builder = self.builder
        return builder.gep(self.data, [builder.add(builder.mul(feature, self.width), self.first)])

    def add(self, value: Any, feature: Any, once: bool = False) -> None:
        """Add products with a row of the weights to the sums; `once`: product and sum are rounded together."""
        builder = self.builder
        if self.scalar != value.type:
            value = builder.fptrunc(value, self.scalar)
        x, row = splat(builder, value, self.vector), self.row(feature)
        for number, total in enumerate(self.sums):
            address = builder.gep(row, [ir.Constant(_INT64, number * self.vector.count)])
            w = builder.load(builder.bitcast(address, self.vector.as_pointer()))
            w.align = 4 if isinstance(self.scalar, ir.FloatType) else 8
            so_far = builder.load(total)
            builder.store(fused(builder, x, w, so_far) if once else builder.fadd(so_far, builder.fmul(x, w)), total)

    def move_and_add(self, value: Any, feature: Any, before: Any, steps: Any) -> None:
        """Move the weights by `before` times `steps` first; they are in registers anyway."""
        builder = self.builder
        x = value if self.scalar == value.type else builder.fptrunc(value, self.scalar)
        x = splat(builder, x, self.vector)
        for total, moved in zip(self.sums, self.move(feature, before, steps), strict=True):
            builder.store(builder.fadd(builder.load(total), builder.fmul(x, moved)), total)

    def move(self, feature: Any, before: Any, steps: Any) -> list[Any]:
        """Move the weights by `before` times `steps`, in double precision, and return them."""
        builder, row, found = self.builder, self.row(feature), []
        before = splat(builder, before, steps[0].type)
        for number, step in enumerate(steps):
            address = builder.gep(row, [ir.Constant(_INT64, number * self.vector.count)])
            address = builder.bitcast(address, self.vector.as_pointer())
            w = builder.load(address)
            w.align = 4 if isinstance(self.scalar, ir.FloatType) else 8
            moved = w if self.scalar == _DOUBLE else builder.fpext(w, step.type)
            moved = builder.fadd(moved, builder.fmul(before, step))
            moved = moved if self.scalar == _DOUBLE else builder.fptrunc(moved, self.vector)
            builder.store(moved, address).align = w.align
            found.append(moved)
        return found

    def steps(self, data: Any) -> list[Any]:
        """Return this block's part of an array of doubles, in registers."""
        builder, wide, found = self.builder, ir.VectorType(_DOUBLE, self.vector.count), []
        for number in range(self.count):
            place = builder.add(self.first, ir.Constant(_INT64, number * self.vector.count))
            found.append(builder.load(builder.bitcast(builder.gep(data, [place]), wide.as_pointer())))
            found[-1].align = 8
        return found

    def prefetch(self, feature: Any) -> None:
        """Ask for the weights of a feature ahead of their use."""
        builder = self.builder
        kind = ir.FunctionType(ir.VoidType(), [_INT8P, _INT32, _INT32, _INT32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [_INT8P], kind)
        row = builder.bitcast(self.row(feature), _INT8P)
        size = self.columns * (4 if isinstance(self.scalar, ir.FloatType) else 8)
        for offset in range(0, size, _LINE):
            address = builder.gep(row, [ir.Constant(_INT64, offset)])
            builder.call(call, [address, ir.Constant(_INT32, 0), ir.Constant(_INT32, 3), ir.Constant(_INT32, 1)])

    def store(self, near: Any) -> None:
        """Store the sums as doubles."""
        builder = self.builder
        wide = ir.VectorType(_DOUBLE, self.vector.count)
        for number, total in enumerate(self.sums):
            value = builder.load(total)
            if self.scalar != _DOUBLE:
                value = builder.fpext(value, wide)
            place = builder.add(self.first, ir.Constant(_INT64, number * self.vector.count))
            address = builder.bitcast(builder.gep(near, [place]), wide.as_pointer())
            builder.store(value, address).align = 8


def _plain(columns: int) -> Callable[..., None]:
    @intrinsic
    def block(typing_context, x, W, first, f):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, weights, sums = opened(context, builder, signature, arguments, 0, 1, 3)
            block = Block(context, builder, columns, weights, arguments[2])
            with cgutils.for_range(builder, builder.extract_value(row.shape, 0)) as loop:
                block.add(builder.load(builder.gep(row.data, [loop.index])), loop.index)
            block.store(sums.data)
            return context.get_dummy_value()

        return types.void(x, W, types.intp, f), codegen

    return block  # type: ignore[no-any-return]


def _first(columns: int) -> Callable[..., float]:
    @intrinsic
    def block(typing_context, x, W, first, f):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, weights, sums = opened(context, builder, signature, arguments, 0, 1, 3)
            block = Block(context, builder, columns, weights, arguments[2])
            square = cgutils.alloca_once_value(builder, ir.Constant(_DOUBLE, 0.0))
            builder.store(ir.Constant(_DOUBLE, 0.0), square)
            with cgutils.for_range(builder, builder.extract_value(row.shape, 0)) as loop:
                value = builder.load(builder.gep(row.data, [loop.index]))
                block.add(value, loop.index)
                wide = value if value.type == _DOUBLE else builder.fpext(value, _DOUBLE)
                builder.store(builder.fadd(builder.load(square), builder.fmul(wide, wide)), square)
            block.store(sums.data)
            return builder.load(square)

        return types.float64(x, W, types.intp, f), codegen

    return block  # type: ignore[no-any-return]


def _moving(columns: int) -> Callable[..., float]:
    @intrinsic
    def block(typing_context, before, a, x, W, first, f):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            earlier, steps, row, weights, sums = opened(context, builder, signature, arguments, 0, 1, 2, 3, 5)
            block = Block(context, builder, columns, weights, arguments[4])
            vectors = block.steps(steps.data)
            square = cgutils.alloca_once_value(builder, ir.Constant(_DOUBLE, 0.0))
            builder.store(ir.Constant(_DOUBLE, 0.0), square)
            with cgutils.for_range(builder, builder.extract_value(row.shape, 0)) as loop:
                value, old = (builder.load(builder.gep(array.data, [loop.index])) for array in (row, earlier))
                value, old = (v if v.type == _DOUBLE else builder.fpext(v, _DOUBLE) for v in (value, old))
                block.move_and_add(value, loop.index, old, vectors)
                builder.store(builder.fadd(builder.load(square), builder.fmul(value, value)), square)
            block.store(sums.data)
            return builder.load(square)

        return types.float64(before, a, x, W, types.intp, f), codegen

    return block  # type: ignore[no-any-return]


def opened(context: Any, builder: Any, signature: Any, arguments: Any, *places: int) -> list[Any]:
    """Return the arrays among the arguments of an intrinsic, at `places`."""
    return [context.make_array(signature.args[n])(context, builder, arguments[n]) for n in places]


def _csr(columns: int, once: bool) -> Callable[..., float]:
    @intrinsic
    def block(typing_context, indices, data, start, stop, W, first, f):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            features, values, weights, sums = opened(context, builder, signature, arguments, 0, 1, 4, 6)
            start, stop = arguments[2], arguments[3]
            block = Block(context, builder, columns, weights, arguments[5])
            last = builder.sub(builder.extract_value(features.shape, 0), ir.Constant(_INT64, 1))

            square = cgutils.alloca_once_value(builder, ir.Constant(_DOUBLE, 0.0))
            builder.store(ir.Constant(_DOUBLE, 0.0), square)

            def feature(p: Any) -> Any:
                return builder.zext(builder.load(builder.gep(features.data, [p])), _INT64)

            with cgutils.for_range(builder, stop, start=start) as loop:
                ahead = builder.add(loop.index, ir.Constant(_INT64, _AHEAD))
                block.prefetch(feature(builder.select(builder.icmp_signed("<", ahead, last), ahead, last)))
                value = builder.load(builder.gep(values.data, [loop.index]))
                block.add(value, feature(loop.index), once)
                builder.store(builder.fadd(builder.load(square), builder.fmul(value, value)), square)
            block.store(sums.data)
            return builder.load(square)

        return types.float64(indices, data, types.intp, types.intp, W, types.intp, f), codegen

    return block  # type: ignore[no-any-return]


block_dense = {columns: _plain(columns) for columns in BLOCKS}
"""For each size of block: ``block(x, W, first, f)`` sets ``f[first:first + size] = x W[:, first:first + size]``."""


def _add_csr(columns: int) -> Callable[..., None]:
    @intrinsic
    def block(typing_context, indices, data, start, stop, W, first, a):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            features, values, weights, steps = opened(context, builder, signature, arguments, 0, 1, 4, 6)
            block = Block(context, builder, columns, weights, arguments[5])
            vectors = block.steps(steps.data)
            with cgutils.for_range(builder, arguments[3], start=arguments[2]) as loop:
                feature = builder.zext(builder.load(builder.gep(features.data, [loop.index])), _INT64)
                block.move(feature, builder.load(builder.gep(values.data, [loop.index])), vectors)
            return context.get_dummy_value()

        return types.void(indices, data, types.intp, types.intp, W, types.intp, a), codegen

    return block  # type: ignore[no-any-return]


first_dense = {columns: _first(columns) for columns in BLOCKS}
"""Likewise, and returns ``x x``, whose sum is waiting time, used here."""

moving_dense = {columns: _moving(columns) for columns in BLOCKS}
"""Likewise ``block(before, a, x, W, first, f)``, which first adds the outer product of the row `before` and `a` to these
columns of `W`; it returns ``x x``."""

block_csr = {columns: _csr(columns, once=False) for columns in BLOCKS}
"""Likewise ``block(indices, data, start, stop, W, first, f)`` for the sparse row ``start:stop``; returns ``x x``."""

fused_csr = {columns: _csr(columns, once=True) for columns in BLOCKS}
"""Likewise, each product and its sum rounded together."""


add_csr = {columns: _add_csr(columns) for columns in BLOCKS}
"""Likewise ``block(indices, data, start, stop, W, first, a)``, which adds the outer product of row and `a` to the block."""


@intrinsic
def lowest(typing_context, offset, slope, f):
    """Return where ``offset - slope f`` is smallest, the first of equals (lengths are multiples of `LANES`)."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = opened(context, builder, signature, arguments, 0, 1, 2)
        size = builder.extract_value(arrays[0].shape, 0)
        doubles, places = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_INT64, LANES)
        best = cgutils.alloca_once_value(builder, ir.Constant(doubles, [float("inf")] * LANES))
        where = cgutils.alloca_once_value(builder, ir.Constant(places, [0] * LANES))
        with cgutils.for_range_slice(builder, size.type(0), size, size.type(LANES), intp=size.type) as (at, _):
            a, b, c = (
                builder.load(builder.bitcast(builder.gep(array.data, [at]), doubles.as_pointer())) for array in arrays
            )
            for load in (a, b, c):
                load.align = 8
            value = builder.fsub(a, builder.fmul(b, c))
            less = builder.fcmp_ordered("<", value, builder.load(best))
            builder.store(builder.select(less, value, builder.load(best)), best)
            builder.store(builder.select(less, splat(builder, at, places), builder.load(where)), where)
        values, starts = builder.load(best), builder.load(where)
        starts = builder.add(starts, ir.Constant(places, list(range(LANES))))
        half = LANES // 2
        while half:
            # Compare lane n with lane n + half; at the end lane 0 has the result.
            order = [n ^ half for n in range(LANES)]
            mask = ir.Constant(ir.VectorType(_INT32, LANES), order)
            other = builder.shuffle_vector(values, values, mask)
            others = builder.shuffle_vector(starts, starts, mask)
            equal = builder.and_(builder.fcmp_ordered("==", other, values), builder.icmp_signed("<", others, starts))
            better = builder.or_(builder.fcmp_ordered("<", other, values), equal)
            values, starts = builder.select(better, other, values), builder.select(better, others, starts)
            half //= 2
        lowest_value = builder.extract_element(values, ir.Constant(_INT32, 0))
        lowest_place = builder.extract_element(starts, ir.Constant(_INT32, 0))
        # Nothing compares below infinity: every number is infinite or none.
        return builder.select(
            builder.fcmp_ordered("<", lowest_value, ir.Constant(_DOUBLE, float("inf"))),
            lowest_place,
            ir.Constant(_INT64, 0),
        )

    return types.intp(offset, slope, f), codegen
