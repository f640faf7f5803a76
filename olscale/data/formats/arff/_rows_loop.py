"""The byte loops over rows of ARFF: dense ones, and sparse ones such as ``{0 1.5, 7 red}``.

Every buffer ends with a newline, so scanning a cell needs no bounds check. Rows that are not plain
are left to `olscale.data.formats.arff.rows`; `olscale.data.formats._table_loop` describes what is
plain.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import byte_at, digit_run
from olscale.compiled.decorator import compiled
from olscale.compiled.number import EXACT, HARD, NOT_A_NUMBER, number_at
from olscale.data.formats.cell_kinds import MOST_HARD, NUMBER, TARGET, TEXT

NEWLINE, SPACE, TAB, RETURN, COMMA, PERCENT, OPEN, CLOSE, QUESTION = (
    ord(c) for c in "\n \t\r,%{}?"
)
_SINGLE = ord("'")
_DOUBLE = ord('"')
_BACKSLASH = ord("\\")
_POINT, _MINUS = (ord(c) for c in ".-")
MOST_BYTES = 131_072
"""Longest cell."""


@compiled
def after_blanks(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return where the blanks from `pos` on end."""
    byte = byte_at(buffer, pos)
    while byte == SPACE or byte == TAB:
        pos += 1
        byte = byte_at(buffer, pos)
    return pos


