"""The loop of the second-order learners with a full covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.jit import kernel
from olscale.learners.base import FloatArray
from olscale.learners.rows import row_scores
from olscale.learners.second_order import margin_needed, step

__all__ = ["learn_full"]


@kernel
def _subtract_outer(S: Any, g: FloatArray, beta: float) -> None:
    """Subtract ``beta g g'`` from `S`."""
    root = np.sqrt(beta)
    for j in range(g.shape[0]):
        g[j] *= root
    for j in range(g.shape[0]):
        h = g[j]
        if h != 0.0:
            row = S[j]
            for k in range(g.shape[0]):
                row[k] -= h * g[k]


@kernel
def learn_full(
    X: Any,
    y: NDArray[np.int64],
    W: Any,
    S: Any,
    rule: Any,
    max_score: bool,
    seen: Any,
    updates: Any,
    scores: FloatArray,
) -> tuple[bool, float]:
    """Learn the rows; return whether the numbers broke down (at row ``seen - 1``) and the variance that did."""
    columns, outputs = W.shape
    g = np.zeros(columns)
    g_column = g.reshape(columns, 1)
    v = np.zeros(1)
    for i in range(y.shape[0]):
        f = scores[i]
        square = row_scores(X, i, W, f)
        seen[0] += 1
        if square == 0.0:
            continue
        moved = 0
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
                target = 1.0 if y[i] == (k if outputs > 1 else 1) else -1.0
                m = target * f[k]
            if m >= margin_needed(rule, square):
                continue
            row_scores(X, i, S[k], g)
            row_scores(X, i, g_column, v)
            if v[0] == 0.0:
                continue
            if not (v[0] > 0.0):
                return True, v[0]
            alpha, gamma = step(rule, m, v[0])
            if not (np.isfinite(alpha) and np.isfinite(gamma)):
                return True, v[0]
            if alpha > 0.0:
                moved = 1
                a = target * alpha
                for j in range(columns):
                    W[j, column] += a * g[j]
                if rival >= 0:
                    for j in range(columns):
                        W[j, rival] -= a * g[j]
                _subtract_outer(S[k], g, gamma / (1.0 + gamma * v[0]))
        updates[0] += moved
    return False, 0.0
