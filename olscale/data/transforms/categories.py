"""Columns whose values are names of categories, as transforms that count them see them.

A text column has features of its own, one per value or a hash: each is a category, and so is a row
without any of them. In a column of numbers every value is one. What is counted is kept by *slot*:
first the chosen features, then one slot a column for missing values, then the values of columns of
numbers in the order in which they come.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, trim
from olscale.data.transforms.streaming import Arrays, StreamingTransform

if TYPE_CHECKING:
    from olscale.data.transforms.known_columns import KnownColumns

UNKNOWN = -1
"""The slot of a value that no row has taught."""


class Slots(NamedTuple):
    """The slots of some rows: those of row i are ``slots[ends[i] : ends[i + 1]]``.

    Attributes
    ----------
    ends : ndarray of shape (rows + 1,)
    slots, columns : ndarray of shape (entries,)
        A slot, and the number of the column whose category it is.
    """

    ends: NDArray[np.int64]
    slots: NDArray[np.int64]
    columns: NDArray[np.int64]


class CategoryTransform(StreamingTransform):
    """Base of transforms that count categories; its subclasses have an array for each slot.

    Attributes
    ----------
    names : tuple of str
        Names of the columns, empty if they are not known.
    """

    takes_sparse = True
    keeps_missing = True
    mixes_features = True
    takes_categories = True

    names: tuple[str, ...] = ()
    _column_of: NDArray[np.int64] | None = None
    _by_value: NDArray[np.int64]
    _index: tuple[NDArray[np.float64], dict[tuple[int, float], int]] | None = None

    def bound_to(
        self, known: KnownColumns, chosen: NDArray[np.int64]
    ) -> CategoryTransform:
        # The step of an experiment is bound to several datasets.
        step = copy(self)
        numeric = known.groups.get("numeric", frozenset())
        text = {
            feature: column
            for column, features in known.text.items()
            for feature in features
            # A text column that is encoded as numbers, as a date, has features without
            # categories.
            if feature not in numeric
        }
        number_of: dict[str, int] = {}
        by_value: dict[str, bool] = {}
        column_of = []
        for place in chosen.tolist():
            name = known.names[place]
            column = text.get(name, name)
            by_value.setdefault(column, name not in text)
            column_of.append(number_of.setdefault(column, len(number_of)))
        step.names = tuple(number_of)
        step._column_of = np.array(column_of, dtype=np.int64)
        step._by_value = np.array(list(by_value.values()), dtype=np.int64)
        return step

    def columns_of(self, features: int) -> int:
        """Return how many columns these features belong to."""
        if self._column_of is None:
            return features
        return len(self._by_value)

    def column_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the columns; those of `names`, the features, where none are known."""
        if self.names:
            return list(self.names)
        if self._column_of is None:
            return list(names)
        return [f"column{number}" for number in range(len(self._by_value))]

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        width = self.width(columns)
        return width, width

    def begin(self, columns: int) -> None:
        if self._column_of is None:
            # Not bound, as in a pipeline that is used by itself: each feature is a
            # column of numbers.
            self._column_of = np.arange(columns)
            self._by_value = np.ones(columns, dtype=np.int64)
        self._index = None
        self.learned = {
            "column": self._column_of.copy(),
            "by_value": self._by_value.copy(),
            "values": np.zeros(0),
            "owners": np.zeros(0, dtype=np.int64),
            **self.empty_arrays(len(self._column_of) + len(self._by_value)),
        }

    @abstractmethod
    def empty_arrays(self, slots: int) -> Arrays:
        """Return the arrays of a subclass before the first row."""

    @abstractmethod
    def grow(self, slots: int) -> None:
        """Give the arrays of a subclass room for more slots."""

    def places_of(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the features of a column of text, or the slots of the values of one of numbers."""
        own_features = np.flatnonzero(self.learned["column"] == number)
        first = len(self.learned["column"]) + len(self.learned["by_value"])
        return own_features, first + np.flatnonzero(self.learned["owners"] == number)

    def slots_of(self, X: Rows, trains: NDArray[np.bool_]) -> Slots:
        """Return the slots of rows; those that train make slots for values that are new."""
        column_of = self.learned["column"]
        by_value = self.learned["by_value"]
        rows = rows_of(X)
        row, feature, value = _entries(X)
        column = column_of[feature]
        is_text = by_value[column] == 0
        has_slot = np.zeros((rows, len(by_value)), dtype=np.bool_)
        # A row without any feature of a text column has a missing value there.
        has_slot[row[is_text], column[is_text]] = True
        numbers = {}
        for number in np.flatnonzero(by_value).tolist():
            # Sparse rows leave zeros out, and 0 is a category as any other.
            cells = np.zeros(rows)
            own = column == number
            cells[row[own]] = value[own]
            numbers[number] = cells
            has_slot[:, number] = ~np.isnan(cells)
        self._admit(numbers, trains)
        missing_row, missing_column = np.nonzero(~has_slot)
        parts = [
            (row[is_text], column[is_text], feature[is_text].astype(np.int64)),
            (missing_row, missing_column, missing_column + len(column_of)),
        ]
        for number, cells in numbers.items():
            [at] = np.nonzero(~np.isnan(cells))
            parts.append(
                (at, np.full(len(at), number), self._places(number, cells[at]))
            )
        all_rows, all_columns, slots = (
            np.concatenate(arrays) for arrays in zip(*parts, strict=True)
        )
        # By row, then by column: loops take the slots of a column of a row in one go.
        order = np.lexsort((slots, all_columns, all_rows))
        counts = np.bincount(all_rows, minlength=rows)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Slots(
            ends, slots[order].astype(np.int64), all_columns[order].astype(np.int64)
        )

    def _known(self) -> dict[tuple[int, float], int]:
        """Return the slot of each value of a column of numbers."""
        values = self.learned["values"]
        # `learned` may be replaced as a whole, by a checkpoint for example: the index
        # is that of these very values.
        if self._index is None or self._index[0] is not values:
            owners = self.learned["owners"].tolist()
            first = len(self.learned["column"]) + len(self.learned["by_value"])
            pairs = zip(owners, values.tolist(), strict=True)
            self._index = (
                values,
                {pair: first + place for place, pair in enumerate(pairs)},
            )
        return self._index[1]

    def _places(self, column: int, cells: NDArray[np.float64]) -> NDArray[np.int64]:
        known = self._known()
        # A dictionary is asked once per value, of which a column of categories has few.
        values, place = np.unique(cells, return_inverse=True)
        slots = [known.get((column, value), UNKNOWN) for value in values.tolist()]
        return np.array(slots, dtype=np.int64)[place.reshape(-1)]

    def _admit(
        self, numbers: Mapping[int, NDArray[np.float64]], trains: NDArray[np.bool_]
    ) -> None:
        """Make slots for new values, in the order of their rows, then of their columns."""
        known = self._known()
        [training] = np.nonzero(trains)
        new = []
        for column, cells in numbers.items():
            values, first = np.unique(cells[training], return_index=True)
            for value, at in zip(values.tolist(), first.tolist(), strict=True):
                # NaN is a missing value, which has a slot of its own.
                if value == value and (column, value) not in known:
                    new.append((at, column, value))
        if not new:
            return
        # In the order of rows, however the stream is cut into chunks.
        new.sort()
        learned = self.learned
        learned["values"] = np.append(learned["values"], [value for _, _, value in new])
        learned["owners"] = np.append(
            learned["owners"], [column for _, column, _ in new]
        )
        slots = (
            len(learned["column"]) + len(learned["by_value"]) + len(learned["values"])
        )
        self.grow(slots)

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        column_of = state.get("column", np.zeros(0))
        by_value = state.get("by_value", np.zeros(0))
        says_columns = len(by_value) > 0 and _are_numbers(
            column_of, columns, len(by_value)
        )
        if not (says_columns and _are_numbers(by_value, len(by_value), 2)):
            raise ValueError(
                f"transform {self.name} does not say which columns it is for"
            )
        self._column_of = np.array(column_of)
        self._by_value = np.array(by_value)
        self.begin(columns)
        # Arrays of a new model say which shapes and types those of the state must have.
        values = state.get("values", np.zeros(0))
        owners = state.get("owners", np.zeros(1))
        if values.dtype != np.float64 or not _are_numbers(
            owners, len(values), len(by_value)
        ):
            raise ValueError(f"transform {self.name} has values of no column")
        self.grow(columns + len(by_value) + len(values))
        self.check(state)
        self.learned = {name: np.array(state[name]) for name in self.learned}
        self._index = None
        # Checked last, on the arrays as they will be used.
        if not self.can_continue():
            raise ValueError(f"transform {self.name} has arrays that no rows lead to")

    def can_continue(self) -> bool:
        rows = self.learned["rows"][0]
        counts = self.learned["counts"]
        finite = all(
            np.isfinite(array).all()
            for array in self.learned.values()
            if array.dtype.kind == "f"
        )
        return bool(finite and rows >= 0 and ((counts >= 0) & (counts <= rows)).all())

    @abstractmethod
    def slot_values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what each slot, and a value without one, becomes after the stream.

        Returns
        -------
        ndarray of shape (slots, features of a column), ndarray of shape (features of a column,)
        """

    def check(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse arrays of a subclass that are not those of these slots."""
        for name, array in self.learned.items():
            if name in _FREE:
                continue
            stored = state.get(name)
            if stored is None or (stored.shape, stored.dtype) != (
                array.shape,
                array.dtype,
            ):
                raise ValueError(
                    f"transform {self.name} has no array {name} as expected"
                )
        if odd := state.keys() - self.learned.keys():
            raise ValueError(
                f"transform {self.name} has arrays {', '.join(sorted(odd))}"
            )


_FREE = ("values", "owners")
"""Arrays whose length depends on the rows."""


def _entries(X: Rows) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64]]:
    """Return row, feature and value of what is not zero."""
    if not isinstance(X, CSR):
        # NaN is not zero, and so is among them.
        row, feature = np.nonzero(X)
        return row, feature, X[row, feature]
    indptr, indices, data = trim(X)
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    nonzero = data != 0.0
    return row[nonzero], indices[nonzero], data[nonzero]


def _are_numbers(array: NDArray[Any], length: int, most: int) -> bool:
    """Return whether an array has so many whole numbers from 0 to below `most`."""
    if array.dtype != np.int64 or array.shape != (length,):
        return False
    return bool(((array >= 0) & (array < most)).all())
