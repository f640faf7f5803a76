"""The byte loop over Vowpal Wabbit text.

Every buffer ends with a newline at ``stop - 1``, which stops every scan; after it there is room for
`byte_words.BYTES` more. `_vw_names` has the table of the names.
"""

# Chains of comparisons compile to plain jumps; `in` would search a tuple.
# ruff: noqa: SIM109

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import byte_at
from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import compiled
from olscale.compiled.number import HARD, NOT_A_NUMBER, number_at
from olscale.data.formats._vw_names import hash_of, number_of

(
    OK,
    BAD_LABEL,
    NO_LABEL,
    TAB_BEFORE_BAR,
    NO_BAR,
    BAD_SPACE,
    BAD_VALUE,
    BAD_RETURN,
    BAD_IMPORTANCE,
) = range(9)
FULL = 20
HARD_NUMBERS = 21
"""Not errors: the table of names is full; the row has numbers that are left to ``float``."""

WEIGHTED, BASED = range(2, 4)
"""Counts after those of names: rows with an importance other than 1, rows with a base."""

_NEWLINE, _SPACE, _TAB, _RETURN, _COLON, _BAR, _QUOTE = (ord(c) for c in "\n \t\r:|'")
_ZERO, _NINE, _PLUS, _MINUS, _POINT = (ord(c) for c in "09+-.")
# Largest number of entries for which a row is sorted by insertion.
_FEW = 32


@compiled
def _is_end(byte: int) -> bool:
    """Return whether a byte ends a name or a value."""
    if byte > _SPACE:
        return byte == _BAR
    return byte == _SPACE or byte == _NEWLINE or byte == _TAB or byte == _RETURN


@compiled
def _sort(
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    first: int,
    stop: int,
    spare_indices: NDArray[np.int32],
    spare_data: NDArray[np.float64],
) -> None:
    """Sort the entries of a row by index; equal ones keep their order."""
    # Runs of a few entries by insertion, then merged: both leave equal ones in their
    # order.
    for begin in range(first, stop, _FEW):
        for i in range(begin + 1, min(begin + _FEW, stop)):
            index = indices[i]
            value = data[i]
            j = i
            while j > begin and indices[j - 1] > index:
                indices[j] = indices[j - 1]
                data[j] = data[j - 1]
                j -= 1
            indices[j] = index
            data[j] = value
    width = _FEW
    while width < stop - first:
        for begin in range(first, stop, 2 * width):
            middle = min(begin + width, stop)
            end = min(begin + 2 * width, stop)
            left = begin
            right = middle
            for i in range(end - begin):
                if left < middle and (right >= end or indices[left] <= indices[right]):
                    spare_indices[i] = indices[left]
                    spare_data[i] = data[left]
                    left += 1
                else:
                    spare_indices[i] = indices[right]
                    spare_data[i] = data[right]
                    right += 1
            copy_numbers(spare_indices, indices[begin:], end - begin)
            copy_numbers(spare_data, data[begin:], end - begin)
        width *= 2


@compiled
def _summed(
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    first: int,
    stop: int,
) -> int:
    """Add up the entries of a sorted row that have the same index; return the new end."""
    last = first
    for i in range(first + 1, stop):
        if indices[i] == indices[last]:
            data[last] += data[i]
        else:
            last += 1
            indices[last] = indices[i]
            data[last] = data[i]
    return min(last + 1, stop)


@compiled
def _written(number: int, digits: NDArray[np.uint8]) -> int:
    """Write a whole number into `digits`; return the number of digits."""
    count = 1
    rest = number // 10
    while rest > 0:
        count += 1
        rest //= 10
    for i in range(count):
        digits[count - 1 - i] = _ZERO + number % 10
        number //= 10
    return count


@compiled
def _number_or_hard(
    buffer: NDArray[np.uint8],
    pos: int,
    hards: int,
    hard: NDArray[np.int64],
    hard_values: NDArray[np.float64],
    hard_known: int,
) -> tuple[float, int, bool, int]:
    """Return the number at `pos`, its end, whether there is one, and the count of hard numbers."""
    value, end, state = number_at(buffer, pos, _POINT)
    if state == HARD:
        hard[hards, 0] = pos
        hard[hards, 1] = end
        value = 0.0
        # The row is parsed again once Python has read these numbers.
        if hards < hard_known:
            value = hard_values[hards]
        hards += 1
    return value, end, state != NOT_A_NUMBER, hards


