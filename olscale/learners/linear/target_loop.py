"""The loop of first-order linear learners of targets, for several settings or several targets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.many_targets import target_of
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.row_weights import weight_of
from olscale.compiled.rows import add_row, row_scores
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.linear.first_order import step_size


@compiled
def learn_targets(
    X: Any,
    y: NDArray[np.float64],
    W: Any,
    rule: Any,
    settings: int,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> None:
    """Learn rows with a column of weights per setting or per target."""
    X, (low, high) = borrowed_rows(X), limits
    f = np.empty(settings)
    a = np.zeros(settings)
    t = seen[0]
    for i in range(y.shape[0]):
        square = row_scores(X, i, W, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        for s in range(settings):
            scores[i, s] = f[s]
        if np.isnan(target_of(y, i, 0)):
            continue
        t += 1
        if square == 0.0:
            continue
        moved = False
        for s in range(settings):
            target = target_of(y, i, s)
            a[s] = step_size(rule, s, target, f[s], square, t, False, weight_of(weights, i))
            if a[s] != 0.0:
                moved = True
                updates[s] += 1
        if moved:
            add_row(X, i, W, a)
    seen[0] = t
