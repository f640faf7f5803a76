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

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from olscale.compiled.decorator import INLINED, compiled, inlined, nested
from olscale.compiled.dot import copy_square, dot, dot_both
from olscale.compiled.intrinsics import borrowed, flat
from olscale.compiled.near_prototypes import NONE, nearest
from olscale.compiled.prototypes import (
    Prototypes,
    begin,
    flush,
    measure,
    move,
    replace,
    row_space,
)
from olscale.compiled.rows import (
    add_column,
    add_row,
    borrowed_rows,
    row_scores,
    weight_of,
)
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable


class Hyperplanes(NamedTuple):
    """Hyperplanes: the common ``W[feature, output]`` and ``U[prototype, feature, output]``."""

    W: NDArray[Any]
    U: NDArray[Any]


class LOLRule(NamedTuple):
    """Parameters of a step; `fixed` prototypes stay, and a first row counts `first_count`."""

    C: float
    inverse_lam: float
    first_count: float
    fixed: bool
    max_score: bool


class Places(NamedTuple):
    """The prototype nearest to each row and the row's squared norm: all that hyperplanes need."""

    nearest: NDArray[np.int64]
    squares: FloatArray


def open_places(rows: int) -> Places:
    """Return space for up to `rows` rows."""
    return Places(np.empty(rows, np.int64), np.empty(rows))


class OutputSpace(NamedTuple):
    """Scratch for one row of several outputs, a number per output.

    The caller allocates it: numba counts references to arrays that a loop makes, but not to
    arguments.
    """

    local: FloatArray
    step: FloatArray


def open_output_space(classes: int, outputs: int) -> OutputSpace | None:
    """Return scratch for several outputs; None for two classes, whose rows need none.

    The loop for two classes is compiled separately, in half the time of the loop for both.
    """
    if classes <= 2:
        return None
    return OutputSpace(np.empty(outputs), np.empty(outputs))


@inlined
def _one_vs_all_step(
    f: float, positive: bool, C: float, square: float
) -> tuple[float, bool]:
    """Return the step ``eta y`` of one class's binary problem, and whether it has a loss."""
    if positive:
        target = 1.0
    else:
        target = -1.0
    loss = max(0.0, 1.0 - target * f)
    return target * min(C, loss / square), loss > 0.0


@nested
def _set_one_vs_all_steps(
    f: FloatArray, label: int, C: float, square: float, step: FloatArray
) -> bool:
    """Set the step of each class's own binary problem; False if none has a loss."""
    active = False
    for c in range(f.shape[0]):
        # One output here is a single class in its shard, where its label is 1.
        if f.shape[0] > 1:
            true = c
        else:
            true = 1
        step[c], has_loss = _one_vs_all_step(f[c], label == true, C, square)
        active = active or has_loss
    return active


@nested
def _set_max_score_steps(
    f: FloatArray, label: int, C: float, square: float, step: FloatArray
) -> bool:
    """Set the steps of the true class and the best wrong one; False if the margin is 1."""
    if label != 0:
        rival = 0
    else:
        rival = 1
    for c in range(f.shape[0]):
        step[c] = 0.0
        if c != label and f[c] > f[rival]:
            rival = c
    loss = max(0.0, 1.0 - (f[label] - f[rival]))
    # Both classes move, so the margin grows twice as fast as a score.
    step[label] = min(C, loss / (2.0 * square))
    step[rival] = -step[label]
    return bool(loss > 0.0)


@inlined
def _stacked_square(square: float, rule: LOLRule) -> float:
    """Return the squared norm of the row as W and U together see it: ``x / sqrt(lam)`` above x."""
    return (1.0 + rule.inverse_lam) * square


@inlined
def _set_steps(
    f: FloatArray,
    label: int,
    square: float,
    rule: LOLRule,
    weight: float,
    step: FloatArray,
) -> bool:
    """Set the steps ``eta y`` of all outputs (eq. 17); False if the row has no loss."""
    C = weight * rule.C
    # Both forms share the cap C; the max-score form halves the loss between two classes.
    if rule.max_score:
        return bool(
            _set_max_score_steps(f, label, C, _stacked_square(square, rule), step)
        )
    return bool(_set_one_vs_all_steps(f, label, C, _stacked_square(square, rule), step))


