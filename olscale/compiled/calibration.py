"""Scores of a stream made probabilities row by row: each row is answered before it calibrates.

A row of scores becomes a softmax, and the probability of one class of it is corrected by what
became of earlier rows with about that probability. All of it is learned as the stream goes, with
memories that fade, since the scores of a learner grow and sharpen while it learns.
"""

from math import inf, sqrt
from typing import Any

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.compiled.calibration_arrays import (
    CURVATURE,
    LOG_SPREADS,
    NODES,
    ROWS,
    SLOPE,
    SPREADS,
    WEIGHTS,
)
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.elementary import exponential, logarithm

# Tried on a9a, w7a, ijcnn1, letter and mnist: on letter one-vs-rest scaling had a calibration
# error of 0.23, a slope for each class 0.22, one slope without fading 0.16. A few rows of
# `arow` on mnist score a thousand times the others: without bending, the log loss doubles.
# Without the nodes its error there is 0.1.

MEMORY = 0.9995
"""Fading of slope and biases, of about 2,000 rows."""

SPREAD_MEMORY = 0.999
"""Fading of the typical spread of a row's scores."""

NODE_MEMORY = 0.998
"""Fading of a node of the corrections, with each row that falls next to it."""

BEND = 2.0
"""Spreads of scores from which on they are bent: a row cannot count by more than about this."""

NODES_A_UNIT = 2.0

PRIOR_ROWS = 20.0
"""Rows for which the softmax itself counts in each node."""

LEAST = 1e-6
"""Least probability, and least distance from 1, after the corrections."""

_LEAST_SPREAD = 1e-290


@inlined
def _spread_of(row: Any, centred: Any) -> float:
    """Set `centred` to scores less their mean, by the largest; return their standard deviation.

    It is -1 if a score is not finite. `centred` is within [-2, 2], so that nothing overflows.
    """
    classes = centred.shape[0]
    outputs = row.shape[0]
    largest = 0.0
    for k in range(outputs):
        size = abs(row[k])
        if not size < inf:
            return -1.0
        largest = max(largest, size)
    for k in range(classes):
        centred[k] = 0.0
    # Logarithms and quotients of the least floats are out of reach: such a row has no spread.
    if largest < _LEAST_SPREAD:
        return 0.0
    if outputs == 1:  # of two classes there is the score of the second one only
        centred[0] = -0.5 * (row[0] / largest)
        centred[1] = 0.5 * (row[0] / largest)
    else:
        mean = 0.0
        for k in range(classes):
            centred[k] = row[k] / largest
            mean += centred[k]
        mean /= classes
        for k in range(classes):
            centred[k] -= mean
    squares = 0.0
    for k in range(classes):
        squares += centred[k] * centred[k]
    deviation = sqrt(squares / classes)
    spread = deviation * largest
    if spread < _LEAST_SPREAD:
        return 0.0
    for k in range(classes):
        centred[k] /= deviation
    return spread


@inlined
def _bend(centred: Any, spread: float, typical: float) -> None:
    """Scale `centred`, of deviation 1, by the spread of its row, relative to a typical one.

    Scores far larger than typical ones would otherwise decide slope and biases alone.
    """
    if spread > BEND * typical:
        ratio = BEND * typical / spread
        scale = sqrt((1.0 + BEND * BEND) / (1.0 + ratio * ratio))
    else:
        ratio = spread / (BEND * typical)
        scale = ratio * sqrt((1.0 + BEND * BEND) / (1.0 + ratio * ratio))
    for k in range(centred.shape[0]):
        centred[k] *= scale


@inlined
def _softmax(logits: Any) -> None:
    """Set `logits` to their softmax."""
    largest = logits[0]
    for k in range(1, logits.shape[0]):
        largest = max(largest, logits[k])
    total = 0.0
    for k in range(logits.shape[0]):
        logits[k] = exponential(logits[k] - largest)
        total += logits[k]
    for k in range(logits.shape[0]):
        logits[k] /= total


@inlined
def _place(probability: float) -> float:
    """Return where a probability is among the nodes."""
    odds = probability / (1.0 - probability)
    place = NODES_A_UNIT * logarithm(odds) + 0.5 * NODES
    return min(max(place, 0.0), NODES - 1.001)


@inlined
def _corrected_class(softmax: Any) -> int:
    """Return the class whose probability is corrected: the second of two, else the likeliest."""
    if softmax.shape[0] == 2:
        return 1
    best = 0
    for k in range(1, softmax.shape[0]):
        if softmax[k] > softmax[best]:
            best = k
    return best