@compiled
def _label_at(
    buffer: NDArray[np.uint8],
    pos: int,
    hard: NDArray[np.int64],
    hard_values: NDArray[np.float64],
    hard_known: int,
) -> tuple[int, int, int, int, float, float, float, int]:
    """Parse what precedes the first bar: label, importance, base and a tag, all optional.

    Returns the position reached (of the bar, or of the newline of an empty line), fault, position
    of the faulty word, number of words without the tag, label, importance, base, hard numbers.
    """
    label = np.nan
    importance = 1.0
    base = 0.0
    row = pos
    words = 0
    hards = 0
    is_tagged = False
    while True:
        byte = byte_at(buffer, pos)
        if byte == _SPACE or (byte == _RETURN and byte_at(buffer, pos + 1) == _NEWLINE):
            pos += 1
            continue
        if byte == _BAR:
            return pos, OK, pos, words, label, importance, base, hards
        if byte == _NEWLINE:
            fault = OK
            if words > 0 or is_tagged:
                fault = NO_BAR
            return pos, fault, row, words, label, importance, base, hards
        token = pos
        value, end, is_number, hards_now = _number_or_hard(
            buffer,
            pos,
            hards,
            hard,
            hard_values,
            hard_known,
        )
        while not _is_end(byte_at(buffer, pos)):
            pos += 1
        if byte_at(buffer, pos) == _TAB:
            return pos, TAB_BEFORE_BAR, token, words, label, importance, base, hards
        if byte == _QUOTE or byte_at(buffer, pos) == _BAR:
            # A tag begins with a quote or touches the bar, even if it is a number.
            if is_tagged:
                return pos, BAD_LABEL, token, words, label, importance, base, hards
            is_tagged = True
            continue
        if (
            is_tagged
            or not is_number
            or end != pos
            # NaN and infinities, whose difference from themselves is NaN.
            or value - value != 0.0
            or words == 3
        ):
            return pos, BAD_LABEL, token, words, label, importance, base, hards
        hards = hards_now
        if words == 0:
            label = value
        elif words == 1:
            importance = value
        else:
            base = value
        words += 1


