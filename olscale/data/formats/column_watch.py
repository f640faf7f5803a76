"""What is noted of columns of numbers as their rows come: which are hardly features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows
from olscale.data.formats.table_columns import TableColumns

_FEW_ROWS = 100
"""Rows below which it says nothing that a column's values are all different."""
_SAME_WHOLE = 2.0**53
"""From here on float64 has not every whole number."""


class RoundedColumns:
    """Finds columns of whole numbers of which some may have been rounded, as identifiers are.

    Attributes
    ----------
    positions : set of int
        The columns so far.

    Examples
    --------
    >>> rounded = RoundedColumns()
    >>> rounded.add(np.array([[2.0**60, 0.5], [2.0**59, 1e20]]))
    >>> rounded.positions
    {0}
    """

    def __init__(self) -> None:
        self.positions: set[int] = set()
        self._whole: NDArray[np.intp] | None = None

    def add(self, numbers: NDArray[np.floating[Any]], first_rows: int | None = None) -> None:
        """Look at the next rows; so many of the first tell which columns are worth another look."""
        if self._whole is None:
            self._whole = np.flatnonzero(_are_whole(numbers[:first_rows]).all(axis=0))
        if not len(self._whole):
            return
        few = 4 * len(self._whole) < numbers.shape[1]
        if _largest(numbers[:, self._whole] if few else numbers) < _SAME_WHOLE:
            return
        watched = numbers[:, self._whole]
        whole = _are_whole(watched).all(axis=0)
        large = ((np.abs(watched) >= _SAME_WHOLE) & np.isfinite(watched)).any(axis=0)
        self.positions -= set(self._whole[~whole].tolist())
        self.positions |= set(self._whole[whole & large].tolist())
        self._whole = self._whole[whole]


class ColumnWatch:
    """Notes in `columns` which numbers never fall, are all different, or are too large to be told apart.

    Parameters
    ----------
    columns : TableColumns
    numeric : sequence of int
        Positions of the columns of numbers.

    Examples
    --------
    >>> columns = TableColumns(("id", "size", "y"), 2, (False, False, False))
    >>> ColumnWatch(columns, [0, 1]).add(np.array([[2.0**60, 0.5], [2.0**59, 1e20]]))
    >>> columns.rises, columns.rounded
    ({1: 1}, {0})
    """

    def __init__(self, columns: TableColumns, numeric: Sequence[int]) -> None:
        self._columns = columns
        self._numeric = list(numeric)
        self._last: NDArray[np.float64] | None = None
        self._rounded = RoundedColumns()
        self._large, self._fractional = np.zeros((2, len(self._numeric)), dtype=np.bool_)

    def add(self, numbers: Rows, first_rows: int | None = None) -> None:
        """Note the next rows; so many of the first tell whether the values of a column are all different.

        Of sparse rows only numbers that are too large are noted: no column of theirs is a row's
        number.
        """
        if isinstance(numbers, CSR):
            self._note_large_entries(numbers)
            return
        columns = self._columns
        numeric = self._numeric
        if self._last is None:
            columns.rises.update(dict.fromkeys(numeric, 0))
            begin = numbers[:first_rows]
            if len(begin) >= _FEW_ROWS:
                columns.distinct |= {
                    position
                    for j, position in enumerate(numeric)
                    if (begin[:, j] == np.trunc(begin[:, j])).all()
                    and len(np.unique(begin[:, j])) == len(begin)
                }
        place = (
            [j for j, position in enumerate(numeric) if position in columns.rises]
            if columns.rises
            else []
        )
        if place:
            watched = numbers[:, place]
            if self._last is not None:
                watched = np.vstack([self._last[place], watched])
            with np.errstate(over="ignore", invalid="ignore"):  # of infinities: no step
                steps = np.diff(watched, axis=0)
            falls = np.any(~(steps >= 0), axis=0)  # so that a step to or from NaN is one
            rises = np.count_nonzero(steps > 0, axis=0)
            for j, fell, rose in zip(place, falls.tolist(), rises.tolist(), strict=True):
                if fell:
                    del columns.rises[numeric[j]]
                else:
                    columns.rises[numeric[j]] += rose
        self._rounded.add(numbers, first_rows)
        columns.rounded = {numeric[j] for j in self._rounded.positions}
        self._last = numbers[-1].copy()

    def _note_large_entries(self, numbers: CSR) -> None:
        data = numbers.data
        self._fractional[numbers.indices[~_are_whole(data)]] = True
        self._large[numbers.indices[(np.abs(data) >= _SAME_WHOLE) & np.isfinite(data)]] = True
        rounded = np.flatnonzero(self._large & ~self._fractional).tolist()
        self._columns.rounded = {self._numeric[j] for j in rounded}


def _are_whole(numbers: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (numbers == np.trunc(numbers)) | np.isnan(numbers)
    return found


def _largest(numbers: NDArray[np.floating[Any]]) -> float:
    """Return the largest absolute value; NaN is none."""
    high = numbers.max()
    low = numbers.min()
    if np.isnan(high):
        high = np.fmax.reduce(numbers, axis=None)
        low = np.fmin.reduce(numbers, axis=None)
    return float(max(high, -low, 0.0))
