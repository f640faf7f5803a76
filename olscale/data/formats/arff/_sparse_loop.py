"""The byte loop over sparse rows of ARFF, ``{0 1.5, 7 red}``."""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import byte_at, digit_run
from olscale.compiled.decorator import compiled
from olscale.compiled.number import HARD, number_at
from olscale.data.formats._table_loop import NUMBER, TARGET, TEXT
from olscale.data.formats.arff._cells_loop import (
    CLOSE,
    COMMA,
    MOST_BYTES,
    OPEN,
    SPACE,
    TAB,
    after_blanks,
    cell_end,
    next_line,
)
from olscale.data.formats.arff._dense_loop import number_end

NEEDED = 5
"""One more treatment than in `olscale.data.formats._table_loop`: text that each row must list."""

_POINT, _QUESTION = (ord(c) for c in ".?")


@compiled
def _next_pair(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the end of the blanks and commas from `pos` on."""
    byte = byte_at(buffer, pos)
    while byte == SPACE or byte == TAB or byte == COMMA:
        pos += 1
        byte = byte_at(buffer, pos)
    return pos


@compiled
def parse_rows(
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
                    if byte_at(buffer, first) == _QUESTION and pos == first + 1:
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