@inlined
def _learn_binary(
    X: Any,
    i: int,
    label: int,
    planes: Hyperplanes,
    p: int,
    square: float,
    rule: LOLRule,
    learns: bool,
    weight: float,
) -> tuple[float, bool]:
    """Return the score of a row of two classes and whether it moves the hyperplanes.

    It may move them only if the model `learns`.

    Score and step stay in registers: an array of one output would be stored and loaded again for
    every row. A single class in its shard is not binary: its bits must not depend on the other
    classes of the shard.
    """
    w = flat(planes.W)
    u = flat(planes.U[p])
    # With lam infinite there is no common hyperplane, and `W` has no features.
    if rule.inverse_lam > 0.0:
        f, local = dot_both(X, i, w, u)
        f += local
    else:
        f = dot(X, i, u)
    if not (learns and square > 0.0):
        return f, False
    step, moves = _one_vs_all_step(
        f, label == 1, weight * rule.C, _stacked_square(square, rule)
    )
    if moves:
        add_column(X, i, u, 0, step)
        if rule.inverse_lam > 0.0:
            add_column(X, i, w, 0, step * rule.inverse_lam)
    return f, moves


@inlined
def _score(
    X: Any,
    i: int,
    planes: Hyperplanes,
    p: int,
    rule: LOLRule,
    local: FloatArray,
    f: FloatArray,
) -> None:
    """Set ``f = (W + U[p]) x`` (eq. 14)."""
    f[:] = 0.0
    if rule.inverse_lam > 0.0:
        row_scores(X, i, planes.W, f)
    row_scores(X, i, planes.U[p], local)
    for c in range(f.shape[0]):
        f[c] += local[c]


@inlined
def _move_prototype(
    prototypes: Prototypes,
    X: Any,
    i: int,
    p: int,
    square: float,
    fresh: bool,
    rule: LOLRule,
) -> None:
    """Move prototype `p` by its new row: sequential k-means (eq. 20)."""
    if not fresh and prototypes.counts[p] == 0.0:
        # By the paper's count rule n is still 1: the first row assigned to a prototype replaces its
        # first row.
        replace(prototypes, X, i, p, square)
    else:
        grown = prototypes.squares[p] + 2.0 * prototypes.products[p] + square
        move(prototypes, i, p, 1.0, grown, rule.first_count if fresh else 1.0)


@inlined
def _move_planes(
    X: Any, i: int, planes: Hyperplanes, p: int, rule: LOLRule, step: FloatArray
) -> None:
    """Move the hyperplanes of prototype `p` and the common ones by their steps (eqs. 18 and 19)."""
    add_row(X, i, planes.U[p], step)
    if rule.inverse_lam > 0.0:
        for c in range(step.shape[0]):
            step[c] *= rule.inverse_lam
        add_row(X, i, planes.W, step)


@inlined
def _borrowed_planes(planes: Hyperplanes) -> Hyperplanes:
    return Hyperplanes(borrowed(planes.W), borrowed(planes.U))


@inlined
def _borrowed_places(places: Places) -> Places:
    return Places(borrowed(places.nearest), borrowed(places.squares))


def _learn_row(
    X: Any,
    i: int,
    f: FloatArray,
    label: int,
    planes: Hyperplanes,
    p: int,
    square: float,
    rule: LOLRule,
    learns: bool,
    weight: float,
    space: OutputSpace | None,
) -> bool:
    """Set the scores of a row; if the model `learns`, move hyperplanes and return whether."""
    raise TypeError("for compiled loops only")


@overload(_learn_row, jit_options=INLINED)
def _choose_outputs(X, i, f, label, planes, p, square, rule, learns, weight, space):
    def binary(X, i, f, label, planes, p, square, rule, learns, weight, space):
        f[0], moves = _learn_binary(
            X, i, label, planes, p, square, rule, learns, weight
        )
        return moves

    def several(X, i, f, label, planes, p, square, rule, learns, weight, space):
        # Arrays without reference counts: the loop then stays free of atomic operations.
        local = borrowed(space.local)
        step = borrowed(space.step)
        _score(X, i, planes, p, rule, local, f)
        moves = (
            learns and square > 0.0 and _set_steps(f, label, square, rule, weight, step)
        )
        if moves:
            _move_planes(X, i, planes, p, rule, step)
        return moves

    if isinstance(space, types.NoneType):
        return binary
    return several


