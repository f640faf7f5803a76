"""Splits of numeric features at the bounds of histograms that grow with the rows.

A leaf has a histogram of each feature. A value that is not the beginning of a bin cuts its bin in
two, what is in it being shared by length, until there are as many bins as may be; bounds stay from
then on. The ends of bins are the candidates, and what is in the bins below and above one are its
sides. The merit of a split is its gain of information.
"""

from typing import Any

import numpy as np

from olscale.compiled.decorator import nested
from olscale.compiled.elementary import quotient
from olscale.learners.tree.bins import Bins, of_bins
from olscale.learners.tree.gaussian_splits import merit_of_sides
from olscale.learners.tree.tree_arrays import Tree


@of_bins()
def learn_bins(bins: Bins, x: Any, c: int, weight: float, slot: int) -> None:
    """Add a row of class `c` to the histograms of a leaf."""
    for j in range(x.shape[0]):
        bounds = bins.bin_bounds[slot, j]
        size = bins.bin_sizes[slot, j]
        at = 0
        # One after the other: there are few bins, and MOA puts a value at a bound above it.
        while at + 1 < size and x[j] >= bounds[at + 1]:
            at += 1
        if size > 0 and (x[j] == bounds[at] or size == bounds.shape[0] - 1):
            _add_to_bin(bins, slot, j, at, x[j], c, weight)
        else:
            _make_bin(bins, slot, j, at, x[j], c, weight)


@nested
def _add_to_bin(
    bins: Bins, slot: int, j: int, at: int, value: float, c: int, weight: float
) -> None:
    bins.bin_weights[slot, j, at, c] += weight
    bins.bin_classes[slot, j, at] = max(bins.bin_classes[slot, j, at], c + 1)
    is_start = value == bins.bin_bounds[slot, j, at]
    if is_start and bins.start_classes[slot, j, at] == c:
        bins.start_weights[slot, j, at] += weight


@nested
def _make_bin(
    bins: Bins, slot: int, j: int, at: int, value: float, c: int, weight: float
) -> None:
    """Make the first bin, one outside of all others, or one from the upper part of bin `at`."""
    bounds = bins.bin_bounds[slot, j]
    size = bins.bin_sizes[slot, j]
    is_below = value < bounds[0]
    is_above = value > bounds[size]
    share = 0.0
    if size > 0 and not is_below and not is_above and bounds[at + 1] > bounds[at]:
        length = bounds[at + 1] - bounds[at]
        share = 1.0 - quotient(value - bounds[at], length)
    place = at + 1
    if size == 0 or is_below:
        place = at
    _move_up(bins, slot, j, place)
    bins.bin_sizes[slot, j] = size + 1
    bounds[place] = value
    if size == 0 or is_above:
        bounds[size + 1] = value
    bins.start_classes[slot, j, place] = c
    bins.start_weights[slot, j, place] = weight
    bins.bin_classes[slot, j, place] = c + 1
    weights = bins.bin_weights[slot, j, place]
    for k in range(weights.shape[0]):
        weights[k] = 0.0
    weights[c] = weight
    if size > 0:
        # Below all others the first bin, now behind it, gives its number of classes alone.
        cut = place + 1 if is_below else at
        _move_share(bins, slot, j, cut, place, share)


@nested
def _move_up(bins: Bins, slot: int, j: int, place: int) -> None:
    """Move bins from `place` on to the next places."""
    size = bins.bin_sizes[slot, j]
    bounds = bins.bin_bounds[slot, j]
    bounds[size + 1] = bounds[size]
    weights = bins.bin_weights[slot, j]
    for b in range(size, place, -1):
        bounds[b] = bounds[b - 1]
        bins.bin_classes[slot, j, b] = bins.bin_classes[slot, j, b - 1]
        bins.start_classes[slot, j, b] = bins.start_classes[slot, j, b - 1]
        bins.start_weights[slot, j, b] = bins.start_weights[slot, j, b - 1]
        for k in range(weights.shape[1]):
            weights[b, k] = weights[b - 1, k]


@nested
def _move_share(
    bins: Bins, slot: int, j: int, cut: int, place: int, share: float
) -> None:
    """Move a share of bin `cut` to the one at `place`, but for what is at its beginning."""
    start_class = bins.start_classes[slot, j, cut]
    start_weight = bins.start_weights[slot, j, cut]
    weights = bins.bin_weights[slot, j, cut]
    weights[start_class] -= start_weight
    for k in range(weights.shape[0]):
        moved = weights[k] * share
        bins.bin_weights[slot, j, place, k] += moved
        weights[k] -= moved
    weights[start_class] += start_weight
    # As in MOA, also where nothing moves: leaves know of a class by this number.
    classes = max(bins.bin_classes[slot, j, place], bins.bin_classes[slot, j, cut])
    bins.bin_classes[slot, j, place] = classes


@of_bins()
def forget_bins(bins: Bins, slot: int) -> None:
    """Let a leaf begin without bins."""
    for j in range(bins.bin_sizes.shape[1]):
        bins.bin_sizes[slot, j] = 0


@nested
def _begin_sides(bins: Bins, slot: int, j: int, sides: Any) -> None:
    """Set all weight of a leaf above."""
    for c in range(sides.shape[1]):
        sides[0, c] = 0.0
        sides[1, c] = 0.0
        for b in range(bins.bin_sizes[slot, j]):
            sides[1, c] += bins.bin_weights[slot, j, b, c]


@nested
def _move_below(bins: Bins, slot: int, j: int, b: int, sides: Any) -> None:
    """Move the weight of a bin from above to below."""
    for c in range(sides.shape[1]):
        sides[0, c] += bins.bin_weights[slot, j, b, c]
        sides[1, c] -= bins.bin_weights[slot, j, b, c]


@of_bins((False, -np.inf, 0.0))
def best_bound(
    bins: Bins, slot: int, j: int, before: float, sides: Any
) -> tuple[bool, float, float]:
    """Return whether feature `j` has a candidate, and the merit and bound of the best."""
    best = -np.inf
    best_at = 0.0
    size = bins.bin_sizes[slot, j]
    _begin_sides(bins, slot, j, sides)
    for b in range(size):
        _move_below(bins, slot, j, b, sides)
        merit = merit_of_sides(before, sides)
        if b == 0 or merit > best:
            best = merit
            best_at = bins.bin_bounds[slot, j, b + 1]
    return size > 0, best, best_at


@of_bins(0.0)
def part_at_bound(
    bins: Bins, tree: Tree, slot: int, j: int, bound: float, sides: Any, first: int
) -> float:
    """Set what is below a bound, what is not, and their numbers of classes; return the threshold.

    They are for the nodes `first` and the one after it. What is at the threshold is below it, while
    what is at the bound is above.
    """
    _begin_sides(bins, slot, j, sides)
    classes = 0
    b = 0
    while b < bins.bin_sizes[slot, j]:
        _move_below(bins, slot, j, b, sides)
        classes = max(classes, bins.bin_classes[slot, j, b])
        b += 1
        if bins.bin_bounds[slot, j, b] == bound:
            break
    tree.classes[first] = classes
    # As in MOA, a class that lies below in full counts above.
    while b < bins.bin_sizes[slot, j]:
        classes = max(classes, bins.bin_classes[slot, j, b])
        b += 1
    tree.classes[first + 1] = classes
    # Tests are `x <= threshold`, while a value at the bound goes above.
    return float(np.nextafter(bound, -np.inf))
