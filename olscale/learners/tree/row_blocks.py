"""Rows of any layout as blocks of dense ones, for loops that look at each row as a whole.

A tree tests any feature of a row, so that its loop fills in the zeros of sparse rows anyway. With
the same dense rows for all layouts a loop that takes seconds to compile is compiled once.
"""

from collections.abc import Callable, Iterator
from typing import Any

from olscale.compiled.csr import CSR, Rows, read_only, rows_of, slice_rows, to_dense
from olscale.compiled.decorator import inlined
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.usable_rows import is_unusable

# Half a megabyte: a block that stays in the processor's second cache.
_VALUES = 1 << 16


def dense_blocks(X: Rows, columns: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield the first row of each block of `X`, and its rows; no rows are one block.

    Examples
    --------
    >>> import numpy as np
    >>> rows = CSR(np.array([0, 1, 1]), np.array([2], np.int32), np.array([0.5]))
    >>> [(first, block.tolist()) for first, block in dense_blocks(rows, 3)]
    [(0, [[0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])]
    """
    if not isinstance(X, CSR):
        yield 0, read_only(X)
        return
    size = max(1, _VALUES // columns)
    for first in range(0, max(1, rows_of(X)), size):
        stop = min(first + size, rows_of(X))
        yield first, read_only(to_dense(slice_rows(X, first, stop), columns))


def go_through(
    X: Rows,
    columns: int,
    learn: Callable[[FloatArray, int, int], int],
    grow: Callable[[], None],
) -> None:
    """Call `learn` with blocks of `X`, and `grow` where it stops at a row that needs more room.

    `learn` takes a block, the number of its first row and that of the row to begin with, and
    returns the row that needs more room, the row behind the block, or the number of all rows if
    there is nothing more to do.
    """
    for first, block in dense_blocks(X, columns):
        row = learn(block, first, first)
        while row < first + len(block):
            grow()
            row = learn(block, first, row)
        if row == rows_of(X):
            return


@inlined
def take_row(block: Any, i: int, x: Any, low: float, high: float) -> bool:
    """Set `x` to a row of a block; return whether it can be used."""
    square = 0.0
    for j in range(x.shape[0]):
        x[j] = block[i, j]
        square += x[j] * x[j]
    return low <= square <= high or not is_unusable(x, square, low, high)
