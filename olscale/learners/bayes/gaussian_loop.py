"""The loop of Gaussian naive Bayes: densities of all classes, and running moments of one.

Arrays are feature-major, ``means[feature, class]``: the log densities of a row under all classes
are sums over the features in ascending order. What they need of a variance is kept with it and
computed once a row is learned, for its class alone.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, nested
from olscale.compiled.elementary import logarithm
from olscale.compiled.rows import set_column, weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable

LEAST = -700.0
"""Least log density of one feature: e^-700 is about the least number."""

_STEEP = 1e308
"""In place of 1 / 0: times the square of any difference but the tiniest it is beyond `LEAST`."""

_HALF_LOG_TWO_PI = 0.9189385332046727


class ClassMoments(NamedTuple):
    """The state of the learner.

    Parameters
    ----------
    counts : float64 array of shape (classes,)
        Sum of the weights of the rows of each class.
    means, squares : float64 arrays of shape (columns, classes)
        Means of the features, and sums of the squared differences from them.
    heights, falls : float64 arrays of shape (columns, classes)
        The log density is ``height - fall (x - mean)^2``.
    """

    counts: FloatArray
    means: FloatArray
    squares: FloatArray
    heights: FloatArray
    falls: FloatArray


@nested
def _set_logs(x: Any, moments: Any, logs: Any) -> None:
    """Set the log of prior times density for each class."""
    classes = logs.shape[0]
    total = 0.0
    for c in range(classes):
        total += moments.counts[c]
        logs[c] = 0.0
    for j in range(x.shape[0]):
        means = moments.means[j]
        heights = moments.heights[j]
        falls = moments.falls[j]
        for c in range(classes):
            difference = x[j] - means[c]
            logs[c] += max(heights[c] - falls[c] * (difference * difference), LEAST)
    for c in range(classes):
        if moments.counts[c] > 0.0:
            logs[c] += logarithm(moments.counts[c] / total)
        else:
            # Below every class that has rows; of those without, the first is the likeliest.
            logs[c] = LEAST * (x.shape[0] + 1) - c


@nested
def _learn(x: Any, c: int, weight: float, moments: Any) -> None:
    """Move the moments of class `c` towards `x`, and what its densities need of them."""
    count = moments.counts[c] + weight
    moments.counts[c] = count
    for j in range(x.shape[0]):
        before = x[j] - moments.means[j, c]
        if count == weight:
            moments.means[j, c] = x[j]
        else:
            moments.means[j, c] += weight * before / count
        moments.squares[j, c] += weight * before * (x[j] - moments.means[j, c])
        variance = 0.0
        if count > 1.0:
            variance = moments.squares[j, c] / (count - 1.0)
        if variance > np.finfo(np.float64).tiny:
            moments.falls[j, c] = 0.5 / variance
            moments.heights[j, c] = -_HALF_LOG_TWO_PI - 0.5 * logarithm(variance)
        else:
            # A single value: its density counts as 1, that of any other as the least.
            moments.falls[j, c] = _STEEP
            moments.heights[j, c] = 0.0


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    moments: Any,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
) -> None:
    """Score rows by their log densities and, when `learning`, add each to its class."""
    low, high = limits
    columns, classes = moments.means.shape
    row = np.empty((columns, 1))
    x = row[:, 0]
    logs = np.empty(classes)
    for i in range(scores.shape[0]):
        set_column(X, i, row, 0)
        square = 0.0
        for j in range(columns):
            square += x[j] * x[j]
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        _set_logs(x, moments, logs)
        if scores.shape[1] == 1:
            scores[i, 0] = logs[1] - logs[0]
        else:
            for c in range(classes):
                scores[i, c] = logs[c]
        if learning and y[i] != UNKNOWN:
            seen[0] += 1
            weight = weight_of(weights, i)
            if weight > 0.0:
                _learn(x, y[i], weight, moments)
                updates[0] += 1
