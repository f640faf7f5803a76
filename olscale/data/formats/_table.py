"""Rows of text cells become numbers: shared by the table formats.

Numeric columns keep their order and come first. Every value of a text column is a column of its own (one-hot), numbered
after the numeric ones in order of first appearance (row by row, left to right), and the rows are then sparse. So a
stream can be encoded without knowing its values in advance: columns are only ever added at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR
from olscale.data.formats.base import Batch, Target
from olscale.errors import FormatError, UnknownNameError

__all__ = ["MISSING", "Line", "TableEncoder", "checked_rows", "is_missing", "is_number", "label_position"]

MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))
"""Cells that mean "no value", in lower case."""

Line: TypeAlias = tuple[int, list[str]]
"""A row of cells with its one-based line."""

Column: TypeAlias = Sequence[str] | NDArray[np.float64]

_BLOCK_CELLS = 200_000
_BATCH_CELLS = 4_000_000
"""Numbers of a batch of dense rows: 32 MB."""


def is_missing(cell: str) -> bool:
    """Return whether `cell` means that there is no value."""
    return cell.strip().lower() in MISSING


def is_number(cell: str) -> bool:
    """Return whether `cell` is a decimal number."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def label_position(source: str, names: Sequence[str], label: str | int | None) -> int:
    """Return the position of the target among the columns `names`.

    Parameters
    ----------
    source : str
        Named in errors.
    names : sequence of str
        Column names.
    label : str or int, optional
        Name or position; text that is no name may be a position. The last column when left out.

    Raises
    ------
    UnknownNameError
        When there is no column of that name.
    FormatError
        When there is no column at that position.

    Examples
    --------
    >>> label_position("t.csv", ["age", "class", "3"], "class")
    1
    >>> label_position("t.csv", ["age", "class", "sex"], "-3")
    0
    """
    if label is None:
        return len(names) - 1
    if isinstance(label, str) and label in names:
        return list(names).index(label)
    try:
        position = int(label)
    except ValueError:
        raise UnknownNameError(f"label column of {source}", str(label), names) from None
    if not -len(names) <= position < len(names):
        raise FormatError(source, f"there is no column {position} for the label, the rows have {len(names)} cells")
    return position % len(names)


def checked_rows(source: str, rows: Iterator[Line], width: int | None = None) -> Iterator[Line]:
    """Yield `rows` as long as they have `width` cells, or as many as the first.

    Raises
    ------
    FormatError
        Names the line of a row with another number of cells, or with one cell only.
    """
    as_what = "as declared" if width else "as in the first row"
    for line, row in rows:
        width = width or len(row)
        if len(row) != width:
            raise FormatError(source, f"the row has {len(row)} cells, expected {width} {as_what}", line)
        if width < 2:
            raise FormatError(source, "the row has one cell, expected features and a label", line)
        yield line, row