@compiled
def parse_rows(
    buffer: NDArray[np.uint8],
    pos: int,
    stop: int,
    max_rows: int,
    max_nonzeros: int,
    needs_label: bool,
    weighted: bool,
    mask: int,
    rows: int,
    labels: NDArray[np.float64],
    importances: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    counts: NDArray[np.int64],
    digits: NDArray[np.uint8],
    spare_indices: NDArray[np.int32],
    spare_data: NDArray[np.float64],
    hard: NDArray[np.int64],
    hard_values: NDArray[np.float64],
    hard_known: int,
) -> tuple[int, int, int, int, int, int]:
    """Parse whole lines from `pos` until `stop` or a limit of rows or nonzeros.

    Parameters
    ----------
    buffer : ndarray of uint8
        Text without NUL whose byte ``stop - 1`` is a newline, with `byte_words.BYTES` more after
        it.
    pos, stop : int
        Where to begin (a line's first byte) and to end.
    max_rows, max_nonzeros : int
        Stop after the row that reaches either.
    needs_label : bool
        Whether a row without a label is a fault; else its label is NaN.
    weighted : bool
        Whether an importance less than 0 is a fault.
    mask : int
        All ones up to the largest index of hashed features, or -1 for named ones.
    rows : int
        Rows already in the arrays; parsing appends.
    labels, importances, indptr, indices, data : ndarray
        Receive the rows.
    slots, arena : ndarray
        The table of names.
    counts : ndarray of shape (4,)
        Running counts: `NAMES`, `BYTES`, `WEIGHTED`, `BASED`.
    digits : ndarray of uint8
        Room for a number.
    spare_indices, spare_data : ndarray
        Room for the entries of a row.
    hard : ndarray of shape (entries, 2)
        Receives where the numbers of a row begin and end that are left to ``float``.
    hard_values : ndarray of shape (entries,)
        What these are, for the first `hard_known` of the row at `pos`.

    Returns
    -------
    tuple of int
        Position reached, which is the start of an unfinished row; lines, rows; fault, position of
        its word, hard numbers.
    """
    lines = 0
    nonzeros = indptr[rows]
    while pos < stop and rows < max_rows and nonzeros < max_nonzeros:
        row = pos
        pos, fault, token, words, label, importance, base, hards = _label_at(
            buffer,
            pos,
            hard,
            hard_values,
            hard_known,
        )
        byte = byte_at(buffer, pos)
        if fault == OK and byte == _BAR and words == 0 and needs_label:
            fault = NO_LABEL
            token = row
        if fault != OK:
            return row, lines, rows, fault, token, hards
        if byte == _NEWLINE:
            pos += 1
            lines += 1
            continue
        first = nonzeros
        previous = -1
        is_sorted = True
        while byte == _BAR:
            token = pos + 1
            pos = token
            while not _is_end(byte_at(buffer, pos)) and byte_at(buffer, pos) != _COLON:
                pos += 1
            space = (token, pos)
            # Features without a namespace are hashed as if there were none.
            seed = hash_of(buffer, token, pos, np.uint64(0))
            scale = 1.0
            if byte_at(buffer, pos) == _COLON:
                scale, pos, is_number, hards = _number_or_hard(
                    buffer,
                    pos + 1,
                    hards,
                    hard,
                    hard_values,
                    hard_known,
                )
                if space[0] == space[1] or not is_number or scale - scale != 0.0:
                    fault = BAD_SPACE
            if not _is_end(byte_at(buffer, pos)):
                fault = BAD_SPACE
            unnamed = 0
            while fault == OK:
                byte = byte_at(buffer, pos)
                if byte == _SPACE or byte == _TAB:
                    pos += 1
                    continue
                token = pos
                if byte == _RETURN:
                    if byte_at(buffer, pos + 1) != _NEWLINE:
                        fault = BAD_RETURN
                        break
                    pos += 1
                    byte = _NEWLINE
                if byte == _NEWLINE or byte == _BAR:
                    break
                while not _is_end(byte) and byte != _COLON:
                    pos += 1
                    byte = byte_at(buffer, pos)
                text = buffer
                name = (token, pos)
                word = (pos, pos)
                value = 1.0
                if byte == _COLON:
                    begin = pos + 1
                    value, pos, is_number, hards_now = _number_or_hard(
                        buffer,
                        begin,
                        hards,
                        hard,
                        hard_values,
                        hard_known,
                    )
                    if is_number and _is_end(byte_at(buffer, pos)):
                        hards = hards_now
                        if value - value != 0.0:
                            fault = BAD_VALUE
                        if token == begin - 1:
                            # Features without a name are numbered, including those that are zero.
                            text = digits
                            name = (0, _written(unnamed, digits))
                            unnamed += 1
                    else:
                        # A value that is a word makes a feature of its own.
                        byte = byte_at(buffer, begin)
                        if _is_end(byte) or (byte >= _ZERO and byte <= _NINE):
                            fault = BAD_VALUE
                        if byte == _PLUS or byte == _MINUS or byte == _POINT:
                            fault = BAD_VALUE
                        pos = begin
                        while not _is_end(byte_at(buffer, pos)):
                            pos += 1
                        word = (begin, pos)
                        value = 1.0
                    if fault != OK:
                        break
                value *= scale
                if value == 0.0:
                    # After the weight of the namespace, which may make it 0.
                    continue
                hashed = hash_of(text, name[0], name[1], seed)
                if word[1] > word[0]:
                    hashed = hash_of(buffer, word[0], word[1], hashed)
                if mask >= 0:
                    index = int(np.int64(hashed & np.uint64(mask)))
                else:
                    index = number_of(
                        buffer,
                        space,
                        text,
                        name,
                        word,
                        hashed,
                        slots,
                        arena,
                        counts,
                    )
                    if index < 0:
                        # The caller makes room and parses this row anew.
                        return row, lines, rows, FULL, token, hards
                is_sorted = is_sorted and index > previous
                previous = index
                indices[nonzeros] = index
                data[nonzeros] = value
                nonzeros += 1
            if fault != OK:
                return row, lines, rows, fault, token, hards
        if hards > hard_known:
            return row, lines, rows, HARD_NUMBERS, row, hards
        # They were those of the first row of the call.
        hard_known = 0
        if not is_sorted:
            _sort(indices, data, first, nonzeros, spare_indices, spare_data)
            nonzeros = _summed(indices, data, first, nonzeros)
        # Last, since faults within a row are reported in the order of its words.
        if weighted and importance < 0.0:
            return row, lines, rows, BAD_IMPORTANCE, row, hards
        counts[WEIGHTED] += importance != 1.0
        counts[BASED] += base != 0.0
        labels[rows] = label
        importances[rows] = importance
        rows += 1
        indptr[rows] = nonzeros
        pos += 1
        lines += 1
    return pos, lines, rows, OK, pos, 0
