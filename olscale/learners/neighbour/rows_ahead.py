"""Squared distances of the next few rows from the rows of a window, computed together.

A window of many features is fetched from memory once for all of these rows. Each row that is
learned meanwhile takes the place of an older one, and its distances from those after it are
computed again: the bits are those of one row after another.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import nested
from olscale.compiled.rows import set_column
from olscale.compiled.simd.distances import TOGETHER, set_distances_together
from olscale.compiled.simd.vectors import VECTOR
from olscale.learners.contract.learner import FloatArray


class RowsAhead(NamedTuple):
    """The next rows and their distances.

    Parameters
    ----------
    rows : float64 array of shape (columns, rows)
    squares : float64 array of shape (rows, places)
    bounds : int64 array of shape (2,)
        Number of the first of these rows, and of the first after them.
    """

    rows: FloatArray
    squares: FloatArray
    bounds: NDArray[np.int64]


def no_rows_ahead(columns: int, places: int) -> RowsAhead:
    """Return the space for rows ahead, none of which is known yet."""
    return RowsAhead(
        np.zeros((columns, TOGETHER)),
        np.zeros((TOGETHER, places)),
        np.zeros(2, dtype=np.int64),
    )


@nested
def set_distances(x: Any, scale: Any, rows: Any, count: int, squares: Any) -> None:
    """Set the squared distances of `x` to the first `count` places, of scaled features."""
    for s in range(count):
        squares[s] = 0.0
    columns = rows.shape[0]
    fours = columns - columns % 4
    # Four features at once: the sums stay in registers, and keep their ascending order.
    for j in range(0, fours, 4):
        first = rows[j]
        second = rows[j + 1]
        third = rows[j + 2]
        fourth = rows[j + 3]
        for s in range(count):
            a = (x[j] - first[s]) * scale[j]
            b = (x[j + 1] - second[s]) * scale[j + 1]
            c = (x[j + 2] - third[s]) * scale[j + 2]
            d = (x[j + 3] - fourth[s]) * scale[j + 3]
            squares[s] = (((squares[s] + a * a) + b * b) + c * c) + d * d
    for j in range(fours, columns):
        row = rows[j]
        for s in range(count):
            a = (x[j] - row[s]) * scale[j]
            squares[s] += a * a


@nested
def look_ahead(
    ahead: Any, X: Any, i: int, last: int, window: Any, count: int, scale: Any
) -> int:
    """Return which of the rows ahead row `i` is; if it is none, take it and those up to `last`.

    Factors `scale` must be 1 where several rows are taken.
    """
    first = ahead.bounds[0]
    if first <= i < ahead.bounds[1]:
        return i - first  # type: ignore[no-any-return]
    last = min(last, i + TOGETHER)
    for r in range(last - i):
        set_column(X, i + r, ahead.rows, r)
    if last - i == TOGETHER:
        _set_together(ahead, window, count)
    else:
        for r in range(last - i):
            set_distances(ahead.rows[:, r], scale, window, count, ahead.squares[r])
    ahead.bounds[0] = i
    ahead.bounds[1] = last
    return 0


@nested
def note_learned(ahead: Any, i: int, place: int) -> None:
    """Set the distances of the rows after row `i`, which is at a place of the window now."""
    own = i - ahead.bounds[0]
    for r in range(own + 1, ahead.bounds[1] - ahead.bounds[0]):
        ahead.squares[r, place] = _distance(ahead.rows, r, ahead.rows, own)


@nested
def _set_together(ahead: Any, window: Any, count: int) -> None:
    places = window.shape[1]
    full = places - places % VECTOR
    stop = min(full, (count + VECTOR - 1) // VECTOR * VECTOR)
    set_distances_together(ahead.rows, window, 0, stop, ahead.squares)
    for r in range(TOGETHER):
        for s in range(stop, count):
            ahead.squares[r, s] = _distance(ahead.rows, r, window, s)


@nested
def _distance(X: Any, r: int, rows: Any, s: int) -> float:
    total = 0.0
    for j in range(X.shape[0]):
        difference = X[j, r] - rows[j, s]
        total += difference * difference
    return total
