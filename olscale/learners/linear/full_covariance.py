"""The loop of the second-order learners with a full covariance.

For dense rows one pass over Sigma applies the update of the last row that moved and multiplies by
the next row: the pass is bound by memory, and so Sigma is read once per row instead of twice. An
update that no later row picks up is applied when the chunk ends; every element sees the same
operations either way, so bits do not depend on the split of a stream. Sparse rows read only the
rows of Sigma at their nonzeros, and an update skips rows of Sigma that it would not change.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, nested
from olscale.compiled.intrinsics import flat
from olscale.compiled.row_layout import by_layout
from olscale.compiled.rows import row_scores, weight_of
from olscale.compiled.simd.covariance import subtract_multiply
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


@nested
def subtract_outer(S: Any, h: FloatArray) -> None:
    """Subtract ``h h'`` from `S`."""
    for j in range(S.shape[0]):
        hj = h[j]
        # Sparse rows leave most of h at 0 at first.
        if hj != 0.0:
            r = S[j]
            for k in range(S.shape[1]):
                r[k] -= hj * h[k]


@by_layout
def multiply(
    X: Rows, i: int, S: NDArray[Any], h: FloatArray, pending: bool, g: FloatArray
) -> Any:
    """Subtract ``h h'`` from `S` if `pending`; set ``g = S x_i``, summed in ascending order."""

    def dense(X, i, S, h, pending, g):
        if not pending:
            row_scores(X, i, S, g)
            return
        subtract_multiply(S, h, X[i], g)

    def csr(X, i, S, h, pending, g):
        # The dense form fuses both passes over S; a sparse row reads few of its rows.
        if pending:
            subtract_outer(S, h)
        row_scores(X, i, S, g)

    return dense, csr


@compiled
def learn_full(
    X: Any,
    y: NDArray[np.int64],
    W: Any,
    S: Any,
    rule: Any,
    max_score: bool,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> tuple[int, float, int]:
    """Learn the rows; return the breakdown, if any, x' Sigma x there, and its row in `X`."""
    low, high = limits
    columns, outputs = W.shape
    # rows of S fill vectors: the last few columns stay 0
    covariances, _, width = S.shape
    # Updates still to be subtracted from each covariance, and the variances after that.
    h = np.zeros((covariances, width))
    variances = np.empty((covariances, columns), dtype=S.dtype)
    for k in range(covariances):
        for j in range(columns):
            variances[k, j] = S[k, j, j]
    pending = np.zeros(covariances, dtype=np.bool_)
    g = np.zeros(width)
    g_column = g[:columns].reshape(columns, 1)
    product = np.zeros(1)
    w = flat(W)
    tiny = np.finfo(S.dtype).tiny
    reason = FINE
    v = 0.0
    i = 0
    for i in range(y.shape[0]):
        f = scores[i]
        square = row_scores(X, i, W, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        if y[i] == UNKNOWN:
            continue
        seen[0] += 1
        if square == 0.0:
            continue
        moved = False
        for k in range(covariances):
            rival = -1
            column = k
            if max_score:
                column = y[i]
                rival = best_rival(f, column)
                target = 1.0
                m = f[column] - f[rival]
            else:
                if outputs > 1:
                    own_class = k
                else:
                    own_class = 1
                if y[i] == own_class:
                    target = 1.0
                else:
                    target = -1.0
                m = target * f[k]
            # Before the product with S: rows without loss cost O(d), not O(d^2).
            if m >= margin_needed(rule, square):
                continue
            multiply(X, i, S[k], h[k], pending[k], g)
            pending[k] = False
            row_scores(X, i, g_column, product)
            v = product[0]
            # Written so that NaN fails it, too.
            if not (0.0 < v < np.inf):
                reason = VARIANCE_OF_ROW
                break
            alpha, gamma = step(rule, m, v, weight_of(weights, i))
            if not (np.isfinite(alpha) and np.isfinite(gamma)):
                reason = STEP_NOT_FINITE
                break
            if alpha > 0.0:
                moved = True
                a = target * alpha
                infinite = broken = False
                if outputs == 1:
                    for j in range(columns):
                        w[j] += a * g[j]
                        infinite |= not (abs(w[j]) < np.inf)
                else:
                    for j in range(columns):
                        W[j, column] += a * g[j]
                        infinite |= not (abs(W[j, column]) < np.inf)
                if rival >= 0:
                    for j in range(columns):
                        W[j, rival] -= a * g[j]
                        infinite |= not (abs(W[j, rival]) < np.inf)
                pending[k] = gamma > 0.0
                # Sigma - gamma Sigma x x' Sigma / (1 + gamma v), as Sigma - h h'.
                root = np.sqrt(gamma / (1.0 + gamma * v))
                for j in range(columns):
                    h[k, j] = root * g[j]
                    variances[k, j] -= h[k, j] * h[k, j]
                    broken |= not (variances[k, j] >= tiny)
                if infinite or broken:
                    if infinite:
                        reason = MEAN_NOT_FINITE
                    else:
                        reason = VARIANCE_OF_FEATURE
                    break
        if moved:
            count_update(updates, i)
        if reason != FINE:
            break
    for k in range(covariances):
        if pending[k]:
            subtract_outer(S[k], h[k])
    return reason, v, i
