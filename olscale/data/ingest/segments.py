"""Segments: one per member, or a new one whenever the value of a column changes."""

import itertools
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, rows_of
from olscale.data.formats.base import Target
from olscale.data.ingest.members import Member
from olscale.data.layouts.base import StoredRows
from olscale.data.manifest import Segment
from olscale.errors import DatasetError, UnknownNameError

_NO_VALUE = "?"
"""Name of the segment of rows whose folder says that there is no value."""


class Segments(Protocol):
    """Cuts the rows of a split into segments."""

    def add(
        self, member: Member, X: StoredRows, names: tuple[str, ...] | None, cells: Target | None
    ) -> None:
        """Record the next rows, `X` of `member`, with column `names` and, in tables, `cells`.

        The cells are those of the segments' column.
        """
        ...

    def finish(self) -> list[Segment]:
        """Return the segments."""
        ...


def segments_by(by: str | None) -> Segments | None:
    """Return a maker of segments by ``"files"`` or by a column called `by`, or None."""
    if by is None:
        return None
    return _MemberSegments() if by == "files" else _ColumnSegments(by)


class _MemberSegments:
    """Makes a segment of each member."""

    def __init__(self) -> None:
        self._members: list[Member] = []
        self._rows: list[int] = []

    def add(
        self, member: Member, X: StoredRows, names: tuple[str, ...] | None, cells: Target | None
    ) -> None:
        if not self._members or member is not self._members[-1]:
            self._members.append(member)
            self._rows.append(0)
        self._rows[-1] += rows_of(X)

    def finish(self) -> list[Segment]:
        starts = itertools.accumulate(self._rows, initial=0)
        return [
            Segment(name=member.segment, start=start, rows=rows)
            for member, start, rows in zip(self._members, starts, self._rows, strict=False)
        ]


class _ColumnSegments:
    """Cuts rows into segments at the changes of a column.

    Parameters
    ----------
    column : str
        Its name in the source.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._starts: list[int] = []
        self._values: list[Any] = []
        self._rows = 0

    def add(
        self, member: Member, X: StoredRows, names: tuple[str, ...] | None, cells: Target | None
    ) -> None:
        """Record the next rows; the column need not be a feature.

        Raises
        ------
        DatasetError
            When the source does not name its columns.
        UnknownNameError
            When no column has that name.
        """
        constant = next(
            (column for column in member.constants if column.name == self._column), None
        )
        if cells is None and constant is not None:
            cells = [constant.value or _NO_VALUE] * rows_of(X)
        if cells is None:
            if names is None:
                raise DatasetError(
                    f"{member.name} does not name its columns, so none is called {self._column!r}; "
                    "use segments 'files', one segment a source"
                )
            if self._column not in names:
                raise UnknownNameError("segment column", self._column, names)
            cells = _values(X, names.index(self._column))
        values: NDArray[Any] = np.array(cells)
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        # The first row continues the last segment if it has the same value.
        if not self._values or values[0] != self._values[-1]:
            changes = np.concatenate(([0], changes))
        self._starts += (changes + self._rows).tolist()
        self._values += values[changes].tolist()
        self._rows += len(values)

    def finish(self) -> list[Segment]:
        """Return the segments, named by the values of the column."""
        ends = [*self._starts[1:], self._rows]
        return [
            Segment(name=_name(value), start=start, rows=end - start)
            for value, start, end in zip(self._values, self._starts, ends, strict=True)
        ]


def _name(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if value.is_integer() else repr(value)


def _values(X: StoredRows, column: int) -> NDArray[np.float64]:
    if not isinstance(X, CSR):
        return X[:, column].astype(np.float64)
    values = np.zeros(len(X.indptr) - 1)
    span = slice(int(X.indptr[0]), int(X.indptr[-1]))
    entries = np.flatnonzero(X.indices[span] == column)
    row = np.searchsorted(X.indptr - X.indptr[0], entries, side="right") - 1
    values[row] = X.data[span][entries]
    return values