class TableEncoder:
    """Turns columns of text cells into batches.

    Parameters
    ----------
    source : str
        Named in errors.
    names : sequence of str
        Names of all columns, the target's included.
    label : int
        Position of the target.
    text : sequence of bool
        Whether each column holds text; for the target: whether its labels are text.
    values : mapping of int to sequence of str, optional
        Declared values of text columns: they are numbered in this order before any row is seen.
    label_name : str or int, optional
        What to call the target in `Batch.label`; by its name when left out.
    """

    def __init__(
        self,
        source: str,
        names: Sequence[str],
        label: int,
        text: Sequence[bool],
        values: Mapping[int, Sequence[str]] | None = None,
        label_name: str | int | None = None,
    ) -> None:
        self._label_name = names[label] if label_name is None else label_name
        self._source, self._names, self._label, self._text = source, list(names), label, list(text)
        features = [position for position in range(len(names)) if position != label]
        self._numeric = [position for position in features if not text[position]]
        self._categorical = [position for position in features if text[position]]
        self._codes: dict[int, dict[str, int]] = {position: {} for position in self._categorical}
        self._feature_names = [self._names[position] for position in self._numeric]
        self._published: tuple[str, ...] = ()
        for position in self._categorical:
            for value in (values or {}).get(position, ()):
                self._number(position, value)

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
            yield self.batch(parts)

    def batch_rows(self, chunk_rows: int) -> int:
        """Return how many rows, at most `chunk_rows`, make a batch that is not too large."""
        return min(chunk_rows, max(1, _BATCH_CELLS // len(self._names)))

    def encode(self, columns: Sequence[Column], lines: Sequence[int]) -> tuple[Any, Target]:
        """Return the features and targets of some rows.

        Parameters
        ----------
        columns : sequence of columns of cells
            All columns, the target's included.
        lines : sequence of int
            The line of each row, for errors.

        Returns
        -------
        X : ndarray of shape (rows, numeric columns), or CSR
        target : ndarray or list of str

        Raises
        ------
        FormatError
            When a numeric column holds text or a target is missing; names the line.
        """
        target = self._targets(columns[self._label], lines)
        numbers = np.empty((len(lines), len(self._numeric)))
        for j, position in enumerate(self._numeric):
            numbers[:, j] = self._floats(position, columns[position], lines)
        if not self._categorical:
            return numbers, target
        return self._one_hot(numbers, columns), target

    def batch(self, parts: Sequence[tuple[Any, Target]]) -> Batch:
        """Return encoded `parts` as one batch."""
        features = [X for X, _ in parts]
        X = _stacked(features) if self._categorical else np.concatenate(features)
        if self._text[self._label]:
            target: Target = [label for _, labels in parts for label in labels]
        else:
            target = np.concatenate([labels for _, labels in parts])
        if len(self._published) != len(self._feature_names):
            self._published = tuple(self._feature_names)
        return Batch(X, target, len(self._feature_names), self._published, label=self._label_name)

    def _targets(self, cells: Column, lines: Sequence[int]) -> Target:
        if not self._text[self._label]:
            numbers = self._floats(self._label, cells, lines)
            missing = np.flatnonzero(np.isnan(numbers))
            if len(missing):
                raise FormatError(self._source, "the label is missing", lines[missing[0]])
            return numbers
        labels = [cell.strip() for cell in cells]
        if "" in labels or "?" in labels:
            first = next(i for i, label in enumerate(labels) if label in ("", "?"))
            raise FormatError(self._source, "the label is missing", lines[first])
        return labels

    def _floats(self, position: int, cells: Column, lines: Sequence[int]) -> NDArray[np.float64]:
        if isinstance(cells, np.ndarray):
            return cells
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

    def _one_hot(self, numbers: NDArray[np.float64], columns: Sequence[Column]) -> CSR:
        rows, width = numbers.shape
        values = [[cell.strip() for cell in columns[position]] for position in self._categorical]
        self._learn(values)
        absent = np.iinfo(np.int64).max
        codes = np.empty((rows, len(values)), dtype=np.int64)
        for j, (position, cells) in enumerate(zip(self._categorical, values, strict=True)):
            known = self._codes[position]
            codes[:, j] = [known.get(cell, absent) for cell in cells]
        codes.sort(axis=1)
        used = np.hstack([numbers != 0, codes != absent])
        indices = np.hstack([np.broadcast_to(np.arange(width, dtype=np.int64), numbers.shape), codes])[used]
        data = np.hstack([numbers, np.ones(codes.shape)])[used]
        indptr = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(used.sum(axis=1), out=indptr[1:])
        return CSR(indptr, indices.astype(np.int32), data)

    def _learn(self, values: Sequence[Sequence[str]]) -> None:
        """Give numbers to the values not seen before in order of their first row, then of their column."""
        new = []
        for j, (position, cells) in enumerate(zip(self._categorical, values, strict=True)):
            unseen = set(cells) - self._codes[position].keys()
            if unseen:
                new += [(cells.index(value), j, position, value) for value in unseen if not is_missing(value)]
        for _, _, position, value in sorted(new):
            self._number(position, value)

    def _number(self, position: int, value: str) -> None:
        self._codes[position][value] = len(self._feature_names)
        self._feature_names.append(f"{self._names[position]}={value}")


def _stacked(parts: Sequence[CSR]) -> CSR:
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return CSR(indptr, np.concatenate([part.indices for part in parts]), np.concatenate([part.data for part in parts]))
