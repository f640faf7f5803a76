"""The columns of a table: their names, which are left out, and the treatment of the others.

A file lacks a column if all its rows have one value there: its folder is ``day=mon``. Hive, Spark,
pandas, Dask and DuckDB write tables in such parts. For the table such a column is like any other,
after those of the file: a feature, a label or the source of the segments, encoded or dropped.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.errors import FormatError, UnknownNameError

Target: TypeAlias = NDArray[np.float64] | list[str]
"""Raw labels of consecutive rows: numbers, or text."""

Carried: TypeAlias = NDArray[np.float64] | list[str | None]
"""Cells of consecutive rows: numbers, or text."""

UNLABELLED = -1
"""In place of the position of the target: there is none, all columns are features."""

# The name that pandas gives to a column without one, usually that of its row numbers.
_UNNAMED = "Unnamed: {}"


@dataclass(slots=True)
class TableColumns:
    """The columns of one source.

    Parameters
    ----------
    names : tuple of str
        All columns, in the order of the source.
    label : int
        Position of the target, the first of several, or `UNLABELLED`.
    text : tuple of bool
        Whether each holds text; a text feature becomes one column per value.
    dropped : frozenset of int
        Positions of the columns that are left out.
    segments : int, optional
        Position of the column whose changes begin a segment.
    rises : dict of int to int
        Numeric features that never fell so far -> how often their value rose between consecutive
        rows.
    distinct : set of int
        Numeric features of whole numbers, all different in the first rows.
    rounded : set of int
        Numeric features of whole numbers, some so large that float64 may have rounded them.
    coded : dict of str to str
        Features that are not read by the type of their column -> their codings, as ``--encode``
        takes them.
    kept : dict of str to list of str
        Coded columns with a feature for each of the first values -> these values.
    more : tuple of int
        Positions of the targets after the first.
    decimal : str
        The mark between whole part and fraction of a number.
    constants : tuple of str or None
        Cells of the last columns, which are not in the file: all its rows have one value there.
    carried : tuple of int
        Positions of the columns whose cells go to `TableRows.carried`.
    delimiter : str, optional
        Character between cells of CSV and TSV; None for other formats.
    header : bool, optional
        Whether the first row of CSV and TSV names the columns; None for other formats.
    quoting, escape : str, optional
    missing : tuple of str
        How cells are written, as in `olscale.data.formats.base.ReadOptions`.
    sparse : bool, optional
        Whether its rows list their cells, as those of sparse ARFF do; None if undecided.
    weights : int, optional
        Position of the column of row weights, one of the dropped.
    declared : frozenset of str
        Text columns whose values the source declares, in an order of its own.
    truth_in_text : bool
        Whether a later source may have truth values in a column of text: its reader knows
        them by any of their words.
    """

    names: tuple[str, ...]
    label: int
    text: tuple[bool, ...]
    dropped: frozenset[int] = frozenset()
    segments: int | None = None
    rises: dict[int, int] = field(default_factory=dict)
    distinct: set[int] = field(default_factory=set)
    rounded: set[int] = field(default_factory=set)
    coded: dict[str, str] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    more: tuple[int, ...] = ()
    decimal: str = "."
    constants: tuple[str | None, ...] = ()
    carried: tuple[int, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    quoting: str | None = None
    escape: str | None = None
    missing: tuple[str, ...] = ()
    sparse: bool | None = False
    weights: int | None = None
    declared: frozenset[str] = frozenset()
    truth_in_text: bool = False

    @property
    def width(self) -> int:
        """How many of the columns are in the file."""
        return len(self.names) - len(self.constants)

    def in_file(self, positions: Sequence[int]) -> list[tuple[int, int]]:
        """Return index and value of those of `positions` that are columns of the file."""
        return [
            (place, position)
            for place, position in enumerate(positions)
            if position < self.width
        ]

    @property
    def labels(self) -> tuple[int, ...]:
        """Positions of all targets."""
        if self.label == UNLABELLED:
            return ()
        return (self.label, *self.more)

    @property
    def features(self) -> list[int]:
        """Positions of the features."""
        labels = self.labels
        return [
            i
            for i in range(len(self.names))
            if i not in labels and i not in self.dropped
        ]

    @property
    def has_categories(self) -> bool:
        """Whether some feature holds text."""
        return any(self.text[i] for i in self.features)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Facts about consecutive rows of a table, in addition to their features and targets.

    Parameters
    ----------
    columns : TableColumns
    missing : ndarray of shape (rows, columns of the source), bool, or CSR, optional
        Which cells have no value: a mask or, for sparse rows, the positions of these cells; None if
        there are none.
    segments : ndarray or list of str, optional
        Cells of the column that makes the segments.
    carried : dict of str to (ndarray or list of str or None)
        Cells of the columns that are carried along, by name; None where a cell has no value.
    """

    columns: TableColumns
    missing: NDArray[np.bool_] | CSR | None = None
    segments: Target | None = None
    carried: dict[str, Carried] = field(default_factory=dict)

    def slice(self, first: int, last: int) -> TableRows:
        """Return the facts about some of the rows."""
        return replace(
            self,
            missing=_part(self.missing, first, last),
            segments=None if self.segments is None else self.segments[first:last],
            carried={name: cells[first:last] for name, cells in self.carried.items()},
        )


