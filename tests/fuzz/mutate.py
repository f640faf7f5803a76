"""Mutations of bytes: flips, cuts, splices, repetitions, huge numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

LARGEST = 1 << 16
"""Bytes that an input may grow to."""

_NUMBER = re.compile(rb"\d+")
_SIZES = (
    0,
    1,
    2,
    255,
    65_536,
    2**31 - 2,
    2**31 - 1,
    2**31,
    2**32,
    10**9,
    10**12,
    10**18,
    2**63 - 1,
    2**63,
)
_HUGE = (
    *(str(size).encode() for size in _SIZES),
    *(
        b"-1",
        b"1e999",
        b"-0",
        b"1e-400",
        b"9" * 30,
        b"1" * 5000,
        b"nan",
        b"inf",
        b"0.1",
        b"1_0",
    ),
)
_WORDS = (
    2**8 - 1,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
    0,
    1,
    16,
)
_BYTES = (
    *(
        bytes([byte])
        for byte in b"\0\t\n\x0b\x0c\r\x1a\x1c \"#%',-.:;?@[]{|}\x7f\x80\xc3\xff"
    ),
    b"\r\n",
    b"\xef\xbb\xbf",
    "\u2028".encode(),
    "\u0665".encode(),
    "\U0001f600".encode(),
)


class Mutator:
    """Makes one input of another.

    Parameters
    ----------
    words : sequence of bytes
        Pieces of the format.
    """

    def __init__(self, words: Sequence[bytes] = ()) -> None:
        self._words = (*words, *_BYTES)
        self._ways: tuple[Callable[[Random, bytes, Sequence[bytes]], bytes], ...] = (
            self._flip,
            self._set,
            self._cut,
            self._truncate,
            self._repeat,
            self._insert,
            self._number,
            self._integer,
            self._splice,
            self._lines,
        )

    def mutate(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        """Return `data` changed in one to eight ways; `others` are valid inputs to take pieces from."""
        count = 1
        while count < 8 and random.random() < 0.5:
            count += 1
        for _ in range(count):
            data = random.choice(self._ways)(random, data, others)[:LARGEST]
        return data

    def _flip(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        return _with(data, random, lambda byte: byte ^ (1 << random.randrange(8)))

    def _set(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        return _with(data, random, lambda byte: random.randrange(256))

    def _cut(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        start, stop = _span(random, data)
        return data[:start] + data[stop:]

    def _truncate(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        return data[: random.randrange(len(data) + 1)]

    def _repeat(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        start, stop = _span(random, data)
        return (
            data[:stop] + data[start:stop] * random.choice((1, 1, 2, 50)) + data[stop:]
        )

    def _insert(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        at = random.randrange(len(data) + 1)
        word = random.choice(self._words) * random.choice((1, 1, 1, 2, 3000))
        return data[:at] + word + data[at + random.choice((0, len(word))) :]

    def _number(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        found = list(_NUMBER.finditer(data))
        if not found:
            return self._integer(random, data, others)
        at = random.choice(found)
        return data[: at.start()] + random.choice(_HUGE) + data[at.end() :]

    def _integer(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        size = random.choice((1, 2, 4, 8))
        order = random.choice(("little", "big"))
        number = (random.choice(_WORDS) & ((1 << 8 * size) - 1)).to_bytes(size, order)  # type: ignore[arg-type]
        at = random.randrange(max(1, len(data) - size + 1))
        return data[:at] + number + data[at + size :]

    def _splice(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        start, stop = _span(random, data)
        other = random.choice(others)
        first, last = _span(random, other)
        return data[:start] + other[first:last] + data[stop:]

    def _lines(self, random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        lines = data.splitlines(keepends=True)
        if not lines:
            return data
        at = random.randrange(len(lines))
        to = random.randrange(len(lines))
        line = lines.pop(at) if random.random() < 0.5 else lines[at]
        lines[to:to] = [line] * random.choice((1, 1, 2, 40))
        return b"".join(lines)


def _with(data: bytes, random: Random, change: Callable[[int], int]) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 16))):
        at = random.randrange(len(data))
        changed[at] = change(changed[at])
    return bytes(changed)


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    longest = random.choice((1, 4, 32, len(data)))
    return start, min(len(data), start + random.randrange(longest + 1))
