"""The compiled loop of soft-LOL, row by row.

In numpy, for two classes and the weights of now, x being of length 1, `near` its nearest prototypes and `gates` theirs:

>>> import numpy as np
>>> def learn_row(x, y, w, u, near, gates, C, lam):
...     f = w @ x / np.sqrt(lam) + gates @ (u[near] @ x)
...     step = y * min(C, max(0.0, 1.0 - y * f) / (1.0 + 1.0 / lam))
...     w += step / np.sqrt(lam) * x
...     u[near] += step * np.outer(gates, x)
...     return f
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.dot import copy_square
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.mixture import Mixture, add_mixed, mixed_scores, set_gates
from olscale.compiled.prototypes import Prototypes, begin, flush, measure, move, nearest_few, row_space
from olscale.compiled.rows import borrowed_rows
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable

EXPONENT = 3  # of the mean in the adaptive form
_LEAD = 16  # errors fewer than the form in force with which the other takes over


# Prototypes are means of rows of length 1. Hyperplane p is V[p], of shape (outputs, features rounded up, 2): the weight u,
# and the sum a of its steps, each times t^q, t being the number of rows before it; the mean of the weight over t rows is
# then u - a / t^q. The last plane, V[k], is common to all rows. A row has two scores of each output likewise: by the
# weights of now, and by their mean.

MEAN = 1
NO_CHOICE = np.empty(0, dtype=np.int64)


class SoftLOLRule(NamedTuple):
    """What the parameters say of the gates, of a step and of the mean."""

    sharpness: int
    lam: float
    C: float
    averaging: int


@compiled
def _step(f: FloatArray, code: int, norm: float, C: float, step: FloatArray) -> bool:
    """Set the step of each score for a row of class `code` and squared length `norm`; False if the row has no loss."""
    outputs = step.shape[0]
    step[:] = 0.0
    if outputs == 1:
        target = 1.0 if code == 1 else -1.0
        loss = 1.0 - target * f[0, 0]
        step[0] = target * min(C, max(0.0, loss) / norm)
    else:
        wrong = 1 if code == 0 else 0
        for c in range(wrong + 1, outputs):
            if c != code and f[c, 0] > f[wrong, 0]:
                wrong = c
        loss = 1.0 - f[code, 0] + f[wrong, 0]
        step[code] = min(C, max(0.0, loss) / (2.0 * norm))
        step[wrong] = -step[code]
    return bool(loss > 0.0)


@compiled
def _power(t: float, exponent: int) -> float:
    power = t
    for _ in range(exponent - 1):
        power *= t
    return power


@compiled
def _errs(f: FloatArray, form: int, code: int) -> bool:
    """Tell whether the scores ``f[:, form]`` predict another class than `code`."""
    if f.shape[0] == 1:
        return bool((f[0, form] >= 0.0) != (code == 1))
    best = 0
    for c in range(1, f.shape[0]):
        if f[c, form] > f[best, form]:
            best = c
    return bool(best != code)


@compiled
def _compare(f: FloatArray, code: int, force: NDArray[np.int64]) -> None:
    """Count a row for the form that alone is right; the one not in force takes over when it is `_LEAD` rows ahead.

    ``force`` is the form in force and the lead of the other, which never falls below 0: what was long ago is forgotten.
    """
    now = force[0]
    force[1] = max(0, force[1] + int(_errs(f, now, code)) - int(_errs(f, 1 - now, code)))
    if force[1] == _LEAD:
        force[0], force[1] = 1 - now, 0


@inlined
def _mix(
    prototypes: Prototypes,
    scale: float,
    existing: int,
    fresh: bool,
    far: FloatArray,
    rule: SoftLOLRule,
    mixture: Mixture,
) -> int:
    """Set gates of the prototypes nearest to the measured row times `scale`, then of the common plane; return how many."""
    indices, gates = mixture.indices, mixture.gates
    if fresh:
        few, indices[0], gates[0] = 1, existing, 1.0  # the row becomes a prototype: it is nearest to itself by far
    else:
        few = nearest_few(prototypes, scale, indices, far)
        if few == 0 and existing > 0:
            few, indices[0], far[0] = 1, 0, 1.0  # the model has diverged: no distance is a number
        if few > 0:
            set_gates(far, few, rule.sharpness, gates)
    indices[few], gates[few] = prototypes.counts.shape[0], 1.0 / np.sqrt(rule.lam)
    return few + 1


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    V: Any,
    prototypes: Prototypes,
    mixture: Mixture,
    force: NDArray[np.int64],
    rule: SoftLOLRule,
    limits: Any,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    learning: bool,
    scores: FloatArray,
) -> None:
    """Gate and score each row; when `learning`, move its nearest prototype and the hyperplanes that scored it.

    Without `force` the predictions are those of the mean.
    """
    X, V, prototypes, scores = borrowed_rows(X), borrowed(V), begin(prototypes), borrowed(scores)
    mixture = Mixture(borrowed(mixture.indices), borrowed(mixture.gates))
    low, high = limits
    k, outputs = V.shape[0] - 1, scores.shape[1]
    far, f, step = np.empty(mixture.gates.shape[0] - 1), np.empty((outputs, 2)), np.empty(outputs)
    existing, adaptive, norm = prototypes.existing, force.shape[0] > 0, 1.0 + 1.0 / rule.lam
    for i in range(scores.shape[0]):
        square = copy_square(X, i, row_space(prototypes, i))
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        measure(prototypes, X, i)
        learns = learning and y[i] != UNKNOWN
        if square == 0.0:
            scores[i] = 0.0
            seen[0] += 1 if learns else 0
            continue
        scale = 1.0 / np.sqrt(square)
        fresh = learns and existing < k
        planes = _mix(prototypes, scale, existing, fresh, far, rule, mixture)
        existing += 1 if fresh else 0
        mixed_scores(X, i, V, mixture, planes, f)
        past = 1.0 / _power(max(1.0, float(seen[0])), rule.averaging)
        for c in range(outputs):
            f[c, 1] = scale * (f[c, 0] - f[c, 1] * past)
            f[c, 0] *= scale
            scores[i, c] = f[c, force[0] if adaptive else MEAN]
        if not learns:
            continue
        if adaptive:
            _compare(f, y[i], force)
        p = mixture.indices[0]
        move(prototypes, i, p, scale, prototypes.squares[p] + (2.0 * prototypes.products[p] + 1.0), 1.0)
        if _step(f, y[i], norm, rule.C, step):
            past = _power(float(seen[0]), rule.averaging)
            for c in range(outputs):
                if step[c] != 0.0:
                    a = scale * step[c]
                    add_mixed(X, i, V, mixture, planes, c, a, past * a)
            updates[0] += 1
        seen[0] += 1
    flush(prototypes, X)
