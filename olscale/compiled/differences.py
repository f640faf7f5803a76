"""Distances of rows and support vectors as sums of differences, where products lose all digits.

``|x|^2 + |s|^2 - 2 x.s`` has the rounding of its terms: if a feature is 1e8 in all rows, and they
differ by 1, no digit of a distance is right. What counts is how far rounding moves
``gamma |x - s|^2``. It does so only for a row with a large ``gamma |x|^2``, and only for vectors
near it: the kernel values of the others are 0 in any case. So one comparison per row decides which
rows need a closer look, and the kernel values of all other rows keep their bits.

The sum runs over the features of the row, then over those that only the vector has, both ascending:
it depends neither on the places of features nor on stored zeros.
"""

from typing import Any

import numpy as np

from olscale.compiled.decorator import inlined, nested
from olscale.compiled.elementary import LEAST, exponential
from olscale.compiled.intrinsics import lowest_bit
from olscale.compiled.support_vectors import WIDTH

LONG = 2.0**32
"""Size of a row, times gamma, up to which products suffice: an error of a millionth."""

_ROUNDING = 2.0**-40
"""Rounding of a distance from products, as a share of the two sizes: a generous bound."""


@inlined
def is_long(gamma: float, size: float) -> bool:
    """Return whether distances of a row of size `size` must be checked."""
    return gamma * size > LONG


@inlined
def all_places(
    support: Any,
    X: Any,
    i: int,
    at: Any,
    value: Any,
) -> int:
    """Set `at` and `value` to the places and values of row `i`; return their number.

    Unlike `find_places` it includes features that no vector has: their place is -1.
    """
    entries = 0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        if X.data[p] != 0.0:
            at[entries] = support.place[X.indices[p]]
            value[entries] = X.data[p]
            entries += 1
    return entries


@nested
def mend_distances(
    support: Any,
    gamma: float,
    absolute: bool,
    at: Any,
    value: Any,
    entries: int,
    size: float,
    k: Any,
) -> None:
    """Sum by differences those of the distances `k` that rounding spoils where it matters.

    It matters where the kernel value may be above 0.

    Parameters
    ----------
    support : SupportVectors
    gamma : float
        Width of the kernel.
    absolute : bool
        Whether distances are sums of absolute differences instead of squares.
    at, value : array
        Places and values of a row, of `entries` entries (`all_places`), or of a vector
        (`vector_places`).
    size : float
        Size of the row.
    k : float64 array of shape (slots,)
        Distances from products and sizes.
    """
    inside = np.zeros(support.held.shape[1], np.uint64)
    for n in range(entries):
        if at[n] >= 0:
            inside[at[n] // 64] |= np.uint64(1) << np.uint64(at[n] % 64)
    for s in range(support.counts[0]):
        rounding = _ROUNDING * (size + support.sizes[s])
        if -gamma * (k[s] - rounding) > LEAST:
            k[s] = _difference(support, s, absolute, at, value, entries, inside)


@inlined
def _part(difference: float, absolute: bool) -> float:
    return abs(difference) if absolute else difference * difference


@nested
def _difference(
    support: Any,
    slot: int,
    absolute: bool,
    at: Any,
    value: Any,
    entries: int,
    inside: Any,
) -> float:
    """Return the distance of a row, whose places are `inside`, from a vector."""
    values = support.values[slot // WIDTH]
    column = slot % WIDTH
    total = 0.0
    for n in range(entries):
        # A feature that no vector has is at no place: the vector is 0 there.
        number = values[at[n], column] if at[n] >= 0 else 0.0
        total += _part(value[n] - number, absolute)
    steps = 0
    for word in range(inside.shape[0]):
        bits = support.held[slot, word] & ~inside[word]
        while bits != 0:
            bits &= bits - np.uint64(1)
            steps += 1
    if steps > 0:
        total += _rest(support, slot, absolute, inside, steps)
    return total


@nested
def _rest(
    support: Any,
    slot: int,
    absolute: bool,
    inside: Any,
    count: int,
) -> float:
    """Return the part of a distance at features that the vector has and the row lacks."""
    values = support.values[slot // WIDTH]
    column = slot % WIDTH
    features = np.empty(count, np.int32)
    numbers = np.empty(count)
    sorted_count = 0
    for word in range(inside.shape[0]):
        bits = support.held[slot, word] & ~inside[word]
        while bits != 0:
            place = 64 * word + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            # Places come nearly in the order of their features, and numba's own sort takes seconds
            # to compile.
            target = sorted_count
            while target > 0 and features[target - 1] > support.feature[place]:
                features[target] = features[target - 1]
                numbers[target] = numbers[target - 1]
                target -= 1
            features[target] = support.feature[place]
            numbers[target] = values[place, column]
            sorted_count += 1
    total = 0.0
    for n in range(count):
        total += _part(numbers[n], absolute)
    return total


@nested
def finish_long_places(
    support: Any,
    gamma: float,
    absolute: bool,
    at: Any,
    value: Any,
    entries: int,
    size: float,
    k: Any,
) -> None:
    """Turn `k` into kernel values of a long row.

    `k` holds its products, or its distances if `absolute`.

    The parameters are those of `mend_distances`.
    """
    if not absolute:
        for s in range(support.counts[0]):
            k[s] = size + support.sizes[s] - 2.0 * k[s]
    mend_distances(support, gamma, absolute, at, value, entries, size, k)
    for s in range(support.counts[0]):
        k[s] = exponential(-gamma * max(0.0, k[s]))


@nested
def finish_long_row(
    support: Any,
    gamma: float,
    absolute: bool,
    X: Any,
    i: int,
    size: float,
    space: Any,
    k: Any,
) -> None:
    """Turn `k` into kernel values of the long row `i`; `space` has arrays for it."""
    at, value = space
    entries = all_places(support, X, i, at, value)
    finish_long_places(support, gamma, absolute, at, value, entries, size, k)
