"""The byte loop over LIBSVM/SVMlight text.

Every buffer ends with a newline at ``stop - 1``, so no inner loop needs its own bounds check: a
newline stops every scan. After it there is room for `byte_words.BYTES` more.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import byte_at, digit_run
from olscale.compiled.decorator import compiled
from olscale.compiled.number import HARD, NOT_A_NUMBER, digits_at, number_at

(
    OK,
    MISSING_LABEL,
    BAD_LABEL,
    BAD_INDEX,
    NEGATIVE_INDEX,
    LARGE_INDEX,
    BAD_VALUE,
    UNORDERED,
    ZERO_INDEX,
) = range(9)
MAX_INDEX = 2**31 - 2

_NEWLINE, _SPACE, _TAB, _RETURN, _HASH, _COLON, _MINUS, _POINT = (
    ord(c) for c in "\n \t\r#:-."
)
_Q, _I, _D = (ord(c) for c in "qid")


@compiled
def _is_end(byte: int) -> bool:
    return (
        byte == _SPACE
        or byte == _NEWLINE
        or byte == _TAB
        or byte == _RETURN
        or byte == _HASH
    )


@compiled
def _behind_label(buffer: NDArray[np.uint8], pos: int) -> int:
    """Return the end of the label at `pos`, or `pos` if a pair is there: the row has no label."""
    start = pos
    while not _is_end(byte_at(buffer, pos)):
        if byte_at(buffer, pos) == _COLON:
            return start
        pos += 1
    return pos


@compiled
def parse_rows(
    buffer: NDArray[np.uint8],
    pos: int,
    stop: int,
    max_rows: int,
    max_nonzeros: int,
    zero_allowed: bool,
    base: int,
    labels_needed: bool,
    rows: int,
    labels: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    hard: NDArray[np.int64],
) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Parse whole lines from `pos` until `stop`, or up to `max_rows` rows or `max_nonzeros` values.

    Parameters
    ----------
    buffer : ndarray of uint8
        Text whose byte ``stop - 1`` is a newline, with `byte_words.BYTES` more after it.
    pos, stop : int
        Where to begin (a line's first byte) and to end.
    max_rows, max_nonzeros : int
        Stop after the row that reaches either.
    zero_allowed : bool
        Whether an index 0 is accepted.
    base : int
        Subtracted from every index.
    labels_needed : bool
        Whether each row must have a label; if not, a row without a label, or with a word for it,
        has the label NaN.
    rows : int
        Rows already in the arrays; parsing appends.
    labels, indptr, indices, data : ndarray
        Receive the rows.
    hard : ndarray of shape (entries, 3)
        Receives (position among the values, or -1 - row for a label; first byte; end) of numbers
        left to ``float``.

    Returns
    -------
    tuple of int
        Position reached, lines, rows, hard numbers, smallest and largest index of this call as
        written (`MAX_INDEX` and -1 when there is none), error code, position of the faulty token,
        index before it.
    """
    lines = 0
    hards = 0
    nonzeros = indptr[rows]
    smallest = MAX_INDEX
    largest = -1
    while pos < stop and rows < max_rows and nonzeros < max_nonzeros:
        byte = byte_at(buffer, pos)
        while byte == _SPACE or byte == _TAB or byte == _RETURN:
            pos += 1
            byte = byte_at(buffer, pos)
        if byte == _HASH:
            while byte_at(buffer, pos) != _NEWLINE:
                pos += 1
            byte = _NEWLINE
        if byte == _NEWLINE:
            pos += 1
            lines += 1
            continue
        token = pos
        value, pos, state = number_at(buffer, pos, _POINT)
        fault = OK
        if state == NOT_A_NUMBER or not _is_end(byte_at(buffer, pos)):
            fault = BAD_LABEL
            if state != NOT_A_NUMBER and byte_at(buffer, pos) == _COLON:
                fault = MISSING_LABEL
        elif value - value != 0.0:
            fault = BAD_LABEL
        elif state == HARD:
            hard[hards, 0] = -1 - rows
            hard[hards, 1] = token
            hard[hards, 2] = pos
            hards += 1
        if fault != OK:
            if labels_needed:
                return pos, lines, rows, hards, smallest, largest, fault, token, -1
            value = np.nan
            pos = _behind_label(buffer, token)
        labels[rows] = value
        previous = -1
        while True:
            token = pos
            index, count = digit_run(buffer, pos)
            if count == 8:
                index, pos = digits_at(buffer, pos, 0)
            else:
                pos += count
            if count == 0 or byte_at(buffer, pos) != _COLON:
                byte = byte_at(buffer, pos)
                if count == 0:
                    if byte == _NEWLINE:
                        break
                    if byte == _SPACE or byte == _TAB or byte == _RETURN:
                        pos += 1
                        continue
                    if byte == _HASH:
                        while byte_at(buffer, pos) != _NEWLINE:
                            pos += 1
                        break
                    if (
                        byte == _Q
                        and buffer[pos + 1] == _I
                        and buffer[pos + 2] == _D
                        and buffer[pos + 3] == _COLON
                    ):
                        while not _is_end(byte_at(buffer, pos)):
                            pos += 1
                        continue
                fault = BAD_INDEX
                if byte == _MINUS and count == 0:
                    count = digit_run(buffer, pos + 1)[1]
                    if count > 0 and (
                        count == 8 or byte_at(buffer, pos + 1 + count) == _COLON
                    ):
                        fault = NEGATIVE_INDEX
                return (
                    pos,
                    lines,
                    rows,
                    hards,
                    smallest,
                    largest,
                    fault,
                    token,
                    previous,
                )
            fault = OK
            if index <= previous or index == 0 or index > MAX_INDEX or count == 8:
                if index > MAX_INDEX or pos - token > 18:
                    fault = LARGE_INDEX
                elif index <= previous:
                    fault = UNORDERED
                elif index == 0 and not zero_allowed:
                    fault = ZERO_INDEX
                if fault != OK:
                    return (
                        pos,
                        lines,
                        rows,
                        hards,
                        smallest,
                        largest,
                        fault,
                        token,
                        previous,
                    )
            start = pos + 1
            # Binary data consist of single digits.
            value = np.float64(byte_at(buffer, start) - 48)
            pos = start + 1
            byte = byte_at(buffer, pos)
            if value < 0 or value > 9 or not (byte == _SPACE or byte == _NEWLINE):
                value, pos, state = number_at(buffer, start, _POINT)
                if state == HARD:
                    hard[hards, 0] = nonzeros
                    hard[hards, 1] = start
                    hard[hards, 2] = pos
                    hards += 1
                byte = byte_at(buffer, pos)
                if state == NOT_A_NUMBER or not _is_end(byte):
                    return (
                        pos,
                        lines,
                        rows,
                        hards,
                        smallest,
                        largest,
                        BAD_VALUE,
                        token,
                        previous,
                    )
            if previous < 0 and index < smallest:
                smallest = index
            indices[nonzeros] = index - base
            data[nonzeros] = value
            nonzeros += 1
            previous = index
            # Predictable branches, so that the search for the next pair need not wait for this
            # byte.
            if byte != _SPACE:
                if byte == _NEWLINE:
                    break
                continue
            pos += 1
        if previous > largest:
            largest = previous
        rows += 1
        indptr[rows] = nonzeros
        pos += 1
        lines += 1
    return pos, lines, rows, hards, smallest, largest, OK, pos, -1