@inlined
def _correct(row: Any, corrected: int, probability: float) -> None:
    """Set a class of `row` to a probability, and give the others the rest in their proportion."""
    # Not 1 less the softmax of the class, of which rounding leaves nothing where that is nearly 1.
    rest = 0.0
    for k in range(row.shape[0]):
        if k != corrected:
            rest += row[k]
    for k in range(row.shape[0]):
        if k == corrected:
            row[k] = probability
        elif rest > 0.0:
            row[k] = (1.0 - probability) * (row[k] / rest)
        else:
            row[k] = (1.0 - probability) / (row.shape[0] - 1)


@compiled
def calibrate(
    scores: FloatArray,
    y: IntArray,
    weights: FloatArray,
    numbers: FloatArray,
    biases: FloatArray,
    nodes: FloatArray,
    probabilities: FloatArray,
) -> None:
    """Set `probabilities` to those of rows, and learn each row with a label after that.

    Rows from ``len(y)`` on have no label, nor have rows of a negative code. `weights` is empty if
    all rows count alike. `biases` and `nodes` have a row of values and one of their weights.
    """
    classes = probabilities.shape[1]
    centred = np.empty(classes)
    softmax = np.empty(classes)
    for i in range(scores.shape[0]):
        spread = _spread_of(scores[i], centred)
        # Events that are learned and not scored may have scores that are not finite.
        if spread < 0.0:
            probabilities[i] = 1.0 / classes
            continue
        typical = spread  # of the first row
        if numbers[SPREADS] > 0.0:
            typical = exponential(min(numbers[LOG_SPREADS] / numbers[SPREADS], 708.0))
        if spread > 0.0:
            _bend(centred, spread, typical)
        for k in range(classes):
            softmax[k] = numbers[SLOPE] * centred[k] + biases[0, k]
        _softmax(softmax)

        corrected = _corrected_class(softmax)
        before = min(max(softmax[corrected], 1e-9), 1.0 - 1e-9)
        place = _place(before)
        node = int(place)
        share = place - node
        low = nodes[0, node] / (nodes[1, node] + PRIOR_ROWS)
        high = nodes[0, node + 1] / (nodes[1, node + 1] + PRIOR_ROWS)
        after = before + (1.0 - share) * low + share * high
        # The softmax itself stays for learning: `probabilities` has corrected copies.
        row = probabilities[i]
        for k in range(classes):
            row[k] = softmax[k]
        _correct(row, corrected, min(max(after, LEAST), 1.0 - LEAST))

        # The row is answered: only now its label may change anything.
        if i >= y.shape[0] or y[i] < 0:
            continue
        weight = 1.0
        if weights.shape[0]:
            # Relative to the mean weight so far: the scale of weights changes nothing.
            numbers[WEIGHTS] += weights[i]
            numbers[ROWS] += 1.0
            if weights[i] <= 0.0:
                continue
            weight = weights[i] / (numbers[WEIGHTS] / numbers[ROWS])
        missed = -weight * before
        if y[i] == corrected:
            missed += weight
        nodes[0, node] = NODE_MEMORY * nodes[0, node] + (1.0 - share) * missed
        nodes[1, node] = NODE_MEMORY * nodes[1, node] + (1.0 - share) * weight
        nodes[0, node + 1] = NODE_MEMORY * nodes[0, node + 1] + share * missed
        nodes[1, node + 1] = NODE_MEMORY * nodes[1, node + 1] + share * weight
        _learn(softmax, centred, y[i], weight, numbers, biases)
        if spread > 0.0:
            numbers[LOG_SPREADS] = SPREAD_MEMORY * numbers[LOG_SPREADS] + logarithm(
                spread
            )
            numbers[SPREADS] = SPREAD_MEMORY * numbers[SPREADS] + 1.0


@inlined
def _learn(
    softmax: Any,
    centred: Any,
    code: int,
    weight: float,
    numbers: Any,
    biases: Any,
) -> None:
    """Take a Newton step of slope and biases, each along its own axis, against the log loss."""
    mean = 0.0
    for k in range(softmax.shape[0]):
        mean += softmax[k] * centred[k]
    variance = 0.0
    step = 1.0
    if softmax.shape[0] == 2:  # both biases move, and only their difference counts
        step = 0.5
    for k in range(softmax.shape[0]):
        away = centred[k] - mean
        variance += softmax[k] * (away * away)
        missed = -softmax[k]
        if k == code:
            missed += 1.0
        curvature = softmax[k] * (1.0 - softmax[k])
        biases[1, k] = MEMORY * biases[1, k] + weight * curvature
        # One more in the denominator bounds the step, also of a class that has not come for long.
        biases[0, k] += step * (weight * missed) / (1.0 + biases[1, k])
    numbers[CURVATURE] = MEMORY * numbers[CURVATURE] + weight * variance
    numbers[SLOPE] += weight * (centred[code] - mean) / (1.0 + numbers[CURVATURE])
