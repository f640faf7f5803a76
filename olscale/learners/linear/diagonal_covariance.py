"""The loops of the second-order learners with a diagonal covariance.

The state has a row per feature: the means of all columns, then the variances (one, or one per
column). It is the inverse whose diagonal is kept: ``1/sigma_j += gamma x_j^2``, as AROW's authors
and SOL do.

One loop is for two classes, whose state is a flat array of pairs; the other is for many columns.
Both take mean and variance of a row's score from the functions at the top.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import prefetch
from olscale.compiled.row_layout import (
    FOUR,
    LINE,
    ONE,
    PREFETCH_AHEAD,
    STREAM_AHEAD,
    THREE,
    TWO,
    borrowed_rows,
    by_layout,
)
from olscale.compiled.rows import weight_of
from olscale.compiled.simd.covariance import move_four, sum_moments
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.linear.second_order_rule import (
    FINE,
    MEAN_NOT_FINITE,
    STEP_NOT_FINITE,
    VARIANCE_OF_FEATURE,
    VARIANCE_OF_ROW,
    best_rival,
    margin_needed,
    step,
)


@by_layout
def pair_moments(X: Rows, i: int, A: NDArray[Any]) -> Any:
    """Return ``x_i mu``, ``x_i^2 sigma`` and ``|x_i|^2`` for pairs ``A = (mu_0, sigma_0, ...)``."""

    def dense(X, i, A):
        x = X[i]
        score = 0.0
        variance = 0.0
        square = 0.0
        for j in range(x.shape[0]):
            value = x[j]
            xx = value * value
            score += value * A[2 * j]
            variance += xx * A[2 * j + 1]
            square += xx
        return score, variance, square

    def csr(X, i, A):
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        last = np.uint64(X.indices.shape[0])
        # The row itself is read in order: whole cache lines are requested well ahead.
        for p in range(start, stop, LINE):
            prefetch(X.data, p + STREAM_AHEAD)
            prefetch(X.indices, p + STREAM_AHEAD)
        for p in range(
            min(start + PREFETCH_AHEAD, last), min(stop + PREFETCH_AHEAD, last)
        ):
            prefetch(A, np.uint64(np.uint32(X.indices[p])) * TWO)
        return sum_moments(A, X.indices, X.data, start, stop)

    return dense, csr


@by_layout
def move_pairs(
    X: Rows, i: int, A: NDArray[Any], a: float, gamma: float, tiny: float
) -> Any:
    """Add ``a Sigma x_i`` to the mean and ``gamma x_i^2`` to 1/variance.

    Return whether a variance is below `tiny`.
    """

    def dense(X, i, A, a, gamma, tiny):
        x = X[i]
        broken = False
        for j in range(x.shape[0]):
            value = x[j]
            variance = A[2 * j + 1]
            sx = variance * value
            A[2 * j] += a * sx
            A[2 * j + 1] = variance / (1.0 + gamma * (sx * value))
            # Written so that NaN counts as broken. A branch for each value would cost more.
            broken |= not (A[2 * j + 1] >= tiny)
        return broken

    def csr(X, i, A, a, gamma, tiny):
        broken = False
        start = np.uint64(X.indptr[i])
        stop = np.uint64(X.indptr[i + 1])
        # Four pairs fill a vector; features of a row differ, so their order does not matter.
        end_of_fours = stop - (stop - start) % FOUR
        for p in range(start, end_of_fours, FOUR):
            m0 = np.uint64(np.uint32(X.indices[p])) * TWO
            m1 = np.uint64(np.uint32(X.indices[p + ONE])) * TWO
            m2 = np.uint64(np.uint32(X.indices[p + TWO])) * TWO
            m3 = np.uint64(np.uint32(X.indices[p + THREE])) * TWO
            broken |= not move_four(A, m0, m1, m2, m3, X.data, p, a, gamma, tiny)
        for p in range(end_of_fours, stop):
            # Unsigned indices need no test for a place before the array.
            mean = np.uint64(np.uint32(X.indices[p])) * TWO
            value = X.data[p]
            variance = A[mean + ONE]
            sx = variance * value
            A[mean] += a * sx
            A[mean + ONE] = variance / (1.0 + gamma * (sx * value))
            broken |= not (A[mean + ONE] >= tiny)
        return broken

    return dense, csr


@by_layout
def moments(X: Rows, i: int, A: NDArray[Any], f: FloatArray, v: FloatArray) -> Any:
    """Set ``f = x_i M`` and ``v = x_i^2 S`` for ``A = [M, S]``; return ``|x_i|^2``."""

    def dense(X, i, A, f, v):
        x = X[i]
        outputs = f.shape[0]
        covariances = v.shape[0]
        square = 0.0
        f[:] = 0.0
        v[:] = 0.0
        for j in range(A.shape[0]):
            value = x[j]
            xx = value * value
            a = A[j]
            square += xx
            for c in range(outputs):
                f[c] += value * a[c]
            for c in range(covariances):
                v[c] += xx * a[outputs + c]
        return square

    def csr(X, i, A, f, v):
        outputs = f.shape[0]
        covariances = v.shape[0]
        square = 0.0
        f[:] = 0.0
        v[:] = 0.0
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            value = X.data[p]
            xx = value * value
            a = A[np.uint32(X.indices[p])]
            square += xx
            for c in range(outputs):
                f[c] += value * a[c]
            for c in range(covariances):
                v[c] += xx * a[outputs + c]
        return square

    return dense, csr


@by_layout
def move(
    X: Rows,
    i: int,
    A: NDArray[Any],
    c: int,
    rival: int,
    u: int,
    a: float,
    gamma: float,
    tiny: float,
) -> Any:
    """Add ``a Sigma x_i`` to mean `c`, and then ``gamma x_i^2`` to 1/variance `u`.

    The same move is subtracted from mean `rival` (-1: none).

    Return whether a variance is below `tiny`.
    """

    def dense(X, i, A, c, rival, u, a, gamma, tiny):
        x = X[i]
        broken = False
        for j in range(A.shape[0]):
            sx = A[j, u] * x[j]
            A[j, c] += a * sx
            if rival >= 0:
                A[j, rival] -= a * sx
            A[j, u] /= 1.0 + gamma * (sx * x[j])
            broken |= not (A[j, u] >= tiny)
        return broken

    def csr(X, i, A, c, rival, u, a, gamma, tiny):
        broken = False
        for p in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
            w = A[np.uint32(X.indices[p])]
            value = X.data[p]
            sx = w[u] * value
            w[c] += a * sx
            if rival >= 0:
                w[rival] -= a * sx
            w[u] /= 1.0 + gamma * (sx * value)
            broken |= not (w[u] >= tiny)
        return broken

    return dense, csr


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
    precision = np.finfo(A.dtype)
    limits = (float(precision.max) * 2.0**-60, float(precision.tiny), *norms)
    if scores.shape[1] == 1:
        return _learn_two_classes(
            X, y, A.reshape(-1), rule, limits, seen, updates, scores, weights
        )
    return _learn_columns(
        X, y, A, rule, max_score, limits, seen, updates, scores, weights
    )


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
        # A row without values moves nothing, and its variance of 0 is no breakdown.
        if square == 0.0:
            continue
        if y[i] == 1:
            target = 1.0
        else:
            target = -1.0
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
        # The max-score form has one problem a row, whose column is the row's class.
        for k in range(1 if max_score else outputs):
            rival = -1
            column = k
            if max_score:
                column = y[i]
                rival = best_rival(f, column)
                target = 1.0
                m = f[column] - f[rival]
            else:
                if y[i] == k:
                    target = 1.0
                else:
                    target = -1.0
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
                if move(
                    X, i, A, column, rival, outputs + k, target * alpha, gamma, tiny
                ):
                    return VARIANCE_OF_FEATURE, v[k], i
                if not (alpha * (1.0 + square) < large) and not np.isfinite(A).all():
                    return MEAN_NOT_FINITE, v[k], i
        if moved:
            count_update(updates, i)
    return FINE, 0.0, 0
