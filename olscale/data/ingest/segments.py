"""Segments from a column: a new one wherever its value changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Target
from olscale.data.layouts.base import StoredRows
from olscale.data.manifest import Segment
from olscale.errors import DatasetError, UnknownNameError

__all__ = ["ColumnSegments"]


class ColumnSegments:
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

    def add(self, X: StoredRows, names: tuple[str, ...] | None, source: str, cells: Target | None = None) -> None:
        """Note the next rows; in tables `cells` are those of the column, which need not be a feature.

        Raises
        ------
        DatasetError
            When the source does not name its columns.
        UnknownNameError
            When none is called so.
        """
        if cells is None:
            if names is None:
                raise DatasetError(
                    f"{source} does not name its columns, so none is called {self._column!r}; "
                    "use segments 'files', one segment a source"
                )
            if self._column not in names:
                raise UnknownNameError("segment column", self._column, names)
            cells = _values(X, names.index(self._column))
        values: NDArray[Any] = np.array(cells)
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        if not self._values or values[0] != self._values[-1]:
            changes = np.concatenate(([0], changes))
        self._starts += (changes + self._rows).tolist()
        self._values += values[changes].tolist()
        self._rows += len(values)

    def finish(self) -> list[Segment]:
        """Return the segments, named by the value of the column."""
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
    here = np.flatnonzero(X.indices[span] == column)
    row = np.searchsorted(X.indptr - X.indptr[0], here, side="right") - 1
    values[row] = X.data[span][here]
    return values
