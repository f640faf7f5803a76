"""Values of nominal columns in a leaf: their counts, naive Bayes of them, and the best split.

A leaf counts how often each value comes with each class. A split has a branch for each value, or
parts one value from the others; its merit is its gain of information.
"""

from typing import Any

import numpy as np

from olscale.compiled.decorator import inlined, nested
from olscale.compiled.elementary import quotient
from olscale.learners.tree.gaussian_splits import (
    LEAST_SHARE,
    entropy,
    merit_of_sides,
)
from olscale.learners.tree.leaf_features import is_at, place_from
from olscale.learners.tree.value_counts import MOST_VALUES, ValueCounts, of_nominal

ALL_VALUES = -1.0
"""In place of the value that a split parts from the others: each value has its branch."""


@of_nominal(True)
def are_codes(values: ValueCounts, x: Any) -> bool:
    """Return whether all nominal columns of a row have a code, or a negative one for none."""
    all_codes = True
    for j in values.nominal:
        all_codes &= x[j] < MOST_VALUES and x[j] == np.floor(x[j])
    return all_codes


@of_nominal(False)
def needs_values(values: ValueCounts, x: Any, spans: Any) -> bool:
    """Set how many values a row needs of each column; return whether there is no room for one."""
    lacks = False
    for k in range(values.nominal.shape[0]):
        spans[k] = max(0, int(x[values.nominal[k]]) + 1)
        lacks |= spans[k] > values.value_starts[k + 1] - values.value_starts[k]
    return lacks


@inlined
def _value_at(
    values: ValueCounts, drawn: Any, x: Any, k: int, slot: int, place: int
) -> tuple[int, int]:
    """Return where nominal column `k` is in what the leaf looks at, from `place` on, and its value.

    The value is negative where the row has none, or the leaf does not look at the column.
    """
    place = place_from(drawn, slot, values.nominal[k], place)
    if is_at(drawn, slot, values.nominal[k], place):
        return place, int(x[place])
    return place, -1


@of_nominal()
def learn_values(
    values: ValueCounts, drawn: Any, x: Any, c: int, weight: float, slot: int
) -> None:
    """Count the values of a row of class `c`, of which `x` is what the leaf looks at."""
    place = 0
    for k in range(values.nominal.shape[0]):
        place, value = _value_at(values, drawn, x, k, slot, place)
        if value < 0:
            continue
        start = values.value_starts[k]
        counts = values.value_counts[slot, c]
        counts[start + value] += weight
        span = max(values.value_spans[slot, c, k], value + 1)
        values.value_spans[slot, c, k] = span
        # Summed anew, as MOA: weights may be fractions.
        total = 0.0
        for v in range(start, start + span):
            total += counts[v]
        values.value_totals[slot, c, k] = total


@inlined
def _share_of_value(
    values: ValueCounts, slot: int, c: int, k: int, value: int
) -> float:
    """Return Laplace's share of a value in a class."""
    span = values.value_spans[slot, c, k]
    # No row of the class has had a value.
    if span == 0:
        return 0.0
    count = 0.0
    if value < span:
        count = values.value_counts[slot, c, values.value_starts[k] + value]
    # Each class adds 1 for each code up to its own greatest one: as in MOA.
    total = values.value_totals[slot, c, k] + span
    return float(quotient(count + 1.0, total))


@of_nominal()
def set_value_shares(
    values: ValueCounts, drawn: Any, x: Any, c: int, slot: int, densities: Any
) -> None:
    """Set the densities of nominal columns: shares of the values in a class."""
    j = 0
    for k in range(values.nominal.shape[0]):
        j = place_from(drawn, slot, values.nominal[k], j)
        if not is_at(drawn, slot, values.nominal[k], j):
            continue
        value = int(x[j])
        densities[j] = 1.0
        if value >= 0:
            densities[j] = _share_of_value(values, slot, c, k, value)


@of_nominal(False)
def are_all_nominal(values: ValueCounts, drawn: Any, columns: int, slot: int) -> bool:
    """Return whether all the columns at which a leaf looks, so many, are nominal."""
    count = 0
    place = 0
    for column in values.nominal:
        place = place_from(drawn, slot, column, place)
        count += is_at(drawn, slot, column, place)
    return count == columns


