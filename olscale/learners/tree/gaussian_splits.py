"""Splits of numeric features that are normal within each class.

Of each feature and class a leaf has moments and range. Ten thresholds a feature, evenly between its
least and greatest value, are candidates; how much of a class is below one is that share of its
normal distribution. The merit of a split is its gain of information.
"""

from math import sqrt
from typing import Any

import numpy as np

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import nested
from olscale.compiled.elementary import exponential, quotient
from olscale.compiled.nearest import nearest_exponential, nearest_logarithm
from olscale.compiled.normal import normal_below
from olscale.learners.tree.tree_arrays import FALL, HEIGHT, HIGH, LOW, MEAN, SQUARES

CANDIDATES = 10
"""Thresholds of a feature that are evaluated."""

LEAST_SHARE = 0.01
"""A split has more than this share of the weight on both sides."""

_SQRT_TWO_PI = 2.5066282746310002
_LOG_TWO = 0.6931471805599453
# Division by it makes 0 of 0, and infinity of the square of all but the tiniest numbers.
_STEEP = 5e-324


@nested
def learn_moments(x: Any, c: int, weight: float, counts: Any, moments: Any) -> None:
    """Add a row of class `c` to the moments of a leaf, and what its densities need of them."""
    columns = x.shape[0]
    start = c * columns
    first = counts[c] == 0.0
    counts[c] += weight
    count = counts[c]
    means = moments[MEAN, start : start + columns]
    squares = moments[SQUARES, start : start + columns]
    lows = moments[LOW, start : start + columns]
    highs = moments[HIGH, start : start + columns]
    heights = moments[HEIGHT, start : start + columns]
    falls = moments[FALL, start : start + columns]
    if first:
        copy_numbers(x, means, columns)
        copy_numbers(x, lows, columns)
        copy_numbers(x, highs, columns)
    else:
        for j in range(columns):
            value = x[j]
            before = value - means[j]
            means[j] += quotient(weight * before, count)
            squares[j] += weight * before * (value - means[j])
            lows[j] = value if value < lows[j] else lows[j]
            highs[j] = value if value > highs[j] else highs[j]
    degrees = count - 1.0 if count > 1.0 else np.inf
    for j in range(columns):
        spread = sqrt(quotient(squares[j], degrees))
        # A single value: its density counts as 1, that of any other as 0.
        is_spread = spread > 0.0
        heights[j] = quotient(1.0, _SQRT_TWO_PI * spread) if is_spread else 1.0
        falls[j] = 2.0 * spread * spread + _STEEP


@nested
def set_densities(x: Any, c: int, moments: Any, densities: Any) -> None:
    """Set the density of each feature in a class."""
    columns = x.shape[0]
    start = c * columns
    means = moments[MEAN, start : start + columns]
    heights = moments[HEIGHT, start : start + columns]
    falls = moments[FALL, start : start + columns]
    for k in range(columns):
        difference = x[k] - means[k]
        # Squared, as the exponential of the whole is 0 where products still have a few digits.
        root = exponential(-0.5 * quotient(difference * difference, falls[k]))
        densities[k] = heights[k] * (root * root)


@nested
def share_sides(
    moments: Any, counts: Any, j: int, threshold: float, sides: Any
) -> None:
    """Set the weight of each class that is expected at most at `threshold`, and above it."""
    classes = counts.shape[0]
    columns = moments.shape[1] // classes
    for c in range(classes):
        sides[0, c] = 0.0
        sides[1, c] = 0.0
        if counts[c] == 0.0:
            continue
        k = c * columns + j
        if threshold < moments[LOW, k]:
            sides[1, c] = counts[c]
        elif threshold >= moments[HIGH, k]:
            sides[0, c] = counts[c]
        else:
            _share_class(moments, k, counts[c], threshold, sides, c)


@nested
def _share_class(
    moments: Any, k: int, count: float, threshold: float, sides: Any, c: int
) -> None:
    difference = threshold - moments[MEAN, k]
    spread = 0.0
    if count > 1.0:
        spread = sqrt(moments[SQUARES, k] / (count - 1.0))
    density = moments[HEIGHT, k] * nearest_exponential(
        -quotient(difference * difference, moments[FALL, k])
    )
    # The density counts as the probability of the very threshold, and what is below may be
    # negative: as in MOA.
    equal = density * count
    below = 0.0
    if spread > 0.0:
        below = normal_below(difference / spread) * count - equal
    elif difference < 0.0:
        below = count - equal
    sides[0, c] = below + equal
    sides[1, c] = max(count - equal - below, 0.0)


@nested
def entropy(weights: Any) -> float:
    """Return the entropy of the classes in bits; those of negative weight do not count."""
    bits = 0.0
    total = 0.0
    for weight in weights:
        if weight > 0.0:
            bits -= weight * (nearest_logarithm(weight) / _LOG_TWO)
            total += weight
    if total > 0.0:
        return (bits + total * (nearest_logarithm(total) / _LOG_TWO)) / total
    return 0.0


@nested
def merit_of_sides(before: float, sides: Any) -> float:
    """Return the gain of information, or -inf if nearly all weight is on one side."""
    first = 0.0
    second = 0.0
    for c in range(sides.shape[1]):
        first += sides[0, c]
        second += sides[1, c]
    total = first + second
    least = min(quotient(first, total), quotient(second, total))
    if not least > LEAST_SHARE:
        return -np.inf
    after = first * entropy(sides[0]) + second * entropy(sides[1])
    return float(before - quotient(after, total))


@nested
def best_threshold(
    moments: Any, counts: Any, j: int, before: float, sides: Any
) -> tuple[bool, float, float]:
    """Return whether feature `j` has a candidate, and the merit and threshold of the best."""
    classes = counts.shape[0]
    columns = moments.shape[1] // classes
    low = np.inf
    high = -np.inf
    for c in range(classes):
        if counts[c] > 0.0:
            low = min(low, moments[LOW, c * columns + j])
            high = max(high, moments[HIGH, c * columns + j])
    width = high - low
    is_possible = False
    best = -np.inf
    best_at = 0.0
    for i in range(CANDIDATES):
        threshold = width / (CANDIDATES + 1.0) * (i + 1) + low
        if low < threshold < high:
            share_sides(moments, counts, j, threshold, sides)
            merit = merit_of_sides(before, sides)
            if not is_possible or merit > best:
                is_possible = True
                best = merit
                best_at = threshold
    return is_possible, best, best_at


@nested
def hoeffding_bound(classes: int, confidence: float, weight: float) -> float:
    """Return by how much a merit may differ from its mean over `weight` rows."""
    merits = nearest_logarithm(float(max(2, classes))) / _LOG_TWO
    return sqrt(
        quotient(merits * merits * nearest_logarithm(1.0 / confidence), 2.0 * weight)
    )
