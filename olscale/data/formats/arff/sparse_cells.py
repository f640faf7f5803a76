"""The cells of sparse rows: numbers as CSR, all others in arrays filled with the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, stack_rows
from olscale.data.formats.cells import Cell
from olscale.data.formats.one_hot import side_by_side
from olscale.data.formats.table_cells import CellPlaces, Values
from olscale.data.formats.table_columns import TableColumns

_LEFT_OUT = -1
"""In place of the number of a text cell that a row does not list."""


class SparsePlaces(CellPlaces):
    """The destination of the cells of each column of sparse rows.

    Parameters
    ----------
    columns : TableColumns
    defaults : mapping of int to Cell
        The value of a column that a row leaves out, by position.

    Attributes
    ----------
    filled : list of int
        Features of numbers that are kept as columns of all rows, among `others`: leaving them out
        means a number other than 0, or they also make the segments or are carried along.
    left_out : ndarray of shape (others,)
        The value of each of `others` in rows that leave it out.
    """

    def __init__(self, columns: TableColumns, defaults: Mapping[int, Cell]) -> None:
        super().__init__(columns)
        zeros = {
            position: float(defaults[position] or "nan")
            for position in (*self.numeric, *self.others)
        }
        self.filled = [
            position
            for position in self.numeric
            if zeros[position] != 0 or position == columns.segments
        ]
        self.others = self.others + self.filled
        self.left_out = np.array([zeros[position] for position in self.others])
        self._defaults = [defaults[position] for position in self.text]
        self._slots = {position: slot for slot, position in enumerate(self.numeric)}

    def numeric_slots(self, columns: int) -> NDArray[np.int32]:
        """Return the place of each column among the numbers of sparse rows, -1 if it has none."""
        slots = np.full(columns, -1, dtype=np.int32)
        slots[self.numeric] = np.arange(len(self.numeric))
        slots[self.filled] = -1
        return slots

    def slots(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of the numeric columns, and the place of each: features first."""
        slots = self._slots | {
            position: len(self.numeric) + j for j, position in enumerate(self.others)
        }
        return np.array([*slots], dtype=np.int64), np.array([*slots.values()], dtype=np.int64)

    def empty_sparse(self, rows: int) -> SparseCells:
        """Return cells that have room for `rows` rows."""
        return SparseCells(
            self,
            np.repeat(self.left_out[:, None], rows, axis=1),
            np.full((len(self.text), rows), _LEFT_OUT, dtype=np.int32),
        )

    def fill_text(self, cells: SparseCells, values: Sequence[Values]) -> None:
        """Fill the text columns of `cells` with the values of cells that are left out."""
        for j, default in enumerate(self._defaults):
            ids = cells.ids[j, : cells.rows]
            left_out = ids == _LEFT_OUT
            if left_out.any():
                ids[left_out] = values[j].ids([default])[0]

    def filled_rows(self, cells: SparseCells) -> CSR:
        """Return the features of `filled` as sparse rows."""
        first = len(self.others) - len(self.filled)
        dense = cells.others[first:, : cells.rows].T
        row, column = np.nonzero(dense)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=cells.rows))])
        slots = np.array([self._slots[position] for position in self.filled], dtype=np.int32)
        return CSR(indptr.astype(np.int64), slots[column], dense[row, column])


class SparseCells:
    """Sparse rows that are filled in step by step.

    Parameters
    ----------
    places : SparsePlaces
    others : ndarray of shape (other columns of numbers, rows), float64
    ids : ndarray of shape (text columns, rows), int32

    Attributes
    ----------
    rows : int
        Number of rows filled in so far.
    """

    def __init__(
        self, places: SparsePlaces, others: NDArray[np.float64], ids: NDArray[np.int32]
    ) -> None:
        self.places: SparsePlaces = places
        self.others = others
        self.ids = ids
        self.rows = self.entries = 0
        self._most_rows = ids.shape[1]
        self._pieces: list[CSR] = []

    @property
    def room(self) -> int:
        """The number of rows that still fit, if they have few numbers."""
        return self._most_rows - self.rows if self.entries < MOST_ENTRIES else 0

    def add(self, numbers: CSR) -> None:
        """Add the numeric features of the next rows, whose other cells are already filled in."""
        self._pieces.append(numbers)
        self.rows += len(numbers.indptr) - 1
        self.entries += len(numbers.indices)

    @property
    def features(self) -> CSR:
        """The numeric features of the rows filled in so far."""
        numbers = stack_rows(self._pieces)
        assert isinstance(numbers, CSR)
        return (
            side_by_side([numbers, self.places.filled_rows(self)])
            if self.places.filled
            else numbers
        )


def without_zeros(numbers: CSR) -> CSR:
    """Return sparse rows without the numbers that are 0.

    Examples
    --------
    >>> indptr, entries = np.array([0, 1, 2]), np.array([3, 4], dtype=np.int32)
    >>> without_zeros(CSR(indptr, entries, np.array([0.0, 5.0])))
    CSR(indptr=array([0, 0, 1]), indices=array([4], dtype=int32), data=array([5.]))
    """
    is_nonzero = numbers.data != 0
    indptr = np.concatenate([[0], np.cumsum(is_nonzero)])[numbers.indptr]
    return CSR(indptr, numbers.indices[is_nonzero], numbers.data[is_nonzero])


MOST_ENTRIES = 1 << 21
"""Numbers per batch: it ends with the row that reaches them."""
