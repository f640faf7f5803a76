"""Text columns as one-hot columns.

Values of the first rows are numbered by column and value, later ones in order of first appearance.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, take_rows
from olscale.compiled.plain_code import PlainLoop
from olscale.data.formats.cells import Cell
from olscale.data.formats.coding import OTHER, Coding, CodingError, FirstValues
from olscale.data.formats.feature_order import sorted_places
from olscale.data.formats.spellings import spelled_as_in
from olscale.errors import FormatError

_ABSENT = np.iinfo(np.int32).max
_NUMBA_IS_HERE = "olscale.compiled.decorator"
_FILL_ROWS = PlainLoop(
    "olscale.data.formats._one_hot_loop", "fill_rows", "d2-i2-q-l1-i1-d1"
)
# Cells of a batch that NumPy makes sparse, five times as slowly as the loop.
_FEW_CELLS = 1 << 20
_VERY_FEW_CELLS = 1 << 12
"""The same where the loop is at hand: loading it alone takes longer than these."""


class OneHot:
    """Makes sparse rows of numeric columns and of text columns, one feature per text value.

    Parameters
    ----------
    names : sequence of str
        All columns of the table.
    numeric, text : sequence of int
        Positions of the features.
    values : mapping of int to sequence of str
        Declared values of text columns, numbered in this order before any row is seen.
    codings : mapping of int to Coding or FirstValues, optional
        Text columns with another coding; their features are numbered before all values.
    kept : mapping of int to list of str, optional
        For each column of `FirstValues` the values that have features so far; new ones are
        appended.

    Attributes
    ----------
    feature_names : list of str
        Names known so far; from the first rows on the list only grows.

    Examples
    --------
    >>> features = OneHot(["age", "job"], [0], [1], {})
    >>> X, missing = features.rows(np.array([[31.0], [40.0]]), np.array([[0, 1]]), [["cook", None]])
    >>> features.feature_names, X.indices, missing[:, 0]
    (['age', 'job=cook'], array([0, 1, 0], dtype=int32), array([False,  True]))
    """

    def __init__(
        self,
        names: Sequence[str],
        numeric: Sequence[int],
        text: Sequence[int],
        values: Mapping[int, Sequence[str]],
        codings: Mapping[int, Coding | FirstValues] = MappingProxyType({}),
        kept: Mapping[int, list[str]] = MappingProxyType({}),
    ) -> None:
        self.feature_names = [names[position] for position in numeric]
        chosen = {
            j: codings[position]
            for j, position in enumerate(text)
            if position in codings
        }
        self._coded = {
            j: coding.begin()
            for j, coding in chosen.items()
            if isinstance(coding, Coding)
        }
        self._bounds = {
            j: coding.values
            for j, coding in chosen.items()
            if isinstance(coding, FirstValues)
        }
        self._kept = {j: kept[text[j]] for j in self._bounds}
        self._first: dict[int, int] = {}
        for j, coding in self._coded.items():
            self._first[j] = len(self.feature_names)
            # Named beforehand: features of a coded column do not depend on the rows to come.
            for part in coding.parts:
                self._add(names[text[j]], part)
        self._names = [names[position] for position in text]
        self._numeric = len(numeric)
        self._fixed = {self._names[j] for j in self._coded} | {names[i] for i in values}
        self._has_rows = False
        self._declared: list[dict[str, int]] = [{} for _ in text]
        # The feature of each value, by the number of the value.
        self._codes = [np.empty(0, dtype=np.int32) for _ in text]
        for j, position in enumerate(text):
            for value in kept.get(position, values.get(position, ())):
                self._declared[j][value] = self._number(j, value)

    def rows(
        self,
        numbers: Rows,
        ids: NDArray[np.int32],
        values: Sequence[Sequence[Cell]],
    ) -> tuple[CSR, NDArray[np.bool_]]:
        """Return some rows as sparse ones, and which text cells are missing.

        Parameters
        ----------
        numbers : ndarray of shape (rows, numeric columns) or CSR
        ids : ndarray of shape (text columns, rows)
            The cells of each text column, as positions in `values`.
        values : sequence of sequences of str or None
            For each text column its distinct cells, None for a missing one, in order of first
            appearance in all rows so far; for columns in `codings` in these rows.
        """
        rows = rows_of(numbers)
        for j in self._bounds:
            # Values of bounded columns are numbered anew in each batch: the encoder forgets them.
            self._codes[j] = self._codes[j][:0]
        self._learn(ids, values)
        if not self._has_rows:
            self._sort()
        self._has_rows = True
        codes = np.full((rows, len(ids)), _ABSENT, dtype=np.int32)
        missing = np.empty(codes.shape, dtype=np.bool_)
        for j, column in enumerate(ids):
            if j in self._coded:
                are_missing = np.array(
                    [value is None for value in values[j]], dtype=np.bool_
                )
                missing[:, j] = are_missing[column]
            else:
                codes[:, j] = self._codes[j][column]
                missing[:, j] = codes[:, j] == _ABSENT
        parts = [self._in_code(j, ids[j], values[j]) for j in self._coded]
        return side_by_side([_with_codes(numbers, codes), *parts]), missing

    def _in_code(
        self,
        j: int,
        ids: NDArray[np.int32],
        values: Sequence[Cell],
    ) -> CSR:
        """Return the features of the cells of a coded column.

        Raises `CodingError` for an invalid cell.
        """
        coding = self._coded[j]
        cells = [values[i] for i in ids.tolist()] if coding.in_order else values
        try:
            X = coding.encode(cells)
        except CodingError as error:
            raise CodingError(self._names[j], *error.parts) from None
        X = CSR(X.indptr, X.indices + np.int32(self._first[j]), X.data)
        if coding.in_order:
            return X
        features = take_rows(X, ids.astype(np.int64))
        assert isinstance(features, CSR)
        return features

    def _learn(self, ids: NDArray[np.int32], values: Sequence[Sequence[Cell]]) -> None:
        """Number the new values in order of their first row, then of their column."""
        new = []
        for j, codes in enumerate(self._codes):
            if j not in self._coded and len(values[j]) > len(codes):
                unseen = np.flatnonzero(ids[j] >= len(codes))
                ids_seen, first = np.unique(ids[j][unseen], return_index=True)
                first_rows = unseen[first].tolist()
                for row, i in zip(first_rows, ids_seen.tolist(), strict=True):
                    new.append((row, j, i))
                count = len(values[j]) - len(codes)
                more = np.full(count, _ABSENT, dtype=np.int32)
                self._codes[j] = np.concatenate([codes, more])
        for _, j, i in sorted(new):
            value = values[j][i]
            if value is None:
                continue
            if j in self._bounds:
                value = self._admitted(j, value)
            if value in self._declared[j]:
                self._codes[j][i] = self._declared[j][value]
            else:
                self._codes[j][i] = self._number(j, value)

    def _sort(self) -> None:
        """Put the features into the order that a dataset has in the end.

        Most tables have all their values in their first rows, and then nothing need be rewritten.
        """
        bounded = {self._names[j] for j in self._bounds}
        places = sorted_places(
            self.feature_names, self._numeric, self._names, self._fixed, bounded
        )
        if places is None:
            return
        names = self.feature_names.copy()
        for place, name in zip(places.tolist(), names, strict=True):
            self.feature_names[place] = name
        for codes in self._codes:
            is_feature = codes != _ABSENT
            codes[is_feature] = places[codes[is_feature]]
        for declared in self._declared:
            for value, number in declared.items():
                declared[value] = int(places[number])

    def _admitted(self, j: int, value: str) -> str:
        """Return the value of a bounded column that has a feature for `value`, or `OTHER`."""
        numbers = self._declared[j]
        first_values = self._kept[j]
        value = spelled_as_in(value, numbers) or value
        if value not in numbers:
            full = len(first_values) - (OTHER in numbers) >= self._bounds[j]
            if full:
                value = OTHER
            if value not in numbers:
                first_values.append(value)
                numbers[value] = self._number(j, value)
        return value

    def _number(self, j: int, value: str) -> int:
        self._add(self._names[j], value)
        return len(self.feature_names) - 1

    def _add(self, column: str, value: str) -> None:
        self.feature_names.append(f"{column}={value}")


def loop_is_quick() -> bool:
    """Return whether the loop runs without importing numba first."""
    return _NUMBA_IS_HERE in sys.modules or _FILL_ROWS.is_at_hand()


def _with_codes(numbers: Rows, codes: NDArray[np.int32]) -> CSR:
    """Return the nonzero numbers of each row, followed by a 1 for each of its codes."""
    # To import Numba, or only to load the loop, takes longer than some rows take without it.
    most = _VERY_FEW_CELLS if loop_is_quick() else _FEW_CELLS
    if isinstance(numbers, np.ndarray) and numbers.size < most:
        return _dense_with_codes(numbers, codes)
    values = numbers.data if isinstance(numbers, CSR) else numbers
    entries = np.count_nonzero(values) + np.count_nonzero(codes != _ABSENT)
    indptr = np.zeros(len(codes) + 1, dtype=np.int64)
    # One more: the loop writes an entry before it knows whether that stays.
    indices = np.empty(entries + 1, dtype=np.int32)
    data = np.empty(entries + 1)
    if isinstance(numbers, CSR):
        from olscale.data.formats._one_hot_loop import fill_sparse_rows

        fill_sparse_rows(*numbers, codes, _ABSENT, indptr, indices, data)
    else:
        _FILL_ROWS(numbers, codes, _ABSENT, indptr, indices, data)
    return CSR(indptr, indices[:-1], data[:-1])


def _dense_with_codes(numbers: NDArray[np.float64], codes: NDArray[np.int32]) -> CSR:
    """Do what the loop does with NumPy: faster than importing Numba if there are few cells."""
    places = np.arange(numbers.shape[1], dtype=np.int32)
    columns = np.broadcast_to(places, numbers.shape)
    # `_ABSENT` is greater than any code, so that it comes last.
    sorted_codes = np.sort(codes, axis=1)
    indices = np.hstack([columns, sorted_codes])
    values = np.hstack([numbers, np.ones(codes.shape)])
    is_entry = np.hstack([numbers != 0, sorted_codes != _ABSENT])
    indptr = np.zeros(len(codes) + 1, dtype=np.int64)
    is_entry.sum(axis=1).cumsum(out=indptr[1:])
    return CSR(indptr, indices[is_entry], values[is_entry])


def refuse_shared_names(source: str, names: Iterable[str], text: Iterable[str]) -> None:
    """Refuse columns that are called as values of a column in `text` are.

    Raises
    ------
    FormatError
        When one is: a value of ``color`` makes the feature ``color=red``.

    Examples
    --------
    >>> refuse_shared_names("t.csv", ["size", "color=red"], ["color"])
    Traceback (most recent call last):
    ...
    olscale.errors.FormatError: t.csv: column 'color=red' is called as a value of column 'color' ...
    """
    columns = set(text)
    # Names may have many equal signs, columns have few lengths.
    lengths = {len(column) for column in columns}
    for name in names:
        if "=" not in name:
            continue
        for length in lengths:
            if name[length : length + 1] == "=" and name[:length] in columns:
                raise FormatError(
                    source,
                    f"column {name!r} is called as a value of column {name[:length]!r} is; rename "
                    "one of them in the file, or leave one out with --drop",
                )


def side_by_side(parts: Sequence[CSR]) -> CSR:
    """Join several CSR of equally many rows side by side."""
    if len(parts) == 1:
        return parts[0]
    row = np.concatenate(
        [np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr)) for X in parts]
    )
    indices = np.concatenate([X.indices for X in parts])
    order = np.lexsort((indices, row))
    indptr = np.sum([X.indptr for X in parts], axis=0)
    return CSR(indptr, indices[order], np.concatenate([X.data for X in parts])[order])