@of_nominal()
def multiply_by_shares(
    values: ValueCounts, drawn: Any, x: Any, slot: int, votes: Any
) -> None:
    """Multiply the votes of all classes by the shares of the values, one column after the other."""
    place = 0
    for k in range(values.nominal.shape[0]):
        place, value = _value_at(values, drawn, x, k, slot, place)
        if value < 0:
            continue
        for c in range(votes.shape[0]):
            votes[c] *= _share_of_value(values, slot, c, k, value)


@of_nominal()
def forget_values(values: ValueCounts, slot: int) -> None:
    """Let a leaf begin without counts."""
    for k in range(values.nominal.shape[0]):
        for c in range(values.value_totals.shape[1]):
            values.value_totals[slot, c, k] = 0.0
            values.value_spans[slot, c, k] = 0
            for v in range(values.value_starts[k], values.value_starts[k + 1]):
                values.value_counts[slot, c, v] = 0.0


@nested
def values_of_leaf(values: ValueCounts, slot: int, k: int) -> int:
    """Return one more than the greatest code of a column in a leaf."""
    span = 0
    for c in range(values.value_spans.shape[1]):
        span = max(span, values.value_spans[slot, c, k])
    return span


@nested
def set_classes_of_value(
    values: ValueCounts, slot: int, k: int, value: int, weights: Any
) -> int:
    """Set the weights of the classes that have a value; return one more than the last of these."""
    place = values.value_starts[k] + value
    classes = 0
    for c in range(weights.shape[0]):
        weights[c] = values.value_counts[slot, c, place]
        # A class counts that has had this code or a greater one: as in MOA.
        if value < values.value_spans[slot, c, k]:
            classes = c + 1
    return classes


@nested
def part_value(values: ValueCounts, slot: int, k: int, value: int, sides: Any) -> None:
    """Set the weights of classes that have the value, and those that have others."""
    start = values.value_starts[k]
    for c in range(sides.shape[1]):
        sides[0, c] = 0.0
        sides[1, c] = 0.0
        for v in range(values.value_spans[slot, c, k]):
            side = 0 if v == value else 1
            sides[side, c] += values.value_counts[slot, c, start + v]


@nested
def _merit_of_branches(
    values: ValueCounts, slot: int, k: int, span: int, before: float, weights: Any
) -> float:
    """Return the gain by a branch for each value, or -inf if nearly all weight is in one."""
    total = 0.0
    after = 0.0
    for value in range(span):
        set_classes_of_value(values, slot, k, value, weights)
        weight = 0.0
        for c in range(weights.shape[0]):
            weight += weights[c]
        total += weight
        after += weight * entropy(weights)
    wide = 0
    for value in range(span):
        set_classes_of_value(values, slot, k, value, weights)
        weight = 0.0
        for c in range(weights.shape[0]):
            weight += weights[c]
        wide += quotient(weight, total) > LEAST_SHARE
    if wide < 2:
        return -np.inf
    return float(before - quotient(after, total))


@of_nominal((-np.inf, 0.0))
def best_of_values(
    values: ValueCounts, slot: int, k: int, before: float, sides: Any
) -> tuple[float, float]:
    """Return the merit of the best split by a nominal column, and the value that it parts."""
    span = values_of_leaf(values, slot, k)
    best = _merit_of_branches(values, slot, k, span, before, sides[0])
    best_value = ALL_VALUES
    # To part one of two values from the other has the merit of their branches, to the last bit.
    parted = span if span > 2 else 0
    for value in range(parted):
        part_value(values, slot, k, value, sides)
        merit = merit_of_sides(before, sides)
        # Where no two branches have 1 % of the rows each, one value against all others may.
        if merit > best:
            best = merit
            best_value = float(value)
    return best, best_value


@of_nominal(1)
def most_branches(values: ValueCounts) -> int:
    """Return how many leaves a split may bring: one, or one for each value of a column."""
    most = 1
    for k in range(values.nominal.shape[0]):
        most = max(most, values.value_starts[k + 1] - values.value_starts[k])
    return most
