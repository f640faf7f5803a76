"""How the cells of CSV and TSV are written: quotes, backslashes, and words for "no value".

A quoted cell ends only at the next quote, so one quote may swallow rows; `QuoteWatch` notes it.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from olscale.data.formats.cells import is_number
from olscale.data.formats.lines import MAX_CELLS
from olscale.errors import ParameterError

WHITESPACE = " "

_ESCAPED = re.compile(r"\\(\r\n|[\s\S])")
_MEANT = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
# Added to an ASCII character after a backslash, so that it ends no cell and is no quote.
# The result is half of a UTF-16 pair, which no UTF-8 text contains.
_SHIFT = 0xDC00
_NO_VALUE = chr(_SHIFT + 0x100)
_PLAIN = {_SHIFT + code: chr(code) for code in range(128)} | {ord(_NO_VALUE): "N"}


def missing_words(texts: Iterable[str]) -> tuple[str, ...]:
    r"""Return the words that mean "no value", as users write them.

    Each text holds a word, or several separated by commas.

    Raises
    ------
    ParameterError
        When a text holds no word.

    Examples
    --------
    >>> missing_words([r"\N,#N/A", "-"])
    ('\\N', '#N/A', '-')
    """
    words: dict[str, None] = {}
    for text in texts:
        cells = [
            cell.strip() for cell in next(csv.reader([text], skipinitialspace=True), [])
        ]
        if not any(cells):
            raise ParameterError(
                f"missing was {text!r}, expected words with commas between, such as '-,#N/A'"
            )
        words.update(dict.fromkeys(filter(None, cells)))
    return tuple(words)


def check_quoting(quoting: str | None, escape: str | None) -> None:
    """Refuse unknown ways to write cells.

    Raises
    ------
    ParameterError
        When `quoting` is neither None nor ``"none"``, or `escape` neither None nor ``"backslash"``.
    """
    for option, value, choice in (
        ("quoting", quoting, "none"),
        ("escape", escape, "backslash"),
    ):
        if value not in (None, choice):
            raise ParameterError(
                f"{option} is {value!r}, expected {choice!r} or nothing"
            )


@dataclass(frozen=True)
class CellForm:
    r"""How cells are written.

    Parameters
    ----------
    quote : str, optional
        Character that may stand around a cell, which may then contain anything (the quote itself
        doubled); None if quotes are ordinary characters.
    escaped : bool
        Whether a backslash removes the meaning of the next character: a delimiter, a quote, an end
        of line, or a backslash. A cell ``\N`` has no value, and letters mean what they mean in
        MySQL: ``\n`` is an end of line.
    words : tuple of str
        Cells that have no value, in addition to those that never have one.
    mark : str
        The decimal mark of words that are numbers: any cell equal to one of them has no value.

    Examples
    --------
    >>> form = CellForm(escaped=True, words=("-", "-999"))
    >>> [form.plain(row) for row in form.split([r'"5\" disk",a\,b,\N'], ",")]
    [['5" disk', 'a,b', '']]
    >>> form.cleared(["-", "-999.0", "--"])
    ['', '', '--']
    """

    quote: str | None = '"'
    escaped: bool = False
    words: tuple[str, ...] = ()
    mark: str = "."

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The values of words that are numbers."""
        return tuple(
            self._value(word) for word in self.words if is_number(word, self.mark)
        )

    def whole_lines(self, lines: Iterable[str]) -> list[str]:
        """Return `lines` without their ends, for `split`; a final backslash joins the next line."""
        if not self.escaped:
            return list(lines)
        return list(_protected_lines(f"{line}\n" for line in lines))

    def split(
        self,
        lines: Iterable[str],
        delimiter: str,
        *,
        strict: bool = False,
    ) -> Iterator[list[str]]:
        """Yield the cells of rows, for `plain`; a quoted cell may continue in the next of `lines`.

        Raises
        ------
        csv.Error
            When `strict`, and a quote is not closed or closes before the end of a cell.
        """
        if self.escaped:
            lines = _protected_lines(iter(lines))
        if delimiter == WHITESPACE:
            # Bounded, since a cell takes much more memory than its text.
            return (line.split(maxsplit=MAX_CELLS) for line in lines)
        if self.quote is None:
            return csv.reader(
                lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=strict
            )
        return csv.reader(
            lines, delimiter=delimiter, quotechar=self.quote, strict=strict
        )

    def plain(self, cells: list[str]) -> list[str]:
        """Return the meaning of cells from `split`."""
        if self.escaped:
            return [_plain(cell) for cell in cells]
        return cells

    def cell(self, position: int, raw: str) -> str:
        """Return the cell that is written as `raw`; empty if it has no value."""
        del position
        if self.escaped:
            raw = _protected(raw)
        if self.quote and raw.startswith(self.quote):
            raw = raw[1:-1].replace(2 * self.quote, self.quote)
        if self.escaped:
            raw = _plain(raw)
        if self._is_word(raw):
            return ""
        return raw

    def cleared(self, cells: list[str]) -> list[str]:
        """Return `cells`, with those in `words`, or equal to a number in `words`, made empty."""
        if not self.words:
            return cells
        return ["" if self._is_word(cell) else cell for cell in cells]

    def _is_word(self, cell: str) -> bool:
        if not self.words:
            return False
        word = cell.strip()
        if word in self.words:
            return True
        return (
            bool(self.numbers)
            and is_number(word, self.mark)
            and self._value(word) in self.numbers
        )

    def _value(self, word: str) -> float:
        return float(word.replace(self.mark, "."))