def _part(
    missing: NDArray[np.bool_] | CSR | None,
    first: int,
    last: int,
) -> NDArray[np.bool_] | CSR | None:
    if isinstance(missing, CSR):
        return CSR(missing.indptr[first : last + 1], missing.indices, missing.data)
    if missing is None:
        return None
    return missing[first:last]


def unique_names(cells: Iterable[str]) -> list[str]:
    """Return unique names of columns: a nameless one is ``Unnamed: N``, a second ``a`` is ``a.1``.

    Examples
    --------
    >>> unique_names(["", "a", " b ", "a"])
    ['Unnamed: 0', 'a', 'b', 'a.1']
    """
    names = [cell.strip() or _UNNAMED.format(i) for i, cell in enumerate(cells)]
    originals = set(names)
    used = set[str]()
    count = dict[str, int]()
    for i, name in enumerate(names):
        while names[i] in used:
            count[name] = count.get(name, 0) + 1
            numbered = f"{name}.{count[name]}"
            # Of a, a and a.1 the second must not take the name of the third.
            names[i] = numbered if numbered not in originals else name
        used.add(names[i])
    return names


def label_positions(
    source: str,
    names: Sequence[str],
    label: str | int | None,
    dropped: frozenset[int] = frozenset(),
    width: int | None = None,
    before: TableColumns | None = None,
) -> tuple[int, ...]:
    """Return the positions of the targets among the columns `names`; usually there is one.

    Parameters
    ----------
    source : str
        Named in errors.
    names : sequence of str
        Column names.
    label : str or int, optional
        Name or position; text that is no name may be a position, or several names separated by
        commas. When left out, the last column that is not dropped.
    dropped : frozenset of int
        Columns that are left out.
    width : int, optional
        How many of the columns are in the file, if not all: negative positions count from there.
    before : TableColumns, optional
        Columns of the previous source: its label is used if `label` is left out and a column has
        its name.

    Raises
    ------
    UnknownNameError
        When there is no column of that name.
    FormatError
        When there is no column at that position, it is dropped, or one is named twice.

    Examples
    --------
    >>> label_positions("t.csv", ["age", "class", "3"], "class")
    (1,)
    >>> label_positions("t.csv", ["age", "class", "sex"], "-3")
    (0,)
    >>> label_positions("t.csv", ["age", "a,b", "x", "y"], "y,x")
    (3, 2)
    """
    if label is None and before is not None and before.labels:
        label_names = [before.names[position] for position in before.labels]
        if all(name in names for name in label_names):
            return tuple(list(names).index(name) for name in label_names)
    if label is None:
        remaining = [
            i for i in range(len(names) if width is None else width) if i not in dropped
        ]
        if not remaining:
            problem = "all columns are dropped, none is left for the label"
            if not dropped:
                problem = "no columns; every row needs features and a label"
            raise FormatError(source, problem)
        return (remaining[-1],)
    words: list[str | int] = [label]
    # A name may have a comma itself, and then is one label.
    if isinstance(label, str) and label not in names and "," in label:
        words = [
            name.strip()
            for name in next(csv.reader([label], skipinitialspace=True), [])
        ]
    kind = f"label column of {source}"
    purpose = "for the label, the rows have"
    positions = tuple(
        _position(source, names, word, kind, purpose, width) for word in words
    )
    for position in positions:
        if position in dropped:
            raise FormatError(
                source,
                f"column {names[position]!r} is the label and is to be dropped; choose one of them",
            )
        if positions.count(position) > 1:
            raise FormatError(
                source,
                f"column {names[position]!r} is named twice as a label; name each once",
            )
    return positions


def columns_named(
    source: str,
    names: Sequence[str],
    words: Iterable[str],
    width: int | None = None,
) -> frozenset[int]:
    """Return the positions of the columns to drop that `words` name; see `column_positions`."""
    return frozenset(column_positions(source, names, words, "to drop", width))


def words_in(word: str, names: Collection[str]) -> list[str]:
    """Return the columns that a word names, several of them separated by commas.

    A name that has a comma counts as it stands.

    Examples
    --------
    >>> words_in("a,b", ["a,b", "c"]), words_in("a, b", ["a", "b"])
    (['a,b'], ['a', 'b'])
    """
    if word in names:
        return [word]
    parts = next(csv.reader([word], skipinitialspace=True), [])
    return [part if part in names else part.strip() for part in parts]


