"""The loop that writes sparse rows of short decimals as SVMlight text."""

from typing import Any

from olscale.compiled.decorator import compiled

DECIMALS = 1_000_000
"""Values are whole multiples of 1 / `DECIMALS`, from 1 / `DECIMALS` to 1."""
PAIR_BYTES = 20
ROW_BYTES = 3
"""Most bytes of a pair (space, ten digits, colon, eight of the value) and of a row's rest."""

_ZERO = 48
_COLON = 58
_SPACE = 32
_NEWLINE = 10
_DOT = 46
_PLUS = 43
_MINUS = 45


@compiled
def _digits(text: Any, at: int, number: int) -> int:
    """Write a whole number at `at` and return where it ends."""
    stop = at + 1
    rest = number // 10
    while rest:
        stop += 1
        rest //= 10
    for place in range(stop - 1, at - 1, -1):
        text[place] = _ZERO + number % 10
        number //= 10
    return stop


@compiled
def write_rows(indptr: Any, indices: Any, data: Any, target: Any, text: Any) -> int:
    """Write rows with targets -1 and +1 to `text`, with indices from 1; return the bytes.

    Values have no trailing zeros.
    """
    at = 0
    for i in range(target.shape[0]):
        text[at] = _PLUS if target[i] > 0.0 else _MINUS
        text[at + 1] = _ZERO + 1
        at += 2
        for j in range(indptr[i], indptr[i + 1]):
            text[at] = _SPACE
            at = _digits(text, at + 1, indices[j] + 1)
            text[at] = _COLON
            at += 1
            # Rounded: the float is not exactly the decimal that it stands for.
            parts = int(data[j] * DECIMALS + 0.5)
            if parts == DECIMALS:
                text[at] = _ZERO + 1
                at += 1
                continue
            text[at] = _ZERO
            text[at + 1] = _DOT
            at += 2
            unit = DECIMALS // 10
            # Ends with the last digit that is not 0.
            while parts:
                text[at] = _ZERO + parts // unit
                parts %= unit
                unit //= 10
                at += 1
        text[at] = _NEWLINE
        at += 1
    return at
