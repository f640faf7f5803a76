"""Cells of a table, as text: which mean that there is no value, and which are numbers."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.errors import FormatError

MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))
"""Cells that mean "no value", in lower case."""

_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?")

Line: TypeAlias = tuple[int, list[str]]
"""A row of cells with its one-based line."""


def is_missing(cell: str) -> bool:
    """Return whether `cell` means that there is no value."""
    return cell.strip().lower() in MISSING


def is_number(cell: str, mark: str = ".") -> bool:
    """Return whether `cell` is a number with the decimal mark `mark`, a point or a comma; no other one counts.

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
    return "_" not in cell


def numbers_of(cells: Sequence[str], mark: str = ".") -> NDArray[np.float64] | None:
    """Return `cells` as numbers with the decimal mark `mark`, or None where one is none."""
    if mark != ".":
        if "." in "".join(cells):
            return None
        cells = [cell.replace(mark, ".") for cell in cells]
    if "_" in "".join(cells):
        return None
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return None


def point_cure(cell: str) -> str | None:
    """Return what a point in `cell` looks like, and the cure, where numbers have a decimal comma; None for any other cell.

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
