"""What stands between the cells of a table: as users name it, and as its first lines show it."""

import csv
import re
from collections.abc import Sequence

from olscale.data.formats._guess import fits_number, has_decimal_commas
from olscale.errors import ParameterError

WHITESPACE = " "
NAMES = {"tab": "\t", "\\t": "\t", "space": WHITESPACE}
_DELIMITERS = ",\t;|"
_NONE = re.compile(r'[\w.+"\0\r\n-]')
"""Characters that end no cell: those of names and numbers, quotes and ends of lines."""


def delimiter_called(word: str) -> str:
    r"""Return the delimiter that a user has named: one character, ``tab``, ``\t`` or ``space`` (any white space).

    Raises
    ------
    ParameterError
        When it is no delimiter.

    Examples
    --------
    >>> delimiter_called("tab"), delimiter_called(";")
    ('\t', ';')
    """
    delimiter = NAMES.get(word, word)
    check_delimiter(delimiter)
    return delimiter


def check_delimiter(delimiter: str) -> None:
    """Refuse what cannot stand between cells.

    Raises
    ------
    ParameterError
        When `delimiter` is not one character of ASCII that is neither letter nor digit nor part of a number.
    """
    # Parsers compare bytes, and a character beyond ASCII has several.
    if len(delimiter) != 1 or not delimiter.isascii() or _NONE.match(delimiter):
        raise ParameterError(
            f"delimiter is {delimiter!r}, expected one character such as ';' that is no part of words or numbers, 'tab' "
            "or 'space'"
        )


def text_lines(head: bytes) -> list[str]:
    """Return the first whole lines of `head`, or none when it is no text."""
    if b"\0" in head:
        return []
    lines = head.decode("utf-8-sig", "replace").splitlines()
    whole = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
    return [line for line in whole if line.strip()][:20]


def delimiter_of(lines: Sequence[str]) -> str | None:
    """Return what splits `lines` into equally many cells, or None."""
    if not lines:
        return None
    for delimiter in _DELIMITERS:
        if _widths(_split(lines, delimiter)):
            return _beside_decimal_commas(lines) or delimiter if delimiter == "," else delimiter
    if _widths([line.split() for line in lines]):
        return WHITESPACE
    # A ragged row among the first: the reader will name it.
    return next((delimiter for delimiter in _DELIMITERS if delimiter in lines[0]), None)


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    return [next(csv.reader([line], delimiter=delimiter)) for line in lines]


def _widths(rows: Sequence[Sequence[str]]) -> bool:
    return len({len(row) for row in rows}) == 1 and len(rows[0]) > 1


def _beside_decimal_commas(lines: Sequence[str]) -> str | None:
    """Return the delimiter of lines such as ``1,5;2,5``, all numbers with a comma for a point."""
    for delimiter in "\t;":
        rows = _split(lines, delimiter)
        if _widths(rows) and all(has_decimal_commas(row) or all(map(fits_number, row)) for row in rows):
            return delimiter
    return None