@compiled
def next_line(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the start of the next line if only blanks and a comment remain of this one, else 0."""
    pos = after_blanks(buffer, pos)
    byte = byte_at(buffer, pos)
    if byte == PERCENT:
        while byte != NEWLINE and byte != RETURN:
            pos += 1
            byte = byte_at(buffer, pos)
    if byte == RETURN:
        pos += 1
        byte = byte_at(buffer, pos)
    return pos + 1 if byte == NEWLINE else 0


@compiled
def cell_end(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the end of the cell at `pos`, quoted or not; -1 if it is not plain."""
    first = byte_at(buffer, pos)
    if first == _SINGLE or first == _DOUBLE:
        return _quoted_end(buffer, pos, first)
    byte = first
    while (
        byte > SPACE
        and byte != COMMA
        and byte != PERCENT
        and byte != OPEN
        and byte != CLOSE
    ):
        pos += 1
        byte = byte_at(buffer, pos)
    is_odd = byte < SPACE and byte != TAB and byte != NEWLINE and byte != RETURN
    return -1 if is_odd else pos


@compiled
def _quoted_end(buffer: NDArray[np.uint8], pos: int, quote: int) -> int:
    pos += 1
    while True:
        byte = byte_at(buffer, pos)
        if byte == quote:
            pos += 1
            if byte_at(buffer, pos) != quote:
                return pos
        elif byte == _BACKSLASH:
            pos += 1
            byte = byte_at(buffer, pos)
        if byte == NEWLINE or byte == RETURN:
            return -1
        pos += 1


@compiled
def number_end(
    buffer: NDArray[np.uint8],
    first: int,
    value: float,
    after: int,
    state: int,
) -> tuple[float, int]:
    """Return the number in the cell at `first`, NaN if missing, and the cell's end, -1 if neither.

    `value`, `after` and `state` are the results of `number_at` for it.
    """
    byte = byte_at(buffer, after)
    is_end = (
        byte == COMMA
        or byte == SPACE
        or byte == TAB
        or byte == NEWLINE
        or byte == RETURN
    )
    is_end |= byte == PERCENT or byte == CLOSE
    if (
        state != NOT_A_NUMBER
        and is_end
        and not (value != value and byte_at(buffer, first) == _MINUS)
    ):
        return value, after
    end = cell_end(buffer, first)
    if end == first or (end == first + 1 and byte_at(buffer, first) == QUESTION):
        return np.nan, end
    return np.nan, -1


@compiled
def _next_cell(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the start of the cell after one that ends at `pos`, 0 if that is not plain."""
    start = pos
    pos = after_blanks(buffer, pos)
    byte = byte_at(buffer, pos)
    if byte == COMMA:
        return pos + 1
    if pos == start or byte < SPACE or byte == PERCENT or byte == OPEN or byte == CLOSE:
        return 0
    return pos


@compiled
def _next_row(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the start of the row after a last cell that ends at `pos`, 0 if that is not plain."""
    pos = after_blanks(buffer, pos)
    if byte_at(buffer, pos) == COMMA:
        pos += 1
    return next_line(buffer, pos)


@compiled
def parse_dense_rows(
    buffer: NDArray[np.uint8],
    pos: int,
    stop: int,
    row: int,
    rows: int,
    kinds: NDArray[np.int8],
    slots: NDArray[np.int32],
    numbers: NDArray[np.float64],
    others: NDArray[np.float64],
    cells: NDArray[np.int32],
    hard: NDArray[np.int64],
) -> tuple[int, int, int, int, bool]:
    """Parse rows from `pos` until `stop`, until `row` is `rows`, or until a row that is not plain.

    Parameters and returns are those of `olscale.data.formats._table_loop.parse_rows`.
    """
    lines = 0
    hards = 0
    columns = len(kinds)
    width = numbers.shape[1]
    while pos < stop and row < rows and hards <= MOST_HARD:
        after = next_line(buffer, pos)
        if after:
            pos = after
            lines += 1
            continue
        begin = pos
        new_hards = hards
        if byte_at(buffer, after_blanks(buffer, pos)) == OPEN:
            return begin, lines, row, hards, True
        for column in range(columns):
            kind = kinds[column]
            at_end = column == columns - 1
            first = after_blanks(buffer, pos)
            if kind == NUMBER or kind == TARGET:
                value, after, state = number_at(buffer, first, _POINT)
                # Most cells are a number and a comma; all other cases take many more comparisons.
                if (
                    state == EXACT
                    and value == value
                    and byte_at(buffer, after) == (NEWLINE if at_end else COMMA)
                ):
                    pos = after + 1
                else:
                    value, after = number_end(buffer, first, value, after, state)
                    if after < 0 or (kind == TARGET and value != value):
                        return begin, lines, row, hards, True
                    pos = (
                        _next_row(buffer, after)
                        if at_end
                        else _next_cell(buffer, after)
                    )
                    if state == HARD and pos:
                        hard[new_hards, 0] = slots[column]
                        hard[new_hards, 1] = row
                        hard[new_hards, 2] = first
                        hard[new_hards, 3] = after
                        new_hards += 1
                slot = slots[column]
                if slot < width:
                    numbers[row, slot] = value
                else:
                    others[slot - width, row] = value
            else:
                after = cell_end(buffer, first)
                if after < 0 or after - first > MOST_BYTES:
                    return begin, lines, row, hards, True
                if kind == TEXT:
                    cells[slots[column], row, 0] = first
                    cells[slots[column], row, 1] = after
                pos = _next_row(buffer, after) if at_end else _next_cell(buffer, after)
            if not pos:
                return begin, lines, row, hards, True
        row += 1
        lines += 1
        hards = new_hards
    return pos, lines, row, hards, False


NEEDED = 5
"""One more treatment than in `olscale.data.formats._table_loop`: text that each row must list."""


@compiled
def _next_pair(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the end of the blanks and commas from `pos` on."""
    byte = byte_at(buffer, pos)
    while byte == SPACE or byte == TAB or byte == COMMA:
        pos += 1
        byte = byte_at(buffer, pos)
    return pos


@compiled
def parse_sparse_rows(
    buffer: NDArray[np.uint8],
    pos: int,
    stop: int,
    row: int,
    rows: int,
    most: int,
    kinds: NDArray[np.int8],
    slots: NDArray[np.int32],
    width: int,
    needed: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    others: NDArray[np.float64],
    words: NDArray[np.int32],
) -> tuple[int, int, int, int, bool]:
    """Parse rows from `pos` until `stop`, or until a row that is not plain.

    Parameters
    ----------
    buffer : ndarray of uint8
        Text whose byte ``stop - 1`` is a newline.
    pos, stop : int
        Where to begin (a line's first byte) and to end.
    row, rows : int
        Number of rows already parsed, and the number that fit.
    most : int
        Stop after the row that reaches so many numbers.
    kinds, slots : ndarray of shape (columns,)
        The treatment of each column, and its place.
    width : int
        Numbers in places from here on go to `others`.
    needed : int
        Columns of the kind `NEEDED`.
    indptr : ndarray of shape (rows + 1,), indices, data : ndarray of shape (pairs,)
        Receive the numbers that are not 0: those of the first row parsed begin at 0.
    others : ndarray of shape (more, rows)
    words : ndarray of shape (pairs, 4)
        Receives (place, row, first byte, end) of each text cell, its quotes included.

    Returns
    -------
    tuple
        Position reached (a row's first byte), lines, rows, text cells, and whether the row there is
        not plain.
    """
    lines = 0
    count = 0
    texts = 0
    before = row
    indptr[0] = 0
    while pos < stop and row < rows and count < most:
        begin = pos
        after = next_line(buffer, pos)
        if after:
            pos = after
            lines += 1
            continue
        pos = after_blanks(buffer, pos)
        if byte_at(buffer, pos) != OPEN:
            return begin, lines, row, texts, True
        pos = _next_pair(buffer, pos + 1)
        new_count = count
        new_texts = texts
        previous = -1
        listed = 0
        while byte_at(buffer, pos) != CLOSE:
            column, digits = digit_run(buffer, pos)
            first = after_blanks(buffer, pos + digits)
            if (
                digits == 0
                or digits > 7
                or first == pos + digits
                or column <= previous
                or column >= len(kinds)
            ):
                return begin, lines, row, texts, True
            previous = column
            kind = kinds[column]
            slot = slots[column]
            if kind == NUMBER or kind == TARGET:
                value, pos, state = number_at(buffer, first, _POINT)
                value, pos = number_end(buffer, first, value, pos, state)
                if pos <= first or state == HARD or (kind == TARGET and value != value):
                    return begin, lines, row, texts, True
                if slot >= width:
                    others[slot - width, row] = value
                else:
                    # Always written, then kept or not: most are kept, and a branch would have to be
                    # predicted.
                    indices[new_count] = slot
                    data[new_count] = value
                    new_count += value != 0
            else:
                pos = cell_end(buffer, first)
                if pos <= first or pos - first > MOST_BYTES:
                    return begin, lines, row, texts, True
                if kind == NEEDED:
                    if byte_at(buffer, first) == QUESTION and pos == first + 1:
                        return begin, lines, row, texts, True
                    listed += 1
                if kind == TEXT or kind == NEEDED:
                    words[new_texts, 0] = slot
                    words[new_texts, 1] = row
                    words[new_texts, 2] = first
                    words[new_texts, 3] = pos
                    new_texts += 1
            after = _next_pair(buffer, pos)
            if after == pos and byte_at(buffer, pos) != CLOSE:
                return begin, lines, row, texts, True
            pos = after
        pos = after_blanks(buffer, pos + 1)
        if byte_at(buffer, pos) == COMMA:
            pos += 1
        pos = next_line(buffer, pos)
        if not pos or listed < needed:
            return begin, lines, row, texts, True
        row += 1
        lines += 1
        count = new_count
        texts = new_texts
        indptr[row - before] = count
    return pos, lines, row, texts, False
