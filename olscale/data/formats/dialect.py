"""How a table of text without types is written: its delimiter, header, numbers and label.

Users say it, or it is guessed from the first lines. A first row is names when it holds text above a
column of numbers; when it is all text, without repetition, and none of its cells recurs in its
column; or when its numbers count 0, 1, 2, ... as those of pandas do.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from olscale.data.formats.cell_form import WHITESPACE, CellForm
from olscale.data.formats.cells import is_missing, is_number
from olscale.errors import ParameterError

MOST_LABELS = 100
"""Largest number of distinct values with which a first column of whole numbers may be the label."""

_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Return whether `cells` are numbers, some of them with a decimal comma.

    Examples
    --------
    >>> [has_decimal_commas(cells) for cells in (["1,5", "2", "?"], ["1", "2"], ["1,5", "x"])]
    [True, False, False]
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
        all(is_number(cell) and float(cell).is_integer() for cell in column)
        for column in columns
    ]
    values = len(set(columns[0]))
    return (
        are_whole[0]
        and not any(are_whole[1:])
        and values <= MOST_LABELS
        and 2 * values <= len(columns[0])
    )


NO_DELIMITER = "\x1f"
"""In place of the delimiter of a table of one column: it occurs in no text."""
NAMES = {"tab": "\t", "\\t": "\t", "space": WHITESPACE}
_DELIMITERS = ",\t;|"
# A number with a decimal comma and separated thousands.
_GROUPED = re.compile(r"\s*[-+]?\d{1,3}([ .'\u00a0\u202f]\d{3})+,\d+\s*")
_EXCEL = re.compile(rb'\A(?:\xef\xbb\xbf)?"?sep=([,;|\t])"?(?:\r?\n|\Z)')
# Characters that cannot end a cell: those of names and numbers, quotes and ends of lines.
_NONE = re.compile(r'[\w.+"\0\r\n-]')


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
    if match is None:
        return None
    return match[1].decode()


def text_lines(head: bytes) -> list[str]:
    """Return the first complete lines of `head`, or none when it is no text."""
    if b"\0" in head:
        return []
    head = _EXCEL.sub(b"", head, count=1)
    # A guess does not fail at wrong bytes: the reader names their line.
    lines = head.decode("utf-8-sig", "replace").splitlines()
    # The last line may extend beyond the head.
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
        iter(fitting),
        next((delimiter for delimiter in _DELIMITERS if delimiter in lines[0]), None),
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
        fitting,
        key=lambda delimiter: _fitness(fitting[delimiter], delimiter),
        reverse=True,
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
    # Between commas no number can have a decimal comma.
    if delimiter == ",":
        return fits_number(cell)
    return (
        has_decimal_commas([cell])
        or fits_number(cell)
        or _GROUPED.fullmatch(cell) is not None
    )


def _split(lines: Sequence[str], delimiter: str, form: CellForm) -> list[list[str]]:
    rows = [next(form.split([line], delimiter)) for line in lines]
    return [form.cleared(form.plain(row)) for row in rows]


def _widths(rows: Sequence[Sequence[str]]) -> bool:
    return len({len(row) for row in rows}) == 1 and len(rows[0]) > 1


# So many numbers in a row do not count up by chance.
_COUNTED = 4
_WHOLE = re.compile(r"[-+]?\d+")


@dataclass(frozen=True, slots=True)
class _Column:
    """The cell of the first row, and those below it."""

    first: str
    below: Sequence[str]
    fits: Callable[[str], bool]

    @property
    def is_word(self) -> bool:
        """Whether the first cell is neither a number nor missing."""
        return not self.fits(self.first)

    @property
    def is_numeric(self) -> bool:
        """Whether the cells below are numbers, and not all missing."""
        return all(map(self.fits, self.below)) and not all(map(is_missing, self.below))

    @property
    def is_text(self) -> bool:
        """Whether none of the cells below is a number, or missing."""
        return not any(map(self.fits, self.below))

    @property
    def is_fractions(self) -> bool:
        """Whether the cells below are fractions or missing, and more than one is a fraction."""
        fractions = 0
        for cell in self.below:
            if _is_fraction(cell, self.fits):
                fractions += 1
            elif not is_missing(cell):
                return False
        return fractions > 1

    @property
    def comes_back(self) -> bool:
        """Whether the first cell also stands below, as text or as the same number."""
        cells = {cell.strip() for cell in self.below}
        return self.first in cells or (
            _is_whole(self.first)
            and any(
                is_number(cell) and float(cell) == float(self.first) for cell in cells
            )
        )


def is_header(
    rows: Sequence[Sequence[str]], fits: Callable[[str], bool] = fits_number
) -> bool:
    """Return whether the first of `rows` names the columns; `fits` recognizes numbers."""
    if len(rows) < 2:
        return False
    columns = _columns(rows, fits)
    if any(column.is_word and column.is_numeric for column in columns) or _counts(
        columns
    ):
        return True
    # A column of row numbers often has no name.
    columns_with_names = [column for column in columns if column.first]
    names = [column.first for column in columns_with_names]
    all_text = (
        bool(names) and not any(map(fits, names)) and len(set(names)) == len(names)
    )
    return all_text and all(
        column.first not in column.below for column in columns_with_names
    )


def names_again(
    rows: Sequence[Sequence[str]], fits: Callable[[str], bool] = fits_number
) -> int | None:
    """Return the position of a row that repeats the names in the first, or None.

    Tables that are appended to one another have such rows. Data repeats its first row, too: the
    first row is names only if all its cells are words, one of them above a column that holds
    nothing but numbers in all other rows.
    """
    if not rows:
        return None
    first = [cell.strip() for cell in rows[0]]
    is_again = [[cell.strip() for cell in row] == first for row in rows]
    others = [row for row, same in zip(rows, is_again, strict=True) if not same]
    if len(others) + 1 == len(rows) or not others:
        return None
    if len(set(first)) < len(first):
        return None
    are_words = all(any(map(str.isalpha, cell)) and not fits(cell) for cell in first)
    columns = _columns([first, *others], fits)
    if not are_words or not any(column.is_numeric for column in columns):
        return None
    return is_again.index(True, 1)


def _columns(
    rows: Sequence[Sequence[str]], fits: Callable[[str], bool]
) -> list[_Column]:
    below = zip(*rows[1:], strict=True)
    return [
        _Column(cell.strip(), cells, fits)
        for cell, cells in zip(rows[0], below, strict=False)
    ]


def _is_whole(cell: str) -> bool:
    return _WHOLE.fullmatch(cell.strip()) is not None


def _is_fraction(cell: str, fits: Callable[[str], bool]) -> bool:
    """Return whether `cell` is a number with a point or an exponent, which no column name is."""
    return fits(cell) and any(map(str.isdigit, cell)) and not _is_whole(cell)


def _counts(columns: Sequence[_Column]) -> bool:
    """Return whether the first cells count 0, 1, 2, ..., except for new words in between.

    The rows below must not count the same way.
    """
    # The column of row numbers that pandas writes has no name.
    index = None
    if not columns[0].first:
        index = columns[0]
    columns = columns[index is not None :]
    counted = [column for column in columns if not column.is_word]
    if not counted or not _is_numbered([column.first for column in counted]):
        return False
    words = [column for column in columns if column.is_word]
    if len({column.first for column in words}) < len(words) or any(
        column.comes_back for column in words
    ):
        return False
    if index is not None and len(index.below) > 1 and _is_numbered(index.below):
        return True
    if len(counted) > 2:
        if _goes_on([column.below[0] for column in counted]) or (
            index is not None and any(map(is_missing, index.below))
        ):
            return False
        return not all(column.comes_back for column in counted)
    # Many rows of data contain 0 and 1.
    if index is not None or len(counted) < 2:
        return False
    return any(column.is_text for column in counted) or (
        bool(words) and all(column.is_fractions for column in counted)
    )


def _is_numbered(cells: Sequence[str]) -> bool:
    return all(cell.strip() == str(number) for number, cell in enumerate(cells))


def _goes_on(cells: Sequence[str]) -> bool:
    """Return whether a row is evenly spaced, as multiples or consecutive numbers are."""
    if not all(map(is_number, cells)):
        return False
    numbers = [float(cell) for cell in cells]
    steps = {after - before for before, after in pairwise(numbers)}
    return steps == {1.0} or (
        len(steps) == 1 and steps != {0.0} and len(cells) >= _COUNTED
    )
