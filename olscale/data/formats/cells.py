"""Cells of a table, as text: which mean that there is no value, and which are numbers."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.errors import FormatError

MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))
"""Cells that mean "no value", in lower case."""

Line: TypeAlias = tuple[int, list[str]]
"""A row of cells with its one-based line."""


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


def numbers_of(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """Return `cells` as numbers, or None where one is none."""
    if "_" in "".join(cells):
        return None
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return None


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
