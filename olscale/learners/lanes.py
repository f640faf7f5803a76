"""Vector code for many columns at once: products of a row with a block of columns, and the smallest of many numbers.

LLVM keeps a sum in a register over the whole row only if the number of columns is known when it compiles. So a block of
a fixed number of columns is written out in LLVM's vector types here; the machine code is right on every processor and
fast where vectors are wide. Each column is summed by itself in ascending order of the features, product and sum rounded
one after the other, in the precision of the weights: the bits are those of a plain loop over that column.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import DTypeLike, NDArray

from olscale.jit import intrinsic

__all__ = [
    "BLOCKS",
    "LANES",
    "add_csr",
    "aligned_copy",
    "aligned_zeros",
    "block_csr",
    "block_dense",
    "first_dense",
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
_FAR = 16
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


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return zeros that begin at a cache line: a padded row of weights then touches no line more than it must.

    The memory comes from the system page by page as it is written to. `numpy.zeros` asks for huge pages, and the first pass
    over sparse rows with few features in each would wait for the zeroing of all of them.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(shape, dtype)  # Windows
    pages = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer = np.frombuffer(pages, dtype=np.uint8)
    return buffer[:size].view(dtype).reshape(shape)


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


class _Block:
    """Sums of one block of columns while the code that computes them is built."""

    def __init__(self, context: Any, builder: Any, columns: int, weights: Any, first: Any) -> None:
        self.builder, self.columns, self.first = builder, columns, first
        self.data, self.width = weights.data, builder.extract_value(weights.shape, 1)
        self.scalar = weights.data.type.pointee
        self.count, self.vector = _vectors(columns, self.scalar)
        zero = ir.Constant(self.vector, [0.0] * self.vector.count)
        self.sums = [cgutils.alloca_once_value(builder, zero) for _ in range(self.count)]

    def row(self, feature: Any) -> Any:
        builder = self.builder
        return builder.gep(self.data, [builder.add(builder.mul(feature, self.width), self.first)])

    def add(self, value: Any, feature: Any) -> None:
        builder = self.builder
        if self.scalar != value.type:
            value = builder.fptrunc(value, self.scalar)
        x, row = splat(builder, value, self.vector), self.row(feature)
        for number, total in enumerate(self.sums):
            address = builder.gep(row, [ir.Constant(_INT64, number * self.vector.count)])
            w = builder.load(builder.bitcast(address, self.vector.as_pointer()))
            w.align = 4 if isinstance(self.scalar, ir.FloatType) else 8
            builder.store(builder.fadd(builder.load(total), builder.fmul(x, w)), total)

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
        builder = self.builder
        kind = ir.FunctionType(ir.VoidType(), [_INT8P, _INT32, _INT32, _INT32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [_INT8P], kind)
        row = builder.bitcast(self.row(feature), _INT8P)
        size = self.columns * (4 if isinstance(self.scalar, ir.FloatType) else 8)
        for offset in range(0, size, _LINE):
            address = builder.gep(row, [ir.Constant(_INT64, offset)])
            builder.call(call, [address, ir.Constant(_INT32, 0), ir.Constant(_INT32, 3), ir.Constant(_INT32, 1)])

    def store(self, near: Any) -> None:
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
            block = _Block(context, builder, columns, weights, arguments[2])
            with cgutils.for_range(builder, builder.extract_value(row.shape, 0)) as loop:
                block.add(builder.load(builder.gep(row.data, [loop.index])), loop.index)
            block.store(sums.data)
            return context.get_dummy_value()

        return types.void(x, W, types.intp, f), codegen

    return block  # type: ignore[no-any-return]


def _first(columns: int) -> Callable[..., tuple[float, float]]:
    @intrinsic
    def block(typing_context, before, column, x, W, first, f, u):
        pair = types.UniTuple(types.float64, 2)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            earlier, row, weights, sums, other = opened(context, builder, signature, arguments, 0, 2, 3, 5, 6)
            block = _Block(context, builder, columns, weights, arguments[4])
            size = builder.extract_value(row.shape, 0)

            def move(j: Any) -> None:
                """Add a number of the earlier row to its column."""
                place = builder.gep(weights.data, [builder.add(builder.mul(j, block.width), arguments[1])])
                value = builder.load(builder.gep(earlier.data, [j]))
                stored = builder.load(place)
                if stored.type != value.type:
                    stored = builder.fpext(stored, _DOUBLE)
                moved = builder.fadd(stored, value)
                builder.store(moved if moved.type == block.scalar else builder.fptrunc(moved, block.scalar), place)

            # Some features ahead of the sums: what was just written in part cannot be read as a whole at once.
            pending = builder.icmp_signed(">=", arguments[1], _INT64(0))
            ready = builder.select(builder.icmp_signed("<", size, _INT64(_FAR)), size, _INT64(_FAR))
            with builder.if_then(pending), cgutils.for_range(builder, ready) as loop:
                move(loop.index)
            stop = builder.select(pending, builder.sub(size, ready), _INT64(0))
            square, score = (cgutils.alloca_once_value(builder, ir.Constant(_DOUBLE, 0.0)) for _ in range(2))
            with cgutils.for_range(builder, size) as loop:
                with builder.if_then(builder.icmp_signed("<", loop.index, stop)):
                    move(builder.add(loop.index, _INT64(_FAR)))
                value = builder.load(builder.gep(row.data, [loop.index]))
                block.add(value, loop.index)
                wide = value if value.type == _DOUBLE else builder.fpext(value, _DOUBLE)
                w = builder.load(builder.gep(other.data, [loop.index]))
                w = w if w.type == _DOUBLE else builder.fpext(w, _DOUBLE)
                for total, factor in ((square, wide), (score, w)):
                    builder.store(builder.fadd(builder.load(total), builder.fmul(wide, factor)), total)
            block.store(sums.data)
            return context.make_tuple(builder, pair, [builder.load(square), builder.load(score)])

        return pair(before, types.intp, x, W, types.intp, f, u), codegen

    return block  # type: ignore[no-any-return]


def _moving(columns: int) -> Callable[..., float]:
    @intrinsic
    def block(typing_context, before, a, x, W, first, f):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            earlier, steps, row, weights, sums = opened(context, builder, signature, arguments, 0, 1, 2, 3, 5)
            block = _Block(context, builder, columns, weights, arguments[4])
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


def _csr(columns: int) -> Callable[..., float]:
    @intrinsic
    def block(typing_context, indices, data, start, stop, W, first, f):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            features, values, weights, sums = opened(context, builder, signature, arguments, 0, 1, 4, 6)
            start, stop = arguments[2], arguments[3]
            block = _Block(context, builder, columns, weights, arguments[5])
            last = builder.sub(builder.extract_value(features.shape, 0), ir.Constant(_INT64, 1))

            square = cgutils.alloca_once_value(builder, ir.Constant(_DOUBLE, 0.0))
            builder.store(ir.Constant(_DOUBLE, 0.0), square)

            def feature(p: Any) -> Any:
                return builder.zext(builder.load(builder.gep(features.data, [p])), _INT64)

            with cgutils.for_range(builder, stop, start=start) as loop:
                ahead = builder.add(loop.index, ir.Constant(_INT64, _AHEAD))
                block.prefetch(feature(builder.select(builder.icmp_signed("<", ahead, last), ahead, last)))
                value = builder.load(builder.gep(values.data, [loop.index]))
                block.add(value, feature(loop.index))
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
            block = _Block(context, builder, columns, weights, arguments[5])
            vectors = block.steps(steps.data)
            with cgutils.for_range(builder, arguments[3], start=arguments[2]) as loop:
                feature = builder.zext(builder.load(builder.gep(features.data, [loop.index])), _INT64)
                block.move(feature, builder.load(builder.gep(values.data, [loop.index])), vectors)
            return context.get_dummy_value()

        return types.void(indices, data, types.intp, types.intp, W, types.intp, a), codegen

    return block  # type: ignore[no-any-return]


first_dense = {columns: _first(columns) for columns in BLOCKS}
"""Likewise ``block(before, column, x, W, first, f, u)``, which also returns ``(x x, x u)``: their sums are waiting time,
used here. If `column` is not negative, the row `before` is first added to that column of `W`, of this block or a later one.
"""

moving_dense = {columns: _moving(columns) for columns in BLOCKS}
"""Likewise ``block(before, a, x, W, first, f)``, which first adds the outer product of the row `before` and `a` to these
columns of `W`; it returns ``x x``."""

block_csr = {columns: _csr(columns) for columns in BLOCKS}
"""Likewise ``block(indices, data, start, stop, W, first, f)`` for the sparse row ``start:stop``; returns ``x x``."""


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
