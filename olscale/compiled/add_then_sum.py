"""A row primitive of two: the update of one row and the products of the next, in one sweep over the weights.

The weights of many columns do not fit in the nearest cache; to move them and then to multiply them is to fetch them twice.
The bits are those of `add_row` followed by `column_sums`.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.rows import add_row, column_sums, is_csr
from olscale.compiled.simd.columns import moving_dense

__all__ = ["add_row_then_sums"]

MOVING64, MOVING16, MOVING8, MOVING4, MOVING2, MOVING1 = moving_dense.values()


def add_row_then_sums(X: Rows, before: int, a: NDArray[Any], i: int, W: NDArray[Any], f: NDArray[Any]) -> float:
    """Add the outer product of ``x_before`` and `a` to `W`, then set ``f = x_i W`` and return ``|x_i|^2``.

    As in `olscale.compiled.rows.column_sums` the products are summed in the precision of `W`.
    """
    raise TypeError("for compiled loops only")


@overload(add_row_then_sums)
def _add_row_then_sums(X, before, a, i, W, f):
    def dense(X, before, a, i, W, f):
        old, x, columns, c, square = X[before], X[i], W.shape[1], 0, 0.0
        while c + 64 <= columns:
            square = MOVING64(old, a, x, W, c, f)
            c += 64
        while c + 16 <= columns:
            square = MOVING16(old, a, x, W, c, f)
            c += 16
        if c + 8 <= columns:
            square = MOVING8(old, a, x, W, c, f)
            c += 8
        if c + 4 <= columns:
            square = MOVING4(old, a, x, W, c, f)
            c += 4
        if c + 2 <= columns:
            square = MOVING2(old, a, x, W, c, f)
            c += 2
        if c < columns:
            square = MOVING1(old, a, x, W, c, f)
        return square

    def csr(X, before, a, i, W, f):
        add_row(X, before, W, a)
        return column_sums(X, i, W, f)

    return csr if is_csr(X) else dense
