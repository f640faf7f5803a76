"""The byte loop over LIBSVM/SVMlight text.

Every buffer ends with a newline at ``stop - 1``, so no inner loop needs a bounds check of its own: whatever it scans,
a newline stops it. Behind it there is room for one more word, see `olscale.compiled.eight_bytes`.

Numbers have the bits that strtod gives, see `olscale.compiled.decimal`. Those of more than 19 digits and those that are
not normal doubles are left to Python's ``float``.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decimal import scaled
from olscale.compiled.decorator import compiled
from olscale.compiled.eight_bytes import byte_at, digit_run

__all__ = [
    "BAD_INDEX",
    "BAD_LABEL",
    "BAD_VALUE",
    "LARGE_INDEX",
    "MAX_INDEX",
    "MISSING_LABEL",
    "NEGATIVE_INDEX",
    "OK",
    "UNORDERED",
    "ZERO_INDEX",
    "parse_rows",
]

OK, MISSING_LABEL, BAD_LABEL, BAD_INDEX, NEGATIVE_INDEX, LARGE_INDEX, BAD_VALUE, UNORDERED, ZERO_INDEX = range(9)
MAX_INDEX = 2**31 - 2

_EXACT, _HARD, _NOT_A_NUMBER = range(3)
_INT_POWERS = np.array([10**n for n in range(9)])
_NEWLINE, _SPACE, _TAB, _RETURN, _HASH, _COLON, _PLUS, _MINUS, _POINT = (ord(c) for c in "\n \t\r#:+-.")
_ZERO = ord("0")
_E, _N, _A, _I, _F, _Q, _D = (ord(c) for c in "enaifqd")
_T, _Y = ord("t"), ord("y")


@compiled
def _is_end(byte: int) -> bool:
    return byte == _SPACE or byte == _NEWLINE or byte == _TAB or byte == _RETURN or byte == _HASH


@compiled
def _special(buffer: NDArray[np.uint8], pos: int) -> tuple[float, int, int]:
    """Parse nan, inf or infinity in any case."""
    a, b, c = buffer[pos] | 32, 0, 0
    if a == _N or a == _I:
        b = buffer[pos + 1] | 32
        if b == _A or b == _N:
            c = buffer[pos + 2] | 32
    if a == _N and b == _A and c == _N:
        return np.nan, pos + 3, _EXACT
    if a == _I and b == _N and c == _F:
        pos += 3
        rest = (_I, _N, _I, _T, _Y)
        matched = 0
        while matched < 5 and buffer[pos + matched] | 32 == rest[matched]:
            matched += 1
        if matched == 5:
            pos += 5
        return np.inf, pos, _EXACT
    return 0.0, pos, _NOT_A_NUMBER


@compiled
def _digits(buffer: NDArray[np.uint8], pos: int, mantissa: int) -> tuple[int, int]:
    """Append the digits at `pos` to `mantissa` (it may overflow: count them); return it and where they end."""
    while True:
        value, count = digit_run(buffer, pos)
        mantissa = mantissa * _INT_POWERS[count] + value
        pos += count
        if count < 8:
            return mantissa, pos


@compiled
def _number(buffer: NDArray[np.uint8], pos: int) -> tuple[float, int, int]:
    """Parse the number at `pos`; return it, where it ends and how far it can be trusted."""
    byte = byte_at(buffer, pos)
    negative = byte == _MINUS
    if negative or byte == _PLUS:
        pos += 1
    start = pos
    mantissa, pos = _digits(buffer, pos, 0)
    digits = pos - start
    power = 0
    byte = byte_at(buffer, pos)
    if byte == _POINT:
        point = pos + 1
        mantissa, pos = _digits(buffer, point, mantissa)
        power = point - pos
        digits -= power
        byte = byte_at(buffer, pos)
    if digits == 0:
        if pos != start:
            return 0.0, pos, _NOT_A_NUMBER
        value, pos, state = _special(buffer, pos)
        return -value if negative else value, pos, state
    if byte | 32 == _E:
        pos += 1
        byte = byte_at(buffer, pos)
        if byte == _MINUS or byte == _PLUS:
            pos += 1
        first = pos
        exponent, pos = _digits(buffer, pos, 0)
        if pos == first:
            return 0.0, pos, _NOT_A_NUMBER
        if pos - first > 8:
            return 0.0, pos, _HARD
        power += -exponent if byte == _MINUS else exponent
    if digits > 19:
        # Leading zeros do not count; 19 digits fit into 64 bits.
        while byte_at(buffer, start) == _ZERO or byte_at(buffer, start) == _POINT:
            digits -= byte_at(buffer, start) == _ZERO
            start += 1
        if digits > 19:
            return 0.0, pos, _HARD
    value, done = scaled(np.uint64(mantissa), power)
    if not done:
        return 0.0, pos, _HARD
    return -value if negative else value, pos, _EXACT


@compiled
def parse_rows(
    buffer: NDArray[np.uint8],
    pos: int,
    stop: int,
    max_rows: int,
    max_nonzeros: int,
    zero_allowed: bool,
    base: int,
    rows: int,
    labels: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    hard: NDArray[np.int64],
) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Parse whole lines from `pos` until `stop`, or until there are `max_rows` rows or `max_nonzeros` values.

    Parameters
    ----------
    buffer : ndarray of uint8
        Text whose byte ``stop - 1`` is a newline, with eight more bytes behind it.
    pos, stop : int
        Where to begin (a line's first byte) and to end.
    max_rows, max_nonzeros : int
        Stop after the row that reaches either.
    zero_allowed : bool
        Whether an index 0 is accepted.
    base : int
        What is taken off every index.
    rows : int
        Rows that the arrays hold already; parsing appends.
    labels, indptr, indices, data : ndarray
        Receive the rows.
    hard : ndarray of shape (entries, 3)
        Receives (position among the values, or -1 - row for a label; first byte; end) of numbers left to ``float``.

    Returns
    -------
    tuple of int
        Position reached, lines, rows, hard numbers, smallest and largest index of this call as written (`MAX_INDEX` and
        -1 when there is none), error code, position of the faulty token, index before it.
    """
    lines, hards = 0, 0
    nonzeros = indptr[rows]
    smallest, largest = MAX_INDEX, -1
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
        value, pos, state = _number(buffer, pos)
        if state == _NOT_A_NUMBER or not _is_end(byte_at(buffer, pos)):
            fault = MISSING_LABEL if state != _NOT_A_NUMBER and byte_at(buffer, pos) == _COLON else BAD_LABEL
            return pos, lines, rows, hards, smallest, largest, fault, token, -1
        if value - value != 0.0:
            return pos, lines, rows, hards, smallest, largest, BAD_LABEL, token, -1
        if state == _HARD:
            hard[hards, 0], hard[hards, 1], hard[hards, 2] = -1 - rows, token, pos
            hards += 1
        labels[rows] = value
        previous = -1
        while True:
            token = pos
            index, count = digit_run(buffer, pos)
            if count == 8:
                index, pos = _digits(buffer, pos, 0)
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
                    if byte == _Q and buffer[pos + 1] == _I and buffer[pos + 2] == _D and buffer[pos + 3] == _COLON:
                        while not _is_end(byte_at(buffer, pos)):
                            pos += 1
                        continue
                fault = BAD_INDEX
                if byte == _MINUS and count == 0:
                    count = digit_run(buffer, pos + 1)[1]
                    if count > 0 and (count == 8 or byte_at(buffer, pos + 1 + count) == _COLON):
                        fault = NEGATIVE_INDEX
                return pos, lines, rows, hards, smallest, largest, fault, token, previous
            fault = OK
            if index <= previous or index == 0 or index > MAX_INDEX or count == 8:
                if index > MAX_INDEX or pos - token > 18:
                    fault = LARGE_INDEX
                elif index <= previous:
                    fault = UNORDERED
                elif index == 0 and not zero_allowed:
                    fault = ZERO_INDEX
                if fault != OK:
                    return pos, lines, rows, hards, smallest, largest, fault, token, previous
            start = pos + 1
            # A lone digit is what binary data consist of.
            value = np.float64(byte_at(buffer, start) - 48)
            pos = start + 1
            byte = byte_at(buffer, pos)
            if value < 0 or value > 9 or not (byte == _SPACE or byte == _NEWLINE):
                value, pos, state = _number(buffer, start)
                if state == _HARD:
                    hard[hards, 0], hard[hards, 1], hard[hards, 2] = nonzeros, start, pos
                    hards += 1
                byte = byte_at(buffer, pos)
                if state == _NOT_A_NUMBER or not _is_end(byte):
                    return pos, lines, rows, hards, smallest, largest, BAD_VALUE, token, previous
            if previous < 0 and index < smallest:
                smallest = index
            indices[nonzeros] = index - base
            data[nonzeros] = value
            nonzeros += 1
            previous = index
            # Branches, which are foreseen: where the next pair begins must not wait for this byte.
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
