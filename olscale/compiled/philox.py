"""Philox4x32-10: random words by number, so that each can be computed at any time.

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC
2011, section 3.3.
"""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled

_ROUNDS = 10
_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLY0 = np.uint64(0xD2511F53)
_MULTIPLY1 = np.uint64(0xCD9E8D57)
_RAISE0 = np.uint64(0x9E3779B9)
_RAISE1 = np.uint64(0xBB67AE85)
_ZERO = np.uint64(0)


@compiled
def philox(
    c0: Any,
    c1: Any,
    c2: Any,
    c3: Any,
    k0: Any,
    k1: Any,
) -> Any:
    """Return the four words of a counter of four words and a key of two, all uint64 below 2^32."""
    for _ in range(_ROUNDS):
        p0 = _MULTIPLY0 * c0
        p1 = _MULTIPLY1 * c2
        c0 = (p1 >> _HALF) ^ c1 ^ k0
        c1 = p1 & _WORD
        c2 = (p0 >> _HALF) ^ c3 ^ k1
        c3 = p0 & _WORD
        k0 = (k0 + _RAISE0) & _WORD
        k1 = (k1 + _RAISE1) & _WORD
    return c0, c1, c2, c3


@compiled
def fill_words(number: Any, key: Any, words: Any) -> None:
    """Fill `words`, in fours, with the blocks of the counters (0, number), (1, number) ...

    The length of `words` is a multiple of 4. The number is less than 2^32, the key a uint64 array
    of shape (2,).
    """
    k0 = key[0]
    k1 = key[1]
    for block in range(words.shape[0] // 4):
        a, b, c, d = philox(np.uint64(block), np.uint64(number), _ZERO, _ZERO, k0, k1)
        words[4 * block] = a
        words[4 * block + 1] = b
        words[4 * block + 2] = c
        words[4 * block + 3] = d
