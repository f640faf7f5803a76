"""Rows of text cells as numbers: shared by the table formats.

Numeric columns keep their order and come first. Every value of a text column is a column of its own
(one-hot), numbered after the numeric ones: those of the first batch by column and value, later ones
in order of first appearance (row by row, left to right). The rows are then sparse. So a stream can
be encoded without knowing its values in advance: columns are only ever appended. Ingest sorts them
by value once all rows are read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows
from olscale.data.formats.base import Batch, Target
from olscale.data.formats.cells import (
    Cell,
    CellRules,
    Column,
    UntypedCells,
    is_number,
)
from olscale.data.formats.coding import (
    AnyCoding,
    AsNumber,
    CodingError,
    FirstValues,
    coded_as_text,
)
from olscale.data.formats.column_watch import ColumnWatch
from olscale.data.formats.one_hot import OneHot, refuse_shared_names
from olscale.data.formats.row_checks import RowChecks
from olscale.data.formats.row_weights import (
    checked_weights,
    first_wrong_weight,
)
from olscale.data.formats.table_cells import (
    CellPlaces,
    TableCells,
    Values,
    missing_cells,
)
from olscale.data.formats.table_columns import (
    UNLABELLED,
    Carried,
    TableColumns,
    TableRows,
)
from olscale.errors import FormatError, ParameterError, UnknownNameError

# Name of the segment of rows without a value in the column of the segments.
_NO_VALUE = "?"


class FilledCells(Protocol):
    """Rows of cells as numbers: `TableCells`, or sparse ones."""

    others: NDArray[np.float64]
    ids: NDArray[np.int32]
    rows: int

    @property
    def places(self) -> CellPlaces:
        """Where the cells of each column are."""
        ...

    @property
    def features(self) -> Rows:
        """The numeric features of the rows."""
        ...


class TableEncoder:
    """Turns columns of text cells into batches.

    Parameters
    ----------
    source : str
        Named in errors.
    columns : TableColumns
        All columns, including the target. Facts about them are noted there.
    values : mapping of int to sequence of str, optional
        Declared values of text columns, numbered in this order before any row is seen.
    label_name : str or int, optional
        Value of `Batch.label`; the name of the target when left out.
    decimal : str
        The mark between whole part and fraction of a number.
    empty : int, optional
        Position of an empty column, made by a delimiter at the end of every row.
    codings : mapping of str to Coding, FirstValues or AsNumber, optional
        Columns, by name, that are not read by their type: as text that does not become one column
        per value, or as numbers.
    before : TableColumns, optional
        Columns of an earlier source, whose first values this one continues.
    rules : CellRules, optional
        Which cells hold no value; `UntypedCells` when left out.

    Attributes
    ----------
    columns : TableColumns
    places : CellPlaces
        Where the cells of each column go.
    values : list of Values
        For each column of text.
    empty : int or None
    checks : RowChecks
        Refuses cells that cannot be read.
    """

    def __init__(
        self,
        source: str,
        columns: TableColumns,
        values: Mapping[int, Sequence[str]] | None = None,
        label_name: str | int | None = None,
        decimal: str = ".",
        empty: int | None = None,
        codings: Mapping[str, AnyCoding] = MappingProxyType({}),
        before: TableColumns | None = None,
        rules: CellRules | None = None,
    ) -> None:
        self._rules = rules or UntypedCells()
        columns.text = coded_as_text(columns.names, columns.text, codings)
        # numbers: an error names the line of a word among them
        if columns.weights is not None:
            columns.text = tuple(
                is_text and i != columns.weights
                for i, is_text in enumerate(columns.text)
            )
        self.columns = columns
        self._source = source
        self._names = list(columns.names)
        self._labelled = columns.label != UNLABELLED
        self._label_name = (
            self._names[columns.label]
            if label_name is None and self._labelled
            else label_name
        )
        self.empty = empty
        columns.decimal = decimal
        texts = [self._names[label] for label in columns.labels if columns.text[label]]
        if texts and columns.more:
            raise FormatError(
                source,
                f"label {texts[0]!r} holds text, and of several labels each must be a number",
            )
        if not columns.features:
            raise FormatError(source, "no column is left as a feature; drop fewer")
        self.places = CellPlaces(columns)
        self.values = [Values() for _ in self.places.text]
        positions = {name: self._position(name) for name in codings}
        self._codings = {
            positions[name]: coding
            for name, coding in codings.items()
            if not isinstance(coding, AsNumber)
        }
        self.checks = RowChecks(
            source,
            columns,
            self._label_name,
            self._rules,
            as_numbers=frozenset(positions.values()) - self._codings.keys(),
        )
        columns.coded = {name: str(coding) for name, coding in codings.items()}
        columns.kept = columns.kept if before is None else before.kept
        bounded = [
            name for name, coding in codings.items() if isinstance(coding, FirstValues)
        ]
        first_values = {
            self._position(name): columns.kept.setdefault(name, []) for name in bounded
        }
        numeric = self.places.numeric
        text = self.places.categorical
        refuse_shared_names(
            source,
            [self._names[position] for position in columns.features],
            [self._names[position] for position in text],
        )
        self._one_hot = OneHot(
            self._names,
            numeric,
            text,
            values or {},
            self._codings,
            first_values,
        )
        self._feature_names: tuple[str, ...] = ()
        columns.declared = frozenset(self._names[position] for position in values or {})
        self._watch = ColumnWatch(columns, self.places.numeric)

    def batch_rows(self, chunk_rows: int, most_cells: int = 4_000_000) -> int:
        """Return how many rows, at most `chunk_rows`, have at most `most_cells` cells.

        As numbers, 4 million cells take 32 MB.
        """
        return min(chunk_rows, max(1, most_cells // len(self._names)))

    def encode(self, columns: Sequence[Column], lines: Sequence[int]) -> Batch:
        """Return some rows as a batch; see `put`."""
        cells = self.cells(len(lines))
        self.put(cells, columns, lines)
        return self.batch(cells)

    def cells(self, rows: int) -> TableCells:
        """Return room for the `rows` of a batch, with constant columns filled in."""
        places = self.places
        cells = places.empty(rows)
        for position, value in enumerate(self.columns.constants, self.columns.width):
            if value is None and position in self.columns.labels:
                raise FormatError(
                    self._source,
                    f"the label is missing (column {self._names[position]!r} of its folder); "
                    "leave the folder out, or name another column with --label",
                )
            if position in places.text:
                place = places.text.index(position)
                cells.ids[place] = self.values[place].ids([value])[0]
            elif position in places.others:
                number = self._number(position, value)
                if position == self.columns.weights:
                    checked_weights(
                        self._source, np.array([number]), self._names[position]
                    )
                cells.others[places.others.index(position)] = number
            elif position in places.numeric:
                cells.numbers[:, places.numeric.index(position)] = self._number(
                    position, value
                )
        return cells

    def _number(self, position: int, value: str | None) -> float:
        """Return the number in a constant column; a decimal comma applies to files only."""
        if value is None:
            return np.nan
        if not is_number(value):
            raise FormatError(
                self._source,
                f"column {self._names[position]!r} of its folder is {value[:40]!r}, "
                "expected a number as in the sources before it",
            )
        return float(value)

    def put(
        self,
        cells: TableCells,
        columns: Sequence[Column],
        lines: Sequence[int],
    ) -> None:
        """Fill some rows into `cells`.

        Parameters
        ----------
        cells : TableCells
            Has room for them.
        columns : sequence of columns of cells
            All columns of the file, including the target; dropped ones are not examined.
        lines : sequence of int
            The line of each row, for errors.

        Raises
        ------
        FormatError
            When a numeric column holds text or a target is missing; names the line.
        """
        try:
            self._put(cells, columns, lines)
        except FormatError:
            # Of several errors the first in the file is reported, regardless of how rows are filled
            # in.
            for i in range(len(lines)):
                self._put(
                    cells, [column[i : i + 1] for column in columns], lines[i : i + 1]
                )
            raise
        cells.rows += len(lines)

    def _put(
        self,
        cells: TableCells,
        columns: Sequence[Column],
        lines: Sequence[int],
    ) -> None:
        span = slice(cells.rows, cells.rows + len(lines))
        labels = self.columns.labels
        if self.empty is not None:
            self.checks.refuse_filled(columns[self.empty], lines)
        in_file = self.columns.in_file
        for j, position in sorted(
            # A label that is missing is reported before what else is wrong in its row.
            in_file(self.places.others),
            key=lambda place: place[1] not in labels,
        ):
            cells.others[j, span] = self.checks.floats(
                position, columns[position], lines
            )
            if position in labels:
                self.checks.label(
                    position, np.isnan(cells.others[j, span]).tolist(), lines
                )
            if position == self.columns.weights:
                self.checks.weights(cells.others[j, span], lines)
        for j, position in in_file(self.places.text):
            text = columns[position]
            assert not isinstance(text, np.ndarray)
            words = self.words(position, text)
            if position in labels:
                self.checks.label(position, [word is None for word in words], lines)
            cells.ids[j, span] = self.values[j].ids(words)
        for j, position in in_file(self.places.numeric):
            cells.numbers[span, j] = self.checks.floats(
                position, columns[position], lines
            )

    def words(self, position: int, cells: Sequence[Cell]) -> list[Cell]:
        """Return the words in `cells` of a text column, None if a cell has no value."""
        rule = (
            self._rules.feature
            if position in self.places.categorical
            else self._rules.label
        )
        meant = {cell: rule(cell) for cell in set(cells)}  # most recur often
        return [meant[cell] for cell in cells]

    def batch(self, cells: FilledCells, first_rows: int | None = None) -> Batch:
        """Return the rows of `cells`.

        The first `first_rows` rows of all, or the first batch, show whether the values of a column
        are all different.
        """
        places = self.places
        rows = cells.rows
        numbers = cells.features
        self._watch.add(numbers, first_rows)
        by = self.columns.segments
        # Before the cells of coded columns are cleared, since they may make the segments as well.
        segments = None
        if by is not None:
            segments = self._column(cells, by)
        carried = {
            self._names[position]: self._carried(cells, position)
            for position in self.columns.carried
        }
        X: Rows = numbers
        absent = np.zeros((rows, 0), dtype=np.bool_)
        if places.categorical:
            X, absent = self._in_features(
                numbers, cells.ids[: len(places.categorical), :rows]
            )
        missing = missing_cells(
            numbers,
            places.numeric,
            absent,
            places.categorical,
            len(self._names),
        )
        names = self._one_hot.feature_names
        # One tuple for all batches as long as no feature is new: there may be millions.
        if len(self._feature_names) != len(names):
            self._feature_names = tuple(names)
        for j, position in enumerate(places.text):
            if position in self.columns.carried and position in self.columns.dropped:
                self.values[j] = Values()  # identifiers are all different
        table = TableRows(self.columns, missing, segments, carried)
        batch = Batch(
            X,
            self._target(cells),
            len(names),
            self._feature_names,
            label=self._label_name,
            table=table,
        )
        if self.columns.more:
            batch = replace(
                batch,
                targets=tuple(self._names[label] for label in self.columns.labels),
            )
        if self.columns.weights is not None:
            weights = cells.others[places.others.index(self.columns.weights), :rows]
            batch = replace(batch, weights=weights + 0.0)  # -0 becomes 0
        if self._labelled:
            return batch
        return replace(batch, label=None, unlabelled=True)

    def _in_features(
        self, numbers: Rows, ids: NDArray[np.int32]
    ) -> tuple[CSR, NDArray[np.bool_]]:
        """Return rows of numbers and text as features, and which cells of text are missing."""
        categorical = self.places.categorical
        values = [column.known for column in self.values[: len(categorical)]]
        try:
            X, absent = self._one_hot.rows(numbers, ids, values)
        except CodingError as error:
            column, cell, expected = error.parts
            message = f"column {column!r} is {cell[:40]!r}, expected {expected}, as --encode says"
            raise FormatError(self._source, message) from None
        for j, position in enumerate(categorical):
            # Each cell is coded independently: earlier batches need not be kept.
            if position in self._codings:
                self.values[j] = Values()
        return X, absent

    def _position(self, name: str) -> int:
        if name not in self._names:
            # Other options take several names between commas.
            if re.search("=.*,", name):
                raise ParameterError(
                    f"encode names the column {name!r}, which {self._source} lacks; give each "
                    "column an encode of its own: --encode placed=date --encode shop=hash"
                )
            raise UnknownNameError(
                f"column of {self._source} to encode", name, self._names
            )
        position = self._names.index(name)
        if position not in self.columns.features:
            kind = "dropped"
            if position in self.columns.labels:
                kind = "the label"
            if position == self.columns.weights:
                kind = "that of the weights"
            raise FormatError(
                self._source,
                f"column {name!r} is {kind}, expected a feature for --encode",
            )
        return position

    def _target(self, cells: FilledCells) -> Target:
        columns = [self._column(cells, label) for label in self.columns.labels]
        if self.columns.more:
            return np.column_stack(columns)
        if columns:
            return columns[0]
        return np.zeros(cells.rows)

    def _column(self, cells: FilledCells, position: int) -> Target:
        places = cells.places
        rows = cells.rows
        if position in places.text:
            j = places.text.index(position)
            known_words = self.values[j].known
            words = [_NO_VALUE if word is None else word for word in known_words]
            return [words[i] for i in cells.ids[j, :rows].tolist()]
        if position in places.others:
            return cells.others[places.others.index(position), :rows]
        features = cells.features
        # sparse rows have such a column among the others
        assert not isinstance(features, CSR)
        return features[:, places.numeric.index(position)].copy()

    def _carried(self, cells: FilledCells, position: int) -> Carried:
        places = self.places.text
        if position in places:
            j = places.index(position)
            words = self.values[j].known
            return [words[i] for i in cells.ids[j, : cells.rows].tolist()]
        numbers = self._column(cells, position)
        assert isinstance(numbers, np.ndarray)
        return numbers

    def takes_weights(self, cells: FilledCells, first: int, stop: int) -> bool:
        """Return whether rows `first` to `stop` have valid weights, if there are any."""
        position = self.columns.weights
        if position is None:
            return True
        return (
            first_wrong_weight(
                cells.others[cells.places.others.index(position), first:stop]
            )
            is None
        )
