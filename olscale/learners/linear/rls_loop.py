"""The loops of recursive least squares: the full P, or the diagonal of its inverse.

P is kept as a scalar times a matrix: forgetting then divides the scalar and needs no pass over the
matrix. A large scalar is multiplied into the matrix, which depends only on the number of rows. The
full form makes its update and the next row's product in one pass, as `full_covariance` does.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.many_targets import add_steps, target_of
from olscale.compiled.rows import row_scores, weight_of
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.linear.diagonal_covariance import move_pairs, pair_moments
from olscale.learners.linear.full_covariance import multiply, subtract_outer

FINE, NOT_FINITE, LOST, GREW, SINGULAR = range(5)
"""Names of what has broken down."""

LARGE_SCALE = 2.0**60
LARGEST = 1e100


def why_broken(reason: int, forget: float, cure: str) -> str:
    """Return the message for a breakdown; `cure` adds what to do where a variance grew."""
    if reason == GREW:
        return (
            f"a variance grew past 1/(lam 2.2e-16): with forget={forget:g} those of features that "
            "do not vary do; "
            f"use a larger forget{cure}"
        )
    if reason == LOST:
        return "P lost its definiteness to rounding: scale the features, or use a larger lam"
    if reason == SINGULAR:
        return (
            "features of the first N0 rows depend on each other: use start=ridge, or a larger "
            "N0, or fewer nodes"
        )
    return "a step is not finite: scale the features, or use a larger lam"


# Without excitation and with forgetting, P grows without bound: with forget = 0.99, a feature
# that is always 0 ends a run after some 3,600 rows. The diagonal form caps the variances instead.
@compiled
def learn_full(
    X: Any,
    y: NDArray[np.float64],
    W: Any,
    S: Any,
    scale: Any,
    forget: float,
    most: float,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> tuple[int, int]:
    """Learn the rows, with ``P = scale S``; return the breakdown, if any, and its row in `X`."""
    low, high = limits
    # Products with whole vectors need no remainder loop.
    columns, width = S.shape  # rows of S fill vectors: the last few columns stay 0
    h = np.zeros(width)
    g = np.zeros(width)
    variances = np.empty(columns)
    for j in range(columns):
        variances[j] = S[j, j]
    outputs = scores.shape[1]
    f = np.zeros(outputs)
    step = np.zeros(outputs)
    product = np.zeros(1)
    pending = False
    reason = FINE
    i = 0
    for i in range(y.shape[0]):
        square = row_scores(X, i, W, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        for c in range(outputs):
            scores[i, c] = f[c]
        if np.isnan(target_of(y, i, 0)):
            continue
        seen[0] += 1
        if square > 0.0:
            multiply(X, i, S, h, pending, g)
            row_scores(X, i, g[:columns], product)
            # P = scale S: forgetting divides one number in place of the whole matrix.
            variance = scale[0] * product[0]
            weight = weight_of(weights, i)
            share = weight * scale[0] / (forget + weight * variance)
            # False for NaN, too.
            sound = variance < np.inf
            for c in range(outputs):
                step[c] = share * (target_of(y, i, c) - f[c])
                sound &= np.isfinite(step[c])
            if not sound:
                reason = NOT_FINITE
            elif variance < 0.0:
                reason = LOST
            updates[0] += 1
            root = np.sqrt(share)
            for j in range(columns):
                add_steps(W, j, g[j], step)
                h[j] = root * g[j]
                variances[j] -= h[j] * h[j]
                if not (variances[j] > 0.0):
                    reason = max(reason, LOST)
            pending = True
        scale[0] /= forget
        if forget < 1.0:
            for j in range(columns):
                # Forgetting makes variances of features that do not vary grow without bound.
                if scale[0] * variances[j] > most:
                    reason = max(reason, GREW)
            # Before the scale overflows it goes into the matrix, at the same rows for any
            # chunks.
            if scale[0] > LARGE_SCALE:
                if pending:
                    subtract_outer(S, h)
                    pending = False
                for j in range(columns):
                    for k in range(columns):
                        S[j, k] *= scale[0]
                    variances[j] = S[j, j]
                scale[0] = 1.0
        if reason != FINE:
            break
    if pending:
        subtract_outer(S, h)
    return reason, i


@compiled
def learn_diagonal(
    X: Any,
    y: NDArray[np.float64],
    A: Any,
    scale: Any,
    forget: float,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> tuple[int, int]:
    """Learn the rows, with pairs `A` of weight and variance / scale; return as `learn_full`."""
    low, high = limits
    reason = FINE
    i = 0
    for i in range(y.shape[0]):
        f, variance, square = pair_moments(X, i, A)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        scores[i, 0] = f
        if np.isnan(y[i]):
            continue
        seen[0] += 1
        if square > 0.0:
            weight = weight_of(weights, i)
            share = weight * scale[0] / (forget + weight * (scale[0] * variance))
            step = share * (y[i] - f)
            if not (np.isfinite(step) and variance < np.inf):
                reason = NOT_FINITE
                break
            updates[0] += 1
            if move_pairs(X, i, A, step, weight * scale[0] / forget, 0.0):
                reason = NOT_FINITE
                break
        scale[0] /= forget
        if scale[0] > LARGE_SCALE:
            for j in range(1, A.shape[0], 2):
                # A feature that is never there would reach infinity: its variance stays at the
                # bound.
                A[j] = min(A[j] * scale[0], LARGEST)
            scale[0] = 1.0
    return reason, i
