"""Soft local online learning: olscale's own learner in the family of LOL."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.dot import copy_square
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.mixture import Mixture, add_mixed, mixed_scores, set_gates
from olscale.compiled.pages import aligned_zeros
from olscale.compiled.prototypes import (
    Prototypes,
    allocate_prototypes,
    begin,
    flush,
    means_of,
    measure,
    move,
    nearest_few,
    open_prototypes,
    row_space,
)
from olscale.compiled.rows import borrowed_rows
from olscale.compiled.simd.mixture import GROUPS
from olscale.learners.contract.learner import UNKNOWN, FloatArray, State
from olscale.learners.contract.one_pass import OnePassLearner
from olscale.learners.contract.parameters import Choice, Domain, Real, Whole
from olscale.learners.contract.usable_rows import unusable

__all__ = ["SoftLOL"]

_EXPONENT = 3  # of the mean in the adaptive form
_LEAD = 16  # errors fewer than the form in force with which the other takes over


# Prototypes are means of rows of length 1. Hyperplane p is V[p], of shape (outputs, features rounded up, 2): the weight u,
# and the sum a of its steps, each times t^q, t being the number of rows before it; the mean of the weight over t rows is
# then u - a / t^q. The last plane, V[k], is common to all rows. A row has two scores of each output likewise: by the
# weights of now, and by their mean.

_MEAN = 1
_NO_CHOICE = np.empty(0, dtype=np.int64)


class _Rule(NamedTuple):
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
    prototypes: Prototypes, scale: float, existing: int, fresh: bool, far: FloatArray, rule: _Rule, mixture: Mixture
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
def _learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    V: Any,
    prototypes: Prototypes,
    mixture: Mixture,
    force: NDArray[np.int64],
    rule: _Rule,
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
            scores[i, c] = f[c, force[0] if adaptive else _MEAN]
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


class SoftLOL(OnePassLearner):
    """Soft local online learning: olscale's own variant of `LOL`, not from a paper.

    A row x, scaled to length 1, is scored by a common hyperplane and by those of the m prototypes nearest to it:
    ``f = w.x + sum_j g_j u_j.x``, the gate g_j in proportion to ``1 / distance^(2 sharpness)`` with ``|g| = 1``. With hinge
    loss l the step is ``tau = min(C, l / (1 + 1/lam))``, then ``w += tau y x / lam`` and ``u_j += tau g_j y x``. More than
    two classes: only the row's class and the best wrong one move, in opposite directions, with ``l / (2 (1 + 1/lam))``.
    Steps follow the weights as they are; predictions are those of a mean of the weights over the rows so far, in which
    the weights after row t count as ``t^averaging - (t-1)^averaging``.

    Parameters
    ----------
    k : int
        Number of prototypes: the first k rows that are not empty; each later row moves the one nearest to it.
    m : int
        Prototypes that score a row, and are moved with it.
    lam : float
        Weight of the common component, as in `LOL`: the larger, the less `w` moves; > 0.
    C : float
        Aggressiveness, the largest step; > 0. Rows have length 1, so it means the same for all data.
    sharpness : int
        How fast a gate falls with the distance: 1 is ``1/distance^2``.
    averaging : int or "adaptive"
        1 is the plain mean over all rows; the larger, the more the latest rows count. ``t^averaging`` must stay in the range
        of `dtype`: below 1e38 in float32. With ``"adaptive"`` either the mean of ``averaging=3`` predicts or the weights as
        they are now, whichever erred less lately: the mean first; the other takes over once it has made 16 errors fewer
        than the one in force, counted from when they last were level. For streams that change.
    dtype : {"float64", "float32"}
        Precision of hyperplanes and prototype sums, as in `LOL`.

    Notes
    -----
    State: ``(2 outputs (k + 1) + k') d`` numbers for d features, k' being k rounded up to a multiple of 16 (above 8); there
    are hyperplanes for d rounded up to a multiple of 4. Cost of a row: O((k + m outputs) d), or nnz for d on a sparse row.
    Length 1 makes ``x`` and ``c x`` the same row: add a bias feature where length tells. Predictions are those of a mean of
    the weights, and follow a change in the stream far later than the weights do: where a stream may change, take
    ``averaging="adaptive"``.

    A row costs 1.3 to 2.9 times what LOL's does with k = 60 where it is dense, or sparse with two classes (``olscale bench
    soft-local`` and ``local``). A sparse row with many features and classes costs far more, some 40 times with 50,000 and
    105 (``soft-local-wide``): each of its values is looked up in m + 1 places for every class.

    Where it loses (docs/soft-local.md): cbcl_face and the cumulative error on w7a are above PAMO's published figures,
    mnist is level with LOL's, and in streams that change the default is far behind LOL and PA-I.

    What comes from where: prototypes, common component and step from LOL [1]_; the multi-class step from [2]_; the mean of
    the weights from [3]_, its weighting from [4]_; several hyperplanes to a row, weighted by distance, from locally linear
    SVMs [5]_, where they are not learned in one pass.

    References
    ----------
    .. [1] Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You, One-pass online learning: a local approach, Pattern Recognition
       51, 2016.
    .. [2] K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006.
    .. [3] Y. Freund, R. Schapire, Large margin classification using the perceptron algorithm, Machine Learning 37, 1999.
    .. [4] O. Shamir, T. Zhang, Stochastic gradient descent for non-smooth optimization, ICML 2013.
    .. [5] L. Ladicky, P. Torr, Locally linear support vector machines, ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> SoftLOL(k=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "soft-lol"
    version = 2
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    domains: ClassVar[dict[str, Domain]] = {
        "k": Whole(1),
        "m": Whole(1),
        "lam": Real(0.0, np.inf, open_="both"),
        "C": Real(0.0, open_="low"),
        "sharpness": Whole(1),
        "averaging": Whole(1, ("adaptive",)),
        "dtype": Choice(("float64", "float32")),
    }

    def __init__(
        self,
        k: int = 64,
        m: int = 6,
        lam: float = 3.0,
        C: float = 1.0,
        sharpness: int = 2,
        averaging: int | str = 3,
        dtype: str = "float64",
    ) -> None:
        self.k = k
        self.m = m
        self.lam = lam
        self.C = C
        self.sharpness = sharpness
        self.averaging = averaging
        self.dtype = dtype

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers are gone through for a row: the distance to each prototype, and `m` models."""
        return values * int(self.k) + int(self.m) * super().row_numbers(columns, classes, values)

    def _allocate(self, columns: int, outputs: int) -> State:
        k = int(self.k)
        choice = {"force": np.array([_MEAN, 0])} if self.averaging == "adaptive" else {}
        return {
            "V": aligned_zeros((k + 1, outputs, -(-columns // GROUPS) * GROUPS, 2), self.dtype),
            **allocate_prototypes(columns, k, self.dtype),
            **choice,
        }

    def _sweep(self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray) -> None:
        prototypes = open_prototypes(state, X, int(np.count_nonzero(state["members"])))
        mixture = Mixture(np.empty(int(self.m) + 1, np.int64), np.empty(int(self.m) + 1))
        averaging = _EXPONENT if self.averaging == "adaptive" else int(self.averaging)
        rule = _Rule(int(self.sharpness), float(self.lam), float(self.C), averaging)
        model = (state["V"], prototypes, mixture, state.get("force", _NO_CHOICE))
        counts = (state["seen"], state["updates"])
        _learn_and_score(X, y, *model, rule, self.norm_limits(), *counts, learning, scores)

    @property
    def prototypes_(self) -> FloatArray:
        """The prototypes so far, means of rows of length 1, shape (at most k, n_features)."""
        return means_of(self.state_, int(np.count_nonzero(self.state_["members"])))
