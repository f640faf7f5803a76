"""The compiled loops that pack and unpack sparse rows; `olscale.data.row_codec` has the format."""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import prefetch
from olscale.compiled.simd.packing import (
    LANES,
    fill_ones,
    first_bit,
    join_halves,
    others_than_one,
    split_halves,
)

_AHEAD = 4  # rows fetched ahead: each row in random order would otherwise stall
_LINE = np.uint64(8)  # words of a cache line
_HEADER = np.uint64(3)
_MOST = np.uint64(5)
_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(n) for n in range(5))
_LANES = np.uint64(LANES)
_WORD = np.uint64(64)
_HALF = np.uint32(16)
_LONGEST = np.uint64((1 << 16) - 1)


@compiled
def _others(data: Any, i: Any, count: Any) -> Any:
    mask = _ZERO
    k = _ZERO
    while k + _LANES <= count:
        mask |= others_than_one(data, i + k) << k
        k += _LANES
    while k < count:
        mask |= np.uint64(data[i + k] != 1.0) << k
        k += _ONE
    return mask


@compiled
def _put_indices(
    indices: Any,
    low: Any,
    high: Any,
    unit: Any,
    twos: Any,
) -> Any:
    """Write the lower halves of a row from `unit` on, then its runs; return where these end."""
    run = unit + high - low
    begin = low
    upper = np.uint32(0)
    p = low
    while p + _LANES <= high:
        mask = split_halves(twos, unit + p - low, indices, p, upper)
        while mask != _ZERO:
            entry = first_bit(mask)
            run = _put_run(twos, run, p + entry - begin, upper)
            begin = p + entry
            upper = np.uint32(indices[p + entry]) >> _HALF
            # The remaining ones are compared again, as the upper half has changed.
            mask = split_halves(twos, unit + p - low, indices, p, upper) & ~(
                (_TWO << entry) - _ONE
            )
        p += _LANES
    while p < high:
        index = np.uint32(indices[p])
        twos[unit + p - low] = np.uint16(index)
        if index >> _HALF != upper:
            run = _put_run(twos, run, p - begin, upper)
            begin = p
            upper = index >> _HALF
        p += _ONE
    return _put_run(twos, run, high - begin, upper)


@compiled
def _put_run(twos: Any, run: Any, length: Any, upper: Any) -> Any:
    while length > _ZERO:
        part = min(length, _LONGEST)
        twos[run] = part
        twos[run + _ONE] = upper
        length -= part
        run += _TWO
    return run


@compiled
def pack_rows(
    indptr: Any,
    indices: Any,
    data: Any,
    label: Any,
    position: Any,
    size: Any,
    first: Any,
    slots: Any,
    words: Any,
) -> Any:
    """Write rows from `first` on, each in its slot; return the first one that does not fit."""
    fronts, backs, counts = slots
    fours = words.view(np.int32)
    twos = words.view(np.uint16)
    bits = words.view(np.uint64)
    for i in range(first, len(label)):
        slot = position[i] // size
        low = np.uint64(indptr[i])
        high = np.uint64(indptr[i + 1])
        record = np.uint64(fronts[slot])
        value = np.uint64(backs[slot])
        if record + _MOST + _TWO * (high - low) > value:
            return i
        if i + _AHEAD < len(label):
            start_ahead = np.uint64(indptr[i + _AHEAD])
            stop_ahead = np.uint64(indptr[i + _AHEAD + 1])
            for p in range(start_ahead, stop_ahead, _LINE):
                prefetch(data, p)
                prefetch(indices, p)
        unit = _FOUR * (record + _HEADER)
        end = _put_indices(indices, low, high, unit, twos)
        at = (end + _THREE) >> _TWO
        for p in range(low, high, _WORD):
            mask = _others(data, p, min(_WORD, high - p))
            bits[at] = mask
            at += _ONE
            while mask != _ZERO:
                value -= _ONE
                words[value] = data[p + first_bit(mask)]
                mask &= mask - _ONE
        fours[_TWO * record] = position[i] - slot * size
        fours[_TWO * record + _ONE] = high - low
        fours[_TWO * record + _TWO] = (end - unit - (high - low)) >> _ONE
        fours[_TWO * record + _THREE] = np.uint64(backs[slot]) - value
        words[record + _TWO] = label[i]
        fronts[slot] = at
        backs[slot] = value
        counts[slot] += 1
    return len(label)


@compiled
def find_rows(
    begin: Any,
    middle: Any,
    end: Any,
    rows: Any,
    words: Any,
    position: Any,
    label: Any,
) -> None:
    """Fill in where each row of the pieces lies: its position, entries and label."""
    record, values, entries = rows
    fours = words.view(np.int32)
    i = 0
    for piece in range(len(begin)):
        at = begin[piece]
        value = end[piece]
        while at < middle[piece]:
            record[i] = at
            values[i] = value
            position[i] = fours[2 * at]
            entries[i] = fours[2 * at + 1]
            label[i] = words[at + 2]
            value -= fours[2 * at + 3]
            at += (
                3
                + ((entries[i] + 2 * fours[2 * at + 2] + 3) >> 2)
                + ((entries[i] + 63) >> 6)
            )
            i += 1


@compiled
def unpack_rows(
    words: Any,
    record: Any,
    values: Any,
    order: Any,
    new_indptr: Any,
    new_indices: Any,
    new_data: Any,
) -> None:
    """Write the rows at `order` as CSR rows."""
    fours = words.view(np.int32)
    twos = words.view(np.uint16)
    bits = words.view(np.uint64)
    entry = _ZERO
    for i in range(len(order)):
        if i + 2 * _AHEAD < len(order):
            row = order[i + 2 * _AHEAD]
            prefetch(words, np.uint64(record[row]))
        if i + _AHEAD < len(order):
            row = order[i + _AHEAD]
            at = np.uint64(record[row])
            value = np.uint64(values[row])
            words_of_indices = np.uint64(fours[_TWO * at + _ONE]) >> _TWO
            end = at + _HEADER + words_of_indices + _LINE
            for p in range(at + _LINE, end, _LINE):
                prefetch(words, p)
            words_of_values = np.uint64(fours[_TWO * at + _THREE])
            for p in range(value - words_of_values, value, _LINE):
                prefetch(words, p)
        at = np.uint64(record[order[i]])
        value = np.uint64(values[order[i]])
        entries = np.uint64(fours[_TWO * at + _ONE])
        unit = _FOUR * (at + _HEADER)
        run = unit + entries
        to = entry
        # Full vectors are written, beyond the end of a run and of the row: later writes replace the
        # excess.
        for _ in range(fours[_TWO * at + _TWO]):
            length = np.uint64(twos[run])
            upper = np.uint32(twos[run + _ONE])
            for k in range(_ZERO, length, _LANES):
                join_halves(new_indices, to + k, twos, unit + k, upper)
            run = run + _TWO
            unit = unit + length
            to = to + length
        for k in range(_ZERO, entries, _LANES):
            fill_ones(new_data, entry + k)
        word = (run + _THREE) >> _TWO
        for k in range(entry, entry + entries, _WORD):
            mask = bits[word]
            word += _ONE
            while mask != _ZERO:
                value -= _ONE
                new_data[k + first_bit(mask)] = words[value]
                mask &= mask - _ONE
        entry += entries
        new_indptr[i + 1] = entry
