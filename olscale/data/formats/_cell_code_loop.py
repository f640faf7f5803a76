"""The loop that numbers the different cells of a column of text."""

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import word_at
from olscale.compiled.decorator import compiled, inlined

_BYTES = 8
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: Fibonacci hashing
_SHIFT = np.uint64(32)


@inlined
def _word(buffer: NDArray[np.uint8], pos: int, count: int) -> np.uint64:
    """Return the bytes from `pos` on, at most eight of `count`, which is not 0."""
    word: np.uint64 = word_at(buffer, pos)
    if count >= _BYTES:
        return word
    word &= _ALL >> np.uint64(8 * (_BYTES - count))
    return word


@compiled
def code_cells(
    buffer: NDArray[np.uint8],
    cells: NDArray[np.int32],
    table: NDArray[np.int32],
    codes: NDArray[np.int32],
    firsts: NDArray[np.int32],
) -> int:
    """Number the different cells by their first appearance.

    Parameters
    ----------
    buffer : ndarray of uint8
        Text, with seven bytes of room after the last cell.
    cells : ndarray of shape (cells, 2)
        First byte and end of each.
    table : ndarray of shape (power of two,)
        Of minus ones, and larger than `firsts`.
    codes : ndarray of shape (cells,)
        Receives the number of each cell.
    firsts : ndarray
        Receives the first cell with each number.

    Returns
    -------
    int
        How many there are, or -1 if there are more than `firsts` holds.
    """
    last = len(table) - 1
    known = 0
    for i in range(len(cells)):
        begin = int(cells[i, 0])
        length = int(cells[i, 1]) - begin
        mixed = np.uint64(length)
        for at in range(0, length, _BYTES):
            mixed = (mixed ^ _word(buffer, begin + at, length - at)) * _FACTOR
            mixed ^= mixed >> _SHIFT
        place = int(np.int64(mixed & np.uint64(last)))
        while True:
            code = int(table[place])
            if code < 0:
                if known == len(firsts):
                    return -1
                table[place] = known
                firsts[known] = i
                codes[i] = known
                known += 1
                break
            other = int(cells[firsts[code], 0])
            same = int(cells[firsts[code], 1]) - other == length
            at = 0
            while same and at < length:
                same = _word(buffer, begin + at, length - at) == _word(
                    buffer, other + at, length - at
                )
                at += _BYTES
            if same:
                codes[i] = code
                break
            place = (place + 1) & last
    return known
