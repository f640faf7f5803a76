"""Statistics of numeric columns as their rows arrive, to spot those that are hardly features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows
from olscale.data.formats.table_columns import TableColumns

_FEW_ROWS = 100
"""Smallest number of rows for which all values being different means anything."""
_SAME_WHOLE = 2.0**53
"""From here on float64 does not represent every whole number."""


class RoundedColumns:
    """Finds columns of whole numbers that may have been rounded, as identifiers are.

    Attributes
    ----------
    positions : set of int
        The columns found so far.

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
        """Examine the next rows; the first `first_rows` rows select the columns to watch."""
        if self._whole is None:
            self._whole = np.flatnonzero(_are_whole(numbers[:first_rows]).all(axis=0))
        if not len(self._whole):
            return
        few = 4 * len(self._whole) < numbers.shape[1]
        if _largest(numbers[:, self._whole] if few else numbers) < _SAME_WHOLE:
            return
        watched = numbers[:, self._whole]
        are_whole = _are_whole(watched).all(axis=0)
        large = ((np.abs(watched) >= _SAME_WHOLE) & np.isfinite(watched)).any(axis=0)
        self.positions -= set(self._whole[~are_whole].tolist())
        self.positions |= set(self._whole[are_whole & large].tolist())
        self._whole = self._whole[are_whole]


class ColumnWatch:
    """Notes in `columns` which numbers never fall, are all different, or may have been rounded.

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
        """Examine the next rows; the first `first_rows` rows show which values are all different.

        For sparse rows only numbers that are too large are noted: none of their columns is a row
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
            with np.errstate(over="ignore", invalid="ignore"):  # the step between infinities is NaN
                steps = np.diff(watched, axis=0)
            falls = np.any(~(steps >= 0), axis=0)  # so that a step to or from NaN counts as a fall
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
    are_whole: NDArray[np.bool_] = (numbers == np.trunc(numbers)) | np.isnan(numbers)
    return are_whole


def _largest(numbers: NDArray[np.floating[Any]]) -> float:
    """Return the largest absolute value, ignoring NaN."""
    high = numbers.max()
    low = numbers.min()
    if np.isnan(high):
        high = np.fmax.reduce(numbers, axis=None)
        low = np.fmin.reduce(numbers, axis=None)
    return float(max(high, -low, 0.0))
