"""Lines of text, none longer than can be held in memory: what a limit says is read before a fault is told, no more."""

from __future__ import annotations

import io

from olscale.errors import FormatError

__all__ = ["MAX_CELLS", "MAX_LINE", "TextLines", "cells_problem", "too_long"]

MAX_LINE = 64 << 20
"""Bytes (in tables: characters) of a line, and of a row of several lines. Ten times the longest row of any data set met."""

MAX_CELLS = 4_000_000
"""Cells of a row of a table: as text in memory each takes twenty times its place in a file."""


def too_long(source: str, line: int) -> FormatError:
    """Return the error of a line beyond the limit."""
    return FormatError(
        source, f"the line is longer than {MAX_LINE >> 20} MiB, the most that is read; is a line break missing?", line
    )


def cells_problem(error: Exception) -> str:
    """Return what is wrong with a line that Python's csv cannot split."""
    if "field limit" in str(error):
        return "a cell is longer than 131,072 characters, the most that is read; is a quote not closed?"
    return f"cannot be split into cells ({error})"


class TextLines:
    """Iterates over the lines of `text`.

    Parameters
    ----------
    source : str
        Named in errors.
    text : io.TextIOWrapper
    delimiter : str, optional
        Between the cells of a row.

    Attributes
    ----------
    number : int
        Lines read so far.
    """

    def __init__(self, source: str, text: io.TextIOWrapper, delimiter: str | None = None) -> None:
        self.number = 0
        self._source, self._read, self._delimiter = source, text.readline, delimiter
        self._row = 0

    def __iter__(self) -> TextLines:
        return self

    def __next__(self) -> str:
        line = self._read(MAX_LINE + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self._row += len(line)
        # A quoted cell goes on in the next line, so a row without an end need not have a long line.
        if self._row > MAX_LINE:
            raise too_long(self._source, self.number)
        if len(line) > MAX_CELLS and self._delimiter and line.count(self._delimiter) >= MAX_CELLS:
            raise FormatError(
                self._source, f"the row has more than {MAX_CELLS:,} cells, the most that are read", self.number
            )
        return line

    def begin_row(self) -> None:
        """Note that the next line begins a row."""
        self._row = 0
