"""Blocks of columns: weights of shape (features, columns), some columns at a time.

LLVM keeps a sum in a register over all features of a row only if it knows the number of columns
when it compiles. So the columns are cut in blocks of fixed sizes, and the loop over the features is
written once for each size. Every column is summed by itself in ascending order of the features, so
the bits are those of a plain loop over that column, however the columns are cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from olscale.compiled.simd.vectors import (
    DOUBLE,
    INT8,
    INT32,
    INT64,
    VECTOR,
    accumulate,
    broadcast,
    convert,
    load_vector,
    store_vector,
    zero_slot,
)

# 64 doubles fill the 16 registers of AVX2; 16 fill a cache line of float32; below, what is left is
# a sum of powers of two.
BLOCKS = (64, 16, 8, 4, 2, 1)
_LINE = 64  # bytes


def pad_columns(columns: int) -> int:
    """Return the number of columns, not fewer than `columns`, that is handled in the fewest blocks.

    Examples
    --------
    >>> [pad_columns(k) for k in (1, 3, 8, 10, 60, 65)]
    [1, 4, 8, 16, 64, 80]
    """
    if columns > BLOCKS[2]:
        return -(-columns // 16) * 16
    return int(2 ** np.ceil(np.log2(columns)))


def for_each_block(
    builder: Any, weights: Any, write: Callable[[ColumnBlock], None], widest: int = BLOCKS[0]
) -> None:
    """Have `write` write the loop over the features of a row for blocks of each size, so that all columns have their turn.

    The larger blocks come first; of each size below the widest at most three blocks are left, of 8
    and less at most one.
    """
    columns = builder.extract_value(weights.shape, 1)
    first = INT64(0)
    for size in BLOCKS:
        if size <= widest:
            count = builder.udiv(builder.sub(columns, first), INT64(size))
            with cgutils.for_range(builder, count) as loop:
                write(
                    ColumnBlock(
                        builder,
                        weights,
                        size,
                        builder.add(first, builder.mul(loop.index, INT64(size))),
                    )
                )
            first = builder.add(first, builder.mul(count, INT64(size)))


def for_first_columns(
    builder: Any, weights: Any, columns: Any, write: Callable[[ColumnBlock], None]
) -> None:
    """Have `write` write the loop for the first `columns` of weights of doubles whose rows have room for whole vectors.

    What is left of a multiple of 64 is one block of one to eight vectors, and each number of them
    has a loop of its own: the last of them is done to its end, and a vector that nobody asks for is
    not fetched.
    """
    widest, end = INT64(BLOCKS[0]), builder.append_basic_block("columns.done")
    count = builder.udiv(columns, widest)
    with cgutils.for_range(builder, count) as loop:
        write(ColumnBlock(builder, weights, BLOCKS[0], builder.mul(loop.index, widest)))
    first = builder.mul(count, widest)
    vectors = builder.udiv(
        builder.add(builder.sub(columns, first), INT64(VECTOR - 1)), INT64(VECTOR)
    )
    choice = builder.switch(vectors, end)
    for vector in range(1, BLOCKS[0] // VECTOR + 1):
        case = builder.append_basic_block(f"columns.{vector * VECTOR}")
        choice.add_case(INT64(vector), case)
        builder.position_at_end(case)
        write(ColumnBlock(builder, weights, vector * VECTOR, first))
        builder.branch(end)
    builder.position_at_end(end)


class ColumnBlock:
    """One block of columns and its sums, while the loop over the features is written.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    weights : array of shape (features, all columns), as numba opens it
    size : int
        Columns of the block.
    first : LLVM integer
        First column of the block.
    """

    def __init__(self, builder: Any, weights: Any, size: int, first: Any) -> None:
        self.builder, self.data, self.size, self.first = builder, weights.data, size, first
        self.width = builder.extract_value(weights.shape, 1)
        self.number = weights.data.type.pointee
        self.bytes = 8 if self.number == DOUBLE else 4
        # Vectors of a cache line at most: wider ones LLVM would take apart by way of memory.
        self.count = min(size, VECTOR * 8 // self.bytes)
        self.vector = ir.VectorType(self.number, self.count)
        self.sums = [zero_slot(builder, self.vector) for _ in range(size // self.count)]

    def starts(self, feature: Any = None) -> list[Any]:
        """Return where the vectors of the block begin: in the row of a feature, or in an array with a number a column."""
        builder, start = self.builder, self.first
        if feature is not None:
            start = builder.add(builder.mul(feature, self.width), start)
        return [builder.add(start, INT64(n * self.count)) for n in range(len(self.sums))]

    def load(self, feature: Any) -> list[Any]:
        """Return the weights of a feature."""
        return [
            load_vector(self.builder, self.data, start, self.count)
            for start in self.starts(feature)
        ]

    def load_steps(self, steps: Any) -> list[Any]:
        """Return this block's steps, of an array of doubles with one a column; they stay in registers from here on."""
        return [load_vector(self.builder, steps, start, self.count) for start in self.starts()]

    def move(self, feature: Any, value: Any, steps: list[Any]) -> list[Any]:
        """Add `value` times `steps`, in double precision, to the weights of a feature; return them as they are stored."""
        builder, weights = self.builder, []
        value = broadcast(builder, value, steps[0].type)
        for start, step in zip(self.starts(feature), steps, strict=True):
            w = convert(builder, load_vector(builder, self.data, start, self.count), DOUBLE)
            w = convert(builder, builder.fadd(w, builder.fmul(value, step)), self.number)
            store_vector(builder, w, self.data, start)
            weights.append(w)
        return weights

    def add(self, value: Any, weights: list[Any], fused: bool = False) -> None:
        """Add products of a value of the row and the weights of its feature to the sums, in the precision of the weights."""
        x = broadcast(self.builder, convert(self.builder, value, self.number), self.vector)
        for total, w in zip(self.sums, weights, strict=True):
            accumulate(self.builder, total, x, w, fused)

    def store_sums(self, f: Any) -> None:
        """Store the sums in an array of doubles with one a column."""
        for total, start in zip(self.sums, self.starts(), strict=True):
            store_vector(self.builder, self.builder.load(total), f, start)

    def prefetch(self, feature: Any) -> None:
        """Ask the memory for the weights of a feature ahead of their use."""
        builder, pointer = self.builder, INT8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        row = builder.bitcast(builder.gep(self.data, [self.starts(feature)[0]]), pointer)
        for offset in range(0, self.size * self.bytes, _LINE):
            # For reading (0), kept in all caches (3), data (1).
            builder.call(call, [builder.gep(row, [INT64(offset)]), INT32(0), INT32(3), INT32(1)])
