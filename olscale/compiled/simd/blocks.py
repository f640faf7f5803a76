"""Blocks of columns: weights of shape (features, columns), some columns at a time.

LLVM keeps a sum in a register over all features of a row only if it knows the number of columns at
compile time. So the columns are cut into blocks of fixed sizes, and the loop over the features is
written once for each size. Every column is summed separately in ascending order of the features, so
the bits are those of a plain loop over that column, for any split of the columns.
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

# 64 doubles fill the 16 registers of AVX2; 16 fill a cache line of float32; the remainder is a sum
# of smaller powers of two.
BLOCKS = (64, 16, 8, 4, 2, 1)
_LINE = 64  # bytes


def pad_columns(columns: int) -> int:
    """Return the number of columns, at least `columns`, that needs the fewest blocks.

    Examples
    --------
    >>> [pad_columns(k) for k in (1, 3, 8, 10, 60, 65)]
    [1, 4, 8, 16, 64, 80]
    """
    if columns > BLOCKS[2]:
        return -(-columns // 16) * 16
    doublings = np.ceil(np.log2(columns))
    return int(2**doublings)


def for_each_block(
    builder: Any,
    weights: Any,
    write: Callable[[ColumnBlock], None],
    widest: int = BLOCKS[0],
) -> None:
    """Let `write` write the loop over the features of a row for blocks of each size.

    The blocks cover all columns.

    The larger blocks come first; below the widest size there are at most three blocks of a size,
    for 8 and fewer columns at most one.
    """
    columns = builder.extract_value(weights.shape, 1)
    first = INT64(0)
    for size in BLOCKS:
        if size > widest:
            continue
        remaining = builder.sub(columns, first)
        count = builder.udiv(remaining, INT64(size))
        with cgutils.for_range(builder, count) as loop:
            offset = builder.mul(loop.index, INT64(size))
            start = builder.add(first, offset)
            write(ColumnBlock(builder, weights, size, start))
        covered = builder.mul(count, INT64(size))
        first = builder.add(first, covered)


def for_first_columns(
    builder: Any,
    weights: Any,
    columns: Any,
    write: Callable[[ColumnBlock], None],
) -> None:
    """Let `write` write the loop for the first `columns` of weights, which are doubles.

    Their rows have room for full vectors. The remainder of a multiple of 64 is one block of one to
    eight vectors, with a separate loop for each number: the last vector is processed completely,
    and unneeded vectors are not fetched.
    """
    widest = INT64(BLOCKS[0])
    end = builder.append_basic_block("columns.done")
    count = builder.udiv(columns, widest)
    with cgutils.for_range(builder, count) as loop:
        start = builder.mul(loop.index, widest)
        write(ColumnBlock(builder, weights, BLOCKS[0], start))
    first = builder.mul(count, widest)
    remaining = builder.sub(columns, first)
    padded = builder.add(remaining, INT64(VECTOR - 1))
    vectors = builder.udiv(padded, INT64(VECTOR))
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

    def __init__(
        self,
        builder: Any,
        weights: Any,
        size: int,
        first: Any,
    ) -> None:
        self.builder = builder
        self.data = weights.data
        self.size = size
        self.first = first
        self.width = builder.extract_value(weights.shape, 1)
        self.number = weights.data.type.pointee
        if self.number == DOUBLE:
            self.bytes = 8
        else:
            self.bytes = 4
        # Vectors of a cache line at most: LLVM would split wider ones through memory.
        self.count = min(size, VECTOR * 8 // self.bytes)
        self.vector = ir.VectorType(self.number, self.count)
        vectors = size // self.count
        self.sums = [zero_slot(builder, self.vector) for _ in range(vectors)]

    def starts(self, feature: Any = None) -> list[Any]:
        """Return where the vectors of the block begin, in a feature's row or in an array.

        The array has a number per column.
        """
        builder = self.builder
        start = self.first
        if feature is not None:
            line = builder.mul(feature, self.width)
            start = builder.add(line, start)
        offsets = range(0, self.size, self.count)
        return [builder.add(start, INT64(offset)) for offset in offsets]

    def load(self, feature: Any) -> list[Any]:
        """Return the weights of a feature."""
        return self._load_from(self.data, self.starts(feature))

    def load_steps(self, steps: Any) -> list[Any]:
        """Return this block's steps, from an array of doubles per column, in registers."""
        return self._load_from(steps, self.starts())

    def _load_from(self, data: Any, starts: list[Any]) -> list[Any]:
        """Return the vectors of an array that begin at `starts`."""
        return [load_vector(self.builder, data, start, self.count) for start in starts]

    def move(self, feature: Any, value: Any, steps: list[Any]) -> list[Any]:
        """Add `value` times `steps`, in double precision, to a feature's weights; return these.

        The result is as stored.
        """
        builder = self.builder
        weights = []
        value = broadcast(builder, value, steps[0].type)
        starts = self.starts(feature)
        for start, step in zip(starts, steps, strict=True):
            stored = load_vector(builder, self.data, start, self.count)
            w = convert(builder, stored, DOUBLE)
            product = builder.fmul(value, step)
            total = builder.fadd(w, product)
            rounded = convert(builder, total, self.number)
            store_vector(builder, rounded, self.data, start)
            weights.append(rounded)
        return weights

    def add(self, value: Any, weights: list[Any], fused: bool = False) -> None:
        """Add products of a row's value and its feature's weights to the sums.

        They have the precision of the weights.
        """
        rounded = convert(self.builder, value, self.number)
        x = broadcast(self.builder, rounded, self.vector)
        for total, w in zip(self.sums, weights, strict=True):
            accumulate(self.builder, total, x, w, fused)

    def store_sums(self, f: Any) -> None:
        """Store the sums in an array of doubles with one per column."""
        starts = self.starts()
        for slot, start in zip(self.sums, starts, strict=True):
            total = self.builder.load(slot)
            store_vector(self.builder, total, f, start)

    def prefetch(self, feature: Any) -> None:
        """Fetch the weights of a feature ahead of their use."""
        builder = self.builder
        pointer = INT8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        first, *_ = self.starts(feature)
        address = builder.gep(self.data, [first])
        row = builder.bitcast(address, pointer)
        bytes_of_row = self.size * self.bytes
        # For reading (0), kept in all caches (3), data (1).
        how = [INT32(0), INT32(3), INT32(1)]
        for offset in range(0, bytes_of_row, _LINE):
            line = builder.gep(row, [INT64(offset)])
            builder.call(call, [line, *how])
