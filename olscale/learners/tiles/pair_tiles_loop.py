"""The loop of tables over binned features and pairs of them.

Each feature has 16 bins. A row is in one cell of each feature, in one fine and one coarse cell of
each pair; the cells of all are numbered in this order. Dense and CSR rows are copied into one array
first, so both give the same bits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, nested
from olscale.compiled.elementary import exponential
from olscale.compiled.rows import set_column, weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable

BINS = 16
"""Bins of a feature; the first and the last also hold all that is beyond `EDGE`."""

COARSE = 4
"""Bins of a feature in the coarse cells of pairs: each is four of the fine ones."""

EDGE = 1.8
"""Standard deviations from the mean up to which bins are of one width."""

PAIR_CELLS = BINS * BINS + COARSE * COARSE
"""Cells of a pair, fine and coarse ones."""


@nested
def set_bins(x: Any, bins: Any) -> None:
    """Set the bin of each standardized feature."""
    for j in range(x.shape[0]):
        place = np.floor((x[j] + EDGE) * (BINS / (2.0 * EDGE)))
        # Clipped as a number first: a large one does not fit an integer.
        bins[j] = int(min(max(place, 0.0), BINS - 1.0))


@nested
def set_cells(bins: Any, singles: int, pairs: Any, cells: Any) -> None:
    """Set the numbers of the cells that a row is in."""
    for j in range(singles):
        cells[j] = BINS * j + bins[j]
    start = BINS * singles
    at = singles
    for p in range(pairs.shape[0]):
        first = bins[pairs[p, 0]]
        second = bins[pairs[p, 1]]
        coarse = (first // COARSE) * COARSE + second // COARSE
        cells[at] = start + first * BINS + second
        cells[at + 1] = start + BINS * BINS + coarse
        start += PAIR_CELLS
        at += 2


@nested
def set_probabilities(table: Any, cells: Any, p: Any) -> None:
    """Set the probability of each class, or of the second one where a cell has one number."""
    outputs = p.shape[0]
    fours = outputs - outputs % 4
    # Four classes at once: the sums stay in registers.
    for c in range(0, fours, 4):
        first = 0.0
        second = 0.0
        third = 0.0
        fourth = 0.0
        for n in range(cells.shape[0]):
            values = table[cells[n]]
            first += values[c]
            second += values[c + 1]
            third += values[c + 2]
            fourth += values[c + 3]
        p[c] = first
        p[c + 1] = second
        p[c + 2] = third
        p[c + 3] = fourth
    for c in range(fours, outputs):
        total = 0.0
        for n in range(cells.shape[0]):
            total += table[cells[n], c]
        p[c] = total
    turn_into_probabilities(p)


@nested
def turn_into_probabilities(p: Any) -> None:
    """Replace sums by their softmax, a single one by its sigmoid."""
    outputs = p.shape[0]
    if outputs == 1:
        # Of the absolute value, which overflows on neither side.
        decay = exponential(-abs(p[0]))
        numerator = decay
        if p[0] >= 0.0:
            numerator = 1.0
        p[0] = numerator / (1.0 + decay)
        return
    largest = p[0]
    for c in range(1, outputs):
        largest = max(largest, p[c])
    total = 0.0
    for c in range(outputs):
        # Relative to the largest, or sums far from 0 would overflow.
        p[c] = exponential(p[c] - largest)
        total += p[c]
    for c in range(outputs):
        p[c] /= total


@nested
def set_scores(p: Any, scores: Any) -> None:
    """Set the scores of a row: its probabilities, ``2 p - 1`` of two classes."""
    if p.shape[0] == 1:
        scores[0] = 2.0 * p[0] - 1.0
        return
    for c in range(p.shape[0]):
        scores[c] = p[c]


@nested
def step(table: Any, cells: Any, label: int, rate: float, p: Any, change: Any) -> None:
    """Move the cells of a row toward its label, by `rate` together."""
    outputs = p.shape[0]
    for c in range(outputs):
        own_class = c
        if outputs == 1:
            # A single score is that of the second class.
            own_class = 1
        target = 0.0
        if label == own_class:
            target = 1.0
        change[c] = (rate / cells.shape[0]) * (target - p[c])
    if outputs == 1:
        only = change[0]
        for n in range(cells.shape[0]):
            table[cells[n], 0] += only
        return
    for n in range(cells.shape[0]):
        values = table[cells[n]]
        for c in range(outputs):
            values[c] += change[c]


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    table: FloatArray,
    pairs: NDArray[np.int64],
    singles: int,
    rate: float,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    row: FloatArray,
    scores: FloatArray,
    weights: Any,
) -> None:
    """Score rows and, when `learning`, take one step per row; `row` is space for one."""
    low, high = limits
    outputs = table.shape[1]
    x = row[:, 0]
    bins = np.empty(x.shape[0], np.int64)
    cells = np.empty(singles + 2 * pairs.shape[0], np.int64)
    p = np.empty(outputs)
    change = np.empty(outputs)
    for i in range(scores.shape[0]):
        set_column(X, i, row, 0)
        square = 0.0
        for j in range(x.shape[0]):
            square += x[j] * x[j]
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        set_bins(x, bins)
        set_cells(bins, singles, pairs, cells)
        set_probabilities(table, cells, p)
        set_scores(p, scores[i])
        if learning and y[i] != UNKNOWN:
            seen[0] += 1
            weight = weight_of(weights, i)
            if weight > 0.0:
                step(table, cells, y[i], weight * rate, p, change)
                updates[0] += 1
