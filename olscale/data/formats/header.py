"""Whether the first row of a table names its columns, and whether that is clear.

A first row is names when it holds text above a column of numbers; when it is all text, without
repetition, and none of its cells recurs in its column; or when its numbers count 0, 1, 2, ... as
those of pandas do.

The decision is *unclear*, and `header_notes` reports it, when a row of names has numbers in it that
do not count, or when a row of data looks like names: no cell is a fraction, and a cell is a usual
name, or all words occur nowhere else while others recur, or whole numbers stand above fractions.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from olscale.data.formats._guess import fits_number
from olscale.data.formats.cells import is_missing, is_number

_NAMES = frozenset(("class", "label", "target", "text", "id", "name", "x", "y"))
"""Names of columns that are unlikely to be values."""
_COUNTED = 4
"""So many numbers in a row do not count up by chance."""
_SHOWN = 6
_SHOWN_CELL = 20
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
    def is_number(self) -> bool:
        """Whether the first cell is a number."""
        return self.fits(self.first) and not is_missing(self.first)

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
            and any(is_number(cell) and float(cell) == float(self.first) for cell in cells)
        )

    @property
    def is_alone(self) -> bool:
        """Whether the first cell stands nowhere below while every other value recurs."""
        return not self.comes_back and min(Counter(map(str.strip, self.below)).values()) > 1


def is_header(rows: Sequence[Sequence[str]], fits: Callable[[str], bool] = fits_number) -> bool:
    """Return whether the first of `rows` names the columns; `fits` recognizes numbers."""
    if len(rows) < 2:
        return False
    columns = _columns(rows, fits)
    if any(column.is_word and column.is_numeric for column in columns) or _counts(columns):
        return True
    # A column of row numbers often has no name.
    columns_with_names = [column for column in columns if column.first]
    names = [column.first for column in columns_with_names]
    all_text = bool(names) and not any(map(fits, names)) and len(set(names)) == len(names)
    return all_text and all(column.first not in column.below for column in columns_with_names)


def header_notes(
    rows: Sequence[Sequence[str]], header: bool, fits: Callable[[str], bool] = fits_number
) -> tuple[str, ...]:
    """Return notes about the first of `rows`, guessed to be names or not; none if that is clear.

    Examples
    --------
    >>> header_notes([["unknown", "5.5", "1"], ["0.5", "2.5", "0"]], True)
    ('the first row (unknown, 5.5, 1) is read as names of columns; --no-header if it is data',)
    """
    if len(rows) < 2:
        return ()
    columns = _columns(rows, fits)
    unclear = _unclear_names(columns) if header else _unclear_data(columns)
    if not unclear:
        return ()
    cells = [column.first[:_SHOWN_CELL] for column in columns[:_SHOWN]] + ["..."] * (
        len(columns) > _SHOWN
    )
    read = (
        "names of columns; --no-header if it is data"
        if header
        else "data, not as names; --header if it is names"
    )
    return (f"the first row ({', '.join(cells)}) is read as {read}",)


def _columns(rows: Sequence[Sequence[str]], fits: Callable[[str], bool]) -> list[_Column]:
    below = zip(*rows[1:], strict=True)
    return [_Column(cell.strip(), cells, fits) for cell, cells in zip(rows[0], below, strict=False)]


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
    index = columns[0] if not columns[0].first else None
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
    return steps == {1.0} or (len(steps) == 1 and steps != {0.0} and len(cells) >= _COUNTED)


def _unclear_names(columns: Sequence[_Column]) -> bool:
    numbers = [column.first for column in columns if column.is_number]
    if not numbers or (not columns[0].first and _is_numbered(numbers)):
        return False
    return len(numbers) < _COUNTED or not all(map(_is_whole, numbers)) or not _counts_on(numbers)


def _counts_on(cells: Sequence[str]) -> bool:
    return all(int(after) == int(before) + 1 for before, after in pairwise(cells))


def _unclear_data(columns: Sequence[_Column]) -> bool:
    if any(_is_fraction(column.first, column.fits) for column in columns):
        return False
    words = [column for column in columns if column.is_word]
    if any(column.first.lower() in _NAMES and not column.comes_back for column in words):
        return True
    if any(column.is_alone for column in words) and not any(column.comes_back for column in words):
        return True
    return any(column.first.isdecimal() and column.is_fractions for column in columns)
