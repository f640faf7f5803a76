"""Kernel values of a few rows that several settings of a learner share.

The values are those with all vectors of any setting. A setting keeps its vectors, and learns, as it
does alone; it takes from here what costs most: the products of a row with its vectors. Each has the
bits that the setting would compute, because no sum crosses vectors, and a feature that a vector
lacks adds 0.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.rows_together import (
    RowsTogether,
    may_go_together,
    multiply_together,
)
from olscale.compiled.simd.row_tiles import ROWS
from olscale.compiled.support_vectors import find_places, put, take_out
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.kernel.kernels import LAPLACIAN, finish_row, raw_row, size_of


class SharedValues(NamedTuple):
    """Kernel values of a few rows, and which of them belong to one setting's vectors.

    Parameters
    ----------
    values : float64 array of shape (rows, slots of all settings)
        Without rows for a setting that runs alone.
    finished : bool
        Whether they are kernel values; otherwise the result of `raw_row`, for settings whose
        kernels differ.
    came : int64 array of shape (rows,)
        Slot of each row among those of all settings.
    at : uint32 array of shape (slots,)
        Slot of each of the setting's vectors among those of all settings.
    born : int64 array of shape (slots,)
        Numbers of the vectors to which `at` refers.
    noted : int64 array of shape (2,)
        How many vectors `at` refers to, and how many the setting had ever had then.
    """

    values: FloatArray
    finished: bool
    came: NDArray[np.int64]
    at: NDArray[np.uint32]
    born: NDArray[np.int64]
    noted: NDArray[np.int64]


def no_values(slots: int = 0) -> SharedValues:
    """Return the values of a setting that runs alone, with room for `slots` vectors."""
    at, (born, noted) = (
        np.zeros(slots, np.uint32),
        (np.zeros(size, np.int64) for size in (slots, 2)),
    )
    return SharedValues(np.zeros((0, 0)), False, np.zeros(0, np.int64), at, born, noted)


@inlined
def borrowed_values(of: Any) -> Any:
    """Return the values with borrowed arrays, as `borrowed_rows` does."""
    places = borrowed(of.came), borrowed(of.at), borrowed(of.born), borrowed(of.noted)
    return SharedValues(borrowed(of.values), of.finished, *places)


@inlined
def take_values(shared: Any, support: Any, i: int, k: Any) -> None:
    """Set ``k[s]`` to the known value of row `i` and the setting's vector s."""
    line = shared.values[i]
    at = shared.at
    for s in range(support.counts[0]):
        k[s] = line[at[s]]


@inlined
def note_vectors(shared: Any, support: Any, i: int) -> None:
    """Record which vectors the setting has after row `i`.

    That row may have been added, and any vector may have left its slot.
    """
    noted = shared.noted
    count = support.counts[0]
    ever = support.counts[2]
    # Most rows leave the vectors as they are: two comparisons show it.
    if noted[0] == count and noted[1] == ever:
        return
    first = count - 1 if count == noted[0] + 1 else 0  # nothing was dropped
    for s in range(first, count):
        born = support.born[s]
        if s < noted[0] and shared.born[s] == born:
            continue
        place = shared.came[i]
        # the last vector moved to an earlier slot
        if born != ever - 1 or noted[1] == ever:
            # It was in a later slot, since only the last vector moves, and only forwards.
            old = s + 1
            while shared.born[old] != born:
                old += 1
            place = np.int64(shared.at[old])
        shared.at[s] = place
        shared.born[s] = born
    noted[0] = count
    noted[1] = ever


@compiled
def set_values(
    X: Any,
    support: Any,
    kernel: Any,
    finished: bool,
    limits: Any,
    at: NDArray[np.int32],
    value: FloatArray,
    came: NDArray[np.int64],
    values: FloatArray,
) -> int:
    """Put rows among the vectors of all settings and set `values`; return the usable rows.

    These are the rows before the first unusable one.

    Parameters
    ----------
    X : CSR
    support : SupportVectors
        The vectors of all settings, with room for the rows; a slot is empty where `born` is -1.
    kernel : Kernel
    finished : bool
        As in `SharedValues`.
    limits : (float, float)
        Limits of the squared norms of rows.
    at, value : array
        Space, as in `Space`.
    came, values : array
        As in `SharedValues`.
    """
    X, (low, high) = borrowed_rows(X), limits
    rows = 0
    slot = 0
    for i in range(came.shape[0]):
        square = row_square(X, i)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            break
        while slot < support.counts[0] and support.born[slot] >= 0:
            slot += 1
        put(support, slot, X, i, size_of(kernel, X, i, square))
        came[i] = slot
        rows += 1
    position = np.empty(at.shape[0], np.int32)
    squares = np.empty(ROWS)
    end_of_block = 0
    for i in range(rows):
        if (
            i >= end_of_block
            and may_go_together(support, X, i, rows)
            and kernel.kind != LAPLACIAN
        ):
            block = RowsTogether(position, squares, values[i : i + ROWS])
            if multiply_together(support, X, i, at, block):
                end_of_block = i + ROWS
        if i < end_of_block:
            size = squares[i + ROWS - end_of_block]
        else:
            places, square = find_places(support, X, i, at, value)
            size = size_of(kernel, X, i, square)
            raw_row(kernel, support, at, value, places, size, values[i])
        if finished:
            finish_row(kernel, support, X, i, at, value, size, values[i])
    return rows


@inlined
def row_square(X: Any, i: int) -> float:
    """Return the squared norm of row `i`, summed as `find_places` does."""
    square = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        square += X.data[p] * X.data[p]
    return square


@compiled
def keep_vectors(support: Any, used: NDArray[np.bool_]) -> None:
    """Take out the vectors of the slots that are not `used`."""
    for slot in range(support.counts[0]):
        if not used[slot] and support.born[slot] >= 0:
            take_out(support, slot)
    while support.counts[0] > 0 and support.born[support.counts[0] - 1] < 0:
        support.counts[0] -= 1
