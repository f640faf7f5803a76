r"""Text from outside made fit to be shown.

Names, labels and reasons come from files and from other people's code, and may hold anything: an
escape sequence that recolours a terminal, a newline that breaks a table, an override that turns a
name's letters round. To show such a text, code passes it through `printable` first; to write
it to a CSV cell, through `csv_cell`.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from olscale.addresses import redacted

_FORMULA = ("=", "+", "-", "@")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def printable(text: str) -> str:
    r"""Return `text` with all that is no visible character, or plain space, written as its escape.

    These are control and format characters (newlines, ESC, BEL, bidirectional overrides, zero-width
    ones), lone surrogates, and spaces of other widths: what `str.isprintable` refuses. Secrets in
    addresses are hidden.

    Examples
    --------
    >>> print(printable("red\x1b[31m\nname \u202eeman"))
    red\x1b[31m\nname \u202eeman
    >>> printable("digits, Größe, 数字")
    'digits, Größe, 数字'
    """
    return _visible(redacted(text))


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def csv_cell(text: str) -> str:
    """Return a printable text that no spreadsheet takes for a formula; data stays recognizable.

    One that begins like a formula and is no number gets an apostrophe in front, which spreadsheets
    take for "this is text".

    Examples
    --------
    >>> csv_cell("=1+2"), csv_cell("pa1"), csv_cell("-1.5")
    ("'=1+2", 'pa1', '-1.5')
    """
    shown = _visible(text)
    # Spreadsheets pass over blanks in front, and a negative number must stay one.
    is_formula = shown.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(shown)
    if is_formula:
        return f"'{shown}"
    return shown


def csv_cells(values: Iterable[Any]) -> list[Any]:
    """Return the cells of a line of CSV: texts by `csv_cell`, all else as it is."""
    return [csv_cell(value) if isinstance(value, str) else value for value in values]


def width(text: str) -> int:
    r"""Return a printable text's terminal columns: wide characters two, combining ones none.

    Examples
    --------
    >>> width("pa1"), width("数字"), width("e\u0301")
    (3, 4, 1)
    """
    # Combining characters begin at U+0300 and wide ones later; `±` is before both.
    if text.isascii() or max(text) < "\u0300":
        return len(text)
    return sum(
        0
        if unicodedata.combining(char)
        else 1 + (unicodedata.east_asian_width(char) in ("W", "F"))
        for char in text
    )
