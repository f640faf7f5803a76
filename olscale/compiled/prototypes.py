"""Row primitives of prototypes: sums of rows, the columns of `S`, one of which each row is added to.

The column of one prototype is a cache line for every feature, and to write to it takes as long as to multiply with all. So
a row is added in the sweep of the next one over dense rows. Rows are taken in the precision of `S` for both.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.rows import is_csr
from olscale.compiled.simd.columns import fused_csr
from olscale.compiled.simd.nearest import nearest_dense

__all__ = ["add_then_multiply", "add_to_prototype", "row_space"]

DENSE64, DENSE16, DENSE8, DENSE4, DENSE2, DENSE1 = nearest_dense.values()
CSR64, CSR16, CSR8, CSR4, CSR2, CSR1 = fused_csr.values()


def row_space(X: Rows, S: NDArray[Any]) -> NDArray[Any]:
    """Return space for two dense rows in the precision of `S`: a row and, by turns, the one before."""
    raise TypeError("for compiled loops only")


def add_to_prototype(X: Rows, i: int, row: NDArray[Any], a: float, S: NDArray[Any], column: int) -> None:
    """Add ``a x_i`` to a column of `S`, in the precision of `a`; `row` is ``x_i`` if rows are dense."""
    raise TypeError("for compiled loops only")


def add_then_multiply(
    X: Rows,
    before: int,
    earlier: NDArray[Any],
    a: float,
    column: int,
    i: int,
    row: NDArray[Any],
    S: NDArray[Any],
    near: NDArray[np.float64],
) -> None:
    """Do `add_to_prototype` for the row `before`, if `column` is not negative; then set ``near = x_i S``.

    Dense rows come in the precision of `S`, as `earlier` and `row`. `near` may be longer than `S` has columns.
    """
    raise TypeError("for compiled loops only")


@overload(row_space)
def _row_space(X, S):
    number = S.dtype

    def dense(X, S):
        return np.empty((2, S.shape[0]), number)

    def csr(X, S):
        return np.empty((2, 0), number)

    return csr if is_csr(X) else dense


@overload(add_to_prototype)
def _add_to_prototype(X, i, row, a, S, column):
    number = S.dtype

    def dense(X, i, row, a, S, column):
        for j in range(S.shape[0]):
            S[j, column] += a * row[j]

    def csr(X, i, row, a, S, column):
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            S[np.uint32(X.indices[p]), column] += a * number(X.data[p])

    return csr if is_csr(X) else dense


@overload(add_then_multiply)
def _add_then_multiply(X, before, earlier, a, column, i, row, S, near):
    def dense(X, before, earlier, a, column, i, row, S, near):
        columns, c = S.shape[1], 0
        while c + 64 <= columns:
            DENSE64(earlier, column, a, row, S, c, near)
            c, column = c + 64, -1
        while c + 16 <= columns:
            DENSE16(earlier, column, a, row, S, c, near)
            c, column = c + 16, -1
        if c + 8 <= columns:
            DENSE8(earlier, column, a, row, S, c, near)
            c, column = c + 8, -1
        if c + 4 <= columns:
            DENSE4(earlier, column, a, row, S, c, near)
            c, column = c + 4, -1
        if c + 2 <= columns:
            DENSE2(earlier, column, a, row, S, c, near)
            c, column = c + 2, -1
        if c < columns:
            DENSE1(earlier, column, a, row, S, c, near)

    def csr(X, before, earlier, a, column, i, row, S, near):
        if column >= 0:
            add_to_prototype(X, before, earlier, a, S, column)
        start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
        columns, c = S.shape[1], 0
        while c + 64 <= columns:
            CSR64(X.indices, X.data, start, stop, S, c, near)
            c += 64
        while c + 16 <= columns:
            CSR16(X.indices, X.data, start, stop, S, c, near)
            c += 16
        if c + 8 <= columns:
            CSR8(X.indices, X.data, start, stop, S, c, near)
            c += 8
        if c + 4 <= columns:
            CSR4(X.indices, X.data, start, stop, S, c, near)
            c += 4
        if c + 2 <= columns:
            CSR2(X.indices, X.data, start, stop, S, c, near)
            c += 2
        if c < columns:
            CSR1(X.indices, X.data, start, stop, S, c, near)

    return csr if is_csr(X) else dense
