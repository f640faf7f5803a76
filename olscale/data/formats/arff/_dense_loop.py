"""The byte loop over dense rows of ARFF.

`olscale.data.formats._table_loop` describes what it leaves to the exact way.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import byte_at
from olscale.compiled.decorator import compiled
from olscale.compiled.number import EXACT, HARD, NOT_A_NUMBER, number_at
from olscale.data.formats._table_loop import MOST_HARD, NUMBER, TARGET, TEXT
from olscale.data.formats.arff._cells_loop import (
    CLOSE,
    COMMA,
    MOST_BYTES,
    NEWLINE,
    OPEN,
    PERCENT,
    QUESTION,
    RETURN,
    SPACE,
    TAB,
    after_blanks,
    cell_end,
    next_line,
)

_POINT, _MINUS = (ord(c) for c in ".-")


@compiled
def number_end(
    buffer: NDArray[np.uint8], first: int, value: float, after: int, state: int
) -> tuple[float, int]:
    """Return the number in the cell at `first`, NaN if missing, and the cell's end, -1 if neither.

    `value`, `after` and `state` are the results of `number_at` for it.
    """
    byte = byte_at(buffer, after)
    is_end = byte == COMMA or byte == SPACE or byte == TAB or byte == NEWLINE or byte == RETURN
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
def parse_rows(
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
                    pos = _next_row(buffer, after) if at_end else _next_cell(buffer, after)
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
