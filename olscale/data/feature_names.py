"""Names of the features of a stream, and its rows as dictionaries of named values.

A library that addresses features by name gets rows as its users know them: columns of numbers by
name, and a text column as the word in the cell, not as the features ``COLUMN=VALUE`` that the
dataset stores for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from olscale.compiled.csr import CSR, Rows, entries_of
from olscale.data.transforms.base import Transform

if TYPE_CHECKING:
    from olscale.data.manifest import Manifest, TableEntry

NamedRow = dict[Any, Any]

# rows that are lists of Python's numbers at a time, which take much memory
_ROWS_AT_ONCE = 64
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class FeatureNames:
    """The names of the features of a stream.

    Parameters
    ----------
    names : tuple of str
        The name of each feature, all different; empty if they have none and are known by their
        numbers.
    blank : mapping of str to float or None
        The value of a feature that a row does not store, in the order of the manifest: 0 for a
        column of numbers, None for a text column. Sparse rows of other sources have none.
    words : mapping of int to (str, str)
        Features that stand for a word of a text column: number -> column and word.
    codes : mapping of int to int
        Features that are codes of categories: number -> how many there are, 0 if the stream says.

    Examples
    --------
    >>> sources = {"size": 0.0, "colour": None}
    >>> names = FeatureNames(("size", "colour=red"), sources, {1: ("colour", "red")})
    >>> import numpy as np
    >>> list(names.rows(np.array([[2.5, 1.0], [0.0, 0.0]])))
    [{'size': 2.5, 'colour': 'red'}, {'size': 0.0, 'colour': None}]
    """

    names: tuple[str, ...] = ()
    blank: Mapping[str, float | None] = field(default_factory=lambda: _NOTHING)
    words: Mapping[int, tuple[str, str]] = field(default_factory=lambda: _NOTHING)
    codes: Mapping[int, int] = field(default_factory=lambda: _NOTHING)

    def rows(self, X: Rows) -> Iterator[NamedRow]:
        """Yield each row as a dictionary; a missing number is None."""
        if isinstance(X, CSR):
            return (
                self._row(entries)
                for entries in (zip(*pair, strict=True) for pair in entries_of(X))
            )
        keys = self._keys(X.shape[1])
        # Missing numbers and words need a look at each value.
        if keys is None or np.isnan(X).any():
            return (self._row(enumerate(row.tolist())) for row in X)
        blocks = (
            X[start : start + _ROWS_AT_ONCE]
            for start in range(0, len(X), _ROWS_AT_ONCE)
        )
        return (
            dict(zip(keys, row, strict=True))
            for block in blocks
            for row in block.tolist()
        )

    def _keys(self, columns: int) -> Sequence[Any] | None:
        """Return the keys of dense rows in order; None if they do not follow the features."""
        if not self.names:
            return range(columns)
        # Blank features come first in a row.
        if self.words or tuple(self.blank) != self.names[: len(self.blank)]:
            return None
        return self.names

    def _row(self, entries: Iterable[tuple[int, float]]) -> NamedRow:
        if not self.names:
            return {i: _value(value) for i, value in entries}
        # Few datasets have words, and only they need the loop over single entries.
        if not self.words:
            return {
                **self.blank,
                **{self.names[i]: _value(value) for i, value in entries},
            }
        row: NamedRow = dict(self.blank)
        for i, value in entries:
            if i not in self.words:
                row[self.names[i]] = _value(value)
            # A zero says that another word is in the cell.
            elif value:
                column, word = self.words[i]
                row[column] = word
        return row


NAMELESS = FeatureNames()
"""Features that are known by their numbers."""


def feature_names(manifest: Manifest, steps: Sequence[Transform]) -> FeatureNames:
    """Return the names of the features of a dataset after the transforms `steps`.

    The steps need not be fitted. A text column is a word as long as the transforms leave values
    unchanged; once scaled, its features are numbers.
    """
    if manifest.feature_names is None:
        return NAMELESS
    names = list(manifest.feature_names)
    coded: Mapping[str, int] = {}
    for step in steps:
        coded = step.code_counts(names, coded)
        names = step.feature_names(names)
    codes = {i: coded[name] for i, name in enumerate(names) if name in coded}
    table = manifest.table
    if table is None:
        return FeatureNames(_unlike(names), codes=codes)
    numbers = set(manifest.feature_names[: table.numeric])
    always = {*numbers, *coded, *_parts_of_dates(manifest.feature_names, table)}
    words: dict[int, tuple[str, str]] = {}
    if all(step.keeps_values for step in steps):
        words = _words(names, set(manifest.feature_names) - numbers, table)
    unique_names = _unlike(names)
    blank: dict[str, float | None] = {}
    for i, name in enumerate(unique_names):
        if i in words:
            blank.setdefault(words[i][0], None)
        elif names[i] in always:
            # Sparse rows leave out zeros of numbers, which are values all the same.
            blank[name] = 0.0
    return FeatureNames(unique_names, blank, words, codes)


def _value(value: float) -> float | None:
    if isnan(value):
        return None
    return value


def _words(
    names: Sequence[str], others: set[str], table: TableEntry
) -> dict[int, tuple[str, str]]:
    """Return the features among `others`, by number, that are words of text columns.

    If columns ``a`` and ``a=b`` both match, the longer name counts.
    """
    columns = sorted(
        (name for name in table.categorical if name not in (table.coded or {})),
        key=len,
        reverse=True,
    )
    words = {}
    for i, name in enumerate(names):
        if name not in others:
            continue
        column = next(
            (column for column in columns if name.startswith(f"{column}=")), None
        )
        if column is not None:
            words[i] = (column, name[len(column) + 1 :])
    return words


def _parts_of_dates(names: Iterable[str], table: TableEntry) -> set[str]:
    """Return the features that are parts of dates: an hour of 0 is a value, not a missing one."""
    dates = tuple(
        f"{column}="
        for column, coding in (table.coded or {}).items()
        if coding.startswith("date")
    )
    return {name for name in names if dates and name.startswith(dates)}


def _unlike(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique names: a repeated one gets a number appended."""
    unlike: dict[str, None] = {}
    for name in names:
        free = name
        number = 2
        while free in unlike:
            free = f"{name}_{number}"
            number += 1
        unlike[free] = None
    return tuple(unlike)