# Prototypes depend neither on `C` nor on `lam`, and finding them takes most of the time with two
# classes: they are found for some rows ahead, once for all settings that share them.
@inlined
def _assign(
    X: Any,
    y: Any,
    first: int,
    stop: int,
    prototypes: Prototypes,
    rule: LOLRule,
    limits: Any,
    learned: int,
    learning: bool,
    places: Places,
) -> int:
    """Find the prototypes of rows from `first` on and, when `learning`, move them.

    Return where usable rows end.

    `learned` is the number of rows learned before.
    """
    low, high = limits
    k = prototypes.counts.shape[0]
    for i in range(first, stop):
        square = copy_square(X, i, row_space(prototypes, i))
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            return i
        learns = learning and y[i] != UNKNOWN
        # the first k rows are the prototypes
        fresh = learns and not rule.fixed and learned < k
        measure(prototypes, X, i)
        if fresh:
            p = learned
        else:
            p = nearest(prototypes, X, i, square)
        if p == NONE:
            return i
        if learns:
            learned += 1
            if not rule.fixed:
                _move_prototype(prototypes, X, i, p, square, fresh, rule)
        places.nearest[i - first] = p
        places.squares[i - first] = square
    return stop


@inlined
def _learn(
    X: Any,
    y: Any,
    first: int,
    stop: int,
    planes: Hyperplanes,
    places: Places,
    space: OutputSpace | None,
    rule: LOLRule,
    seen: Any,
    updates: Any,
    learning: bool,
    scores: Any,
    weights: Any,
) -> None:
    """Score rows `first` to `stop` by their hyperplanes and, when `learning`, move these."""
    for i in range(first, stop):
        f = scores[i]
        p = places.nearest[i - first]
        square = places.squares[i - first]
        label = y[i] if learning else UNKNOWN  # `y` is empty without learning
        learns = label != UNKNOWN
        seen[0] += learns
        weight = weight_of(weights, i)
        # A row of weight 0 is seen, but moves nothing; prototypes count it all the same.
        learns = learns and weight > 0.0
        if _learn_row(X, i, f, label, planes, p, square, rule, learns, weight, space):
            count_update(updates, i)


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    planes: Hyperplanes,
    prototypes: Prototypes,
    places: Places,
    space: OutputSpace | None,
    rule: LOLRule,
    limits: Any,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    learning: bool,
    scores: FloatArray,
    weights: Any,
) -> None:
    """Run Algorithm 1 on a few rows at a time: find prototypes, score and learn."""
    X = borrowed_rows(X)
    prototypes = begin(prototypes)
    scores = borrowed(scores)
    planes = _borrowed_planes(planes)
    places = _borrowed_places(places)
    rows = scores.shape[0]
    size = places.nearest.shape[0]
    for first in range(0, rows, size):
        stop = min(first + size, rows)
        usable = _assign(
            X, y, first, stop, prototypes, rule, limits, seen[0], learning, places
        )
        _learn(
            X,
            y,
            first,
            usable,
            planes,
            places,
            space,
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
    places: Places,
    rule: LOLRule,
    limits: Any,
    learned: int,
) -> int:
    """Find prototypes of all rows and move them, for several settings; return where rows end."""
    X = borrowed_rows(X)
    prototypes = begin(prototypes)
    places = _borrowed_places(places)
    usable = _assign(
        X, y, 0, y.shape[0], prototypes, rule, limits, learned, True, places
    )
    flush(prototypes, X)
    return usable


@compiled
def learn_assigned(
    X: Any,
    y: NDArray[np.int64],
    planes: Hyperplanes,
    places: Places,
    space: OutputSpace | None,
    usable: int,
    rule: LOLRule,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
) -> None:
    """Score and learn the `usable` rows in one setting, with the prototypes that `assign` found."""
    X = borrowed_rows(X)
    planes = _borrowed_planes(planes)
    places = _borrowed_places(places)
    scores = borrowed(scores)
    _learn(
        X,
        y,
        0,
        usable,
        planes,
        places,
        space,
        rule,
        seen,
        updates,
        True,
        scores,
        weights,
    )
    scores[usable:] = np.nan
