"""Rows of text cells become numbers: shared by the table formats.

Numeric columns keep their order and come first. Every value of a text column is a column of its own (one-hot), numbered
after the numeric ones in order of first appearance (row by row, left to right), and the rows are then sparse. So a
stream can be encoded without knowing its values in advance: columns are only ever added at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import stack_rows
from olscale.data.formats.base import Batch, Target
from olscale.data.formats.cells import Line, is_missing, is_number
from olscale.data.formats.one_hot import OneHot
from olscale.data.formats.table_columns import TableColumns, TableRows
from olscale.errors import FormatError

__all__ = ["TableEncoder"]

Column: TypeAlias = Sequence[str] | NDArray[np.float64]

_FEW_ROWS = 100
"""Rows below which it says nothing that a column's values are all different."""

_BLOCK_CELLS = 200_000
_BATCH_CELLS = 4_000_000
"""Numbers of a batch of dense rows: 32 MB."""


class TableEncoder:
    """Turns columns of text cells into batches.

    Parameters
    ----------
    source : str
        Named in errors.
    columns : TableColumns
        All columns, the target's included. What is seen of them is noted there.
    values : mapping of int to sequence of str, optional
        Declared values of text columns: they are numbered in this order before any row is seen.
    label_name : str or int, optional
        What to call the target in `Batch.label`; by its name when left out.
    decimal : str
        The mark between whole part and fraction of a number.
    empty : int, optional
        Position of a column that holds nothing: what a delimiter at the end of every row makes.
    """

    def __init__(
        self,
        source: str,
        columns: TableColumns,
        values: Mapping[int, Sequence[str]] | None = None,
        label_name: str | int | None = None,
        decimal: str = ".",
        empty: int | None = None,
    ) -> None:
        self.columns, self._source, self._names = columns, source, list(columns.names)
        self._label, self._text = columns.label, columns.text
        self._label_name = self._names[columns.label] if label_name is None else label_name
        self._decimal, self._empty = decimal, empty
        features = columns.features
        if not features:
            raise FormatError(source, "no column is left as a feature; drop fewer")
        self._numeric = [position for position in features if not columns.text[position]]
        self._categorical = [position for position in features if columns.text[position]]
        self._one_hot = OneHot(self._names, self._numeric, self._categorical, values or {})
        self._feature_names: tuple[str, ...] = ()
        self._last: NDArray[np.float64] | None = None

    def batches(self, rows: Iterator[Line], chunk_rows: int) -> Iterator[Batch]:
        """Yield `rows` as batches of `chunk_rows` rows, fewer where they are wide."""
        chunk_rows = self.batch_rows(chunk_rows)
        # Cells as Python strings take some 60 bytes each: they are encoded a few at a time.
        block_rows = max(1, _BLOCK_CELLS // len(self._names))
        while True:
            parts = []
            wanted = chunk_rows
            while wanted and (block := list(itertools.islice(rows, min(wanted, block_rows)))):
                columns = list(zip(*(row for _, row in block), strict=True))
                parts.append(self.encode(columns, [line for line, _ in block]))
                wanted -= len(block)
            if not parts:
                return
            yield _joined(parts)

    def batch_rows(self, chunk_rows: int) -> int:
        """Return how many rows, at most `chunk_rows`, make a batch that is not too large."""
        return min(chunk_rows, max(1, _BATCH_CELLS // len(self._names)))

    def encode(self, columns: Sequence[Column], lines: Sequence[int]) -> Batch:
        """Return some rows as a batch.

        Parameters
        ----------
        columns : sequence of columns of cells
            All columns, the target's included; those that are dropped are not looked at.
        lines : sequence of int
            The line of each row, for errors.

        Raises
        ------
        FormatError
            When a numeric column holds text or a target is missing; names the line.
        """
        self._check_empty(columns, lines)
        target = self._targets(columns[self._label], lines)
        numbers = np.empty((len(lines), len(self._numeric)))
        for j, position in enumerate(self._numeric):
            numbers[:, j] = self._floats(position, columns[position], lines)
        self._watch(numbers)
        missing = _Missing(len(lines), len(self._names))
        missing.add(self._numeric, np.isnan(numbers))
        X: Any = numbers
        if self._categorical:
            values = [[cell.strip() for cell in columns[position]] for position in self._categorical]
            X, absent = self._one_hot.rows(numbers, values)
            missing.add(self._categorical, absent)
        names = self._one_hot.feature_names
        if len(self._feature_names) != len(names):
            self._feature_names = tuple(names)
        by = self.columns.segments
        segments = None if by is None else self._segment_cells(by, columns[by], lines)
        table = TableRows(self.columns, missing.mask, segments)
        return Batch(X, target, len(names), self._feature_names, label=self._label_name, table=table)

    def _check_empty(self, columns: Sequence[Column], lines: Sequence[int]) -> None:
        if self._empty is None:
            return
        for line, cell in zip(lines, columns[self._empty], strict=True):
            if str(cell).strip():
                raise FormatError(
                    self._source,
                    f"the last cell is {str(cell)[:40]!r}, but that column has no name and was empty in the first rows; "
                    "name it, or empty it",
                    line,
                )

    def _watch(self, numbers: NDArray[np.float64]) -> None:
        """Note which numeric columns never fall: a row's number or time says when it came, not what it is."""
        columns, first = self.columns, self._last is None
        if first:
            columns.rises.update(dict.fromkeys(self._numeric, 0))
            if len(numbers) >= _FEW_ROWS:
                columns.distinct |= {
                    position
                    for j, position in enumerate(self._numeric)
                    if (numbers[:, j] == np.trunc(numbers[:, j])).all()
                    and len(np.unique(numbers[:, j])) == len(numbers)
                }
        place = [j for j, position in enumerate(self._numeric) if position in columns.rises] if columns.rises else []
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
                    del columns.rises[self._numeric[j]]
                else:
                    columns.rises[self._numeric[j]] += rose
        self._last = numbers[-1].copy()

    def _segment_cells(self, position: int, cells: Column, lines: Sequence[int]) -> Target:
        if self._text[position]:
            return [cell.strip() for cell in cells]
        return self._floats(position, cells, lines)

    def _targets(self, cells: Column, lines: Sequence[int]) -> Target:
        if not self._text[self._label]:
            numbers = self._floats(self._label, cells, lines)
            missing = np.flatnonzero(np.isnan(numbers))
            if len(missing):
                raise FormatError(self._source, self._no_label, lines[missing[0]])
            return numbers
        labels = [cell.strip() for cell in cells]
        if "" in labels or "?" in labels:
            first = next(i for i, label in enumerate(labels) if label in ("", "?"))
            raise FormatError(self._source, self._no_label, lines[first])
        return labels

    @property
    def _no_label(self) -> str:
        column = self._label_name if isinstance(self._label_name, int) else repr(self._label_name)
        return f"the label is missing (column {column}); take the row out, or name another column with --label"

    def _floats(self, position: int, cells: Column, lines: Sequence[int]) -> NDArray[np.float64]:
        if isinstance(cells, np.ndarray):
            return cells
        if self._decimal != ".":
            cells = [cell.replace(self._decimal, ".") for cell in cells]
        try:
            numbers = np.array(cells, dtype=np.float64)
            if not any("_" in cell for cell in cells):
                return numbers
        except ValueError:
            pass
        numbers = np.empty(len(cells))
        for i, cell in enumerate(cells):
            if is_missing(cell):
                numbers[i] = np.nan
            elif is_number(cell):
                numbers[i] = float(cell)
            else:
                what = "label" if position == self._label else "column"
                raise FormatError(
                    self._source,
                    f"{what} {self._names[position]!r} is {cell[:40]!r}, expected a number as in the first rows",
                    lines[i],
                )
        return numbers


class _Missing:
    """Which cells of some rows hold no value; `mask` is None until there is one."""

    def __init__(self, rows: int, columns: int) -> None:
        self._shape = (rows, columns)
        self.mask: NDArray[np.bool_] | None = None

    def add(self, positions: Sequence[int], absent: NDArray[np.bool_]) -> None:
        if absent.any():
            if self.mask is None:
                self.mask = np.zeros(self._shape, dtype=np.bool_)
            self.mask[:, positions] = absent


def _joined(parts: Sequence[Batch]) -> Batch:
    """Return the rows of `parts`, blocks of one table, as one batch with what the last knows of its columns."""
    if len(parts) == 1:
        return parts[0]
    tables = [part.table for part in parts if part.table is not None]
    masks: list[NDArray[np.bool_] | None] = [table.missing for table in tables]
    missing = None
    if any(mask is not None for mask in masks):
        shapes = [(len(part), len(table.columns.names)) for part, table in zip(parts, tables, strict=True)]
        missing = np.concatenate(
            [
                np.zeros(shape, dtype=np.bool_) if mask is None else mask
                for shape, mask in zip(shapes, masks, strict=True)
            ]
        )
    segments = None if tables[0].segments is None else _one_below_the_other([table.segments for table in tables])
    return replace(
        parts[-1],
        X=stack_rows([part.X for part in parts]),
        target=_one_below_the_other([part.target for part in parts]),
        table=TableRows(tables[0].columns, missing, segments),
    )


def _one_below_the_other(parts: Sequence[Any]) -> Target:
    if isinstance(parts[0], list):
        return [cell for cells in parts for cell in cells]
    return np.concatenate(parts)