def column_positions(
    source: str,
    names: Sequence[str],
    words: Iterable[str],
    purpose: str,
    width: int | None = None,
) -> tuple[int, ...]:
    """Return the positions of the columns that `words` name.

    Each word is a name, a position, or several separated by commas. Negative positions count from
    the end of the columns in the file, `width` if that is not all. Errors mention the `purpose`.

    Raises
    ------
    UnknownNameError
        When there is no column of a name.
    FormatError
        When there is no column at a position.

    Examples
    --------
    >>> column_positions("t.csv", ["id", "a,b", "day"], ["a,b", "id, -1"], "to drop")
    (1, 0, 2)
    """
    positions: list[int] = []
    kind = f"column of {source}"
    for word in words:
        positions += [
            _position(source, names, name, kind, f"{purpose}, there are", width)
            for name in words_in(word, names)
        ]
    return tuple(dict.fromkeys(positions))


def columns_there(names: Sequence[str], chosen: Iterable[str]) -> tuple[int, ...]:
    """Return the positions of those columns of the names `chosen` that exist.

    Examples
    --------
    >>> columns_there(["id", "a", "day"], ["day", "name", "id"])
    (2, 0)
    """
    places = {name: position for position, name in enumerate(names)}
    return tuple(dict.fromkeys(places[name] for name in chosen if name in places))


def listed_columns(names: Iterable[str]) -> str:
    """Return `names` as ``--drop`` takes them in a shell.

    Examples
    --------
    >>> print(listed_columns(["id", "a,b", "day"]), listed_columns(["id"]))
    'id,"a,b",day' id
    """
    words = [f'"{name}"' if "," in name else name for name in names]
    if len(words) == 1 and re.fullmatch(r"[\w.:/@%+-]+", words[0]):
        return words[0]
    return "'" + ",".join(words).replace("'", "'\\''") + "'"


def segment_position(
    source: str, names: Sequence[str], column: str | None
) -> int | None:
    """Return the position of the column whose changes begin a segment.

    Raises
    ------
    UnknownNameError
        When there is no column of that name.
    """
    if column is None:
        return None
    if column not in names:
        raise UnknownNameError("segment column", column, names)
    return list(names).index(column)


def text_columns(
    names: Sequence[str],
    text: Sequence[bool],
    labels: Sequence[int],
    before: TableColumns | None,
) -> tuple[bool, ...]:
    """Return which columns hold text: as in the source `before`, else as the first rows show."""
    if before is None:
        return tuple(text)
    was_text = dict(zip(before.names, before.text, strict=True))
    # Where labels are combined, an error reports a label that was a number and is text here.
    return tuple(
        was_text.get(name, is_text) or (position in labels and is_text)
        for position, (name, is_text) in enumerate(zip(names, text, strict=True))
    )


def value_of(feature: str, categorical: Container[str]) -> tuple[str, str]:
    """Return the column and the value that the feature ``COLUMN=VALUE`` stands for.

    Examples
    --------
    >>> value_of("a=b=c", {"a=b": 3})
    ('a=b', 'c')
    """
    end = feature.index("=")
    while feature[:end] not in categorical:
        end = feature.index("=", end + 1)
    return feature[:end], feature[end + 1 :]


def _position(
    source: str,
    names: Sequence[str],
    name: str | int,
    kind: str,
    purpose: str,
    width: int | None,
) -> int:
    if isinstance(name, str) and name in names:
        return list(names).index(name)
    try:
        position = int(name)
    except ValueError:
        raise UnknownNameError(kind, str(name), names) from None
    end = len(names) if width is None else width
    if not -end <= position < len(names):
        raise FormatError(
            source, f"there is no column {position} {purpose} {len(names)} cells"
        )
    if position >= 0:
        return position
    return position + end


@dataclass(frozen=True, slots=True)
class Constant:
    """A column of one value.

    Parameters
    ----------
    name : str
    value : str or None
        The cell of every row; None where it holds no value.
    text : bool
        Whether the column holds text, here or in another part of the table.
    """

    name: str
    value: str | None
    text: bool


def constants_lacking(
    constants: Iterable[Constant],
    names: Collection[str],
    encoded: Collection[str],
    before: TableColumns | None,
) -> tuple[Constant, ...]:
    """Return those of `constants` that a file with the columns `names` lacks.

    Each is text if the previous source `before` decided so or, if there is none, if it is or is
    `encoded` as text.

    Examples
    --------
    >>> day, hour = Constant("day", "mon", True), Constant("hour", "7", False)
    >>> constants_lacking([day, hour], ["x", "day"], ["hour"], None)
    (Constant(name='hour', value='7', text=True),)
    """
    was_text = (
        {} if before is None else dict(zip(before.names, before.text, strict=True))
    )
    return tuple(
        replace(
            constant,
            text=was_text.get(constant.name, constant.text or constant.name in encoded),
        )
        for constant in constants
        if constant.name not in names
    )
