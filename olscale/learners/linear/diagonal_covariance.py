"""The loops of the second-order learners with a diagonal covariance.

The state has a row per feature: the means of all columns, then the variances (one, or one per
column). It is the inverse whose diagonal is kept: ``1/sigma_j += gamma x_j^2``, as AROW's authors
and SOL do.

One loop is for two classes, whose state is a flat array of pairs; the other is for many columns.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.row_weights import weight_of
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.linear.diagonal_moments import moments, move, move_pairs, pair_moments
from olscale.learners.linear.second_order_rule import (
    FINE,
    MEAN_NOT_FINITE,
    STEP_NOT_FINITE,
    VARIANCE_OF_FEATURE,
    VARIANCE_OF_ROW,
    margin_needed,
    step,
)


def learn_diagonal(
    X: Rows,
    y: NDArray[np.int64],
    A: NDArray[Any],
    rule: Any,
    max_score: bool,
    norms: tuple[float, float],
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> tuple[int, float, int]:
    """Learn the rows; return the breakdown, if any, x' Sigma x there, and its row in `X`."""
    # A step below the first bound cannot exceed the largest representable number: rounding would
    # lose it.
    limits = (float(np.finfo(A.dtype).max) * 2.0**-60, float(np.finfo(A.dtype).tiny), *norms)
    if scores.shape[1] == 1:
        return _learn_two_classes(X, y, A.reshape(-1), rule, limits, seen, updates, scores, weights)
    return _learn_columns(X, y, A, rule, max_score, limits, seen, updates, scores, weights)


@compiled
def _learn_two_classes(
    X: Any,
    y: NDArray[np.int64],
    A: Any,
    rule: Any,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> tuple[int, float, int]:
    X, (large, tiny, low, high) = borrowed_rows(X), limits
    t = seen[0]
    reason = FINE
    v = 0.0
    i = 0
    for i in range(y.shape[0]):
        f, v, square = pair_moments(X, i, A)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        scores[i, 0] = f
        if y[i] == UNKNOWN:
            continue
        t += 1
        if square == 0.0:
            continue
        target = 1.0 if y[i] == 1 else -1.0
        m = target * f
        if m >= margin_needed(rule, square):
            continue
        if not (0.0 < v < np.inf):
            reason = VARIANCE_OF_ROW
            break
        alpha, gamma = step(rule, m, v, weight_of(weights, i))
        if not (np.isfinite(alpha) and np.isfinite(gamma)):
            reason = STEP_NOT_FINITE
            break
        if alpha > 0.0:
            count_update(updates, i)
            if move_pairs(X, i, A, target * alpha, gamma, tiny):
                reason = VARIANCE_OF_FEATURE
                break
            # Variances are 1 at most, and |x| <= 1 + |x|^2.
            if not (alpha * (1.0 + square) < large) and not np.isfinite(A).all():
                reason = MEAN_NOT_FINITE
                break
    seen[0] = t
    return reason, v, i


@compiled
def _learn_columns(
    X: Any,
    y: NDArray[np.int64],
    A: Any,
    rule: Any,
    max_score: bool,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> tuple[int, float, int]:
    X, (large, tiny, low, high) = borrowed_rows(X), limits
    outputs = scores.shape[1]
    v = np.zeros(A.shape[1] - outputs)
    for i in range(y.shape[0]):
        f = scores[i]
        square = moments(X, i, A, f, v)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        if y[i] == UNKNOWN:
            continue
        seen[0] += 1
        if square == 0.0:
            continue
        moved = False
        for k in range(1 if max_score else outputs):
            rival = -1
            column = k
            if max_score:
                column = y[i]
                rival = 0 if column != 0 else 1
                for c in range(outputs):
                    if c != column and f[c] > f[rival]:
                        rival = c
                target = 1.0
                m = f[column] - f[rival]
            else:
                target = 1.0 if y[i] == k else -1.0
                m = target * f[k]
            if m >= margin_needed(rule, square):
                continue
            if not (0.0 < v[k] < np.inf):
                return VARIANCE_OF_ROW, v[k], i
            alpha, gamma = step(rule, m, v[k], weight_of(weights, i))
            if not (np.isfinite(alpha) and np.isfinite(gamma)):
                return STEP_NOT_FINITE, v[k], i
            if alpha > 0.0:
                moved = True
                if move(X, i, A, column, rival, outputs + k, target * alpha, gamma, tiny):
                    return VARIANCE_OF_FEATURE, v[k], i
                if not (alpha * (1.0 + square) < large) and not np.isfinite(A).all():
                    return MEAN_NOT_FINITE, v[k], i
        if moved:
            count_update(updates, i)
    return FINE, 0.0, 0
