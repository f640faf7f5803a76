"""Guesses about a table that has no types: which cells are numbers, where its label is."""

import re
from collections.abc import Sequence

from olscale.data.formats.cells import is_missing, is_number

MOST_LABELS = 100
"""Largest number of distinct values with which a first column of whole numbers may be the label."""

_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Return whether `cells` are numbers, some of them with a decimal comma.

    Examples
    --------
    >>> has_decimal_commas(["1,5", "2", "?"]), has_decimal_commas(["1", "2"]), has_decimal_commas(["1,5", "x"])
    (True, False, False)
    """
    has_comma = False
    for cell in cells:
        comma = _DECIMAL_COMMA.fullmatch(cell) is not None
        if not comma and not fits_number(cell):
            return False
        has_comma = has_comma or comma
    return has_comma


def fits_number(cell: str) -> bool:
    """Return whether `cell` may stand in a numeric column."""
    return is_number(cell) or is_missing(cell)


def label_is_first(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of numeric `columns`, and no other, looks like labels."""
    are_whole = [
        all(is_number(cell) and float(cell).is_integer() for cell in column) for column in columns
    ]
    values = len(set(columns[0]))
    return (
        are_whole[0]
        and not any(are_whole[1:])
        and values <= MOST_LABELS
        and 2 * values <= len(columns[0])
    )
