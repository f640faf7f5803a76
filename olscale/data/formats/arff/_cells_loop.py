"""Functions that the loops over ARFF rows share: where cells and lines end.

Every buffer ends with a newline, so scanning a cell needs no bounds check. Rows that are not plain
are left to `olscale.data.formats.arff.rows`.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import byte_at
from olscale.compiled.decorator import compiled

NEWLINE, SPACE, TAB, RETURN, COMMA, PERCENT, OPEN, CLOSE, QUESTION = (
    ord(c) for c in "\n \t\r,%{}?"
)
_SINGLE = ord("'")
_DOUBLE = ord('"')
_BACKSLASH = ord("\\")
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
    while byte > SPACE and byte != COMMA and byte != PERCENT and byte != OPEN and byte != CLOSE:
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
