"""Counts of classes over many rows at once, where only the totals are needed, as in every run.

`olscale.compiled.tallies.count_classes` adds the same row by row, where sums fade or intermediate
results are needed.
"""

from typing import Any

import numpy as np

from olscale.arrays import IntArray
from olscale.compiled.copies import add_numbers
from olscale.compiled.decorator import compiled

_BLOCK = 512
"""Rows that stay in the nearest cache while they are read once per class."""

_FEW = 8
"""Number of classes up to which reading rows once per class is faster than counting rows."""


def open_counts(classes: int) -> IntArray:
    """Return zeros for `add_class_totals`: numba takes long to compile a loop that makes them."""
    return np.zeros((4, classes), np.int64)


@compiled
def add_class_totals(
    y: Any,
    predicted: Any,
    base: Any,
    frozen: bool,
    sums: Any,
    counts: Any,
) -> None:
    """Count class codes; `base` and `sums` are those of `olscale.compiled.tallies.count_classes`.

    `counts` are zeros of `open_counts`.

    The most frequent class, which a trivial baseline predicts, is followed row by row only in
    blocks of rows in which another class can overtake it.
    """
    rows = y.shape[0]
    classes = (sums.shape[0] - 3) // 3
    if not rows:
        return
    totals = counts[:3]
    met = counts[3]
    class_counts = base[2:]
    most = base[0]
    hits_of_most = 0
    hits_of_before = 1 if base[1] == y[0] else 0
    if frozen:
        for i in range(1, rows):
            hits_of_before += y[i] == base[1]
    else:
        for i in range(1, rows):
            hits_of_before += y[i] == y[i - 1]
    for start in range(0, rows, _BLOCK):
        labels = y[start : start + _BLOCK]
        guesses = predicted[start : start + _BLOCK]
        _count(labels, guesses, met, totals)
        second = -1
        for k in range(classes):
            second = max(second, class_counts[k] if k != most else -1)
        if frozen or class_counts[most] - second > labels.shape[0]:
            hits_of_most += met[most]
            if not frozen:
                add_numbers(met, class_counts)
        elif classes == 2:
            # In registers: counts that are written and read at once, with unpredictable indices,
            # take four times as long.
            lead = class_counts[1] - class_counts[0]
            for i in range(labels.shape[0]):
                hits_of_most += most == labels[i]
                lead += 2 * labels[i] - 1
                most = np.int64(lead > 0)
            add_numbers(met, class_counts)
        else:
            times = class_counts[most]
            for i in range(labels.shape[0]):
                code = labels[i]
                hits_of_most += most == code
                class_counts[code] += 1
                if class_counts[code] > times or (
                    class_counts[code] == times and code < most
                ):
                    most = code
                times = max(times, class_counts[code])
    sums[0], sums[1], sums[2] = (
        sums[0] + rows,
        sums[1] + hits_of_most,
        sums[2] + hits_of_before,
    )
    for kind in range(3):
        for k in range(classes):
            sums[3 + kind * classes + k] += totals[kind, k]
    if not frozen:
        base[0] = most
        base[1] = y[rows - 1]


@compiled
def _count(y: Any, predicted: Any, met: Any, totals: Any) -> None:
    """Add hits, true and predicted rows of each class to `totals`; set `met` to the true ones."""
    classes = met.shape[0]
    for k in range(classes):
        met[k] = 0
    if classes > _FEW:
        for i in range(y.shape[0]):
            totals[0, y[i]] += y[i] == predicted[i]
            met[y[i]] += 1
            totals[2, predicted[i]] += 1
    else:
        for k in range(classes):
            hits = 0
            true = 0
            guessed = 0
            for i in range(y.shape[0]):
                hits += (y[i] == k) & (predicted[i] == k)
                true += y[i] == k
                guessed += predicted[i] == k
            totals[0, k] += hits
            met[k] = true
            totals[2, k] += guessed
    add_numbers(met, totals[1])
