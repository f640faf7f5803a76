"""Checks of the rows of a table that no batch passes: labels, weights, and words among numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.cells import (
    CellRules,
    Column,
    is_number,
    numbers_of,
    point_cure,
)
from olscale.data.formats.row_weights import first_wrong_weight, weight_problem
from olscale.data.formats.spellings import is_truth_word
from olscale.data.formats.table_columns import TableColumns
from olscale.errors import FormatError

_NAN = "nan"


class RowChecks:
    """Refuses cells that cannot be read, and names the column and the line.

    Parameters
    ----------
    source : str
        Named in errors.
    columns : TableColumns
        All columns, including the target.
    label_name : str or int, optional
        Name or position of the target, for errors.
    rules : CellRules
        Which cells hold no value.
    as_numbers : frozenset of int
        Columns that are read as numbers because ``--encode`` says so.
    """

    def __init__(
        self,
        source: str,
        columns: TableColumns,
        label_name: str | int | None,
        rules: CellRules,
        *,
        as_numbers: frozenset[int],
    ) -> None:
        self._source = source
        self._columns = columns
        self._names = list(columns.names)
        self._label_name = label_name
        self._rules = rules
        self._as_numbers = as_numbers

    def label(
        self,
        position: int,
        absent: Sequence[bool],
        lines: Sequence[int],
    ) -> None:
        """Refuse the first label of the column `position` that is absent."""
        if True in absent:
            name = self._names[position] if self._columns.more else self._label_name
            column = name if isinstance(name, int) else repr(name)
            problem = f"the label is missing (column {column})"
            cure = "take the row out, or name another column with --label"
            raise FormatError(
                self._source, f"{problem}; {cure}", lines[absent.index(True)]
            )

    def weights(self, weights: NDArray[np.float64], lines: Sequence[int]) -> None:
        """Refuse the first invalid weight."""
        wrong = first_wrong_weight(weights)
        if wrong is not None:
            problem = weight_problem(float(weights[wrong]), self._weights_name)
            raise FormatError(self._source, problem, lines[wrong])

    def floats(
        self,
        position: int,
        cells: Column,
        lines: Sequence[int],
    ) -> NDArray[np.float64]:
        """Return `cells` of a numeric column, NaN if missing; refuse other words."""
        if isinstance(cells, np.ndarray):
            return cells
        mark = self._columns.decimal
        floats = numbers_of(cells, mark)
        if floats is None:
            absent = {
                cell
                for cell in set(cells)
                if cell is None or self._rules.is_missing(cell)
            }
            floats = numbers_of(
                [_NAN if cell in absent else cell for cell in cells], mark
            )
        if floats is not None:
            return floats
        numbers = np.empty(len(cells))
        for i, cell in enumerate(cells):
            # Numbers first, since most cells are numbers; nan is both a number and a word for a
            # missing value.
            if cell is not None and is_number(cell, mark):
                numbers[i] = float(cell.replace(mark, "."))
            elif cell is None or self._rules.is_missing(cell):
                numbers[i] = np.nan
            else:
                what = "column"
                if position in self._columns.labels:
                    what = "label"
                if position == self._columns.weights:
                    what = "weight"
                name = self._names[position]
                expected = self._rules.number
                if position in self._as_numbers:
                    expected = f"a number, as --encode {name}=number says"
                problem = f"{what} {name!r} is {cell[:40]!r}, expected {expected}"
                cure = None
                if mark != ".":
                    cure = point_cure(cell)
                problem += "" if cure is None else f"; with --decimal , {cure}"
                if cell.strip() == name:
                    problem += "; the row seems to repeat the names: take it out"
                if is_truth_word(cell.strip()):
                    problem += "; among numbers true and false are 1 and 0"
                raise FormatError(self._source, problem, lines[i])
        return numbers

    def refuse_filled(self, cells: Column, lines: Sequence[int]) -> None:
        """Refuse the first cell with text in a column that a delimiter at the end makes."""
        for line, cell in zip(lines, cells, strict=True):
            if str(cell).strip():
                raise FormatError(
                    self._source,
                    f"the last cell is {str(cell)[:40]!r}, but that column has no name and was "
                    "empty in the first rows; "
                    "name it, or empty it",
                    line,
                )

    @property
    def _weights_name(self) -> str:
        assert self._columns.weights is not None
        return self._names[self._columns.weights]
