"""The compiled loop of LOL and I-LOL: Algorithm 1 of the paper, row by row.

In numpy, for two classes, with `SlowPrototypes` of `olscale.compiled.prototypes`:

>>> import numpy as np
>>> def learn_row(i, x, y, w, u, prototypes, C, lam):
...     p = i if i < len(u) else prototypes.nearest(x)
...     f = (w + u[p]) @ x
...     prototypes.move(p, x)
...     step = y * min(C, max(0.0, 1.0 - y * f) / ((1.0 + 1.0 / lam) * (x @ x)))
...     w += step / lam * x
...     u[p] += step * x
...     return f
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.dot import copy_dot_square, copy_square, dot
from olscale.compiled.intrinsics import borrowed, flat
from olscale.compiled.prototypes import Prototypes, begin, flush, measure, move, nearest, replace, row_space
from olscale.compiled.rows import add_row, borrowed_rows, row_scores
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable

__all__ = ["Hyperplanes", "LOLRule", "learn_and_score"]


class Hyperplanes(NamedTuple):
    """The common hyperplanes ``W[feature, output]`` and those around each prototype, ``U[prototype, feature, output]``."""

    W: NDArray[Any]
    U: NDArray[Any]


class LOLRule(NamedTuple):
    """What the parameters say of a step; `fixed` prototypes do not move, and a first row counts `first_count`."""

    C: float
    inverse_lam: float
    first_count: float
    fixed: bool
    max_score: bool
    binary: bool


@compiled
def _set_one_vs_all_steps(f: FloatArray, label: int, C: float, square: float, step: FloatArray) -> bool:
    """Set the step of each class's own binary problem; False if none has a loss."""
    active = False
    for c in range(f.shape[0]):
        true = c if f.shape[0] > 1 else 1
        target = 1.0 if label == true else -1.0
        loss = max(0.0, 1.0 - target * f[c])
        step[c] = target * min(C, loss / square)
        active = active or loss > 0.0
    return active


@compiled
def _set_max_score_steps(f: FloatArray, label: int, C: float, square: float, step: FloatArray) -> bool:
    """Set the steps of the true class, up, and of the best wrong one, down; False if they are a margin of 1 apart."""
    rival = 0 if label != 0 else 1
    for c in range(f.shape[0]):
        step[c] = 0.0
        if c != label and f[c] > f[rival]:
            rival = c
    loss = max(0.0, 1.0 - (f[label] - f[rival]))
    step[label] = min(C, loss / (2.0 * square))
    step[rival] = -step[label]
    return bool(loss > 0.0)


@inlined
def _set_steps(f: FloatArray, label: int, square: float, rule: LOLRule, step: FloatArray) -> bool:
    """Set the steps ``eta y`` of all outputs (eq. 17); False if the row has no loss."""
    # The row as W and U together see it, ``x / sqrt(lam)`` above x, has the squared norm ``(1 + 1/lam) |x|^2``.
    stacked = (1.0 + rule.inverse_lam) * square
    if rule.max_score:
        return bool(_set_max_score_steps(f, label, rule.C, stacked, step))
    return bool(_set_one_vs_all_steps(f, label, rule.C, stacked, step))


@inlined
def _score_common(X: Any, i: int, planes: Hyperplanes, rule: LOLRule, row: Any, f: FloatArray) -> float:
    """Set ``f = W x``, copy a dense row to `row` and return ``|x|^2``."""
    f[:] = 0.0
    if rule.binary and rule.inverse_lam > 0.0:
        square, f[0] = copy_dot_square(X, i, flat(planes.W), row)
        return float(square)
    square = copy_square(X, i, row)
    if rule.inverse_lam > 0.0:
        row_scores(X, i, planes.W, f)
    return float(square)


@inlined
def _score_local(X: Any, i: int, u: Any, rule: LOLRule, local: FloatArray, f: FloatArray) -> None:
    """Add ``u x`` to `f`, u being the hyperplanes of the row's prototype."""
    # One class of many, alone in its shard, is summed as among the others: its bits must not depend on them.
    if rule.binary:
        local[0] = dot(X, i, flat(u))
    else:
        row_scores(X, i, u, local)
    for c in range(f.shape[0]):
        f[c] += local[c]


@inlined
def _assign(prototypes: Prototypes, X: Any, i: int, p: int, square: float, fresh: bool, rule: LOLRule) -> None:
    """Move prototype `p` by its new row: sequential k-means (eq. 20)."""
    if not fresh and prototypes.counts[p] == 0.0:
        # By the paper's count rule n is 1 still: the first row assigned to a prototype takes the place of its first row.
        replace(prototypes, X, i, p, square)
    else:
        grown = prototypes.squares[p] + 2.0 * prototypes.products[p] + square
        move(prototypes, i, p, 1.0, grown, rule.first_count if fresh else 1.0)


@inlined
def _move(X: Any, i: int, planes: Hyperplanes, p: int, rule: LOLRule, step: FloatArray) -> None:
    """Move the hyperplanes of prototype `p` and the common ones by their steps (eqs. 18 and 19)."""
    add_row(X, i, planes.U[p], step)
    if rule.inverse_lam > 0.0:
        for c in range(step.shape[0]):
            step[c] *= rule.inverse_lam
        add_row(X, i, planes.W, step)


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    planes: Hyperplanes,
    prototypes: Prototypes,
    rule: LOLRule,
    limits: Any,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    learning: bool,
    scores: FloatArray,
) -> None:
    """Algorithm 1: find a row's prototype and score it; when `learning`, move the prototype and then the hyperplanes."""
    X, prototypes, scores = borrowed_rows(X), begin(prototypes), borrowed(scores)
    planes = Hyperplanes(borrowed(planes.W), borrowed(planes.U))
    low, high = limits
    k, outputs = planes.U.shape[0], planes.U.shape[2]
    local, step = np.empty(outputs), np.empty(outputs)
    for i in range(scores.shape[0]):
        f = scores[i]
        square = _score_common(X, i, planes, rule, row_space(prototypes, i), f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        learns = learning and y[i] != UNKNOWN
        fresh = learns and not rule.fixed and seen[0] < k  # the first k rows are the prototypes
        measure(prototypes, X, i)
        p = seen[0] if fresh else nearest(prototypes)
        _score_local(X, i, planes.U[p], rule, local, f)
        if learns:
            seen[0] += 1
            if not rule.fixed:
                _assign(prototypes, X, i, p, square, fresh, rule)
            if square > 0.0 and _set_steps(f, y[i], square, rule, step):
                count_update(updates, i)
                _move(X, i, planes, p, rule, step)
    flush(prototypes, X)
