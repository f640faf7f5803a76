"""The cells of some rows of a table as arrays: numbers, positions among words, missing values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of
from olscale.data.formats.cells import Cell
from olscale.data.formats.table_columns import TableColumns


class Values:
    """The distinct cells of a text column in order of first appearance; None if missing.

    Attributes
    ----------
    known : list of str or None

    Examples
    --------
    >>> values = Values()
    >>> values.ids(["red", "blue", "red"]), values.known
    (array([0, 1, 0], dtype=int32), ['red', 'blue'])
    """

    def __init__(self) -> None:
        self.known: list[Cell] = []
        self._ids: dict[Cell, int] = {}

    def ids(self, cells: Sequence[Cell]) -> NDArray[np.int32]:
        """Return the position of each of `cells` in `known`, to which new ones are appended."""
        ids = self._ids
        # Cells recur, and each distinct one is looked up once.
        for cell in dict.fromkeys(cells):
            if cell not in ids:
                ids[cell] = len(self.known)
                self.known.append(cell)
        return np.array([ids[cell] for cell in cells], dtype=np.int32)


class CellPlaces:
    """The destination of the cells of each column.

    Parameters
    ----------
    columns : TableColumns

    Attributes
    ----------
    numeric, categorical : list of int
        Numeric features, and text features.
    others : list of int
        Further columns of numbers that are needed: the labels, the weights, the segments, those
        carried along.
    text : list of int
        All columns of text that are needed, those of `categorical` first.
    """

    def __init__(self, columns: TableColumns) -> None:
        features = columns.features
        needed = [*columns.labels]
        for position in (columns.weights, columns.segments, *columns.carried):
            if (
                position is not None
                and position not in features
                and position not in needed
            ):
                needed.append(position)
        self.numeric = [position for position in features if not columns.text[position]]
        self.categorical = [position for position in features if columns.text[position]]
        self.others = [position for position in needed if not columns.text[position]]
        self.text = self.categorical + [
            position for position in needed if columns.text[position]
        ]

    def empty(self, rows: int) -> TableCells:
        """Return arrays that have room for `rows` rows."""
        return TableCells(
            self,
            np.empty((rows, len(self.numeric))),
            np.empty((len(self.others), rows)),
            np.empty((len(self.text), rows), dtype=np.int32),
        )


class TableCells:
    """Rows that are filled in step by step.

    Parameters
    ----------
    places : CellPlaces
    numbers : ndarray of shape (rows, numeric features), float64
    others : ndarray of shape (other columns of numbers, rows), float64
    ids : ndarray of shape (text columns, rows), int32

    Attributes
    ----------
    rows : int
        Number of rows filled in so far.
    """

    def __init__(
        self,
        places: CellPlaces,
        numbers: NDArray[np.float64],
        others: NDArray[np.float64],
        ids: NDArray[np.int32],
    ) -> None:
        self.places = places
        self.numbers = numbers
        self.others = others
        self.ids = ids
        self.rows = 0

    @property
    def features(self) -> NDArray[np.float64]:
        """The numeric features of the rows filled in so far."""
        return self.numbers[: self.rows]

    @property
    def room(self) -> int:
        """The number of rows that still fit."""
        return len(self.numbers) - self.rows


def missing_cells(
    numbers: Rows,
    numeric: Sequence[int],
    absent: NDArray[np.bool_],
    categorical: Sequence[int],
    columns: int,
) -> NDArray[np.bool_] | CSR | None:
    """Return a mask of shape (rows, columns) of the cells without a value, or None.

    For sparse rows the result is the positions of these cells; None means that all cells have a
    value.

    Parameters
    ----------
    numbers : ndarray of shape (rows, numeric columns) or CSR
    numeric, categorical : sequence of int
        Positions of the columns of numbers, and of those of text.
    absent : ndarray of shape (rows, text columns), bool
    columns : int

    Examples
    --------
    >>> missing_cells(np.array([[1.0, np.nan]]), [0, 2], np.array([[True]]), [1], 4)
    array([[False,  True,  True, False]])
    """
    if isinstance(numbers, CSR):
        return _listed(
            numbers,
            np.array(numeric, dtype=np.int64),
            absent,
            np.array(categorical, dtype=np.int64),
        )
    missing = np.isnan(numbers)
    if not missing.any() and not absent.any():
        return None
    mask = np.zeros((rows_of(numbers), columns), dtype=np.bool_)
    mask[:, numeric] = missing
    mask[:, categorical] = absent
    return mask


def _listed(
    numbers: CSR,
    numeric: NDArray[np.int64],
    absent: NDArray[np.bool_],
    categorical: NDArray[np.int64],
) -> CSR | None:
    rows = rows_of(numbers)
    entries = np.flatnonzero(np.isnan(numbers.data))
    row, text = np.nonzero(absent)
    if not len(entries) and not len(row):
        return None
    row = np.concatenate(
        [np.searchsorted(numbers.indptr, entries, side="right") - 1, row]
    )
    position = np.concatenate([numeric[numbers.indices[entries]], categorical[text]])
    order = np.lexsort((position, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    return CSR(
        indptr.astype(np.int64), position[order].astype(np.int32), np.ones(len(order))
    )
