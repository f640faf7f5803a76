"""The byte loop over rows of cells: CSV and TSV.

It parses a row only if nothing about it is ambiguous: the number of cells, plain numbers, the words
for a missing value, quotes as Python's csv reads them. It stops at any other row, and the slow path
parses that row or reports what is wrong.

Every buffer ends with a newline at ``stop - 1``, so scanning a cell without quotes needs no bounds
check. After it there is room for `byte_words.BYTES` more.
"""


# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109, SIM110

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import BYTES, byte_at, bytes_like, trailing_zeros
from olscale.compiled.decorator import compiled
from olscale.compiled.number import EXACT, HARD, NOT_A_NUMBER, number_at
from olscale.data.formats.cell_kinds import EMPTY, MOST_HARD, NUMBER, TARGET, TEXT

_MOST_BYTES = 131_072  # of a cell: Python's csv takes no longer one
_NEWLINE, _SPACE, _TAB, _RETURN, _MINUS, _BACKSLASH = (ord(c) for c in "\n \t\r-\\")
_ZERO = ord("0")
_WORDS = np.array(
    [
        sum(ord(c) << 8 * i for i, c in enumerate(word))
        for word in ("", "?", "na", "n/a", "null", "none")
    ]
)


@compiled
def _is_among(
    buffer: NDArray[np.uint8],
    pos: int,
    end: int,
    words: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> bool:
    """Return whether the text from `pos` to `end` is one of the words that end at `ends`."""
    begin = 0
    for word_end in ends:
        same = word_end - begin == end - pos
        for i in range(end - pos if same else 0):
            same &= byte_at(buffer, pos + i) == words[begin + i]
        if same:
            return True
        begin = word_end
    return False


@compiled
def _is_missing(
    buffer: NDArray[np.uint8],
    pos: int,
    end: int,
    words: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> bool:
    if _is_among(buffer, pos, end, words, ends):
        return True
    if end - pos > 4:
        return False
    word = 0
    for i in range(end - pos):
        byte = byte_at(buffer, pos + i)
        if byte == 0:
            return False
        # Letters in lower case, in one integer, as `_WORDS` has them.
        word |= (byte | 32 if 65 <= byte <= 90 else byte) << 8 * i
    for known in _WORDS:
        if word == known:
            return True
    return False


@compiled
def _end_of_line(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the start of the next line if a line ends at `pos`, else 0."""
    byte = byte_at(buffer, pos)
    if byte == _NEWLINE:
        return pos + 1
    return pos + 2 if byte == _RETURN and byte_at(buffer, pos + 1) == _NEWLINE else 0


@compiled
def _after_blanks(buffer: NDArray[np.uint8], pos: int, delimiter: int) -> int:
    byte = byte_at(buffer, pos)
    while byte == _SPACE or (byte == _TAB and delimiter != _TAB):
        pos += 1
        byte = byte_at(buffer, pos)
    return pos


@compiled
def _quoted_end(
    buffer: NDArray[np.uint8],
    pos: int,
    stop: int,
    quote: int,
    escaped: bool,
) -> tuple[int, int]:
    """Return the end of the quoted cell at `pos`, 0 if it is not plain, and its line ends."""
    lines = 0
    pos += 1
    while pos < stop:
        byte = byte_at(buffer, pos)
        if byte == quote:
            # A quote that is written twice is one within the cell.
            if byte_at(buffer, pos + 1) != quote:
                return pos + 1, lines
            pos += 1
        elif byte == _RETURN:
            return 0, lines
        elif escaped and byte == _BACKSLASH:
            pos += 1
            if _ends_line(byte_at(buffer, pos)):
                return 0, lines
        elif byte == _NEWLINE:
            lines += 1
        pos += 1
    return 0, lines


@compiled
def _ends_line(byte: int) -> bool:
    return byte == _NEWLINE or byte == _RETURN


@compiled
def _holds(buffer: NDArray[np.uint8], pos: int, end: int, sought: int) -> bool:
    for at in range(pos, end):
        if byte_at(buffer, at) == sought:
            return True
    return False


@compiled
def _plain_end(
    buffer: NDArray[np.uint8],
    pos: int,
    delimiter: int,
    escaped: bool,
) -> int:
    """Return the end of the unquoted cell at `pos`, -1 if it is not plain."""
    # Several bytes at once, where a single byte decides what ends a cell.
    while delimiter != _SPACE and not escaped:
        ends = bytes_like(buffer, pos, delimiter, _NEWLINE, _RETURN)
        if ends:
            return pos + int(np.int64(trailing_zeros(ends)))
        pos += BYTES
    while True:
        byte = byte_at(buffer, pos)
        if byte == delimiter or byte == _NEWLINE or byte == _RETURN:
            return pos
        if escaped and byte == _BACKSLASH:
            pos += 1
            if delimiter == _SPACE or _ends_line(byte_at(buffer, pos)):
                return -1
        if delimiter == _SPACE:
            if byte == _TAB:
                return pos
            if byte < 32 or byte > 126:
                return -1  # may be another kind of white space
        pos += 1


@compiled
def _number(
    buffer: NDArray[np.uint8],
    first: int,
    last: int,
    delimiter: int,
    mark: int,
    escaped: bool,
    words: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> tuple[float, int, int, bool]:
    """Return the number in the cell that begins at `first`.

    A quoted cell ends at `last`, which is else -1. Missing values are NaN. The other results are
    the position after the cell (-1 if it is not plain) and after the number, and whether the number
    is left to ``float``.
    """
    value, end, state = number_at(buffer, first, mark)
    pos = _after_blanks(buffer, end, delimiter)
    if last < 0:
        byte = byte_at(buffer, pos)
        is_cell = (
            byte == delimiter
            or byte == _NEWLINE
            or byte == _RETURN
            or (delimiter == _SPACE and pos > end)
        )
    else:
        is_cell = pos == last
    if (
        is_cell
        and state != NOT_A_NUMBER
        # -nan is left to the exact way: it is no word for a missing value.
        and not (value != value and byte_at(buffer, first) == _MINUS)
    ):
        return value, pos, end, state == HARD
    if last < 0:
        last = _plain_end(buffer, first, delimiter, escaped)
    pos = last
    while last > first and (
        byte_at(buffer, last - 1) == _SPACE or byte_at(buffer, last - 1) == _TAB
    ):
        last -= 1
    missing = last >= 0 and _is_missing(buffer, first, last, words, ends)
    return np.nan, pos if missing else -1, last, False


@compiled
def _next_cell(
    buffer: NDArray[np.uint8],
    pos: int,
    delimiter: int,
    at_end: bool,
) -> int:
    """Return the start of the cell or line after a cell that ends at `pos`.

    0 if there is none, or if there is one cell too many.
    """
    if delimiter == _SPACE:
        pos = _after_blanks(buffer, pos, delimiter)
    after = _end_of_line(buffer, pos)
    if (after != 0) != at_end:
        # A row that ends too early, or continues after its last column.
        return 0
    if after or delimiter == _SPACE:
        return after or pos
    return pos + 1 if byte_at(buffer, pos) == delimiter else 0


@compiled
def parse_rows(
    buffer: NDArray[np.uint8],
    pos: int,
    stop: int,
    row: int,
    rows: int,
    delimiter: int,
    quote: int,
    mark: int,
    escaped: bool,
    words: NDArray[np.uint8],
    ends: NDArray[np.int64],
    quoted: NDArray[np.int64],
    kinds: NDArray[np.int8],
    slots: NDArray[np.int32],
    numbers: NDArray[np.float64],
    others: NDArray[np.float64],
    cells: NDArray[np.int32],
    hard: NDArray[np.int64],
) -> tuple[int, int, int, int, bool]:
    """Parse rows from `pos` until `stop`, until `row` is `rows`, or until a row that is not plain.

    Parameters
    ----------
    buffer : ndarray of uint8
        Text whose byte ``stop - 1`` is a newline, with `byte_words.BYTES` more after it.
    pos, stop : int
        Where to begin (a line's first byte) and to end.
    row, rows : int
        Number of rows already in the arrays, and the number that fit.
    delimiter, quote, mark : int
        Between cells (a space: any white space), around cells (-1: none), and the decimal mark.
    escaped : bool
        Whether a backslash removes the meaning of the next character, which may be kept as it is
        written.
    words, ends : ndarray
        Bytes of more words that mean "no value", concatenated, and where each of them ends.
    quoted : ndarray of shape (3,)
        Zeros; receives first and last line of the first cell in quotes that spans lines, counted
        from 1 at `pos`, and, where tabs are between cells, the line of the first that holds one.
    kinds, slots : ndarray of shape (columns,)
        The treatment of each column, and its place.
    numbers : ndarray of shape (rows, width), others : ndarray of shape (more, rows)
        Receive the numbers: those in places from `width` on go to `others`.
    cells : ndarray of shape (text columns, rows, 2)
        Receives first byte and end of each text cell, its quotes included.
    hard : ndarray of shape (MOST_HARD + columns, 4)
        Receives (place, row, first byte, end) of numbers left to ``float``.

    Returns
    -------
    tuple
        Position reached (a row's first byte), lines, rows, hard numbers, and whether the row there
        is not plain.
    """
    lines = 0
    hards = 0
    columns = len(kinds)
    width = numbers.shape[1]
    while pos < stop and row < rows and hards <= MOST_HARD:
        begin = pos
        new_lines = 0
        # Counters of this row alone: a row that is not plain leaves no trace.
        new_hards = hards
        if delimiter == _SPACE:
            pos = _after_blanks(buffer, pos, delimiter)
        after = _end_of_line(buffer, pos)
        if after:
            pos = after
            lines += 1
            continue
        for column in range(columns):
            kind = kinds[column]
            at_end = column == columns - 1
            is_number = kind == NUMBER or kind == TARGET
            value = np.nan
            after = 0
            state = NOT_A_NUMBER
            first = _after_blanks(buffer, pos, delimiter)
            closing = _NEWLINE if at_end else delimiter
            if is_number and byte_at(buffer, first) != quote:
                digit = byte_at(buffer, first) - _ZERO
                # Counts and marks are most often a digit, which costs a third of a number.
                if 0 <= digit <= 9 and byte_at(buffer, first + 1) == closing:
                    value = float(digit)
                    after = first + 1
                    state = EXACT
                else:
                    value, after, state = number_at(buffer, first, mark)
            # Most cells are a number and a delimiter; all other cases take many more comparisons.
            if state == EXACT and value == value and byte_at(buffer, after) == closing:
                after = (
                    _next_cell(buffer, after, delimiter, at_end)
                    if delimiter == _SPACE
                    else after + 1
                )
            else:
                start = pos
                end = -1
                last = -1
                if byte_at(buffer, start) == quote:
                    end, passed = _quoted_end(buffer, start, stop, quote, escaped)
                    if not end:
                        return begin, lines, row, hards, True
                    if passed and not quoted[0]:
                        quoted[0] = lines + new_lines + 1
                        quoted[1] = quoted[0] + passed
                    elif (
                        delimiter == _TAB
                        and not quoted[2]
                        and not passed
                        and _holds(buffer, start, end, _TAB)
                    ):
                        quoted[2] = lines + new_lines + 1
                    new_lines += passed
                    first = _after_blanks(buffer, start + 1, delimiter)
                    last = end - 1
                if is_number:
                    value, after, last, hard_one = _number(
                        buffer,
                        first,
                        last,
                        delimiter,
                        mark,
                        escaped,
                        words,
                        ends,
                    )
                    if after < 0 or (kind == TARGET and value != value):
                        return begin, lines, row, hards, True
                    if hard_one:
                        hard[new_hards, 0] = slots[column]
                        hard[new_hards, 1] = row
                        hard[new_hards, 2] = first
                        hard[new_hards, 3] = last
                        new_hards += 1
                else:
                    after = (
                        _plain_end(buffer, start, delimiter, escaped)
                        if end < 0
                        else end
                    )
                    if after < 0 or (kind == EMPTY and (end >= 0 or first < after)):
                        return begin, lines, row, hards, True
                    if kind == TEXT:
                        cells[slots[column], row, 0] = start
                        cells[slots[column], row, 1] = after
                if end >= 0:
                    after = end
                # The exact way refuses the cell and says so.
                if after - start > _MOST_BYTES:
                    return begin, lines, row, hards, True
                after = _next_cell(buffer, after, delimiter, at_end)
            if not after:
                return begin, lines, row, hards, True
            if is_number:
                slot = slots[column]
                if slot < width:
                    numbers[row, slot] = value
                else:
                    others[slot - width, row] = value
            pos = after
        row += 1
        lines += new_lines + 1
        hards = new_hards
    return pos, lines, row, hards, False


@compiled
def parse_numbers(
    buffer: NDArray[np.uint8],
    stop: int,
    mark: int,
    numbers: NDArray[np.float64],
) -> bool:
    """Fill `numbers` from lines of one plain number each; return whether `buffer` is just that."""
    pos = 0
    for i in range(len(numbers)):
        value, pos, state = number_at(buffer, pos, mark)
        if state != EXACT or value != value or byte_at(buffer, pos) != _NEWLINE:
            return False
        numbers[i] = value
        pos += 1
    return pos == stop
