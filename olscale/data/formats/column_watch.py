"""Statistics of numeric columns as their rows arrive, to spot those that are hardly features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows
from olscale.data.formats.table_columns import TableColumns

# Smallest number of rows for which all values being different means anything.
_FEW_ROWS = 100
# From here on float64 does not represent every whole number.
_SAME_WHOLE = 2.0**53


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

    def add(
        self, numbers: NDArray[np.floating[Any]], first_rows: int | None = None
    ) -> None:
        """Examine the next rows; the first `first_rows` rows select the columns to watch."""
        if self._whole is None:
            are_whole = _are_whole(numbers[:first_rows]).all(axis=0)
            self._whole = np.flatnonzero(are_whole)
        if not len(self._whole):
            return
        # To copy columns pays only where they are few.
        examined = numbers
        if 4 * len(self._whole) < numbers.shape[1]:
            examined = numbers[:, self._whole]
        if _largest(examined) < _SAME_WHOLE:
            return
        watched = numbers[:, self._whole]
        are_whole = _are_whole(watched).all(axis=0)
        are_large = (np.abs(watched) >= _SAME_WHOLE) & np.isfinite(watched)
        large = are_large.any(axis=0)
        # A fraction shows that a column holds no identifiers.
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
        self._large, self._fractional = np.zeros(
            (2, len(self._numeric)), dtype=np.bool_
        )

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
            # The same rows however large batches are.
            begin = numbers[:first_rows]
            if len(begin) >= _FEW_ROWS:
                for j, position in enumerate(numeric):
                    values = begin[:, j]
                    is_whole = (values == np.trunc(values)).all()
                    if is_whole and len(np.unique(values)) == len(values):
                        columns.distinct.add(position)
        place = []
        # Most columns fall in the first rows, and none is left to watch.
        if columns.rises:
            place = [
                j for j, position in enumerate(numeric) if position in columns.rises
            ]
        if place:
            watched = numbers[:, place]
            if self._last is not None:
                watched = np.vstack([self._last[place], watched])
            # the step between infinities is NaN
            with np.errstate(over="ignore", invalid="ignore"):
                steps = np.diff(watched, axis=0)
            # so that a step to or from NaN counts as a fall
            falls = np.any(~(steps >= 0), axis=0)
            rises = np.count_nonzero(steps > 0, axis=0)
            for j, fell, rose in zip(
                place, falls.tolist(), rises.tolist(), strict=True
            ):
                if fell:
                    del columns.rises[numeric[j]]
                else:
                    columns.rises[numeric[j]] += rose
        self._rounded.add(numbers, first_rows)
        columns.rounded = {numeric[j] for j in self._rounded.positions}
        # A view would keep the whole batch in memory.
        self._last = numbers[-1].copy()

    def _note_large_entries(self, numbers: CSR) -> None:
        data = numbers.data
        are_large = (np.abs(data) >= _SAME_WHOLE) & np.isfinite(data)
        fractional = numbers.indices[~_are_whole(data)]
        self._fractional[fractional] = True
        self._large[numbers.indices[are_large]] = True
        rounded = np.flatnonzero(self._large & ~self._fractional).tolist()
        self._columns.rounded = {self._numeric[j] for j in rounded}


def _are_whole(numbers: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    are_whole: NDArray[np.bool_] = (numbers == np.trunc(numbers)) | np.isnan(numbers)
    return are_whole


def _largest(numbers: NDArray[np.floating[Any]]) -> float:
    """Return the largest absolute value, ignoring NaN."""
    high = numbers.max()
    low = numbers.min()
    # `fmax` is slower, and most columns miss no value.
    if np.isnan(high):
        high = np.fmax.reduce(numbers, axis=None)
        low = np.fmin.reduce(numbers, axis=None)
    return float(max(high, -low, 0.0))
