"""How to read a table of rows to predict: its labels, the columns left out, its names.

A model knows the columns of its dataset: the names of features, label and columns that were
dropped, or their places where the table had no names. Labels and dropped columns may be there or
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    column_positions,
    label_positions,
)
from olscale.errors import FormatError, ModelError
from olscale.models.about import ColumnsEntry, place_of


@dataclass(frozen=True, slots=True)
class TablePlan:
    """How one table is read.

    Parameters
    ----------
    options : ReadOptions
        All its columns are features, except those left out; labels are carried along.
    labels, kept : tuple of str
        Columns with the labels, where the table has them, and columns that go with the answers.
    notes : tuple of str
        Notes for the user on the choice.
    """

    options: ReadOptions
    labels: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class TablePlanner:
    """Makes a `TablePlan`.

    Parameters
    ----------
    model : ColumnsEntry
    options : ReadOptions
        What the user says of the source.
    keep : sequence of str
        Columns that go with the answers: names or positions, or several with commas between.
    """

    def __init__(
        self, model: ColumnsEntry, options: ReadOptions, keep: Sequence[str] = ()
    ) -> None:
        self._model = model
        self._given = options
        self._keep = keep

    def plan(self, path: str, format: Format) -> TablePlan:
        """Return how the table `path` is read.

        Raises
        ------
        ModelError
            If it has no names, and its number of columns does not identify the features.
        UnknownNameError
            When it lacks a column that the user names.
        """
        model = self._model
        options = replace(self._given, label=None, labelled=False, labels_needed=False)
        if model.by_name:
            text = tuple(name in model.text for name in model.table)
            first_values = {name: model.values(name) for name in model.bounded}
            table = TableColumns(
                model.table,
                UNLABELLED,
                text,
                kept=first_values,
                sparse=None,
                truth_in_text=True,
            )
            options = replace(options, table=table, encode=model.codings)
        if model.has_given_names:
            plan = self._by_names(path, format, options)
        else:
            options = replace(options, header=self._header(path, format, options))
            plan = self._by_places(path, format, options)
        return self._with_chosen(path, format, plan)

    def _by_names(self, path: str, format: Format, options: ReadOptions) -> TablePlan:
        model = self._model
        labels = model.targets
        if not labels and isinstance(model.label, str):
            labels = (model.label,)
        elif model.label is None and self._given.label is None:
            # The dataset was no table: assume the label in the last column, as in any table.
            columns = _columns(_peek(path, format, options))
            last = columns.names[columns.features[-1]]
            labels = () if last in model.table else (last,)
        return TablePlan(
            replace(options, drop_if_there=(*labels, *model.dropped)), labels
        )

    def _header(self, path: str, format: Format, options: ReadOptions) -> bool | None:
        """Return False if the first row holds feature values of the model instead of names."""
        if options.header is not None or format.name not in ("csv", "tsv"):
            return options.header
        try:
            # Rows to predict may be a single row, which no rows below it show to be
            # data: what the model knows of its columns decides.
            columns = _columns(_peek(path, format, replace(options, header=False)))
        except FormatError:
            return None
        words = sum(columns.text[place] for place in columns.features)
        spare = len(columns.features) - self._needed
        numeric = self._needed - len(self._model.text)
        if numeric and spare >= 0 and words <= len(self._model.text) + spare:
            return False
        return None

    def _by_places(self, path: str, format: Format, options: ReadOptions) -> TablePlan:
        model = self._model
        columns = _columns(_peek(path, format, options))
        names = columns.names
        places = [place_of(name) for name in model.dropped]
        dropped = [
            place
            for place in places
            if place is not None and place not in columns.dropped
        ]
        spare = len(columns.features) - self._needed
        label: int | None = None
        notes: tuple[str, ...] = ()
        if self._given.label is not None:
            positions = label_positions(path, names, self._given.label)
            spare -= sum(place in columns.features for place in positions)
            # Columns left out at ingest are told by their number alone: all of them are
            # there, or none.
            if spare != len(dropped):
                dropped = []
        elif spare == len(dropped) + 1:
            label = self._label_place(path, format, options, columns)
        elif spare and spare == len(dropped):
            if isinstance(model.label, int):
                dropped = [place - (place > model.label) for place in dropped]
            if spare == 1:
                notes = (
                    f"{path} is taken to have no label, and {names[dropped[0]]!r} for the column "
                    "that is left out, as at "
                    "ingest; --label or --drop if that is not so",
                )
        elif spare == 1:
            label = self._label_place(path, format, options, columns, without=dropped)
            dropped = []
        else:
            dropped = []
            if model.by_name and not set(model.table) <= set(names):
                raise ModelError(
                    f"{path} has no label, and its columns no names: which are they? Give it a "
                    "header"
                )
        labels = () if label is None else (names[label],)
        aside = (*labels, *(names[place] for place in dropped))
        return TablePlan(replace(options, drop_if_there=aside), labels, notes=notes)

    @property
    def _needed(self) -> int:
        """Columns of a table that are features."""
        return (
            self._model.count if self._model.names is None else len(self._model.table)
        )

    def _label_place(
        self,
        path: str,
        format: Format,
        options: ReadOptions,
        columns: TableColumns,
        without: Sequence[int] = (),
    ) -> int:
        """Return the label's place: as in the model's table, less the absent columns `without`."""
        label = self._model.label
        if isinstance(label, int):
            # Absent columns before the label have moved it to the left.
            return min(
                label - sum(place < label for place in without), len(columns.names) - 1
            )
        try:
            label_name = _peek(
                path, format, replace(options, labelled=True, table=None, encode=())
            ).label
        except FormatError:  # the label is absent, and the first column cannot be it
            label_name = columns.features[-1]
        if isinstance(label_name, str):
            return columns.names.index(label_name)
        # labels from a separate file come first
        return 0 if label_name is None else label_name

    def _with_chosen(self, path: str, format: Format, plan: TablePlan) -> TablePlan:
        """Return the plan with the columns that the user names."""
        options = plan.options
        labels = plan.labels
        carried: list[str] = []
        if self._given.label is not None or self._keep:
            names = _columns(_peek(path, format, options)).names
            if self._given.label is not None:
                labels = tuple(
                    names[place]
                    for place in label_positions(path, names, self._given.label)
                )
            carried = [
                names[place]
                for place in column_positions(path, names, self._keep, "to keep")
            ]
        options = replace(
            options,
            drop_if_there=(*options.drop_if_there, *labels),
            carry=(*labels, *carried),
        )
        return TablePlan(options, labels, tuple(carried), plan.notes)


def _peek(path: str, format: Format, options: ReadOptions) -> Batch:
    # One row: the names and types of columns need no more, and the file is read again
    # anyway.
    return next(format.read(path, replace(options, chunk_rows=1)))


def _columns(batch: Batch) -> TableColumns:
    assert batch.table is not None
    return batch.table.columns