def _protected(text: str) -> str:
    if "\\" in text:
        return _ESCAPED.sub(_without_meaning, text)
    return text


def _without_meaning(escaped: re.Match[str]) -> str:
    if escaped[1] == "N":
        return _NO_VALUE
    meant = _MEANT.get(escaped[1], escaped[1])
    return "".join(
        chr(_SHIFT + ord(char)) if char.isascii() else char for char in meant
    )


def _protected_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield `lines` with protected escaped characters; an escaped end joins the next line."""
    ends = chr(_SHIFT + ord("\n")), chr(_SHIFT + ord("\r"))
    for line in lines:
        text = _protected(line)
        while text.endswith(ends):
            more = next(lines, None)
            # The last line may end in a backslash.
            if more is None:
                break
            text += _protected(more)
        yield text


def _plain(cell: str) -> str:
    if cell.strip() == _NO_VALUE:
        return ""
    return cell.translate(_PLAIN)


CURE = "--quoting none if quotes are part of the text"
_SINGLE = re.compile(r"\s*'.*'\s*", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_TAB = "\t"


def single_quote_notes(
    source: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> tuple[str, ...]:
    """Return notes about the first column whose cells all stand between single quotes, if any.

    Examples
    --------
    >>> [note] = single_quote_notes("t.csv", ["x", "y"], [["1", "'a'"], ["2", "'b'"]])
    >>> note[: note.index(",")]
    "t.csv: the cells of column 'y' stand between single quotes"
    """
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        if all(map(_SINGLE.fullmatch, cells)):
            problem = f"the cells of column {name!r} stand between single quotes"
            cure = "which are part of them; write double ones if not"
            return (f"{source}: {problem}, {cure}",)
    return ()


_LOOKED_AT = 20
_LOOSE = re.compile(r'\s+"')


def loose_quote_notes(
    source: str, delimiter: str, rows: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """Return a note if quotes in the first of `rows` are part of cells that they seem to enclose.

    Examples
    --------
    >>> [note] = loose_quote_notes("t.csv", ",", [["1", ' "a"']])
    >>> print(note.partition("; ")[-1])
    take it out: sed 's/, *"/,"/g' FILE > NEW
    >>> loose_quote_notes("t.txt", " ", [["x", "y"], ["1", "2"]])
    ()
    """
    first = [cell for row in rows[:_LOOKED_AT] for cell in row]
    if delimiter == WHITESPACE and any(cell.startswith('"') for cell in first):
        problem = (
            "quotes are part of cells where white space is between them; write commas"
        )
        return (f"{source}: {problem}: write.csv in R, to_csv of pandas",)
    if delimiter != WHITESPACE and any(map(_LOOSE.match, first)):
        problem = "a blank before a quote makes it part of the cell"
        cure = f"sed 's/{delimiter} *\"/{delimiter}\"/g' FILE > NEW"
        return (f"{source}: {problem}; take it out: {cure}",)
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
                f"the quote that opens a cell in line {first} closes in line {last}; "
                f"{CURE}"
            )
            self._notes.append(f"{self._source}: {self.span_note}")

    def add_tab(self, line: int) -> None:
        """Note a cell that holds a tab, in `line`."""
        if self.wants_tabs:
            self.wants_tabs = False
            self._notes.append(
                f"{self._source}, line {line}: a cell in quotes holds a tab; {CURE}"
            )

    def take_notes(self) -> tuple[str, ...]:
        """Return the notes that were not returned before."""
        notes = tuple(self._notes)
        self._notes.clear()
        return notes
