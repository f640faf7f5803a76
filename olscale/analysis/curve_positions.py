"""Positions at which the curves of several runs stand side by side.

A record leaves out the positions of a curve where its measure is undefined, as the precision of a
class is in a window without a row that is taken for it. Nothing is interpolated over such a gap,
nor drawn out before the first value or behind the last: means are over all runs at every position.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from olscale.arrays import BoolArray, FloatArray, IntArray

Line = tuple[IntArray, FloatArray]
"""Positions and values of one run."""


def shared_line(
    lines: Sequence[Line],
    grids: Sequence[IntArray],
    points: int,
    *,
    begins_at_zero: bool = False,
) -> Line | None:
    """Return positions, and the values of all lines there; None where they share no position.

    Lines without any value are left out.

    Parameters
    ----------
    lines : sequence of Line
    grids : sequence of int64 array
        Of each line, the positions where it could have a value.
    points : int
        At most so many positions, evenly spaced.
    begins_at_zero : bool
        Whether values are counts, which are 0 before the first row.

    Returns
    -------
    tuple of int64 array of shape (n_points,), float64 array of shape (n_lines, n_points)

    Examples
    --------
    >>> grid = np.array([1, 2, 3, 4])
    >>> first = (np.array([1, 3, 4]), np.array([0.0, 0.2, 0.5]))
    >>> second = (np.array([2, 3, 4]), np.array([0.1, 0.4, 0.7]))
    >>> shared_line([first, second], [grid, grid], points=10)
    (array([3, 4]), array([[0.2, 0.5],
           [0.4, 0.7]]))
    """
    with_values = []
    grids_of_lines = []
    for line, grid in zip(lines, grids, strict=True):
        rows, _ = line
        if len(rows):
            with_values.append(line)
            grids_of_lines.append(np.union1d(grid, rows))
    if not with_values:
        return None
    # Folds may differ in length, and then in the positions of their curves.
    shortest = min(grids_of_lines, key=lambda grid: int(grid[-1]))
    is_shared = np.ones(len(shortest), dtype=bool)
    for (rows, _), grid in zip(with_values, grids_of_lines, strict=True):
        is_before = shortest < grid[0]
        has_value = _has_values(rows, grid, shortest)
        is_shared &= has_value | (is_before & begins_at_zero)
    shared = shortest[is_shared]
    if not len(shared):
        return None
    even = np.linspace(0, len(shared) - 1, points)
    places = even.round().astype(int)
    positions = shared[np.unique(places)]
    values = []
    for rows, of_line in with_values:
        if begins_at_zero:
            rows = np.append(0, rows)
            of_line = np.append(0.0, of_line)
        values.append(np.interp(positions, rows, of_line))
    return positions, np.array(values)


def _has_values(rows: IntArray, grid: IntArray, positions: IntArray) -> BoolArray:
    """Return at which positions a line with values at `rows` has one, or one on either side."""
    is_defined = np.isin(grid, rows)
    after = np.searchsorted(grid, positions)
    inside = np.minimum(after, len(grid) - 1)
    is_met = grid[inside] == positions
    # Between two positions of its grid a line is as defined as both of them.
    before = np.maximum(inside - 1, 0)
    is_between = is_defined[inside] & is_defined[before]
    is_between &= (after > 0) & (after < len(grid))
    return np.where(is_met, is_defined[inside], is_between)
