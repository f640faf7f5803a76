"""Cells of a table, as text: which have no value, and which are numbers."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from olscale.errors import FormatError

MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))
"""Cells that mean "no value", in lower case."""

_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?")

NO_LABEL = frozenset(("", "?"))
"""Cells that are no label: a class may well be called NA or none."""

Cell: TypeAlias = str | None
"""The content of a text cell; None if it has no value."""

Line: TypeAlias = tuple[int, list[str]]
"""A row of cells with its one-based line."""

Row: TypeAlias = tuple[int, Sequence[Cell]]
"""The same if some cells may have no value."""

Column: TypeAlias = Sequence[Cell] | NDArray[np.float64]
"""The cells of a column: as written, or numbers already."""


class CellRules(Protocol):
    """The rules by which a format marks a cell as missing.

    Attributes
    ----------
    number : str
        What errors say is expected in a column of numbers.
    """

    number: ClassVar[str]

    def feature(self, cell: Cell) -> Cell:
        """Return the word that `cell` holds in a feature of text, or None."""
        ...

    def label(self, cell: Cell) -> Cell:
        """Return the word that `cell` holds as a label, or None."""
        ...

    def is_missing(self, cell: Cell) -> bool:
        """Return whether `cell` in a column of numbers has no value."""
        ...


class UntypedCells(CellRules):
    """Cells of a format without types, such as CSV: stripped, with words for missing values.

    Examples
    --------
    >>> rules = UntypedCells()
    >>> rules.feature(" red "), rules.feature("NA"), rules.label("NA"), rules.label("?")
    ('red', None, 'NA', None)
    """

    number = "a number as in the first rows"

    def feature(self, cell: Cell) -> Cell:
        if cell is None or is_missing(cell):
            return None
        return cell.strip()

    def label(self, cell: Cell) -> Cell:
        word = ""
        if cell is not None:
            word = cell.strip()
        if word in NO_LABEL:
            return None
        return word

    def is_missing(self, cell: Cell) -> bool:
        return cell is None or is_missing(cell)


class TypedCells(CellRules):
    """Cells of a format that marks missing values itself, such as Parquet: any word is a value.

    Examples
    --------
    >>> rules = TypedCells()
    >>> rules.feature(" NA"), rules.label("?"), rules.label(None)
    (' NA', '?', None)
    """

    number = "a number as declared, or ? where there is none"

    def feature(self, cell: Cell) -> Cell:
        return cell

    def label(self, cell: Cell) -> Cell:
        return cell

    def is_missing(self, cell: Cell) -> bool:
        return cell is None


class ParquetCells(TypedCells):
    """Cells of Parquet, of which each file has types of its own."""

    number = (
        "a number as in the sources before it; if those have no value there, name this "
        "one first"
    )


def is_missing(cell: str) -> bool:
    """Return whether `cell` has no value."""
    return cell.strip().lower() in MISSING


def is_number(cell: str, mark: str = ".") -> bool:
    """Return whether `cell` is a number with the decimal mark `mark`, a point or a comma.

    Examples
    --------
    >>> is_number("1.5"), is_number("1,5"), is_number("1,5", ","), is_number("1.500", ",")
    (True, False, True, False)
    """
    if mark != ".":
        if "." in cell:
            return False
        cell = cell.replace(mark, ".")
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 1_000 as a number, which tables do not mean.
    return "_" not in cell


def numbers_of(cells: Sequence[Cell], mark: str = ".") -> NDArray[np.float64] | None:
    """Return `cells` as numbers with the decimal mark `mark`, or None if any is not a number."""
    if None in cells:
        return None
    words = cast(Sequence[str], cells)
    if mark != ".":
        # One search over all cells is faster than one a cell, and few columns have such cells.
        if "." in "".join(words):
            return None
        words = [word.replace(mark, ".") for word in words]
    if "_" in "".join(words):
        return None
    try:
        return np.array(words, dtype=np.float64)
    except ValueError:
        return None


def point_cure(cell: str) -> str | None:
    """Return what a point in `cell` looks like, and the cure; None for cells without that problem.

    For columns of numbers with a decimal comma.

    Examples
    --------
    >>> point_cure("31.310")
    'a point looks like one between thousands: write the number without it'
    >>> point_cure("1.5"), point_cure("1,5"), point_cure("a.b")
    ('a point is no decimal mark: write a comma', None, None)
    """
    if "." not in cell or not is_number(cell.replace(".", ""), ","):
        return None
    if _THOUSANDS.fullmatch(cell.strip()):
        return "a point looks like one between thousands: write the number without it"
    return "a point is no decimal mark: write a comma"


def checked_rows(
    source: str,
    rows: Iterator[Line],
    width: int | None = None,
    least: int = 2,
) -> Iterator[Line]:
    """Yield `rows` as long as they have `width` cells, or as many as the first.

    Raises
    ------
    FormatError
        Names the line of a row with another number of cells, or with fewer than `least`.
    """
    as_what = "as in the first row"
    if width:
        as_what = "as declared"
    for line, row in rows:
        width = width or len(row)
        if len(row) != width:
            raise FormatError(
                source,
                f"the row has {len(row)} cells, expected {width} {as_what}",
                line,
            )
        if width < least:
            raise FormatError(
                source, "the row has one cell, expected features and a label", line
            )
        yield line, row
