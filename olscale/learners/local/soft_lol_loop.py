"""The compiled loop of soft-LOL, row by row.

In numpy, for two classes and the current weights, with x of length 1, `near` its nearest prototypes
and `gates` their gates:

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

from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.dot import copy_square
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.mixture import Mixture, add_mixed, mixed_scores, set_gates
from olscale.compiled.near_prototypes import are_blurred
from olscale.compiled.prototypes import (
    Prototypes,
    begin,
    flush,
    measure,
    move,
    nearest_few,
    row_space,
)
from olscale.compiled.rows import borrowed_rows, weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable

EXPONENT = 3  # exponent of the mean in the adaptive form
_LEAD = 16  # how many fewer errors let the other form take over


# Prototypes are means of rows of length 1. Hyperplane p is V[p], of shape (outputs, features
# rounded up, 2): the weight u, and the sum a of its steps, each times t^q, where t is the number of
# rows before it; the mean of the weight over t rows is then u - a / t^q. The last plane, V[k], is
# common to all rows. Likewise a row has two scores per output: by the current weights and by their
# mean.

MEAN = 1
NO_CHOICE = np.empty(0, dtype=np.int64)


class SoftLOLRule(NamedTuple):
    """Parameters of the gates, of a step and of the mean."""

    m: int
    sharpness: int
    lam: float
    C: float
    averaging: int


@nested
def _step(f: FloatArray, code: int, norm: float, C: float, step: FloatArray) -> bool:
    """Set the step of each score for a row of class `code`; False if the row has no loss.

    `norm` is the squared length of the row.
    """
    outputs = step.shape[0]
    step[:] = 0.0
    if outputs == 1:
        if code == 1:
            target = 1.0
        else:
            target = -1.0
        loss = 1.0 - target * f[0, 0]
        step[0] = target * min(C, max(0.0, loss) / norm)
    else:
        if code == 0:
            wrong = 1
        else:
            wrong = 0
        for c in range(wrong + 1, outputs):
            if c != code and f[c, 0] > f[wrong, 0]:
                wrong = c
        loss = 1.0 - f[code, 0] + f[wrong, 0]
        step[code] = min(C, max(0.0, loss) / (2.0 * norm))
        step[wrong] = -step[code]
    return bool(loss > 0.0)


@nested
def _power(t: float, exponent: int) -> float:
    power = t
    for _ in range(exponent - 1):
        power *= t
    return power


@nested
def _errs(f: FloatArray, form: int, code: int) -> bool:
    """Return whether the scores ``f[:, form]`` predict another class than `code`."""
    if f.shape[0] == 1:
        return bool((f[0, form] >= 0.0) != (code == 1))
    best = 0
    for c in range(1, f.shape[0]):
        if f[c, form] > f[best, form]:
            best = c
    return bool(best != code)


# The mean of the weights is better on data at rest and lags behind data that change. A lead in
# errors needs two integers and no setting; on rows in random order the mean stays in force.
@nested
def _compare(f: FloatArray, code: int, force: NDArray[np.int64]) -> None:
    """Count a row for the form that alone is right; `_LEAD` rows ahead, it takes over.

    ``force`` is the form in force and the lead of the other, which never falls below 0: old rows
    are forgotten.
    """
    power = force[0]
    errors_now = int(_errs(f, power, code))
    errors_of_other = int(_errs(f, 1 - power, code))
    force[1] = max(0, force[1] + errors_now - errors_of_other)
    if force[1] == _LEAD:
        force[0] = 1 - power
        force[1] = 0


class Gates(NamedTuple):
    """What hyperplanes need to know of the prototypes of each row, found before the row is learned.

    Attributes
    ----------
    indices, gates : arrays of shape (rows, m + 1)
        The nearest prototypes and their gates, with room for the common plane after the last.
    few : int64 array of shape (rows,)
        How many prototypes score the row.
    scales : float64 array of shape (rows,)
        Factor that gives the row length 1; 0 for an empty row.
    """

    indices: NDArray[np.int64]
    gates: FloatArray
    few: NDArray[np.int64]
    scales: FloatArray


def open_gates(rows: int, m: int) -> Gates:
    """Return space for up to `rows` rows and `m` prototypes of each."""
    return Gates(
        np.empty((rows, m + 1), np.int64),
        np.empty((rows, m + 1)),
        np.empty(rows, np.int64),
        np.empty(rows),
    )


@inlined
def _borrowed_gates(gates: Gates) -> Gates:
    return Gates(
        borrowed(gates.indices),
        borrowed(gates.gates),
        borrowed(gates.few),
        borrowed(gates.scales),
    )


@inlined
def _assign(
    X: Any,
    y: Any,
    first: int,
    stop: int,
    prototypes: Prototypes,
    existing: int,
    rule: SoftLOLRule,
    limits: Any,
    learning: bool,
    far: FloatArray,
    row_gates: Gates,
) -> Any:
    """Find prototypes and gates of rows from `first` on and, when `learning`, move the nearest.

    Return where usable rows end, and how many prototypes there are then.
    """
    low, high = limits
    for i in range(first, stop):
        square = copy_square(X, i, row_space(prototypes, i))
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            return i, existing
        measure(prototypes, X, i)
        at = i - first
        row_gates.few[at] = 0
        row_gates.scales[at] = 0.0
        if square == 0.0:
            continue
        scale = 1.0 / np.sqrt(square)
        learns = learning and y[i] != UNKNOWN
        indices = row_gates.indices[at]
        gates = row_gates.gates[at]
        few = 0
        if learns and existing < prototypes.counts.shape[0]:
            # the row becomes a prototype: it is nearest to itself by far
            few = 1
            indices[0] = existing
            gates[0] = 1.0
            existing += 1
        else:
            few = nearest_few(prototypes, scale, indices, far)
            if (
                few > 1
                and far[0] < prototypes.close
                and are_blurred(prototypes, X, i, scale, existing)
            ):
                return i, existing
            if few == 0 and existing > 0:
                # the model has diverged: all distances are NaN
                few = 1
                indices[0] = 0
                far[0] = 1.0
            if few > 0:
                set_gates(far, few, rule.sharpness, gates)
        if learns:
            p = indices[0]
            move(
                prototypes,
                i,
                p,
                scale,
                prototypes.squares[p] + (2.0 * prototypes.products[p] + 1.0),
                1.0,
            )
        row_gates.few[at] = few
        row_gates.scales[at] = scale
    return stop, existing


# Rows are scored one by one. Scoring 32 of them class by class, as only two classes move, was
# tried in three ways: at best 1.07 times the speed, mostly 0.2 to 0.9, since the planes of a
# class lie far apart. Many classes cost half with ``dtype="float32"``. Another order of weights
# would help, but it is that of stored checkpoints and models.
@inlined
def _learn(
    X: Any,
    y: Any,
    first: int,
    stop: int,
    V: Any,
    row_gates: Gates,
    force: Any,
    rule: SoftLOLRule,
    seen: Any,
    updates: Any,
    learning: bool,
    scores: Any,
    weights: FloatArray,
) -> None:
    """Score rows `first` to `stop` by their hyperplanes and, when `learning`, move these."""
    common = V.shape[0] - 1
    outputs = scores.shape[1]
    f = np.empty((outputs, 2))
    step = np.empty(outputs)
    adaptive = force.shape[0] > 0
    norm = 1.0 + 1.0 / rule.lam
    for i in range(first, stop):
        scale = row_gates.scales[i - first]
        few = row_gates.few[i - first]
        learns = learning and y[i] != UNKNOWN
        if scale == 0.0:
            scores[i] = 0.0
            seen[0] += 1 if learns else 0
            continue
        mixture = Mixture(row_gates.indices[i - first], row_gates.gates[i - first])
        planes = few + 1
        mixture.indices[few], mixture.gates[few] = common, 1.0 / np.sqrt(rule.lam)
        mixed_scores(X, i, V, mixture, planes, f)
        past = 1.0 / _power(max(1.0, float(seen[0])), rule.averaging)
        for c in range(outputs):
            f[c, 1] = scale * (f[c, 0] - f[c, 1] * past)
            f[c, 0] *= scale
            scores[i, c] = f[c, force[0] if adaptive else MEAN]
        if not learns:
            continue
        weight = weight_of(weights, i)
        if adaptive and weight > 0.0:
            _compare(f, y[i], force)
        if weight > 0.0 and _step(f, y[i], norm, weight * rule.C, step):
            past = _power(float(seen[0]), rule.averaging)
            for c in range(outputs):
                if step[c] != 0.0:
                    a = scale * step[c]
                    add_mixed(X, i, V, mixture, planes, c, a, past * a)
            updates[0] += 1
        seen[0] += 1


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    V: Any,
    prototypes: Prototypes,
    gates: Gates,
    force: NDArray[np.int64],
    rule: SoftLOLRule,
    limits: Any,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    learning: bool,
    scores: FloatArray,
    weights: FloatArray,
) -> None:
    """Process a few rows at a time: find prototypes, score and, when `learning`, move all.

    Without `force` the mean predicts.
    """
    X = borrowed_rows(X)
    V = borrowed(V)
    prototypes = begin(prototypes)
    scores = borrowed(scores)
    gates = _borrowed_gates(gates)
    rows = scores.shape[0]
    size = gates.few.shape[0]
    far = np.empty(rule.m)
    existing = prototypes.existing
    for first in range(0, rows, size):
        stop = min(first + size, rows)
        usable, existing = _assign(
            X, y, first, stop, prototypes, existing, rule, limits, learning, far, gates
        )
        _learn(
            X,
            y,
            first,
            usable,
            V,
            gates,
            force,
            rule,
            seen,
            updates,
            learning,
            scores,
            weights,
        )
        if usable < stop:
            scores[usable:] = np.nan
            break
    flush(prototypes, X)


@compiled
def assign(
    X: Any,
    y: NDArray[np.int64],
    prototypes: Prototypes,
    gates: Gates,
    rule: SoftLOLRule,
    limits: Any,
) -> int:
    """Find prototypes and gates of all rows and move the nearest; return where usable rows end.

    Several settings share the result.
    """
    X = borrowed_rows(X)
    prototypes = begin(prototypes)
    gates = _borrowed_gates(gates)
    usable: int = _assign(
        X,
        y,
        0,
        y.shape[0],
        prototypes,
        prototypes.existing,
        rule,
        limits,
        True,
        np.empty(rule.m),
        gates,
    )[0]
    flush(prototypes, X)
    return usable


@compiled
def learn_assigned(
    X: Any,
    y: NDArray[np.int64],
    V: Any,
    gates: Gates,
    usable: int,
    force: NDArray[np.int64],
    rule: SoftLOLRule,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: FloatArray,
) -> None:
    """Score and learn the `usable` rows in one setting, with the prototypes that `assign` found."""
    X = borrowed_rows(X)
    V = borrowed(V)
    gates = _borrowed_gates(gates)
    scores = borrowed(scores)
    _learn(X, y, 0, usable, V, gates, force, rule, seen, updates, True, scores, weights)
    scores[usable:] = np.nan
