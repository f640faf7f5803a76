"""The character between the cells of a table: named by users, or detected from the first lines."""

import re
from collections.abc import Sequence

from olscale.data.formats._guess import fits_number, has_decimal_commas
from olscale.data.formats.cell_form import WHITESPACE, CellForm
from olscale.data.formats.cells import is_missing
from olscale.errors import ParameterError

NO_DELIMITER = "\x1f"
"""In place of the delimiter of a table of one column: it occurs in no text."""
NAMES = {"tab": "\t", "\\t": "\t", "space": WHITESPACE}
_DELIMITERS = ",\t;|"
_GROUPED = re.compile(r"\s*[-+]?\d{1,3}([ .'\u00a0\u202f]\d{3})+,\d+\s*")
"""A number with a decimal comma and separated thousands."""
_EXCEL = re.compile(rb'\A(?:\xef\xbb\xbf)?"?sep=([,;|\t])"?(?:\r?\n|\Z)')
_NONE = re.compile(r'[\w.+"\0\r\n-]')
"""Characters that cannot end a cell: those of names and numbers, quotes and ends of lines."""


def delimiter_called(word: str) -> str:
    r"""Return the delimiter that a user names: one character, ``tab``, ``\t`` or ``space``.

    A space stands for any white space.

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
    """Refuse characters that cannot separate cells.

    Raises
    ------
    ParameterError
        When `delimiter` is not one character of ASCII that is neither letter nor digit nor part of
        a number.
    """
    # Parsers compare bytes, and a character beyond ASCII has several.
    if len(delimiter) != 1 or not delimiter.isascii() or _NONE.match(delimiter):
        raise ParameterError(
            f"delimiter is {delimiter!r}, expected one character such as ';' that is no part of "
            "words or numbers, 'tab' "
            "or 'space'"
        )


def excel_delimiter(head: bytes) -> str | None:
    """Return the delimiter of a first line such as ``sep=;``, which Excel understands, or None."""
    match = _EXCEL.match(head)
    return None if match is None else match[1].decode()


def text_lines(head: bytes) -> list[str]:
    """Return the first complete lines of `head`, or none when it is no text."""
    if b"\0" in head:
        return []
    head = _EXCEL.sub(b"", head, count=1)
    lines = head.decode("utf-8-sig", "replace").splitlines()
    complete = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
    return [line for line in complete if line.strip()][:20]


_FORM = CellForm()


def delimiter_of(lines: Sequence[str], form: CellForm = _FORM) -> str | None:
    """Return the delimiter that splits `lines`, with cells in `form`, evenly, or None.

    Of several it is the one between which numbers stand most often, then the one that leaves fewest
    others in cells of text, then the one that makes most columns, then the first of comma, tab,
    semicolon and bar. White space is the delimiter if none of them fits, or if only white space
    makes all cells numbers: ``1,5 2,5``.
    """
    if not lines:
        return None
    fitting = _fitting(lines, form)
    # If none fits, one of the first rows is ragged: the reader will name it.
    return next(
        iter(fitting), next((delimiter for delimiter in _DELIMITERS if delimiter in lines[0]), None)
    )


def delimiter_notes(lines: Sequence[str], form: CellForm = _FORM) -> tuple[str, ...]:
    r"""Return notes about the delimiter of `lines`; none if no other delimiter fits.

    Examples
    --------
    >>> delimiter_notes(["1|2,a", "3|4,b"])
    ("cells are taken to end at '|'; --delimiter if they end at ','",)
    """
    called = [_called(delimiter) for delimiter in (_fitting(lines, form) if lines else ())]
    if len(called) < 2:
        return ()
    return (
        f"cells are taken to end at {called[0]}; --delimiter if they end at "
        f"{' or '.join(called[1:])}",
    )


def _called(delimiter: str) -> str:
    return next(
        (name for name, character in NAMES.items() if character == delimiter), repr(delimiter)
    )


def _fitting(lines: Sequence[str], form: CellForm) -> dict[str, list[list[str]]]:
    """Return the delimiters that split `lines` evenly, and their cells, the best first."""
    splits = {delimiter: _split(lines, delimiter, form) for delimiter in _DELIMITERS}
    fitting = {delimiter: rows for delimiter, rows in splits.items() if _widths(rows)}
    split_rows = _split(lines, WHITESPACE, form)
    if _widths(split_rows) and (
        not fitting or _share(split_rows[1:] or split_rows, WHITESPACE) == 1
    ):
        fitting[WHITESPACE] = split_rows
    if len(fitting) == 1:
        return fitting
    best = sorted(
        fitting, key=lambda delimiter: _fitness(fitting[delimiter], delimiter), reverse=True
    )
    return {delimiter: fitting[delimiter] for delimiter in best}


def _fitness(rows: Sequence[Sequence[str]], delimiter: str) -> tuple[float, int, int]:
    text = [cell for row in rows for cell in row if not _is_value(cell, delimiter)]
    with_delimiters = sum(any(mark in cell for mark in _DELIMITERS) for cell in text)
    return _share(rows, delimiter), -with_delimiters, len(rows[0])


def _share(rows: Sequence[Sequence[str]], delimiter: str) -> float:
    """Return the share of numbers among the cells of `rows` that are not missing."""
    cells = [cell for row in rows for cell in row if not is_missing(cell)]
    return sum(_is_value(cell, delimiter) for cell in cells) / max(1, len(cells))


def _is_value(cell: str, delimiter: str) -> bool:
    if delimiter == ",":
        return fits_number(cell)
    return has_decimal_commas([cell]) or fits_number(cell) or _GROUPED.fullmatch(cell) is not None


def _split(lines: Sequence[str], delimiter: str, form: CellForm) -> list[list[str]]:
    rows = [next(form.split([line], delimiter)) for line in lines]
    return [form.cleared(form.plain(row)) for row in rows]


def _widths(rows: Sequence[Sequence[str]]) -> bool:
    return len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
