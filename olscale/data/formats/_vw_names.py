"""Hashes of names in Vowpal Wabbit text, and the table of the names.

The key of a feature is its namespace, NUL, its name, and, if its value is a word, NUL and that
word. `arena` holds the keys in order of first appearance, a newline after each. `slots`, a hash
table with open addressing, holds two words per key: its hash with its number plus one, and where it
begins.
"""

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.byte_words import word_at
from olscale.compiled.decorator import compiled

NAMES, BYTES = range(2)
"""Counts: names, bytes of their keys."""

ROOM = 32
"""Bytes that an array must have after its last."""

_NEWLINE, _ZERO, _NINE = (ord(c) for c in "\n09")
_LOW = np.uint64(0xFFFFFFFF)
_C1 = np.uint64(0xCC9E2D51)
_C2 = np.uint64(0x1B873593)
_C3 = np.uint64(0xE6546B64)
_F1 = np.uint64(0x85EBCA6B)
_F2 = np.uint64(0xC2B2AE35)
_U0, _U1, _U5, _U10, _U13 = (np.uint64(n) for n in (0, 1, 5, 10, 13))
_U15, _U16, _U17, _U19, _U32 = (np.uint64(n) for n in (15, 16, 17, 19, 32))


@compiled
def murmur(
    text: NDArray[np.uint8],
    start: int,
    end: int,
    seed: np.uint64,
) -> np.uint64:
    """Return MurmurHash3 (x86, 32 bits) of some bytes, followed by room for seven more."""
    # 64-bit words, cut to 32 bits after each step: Numba widens 32-bit arithmetic by
    # itself.
    hashed = seed & _LOW
    pos = start
    while pos + 4 <= end:
        hashed ^= _scrambled(word_at(text, pos) & _LOW)
        hashed = ((hashed << _U13) | (hashed >> _U19)) & _LOW
        hashed = (hashed * _U5 + _C3) & _LOW
        pos += 4
    if pos < end:
        hashed ^= _scrambled(_first_bytes(word_at(text, pos), end - pos))
    hashed ^= np.uint64(end - start)
    hashed ^= hashed >> _U16
    hashed = (hashed * _F1) & _LOW
    hashed ^= hashed >> _U13
    hashed = (hashed * _F2) & _LOW
    return hashed ^ (hashed >> _U16)


@compiled
def _first_bytes(word: np.uint64, count: int) -> np.uint64:
    """Return the first bytes of a word, fewer than eight, and zeros for the others."""
    return word & ((_U1 << np.uint64(8 * count)) - _U1)


@compiled
def _scrambled(word: np.uint64) -> np.uint64:
    word = (word * _C1) & _LOW
    word = ((word << _U15) | (word >> _U17)) & _LOW
    return (word * _C2) & _LOW


@compiled
def hash_of(
    text: NDArray[np.uint8],
    start: int,
    end: int,
    seed: np.uint64,
) -> np.uint64:
    """Return the hash of a name as Vowpal Wabbit has it: a whole number is added to the seed."""
    number = np.uint64(0)
    for pos in range(start, end):
        digit = text[pos]
        if digit < _ZERO or digit > _NINE:
            return murmur(text, start, end, seed)
        # Wraps at 2^64, without an error.
        number = number * _U10 + np.uint64(digit - _ZERO)
    return number + seed


@compiled
def _equal(
    text: NDArray[np.uint8],
    start: int,
    end: int,
    arena: NDArray[np.uint8],
    first: int,
) -> bool:
    while start + 8 <= end:
        if word_at(text, start) != word_at(arena, first):
            return False
        start += 8
        first += 8
    # Eight bytes are read even of a shorter end: both arrays have room behind.
    differing = _first_bytes(word_at(text, start) ^ word_at(arena, first), end - start)
    return bool(differing == _U0)


@compiled
def _copied(
    text: NDArray[np.uint8],
    start: int,
    end: int,
    arena: NDArray[np.uint8],
    first: int,
) -> int:
    for i in range(end - start):
        arena[first + i] = text[start + i]
    return first + end - start


@compiled
def move_names(old: NDArray[np.uint64], slots: NDArray[np.uint64]) -> None:
    """Fill an empty table with the entries of another."""
    mask = len(slots) // 2 - 1
    for i in range(0, len(old), 2):
        if old[i] != _U0:
            slot = np.int64(old[i] >> _U32) & mask
            while slots[2 * slot] != _U0:
                slot = (slot + 1) & mask
            slots[2 * slot] = old[i]
            slots[2 * slot + 1] = old[i + 1]


@compiled
def number_of(
    buffer: NDArray[np.uint8],
    space: tuple[int, int],
    text: NDArray[np.uint8],
    name: tuple[int, int],
    word: tuple[int, int],
    hashed: np.uint64,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> int:
    """Return the number of a key, the next one if it is new; -1 if there is no room for it."""
    mask = len(slots) // 2 - 1
    has_word = word[1] > word[0]
    slot = np.int64(hashed & _LOW) & mask
    while slots[2 * slot] != _U0:
        # The hash stands next to the number, so that most other keys are passed without
        # a look at their bytes.
        if slots[2 * slot] >> _U32 == hashed & _LOW:
            pos = int(np.int64(slots[2 * slot + 1]))
            is_same = _equal(buffer, space[0], space[1], arena, pos)
            pos += space[1] - space[0]
            is_same = is_same and arena[pos] == 0
            is_same = is_same and _equal(text, name[0], name[1], arena, pos + 1)
            pos += 1 + name[1] - name[0]
            if is_same and has_word:
                is_same = arena[pos] == 0 and _equal(
                    buffer, word[0], word[1], arena, pos + 1
                )
                pos += 1 + word[1] - word[0]
            if is_same and arena[pos] == _NEWLINE:
                return int(np.int64(slots[2 * slot] & _LOW)) - 1
        slot = (slot + 1) & mask
    number = int(counts[NAMES])
    first = int(counts[BYTES])
    size = space[1] - space[0] + name[1] - name[0] + word[1] - word[0] + 3
    # At most half of the slots are taken: longer chains would be searched for each
    # name.
    if 4 * number >= len(slots) or first + size + ROOM > len(arena):
        return -1
    slots[2 * slot] = (hashed & _LOW) << _U32 | np.uint64(number + 1)
    slots[2 * slot + 1] = np.uint64(first)
    end = _copied(buffer, space[0], space[1], arena, first)
    arena[end] = 0
    end = _copied(text, name[0], name[1], arena, end + 1)
    if has_word:
        arena[end] = 0
        end = _copied(buffer, word[0], word[1], arena, end + 1)
    arena[end] = _NEWLINE
    counts[NAMES] = number + 1
    counts[BYTES] = end + 1
    return number
