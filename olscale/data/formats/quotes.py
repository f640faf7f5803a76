"""Quotes that may have swallowed rows: a quoted cell ends only at the next quote."""

import re
from collections.abc import Sequence

CURE = "--quoting none if quotes are part of the text"
_SINGLE = re.compile(r"\s*'.*'\s*", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_TAB = "\t"


def single_quote_notes(
    source: str, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """Return notes about the first column whose cells all stand between single quotes, if any.

    Examples
    --------
    >>> single_quote_notes("t.csv", ["x", "y"], [["1", "'a'"], ["2", "'b'"]])
    ("t.csv: the cells of column 'y' stand between single quotes, which are part of them; write double ones if not",)
    """
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        if all(map(_SINGLE.fullmatch, cells)):
            problem = (
                f"the cells of column {name!r} stand between single quotes, which are part of them"
            )
            return (f"{source}: {problem}; write double ones if not",)
    return ()


class QuoteWatch:
    r"""Notes the first quoted cell that spans lines, and the first with a tab if tabs end cells.

    Quotes are meant for cells with commas. A tab is hardly ever quoted, but free text between tabs
    may well begin with a quote.

    Parameters
    ----------
    source : str
        Named in notes.
    delimiter : str

    Attributes
    ----------
    span_note : str or None
        The note about the first cell that spans lines.

    Examples
    --------
    >>> watch = QuoteWatch("t.tsv", "\t")
    >>> watch.add_row(7, ["ham", "so\tlong"])
    >>> watch.take_notes()
    ('t.tsv, line 7: a cell in quotes holds a tab; --quoting none if quotes are part of the text',)
    >>> watch.take_notes()
    ()
    """

    def __init__(self, source: str, delimiter: str) -> None:
        self._source = source
        self.wants_tabs = delimiter == _TAB
        self.span_note: str | None = None
        self._notes: list[str] = []

    def add_row(self, line: int, cells: Sequence[str]) -> None:
        """Look at the cells of a row that begins in `line`."""
        for cell in cells:
            ends = len(_LINE_END.findall(cell))
            if ends:
                self.add_span(line, line + ends)
            elif self.wants_tabs and _TAB in cell:
                self.add_tab(line)
            line += ends

    def add_span(self, first: int, last: int) -> None:
        """Note a cell that begins in line `first` and ends in line `last`."""
        if self.span_note is None:
            self.span_note = (
                f"the quote that opens a cell in line {first} closes in line {last}; {CURE}"
            )
            self._notes.append(f"{self._source}: {self.span_note}")

    def add_tab(self, line: int) -> None:
        """Note a cell that holds a tab, in `line`."""
        if self.wants_tabs:
            self.wants_tabs = False
            self._notes.append(f"{self._source}, line {line}: a cell in quotes holds a tab; {CURE}")

    def take_notes(self) -> tuple[str, ...]:
        """Return the notes that were not returned before."""
        notes = tuple(self._notes)
        self._notes.clear()
        return notes
