"""Soft local online learning: olscale's own learner in the family of LOL."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.dot import row_and_square
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.mixture import add_mixed, mixed_scores
from olscale.compiled.prototypes import add_then_multiply, add_to_prototype, row_space
from olscale.compiled.rows import borrowed_rows
from olscale.compiled.simd.columns import aligned_zeros, padded
from olscale.compiled.simd.few_lowest import PICKED, few_lowest
from olscale.compiled.simd.mixture import PARTS
from olscale.learners.contract.learner import UNKNOWN, FloatArray, State
from olscale.learners.contract.one_pass import OnePassLearner
from olscale.learners.contract.parameters import Choice, Domain, Real, Whole
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.lol import place

__all__ = ["SoftLOL"]

_CLOSEST = 1e-12  # a smaller square distance of rows of length 1 is rounding
_EXPONENT = 3  # of the mean in the adaptive form
_LEAD = 16  # errors fewer than the form in force with which the other takes over


# Prototypes are sums S of rows of length 1, of shape (features, k), as those of LOL are. Hyperplane p is V[p], of shape
# (outputs, features rounded up, 2): the weight u, and the sum a of its steps, each times t^q, t being the number of rows
# before it; the mean of the weight over t rows is then u - a / t^q. The last plane, V[k], is common to all rows. A row's
# scores are pairs of the same kind: by the weights of now, and by their mean.

_MEAN = 1
_NO_CHOICE = np.empty(0, dtype=np.int64)


@compiled
def _gate(far: FloatArray, found: int, sharpness: int, gates: FloatArray) -> None:
    """Set `gates` in proportion to ``far^-sharpness``, of Euclidean norm 1."""
    closest, square = max(_CLOSEST, far[0]), 0.0
    for n in range(found):
        gates[n] = closest / max(_CLOSEST, far[n])
    for n in range(found):
        ratio, gate = gates[n], gates[n]
        for _ in range(sharpness - 1):
            gate *= ratio
        gates[n] = gate
        square += gate * gate
    norm = 1.0 / np.sqrt(square)
    for n in range(found):
        gates[n] *= norm


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


@compiled
def _sweep(
    X: Any,
    y: NDArray[np.int64],
    V: Any,
    S: Any,
    members: FloatArray,
    squares: FloatArray,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    force: NDArray[np.int64],
    m: int,
    sharpness: int,
    lam: float,
    C: float,
    averaging: int,
    limits: Any,
    learning: bool,
    scores: FloatArray,
) -> None:
    """Gate and score each row; when `learning`, move its nearest prototype and the hyperplanes that scored it.

    Without `force` the predictions are those of the mean.
    """
    X, V, S, scores = borrowed_rows(X), borrowed(V), borrowed(S), borrowed(scores)
    low, high = limits
    k, outputs, end = V.shape[0] - 1, scores.shape[1], scores.shape[0]
    picks, gates, far = np.empty(m + 1, np.int64), np.empty(m + 1), np.empty(m)
    f, step, rows = np.empty((outputs, 2)), np.empty(outputs), row_space(X, S)
    size = (S.shape[1] + PICKED - 1) // PICKED * PICKED
    near, offset, slope, distance = np.zeros(size), np.full(size, np.inf), np.zeros(size), np.empty(size)
    made, adaptive = 0, force.shape[0] > 0
    while made < k and members[made] > 0.0:
        place(made, members, squares, offset, slope)
        made += 1
    norm, common = 1.0 + 1.0 / lam, 1.0 / np.sqrt(lam)
    late, reach = -1, 0.0  # prototype to which the row before is still to be added, and times what
    for i in range(scores.shape[0]):
        learns = learning and y[i] != UNKNOWN
        row, earlier = rows[i & 1], rows[i & 1 ^ 1]
        square = row_and_square(X, i, row)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            end = i
            break
        add_then_multiply(X, i - 1, earlier, reach, late, i, row, S, near)
        late = -1
        if square == 0.0:
            scores[i] = 0.0
            seen[0] += 1 if learns else 0
            continue
        scale = 1.0 / np.sqrt(square)
        if learns and made < k:
            # A row that becomes a prototype is nearest to itself by far.
            found, picks[0], gates[0] = 1, made, 1.0
            made += 1
        else:
            for p in range(size):
                near[p] *= scale
                distance[p] = 1.0 + (offset[p] - slope[p] * near[p])
            found = few_lowest(distance, picks, far)
            if found == 0 and made > 0:
                found, picks[0], far[0] = 1, 0, 1.0  # the model has diverged: no distance is a number
            if found > 0:
                _gate(far, found, sharpness, gates)
        picks[found], gates[found] = k, common
        mixed_scores(X, i, V, found + 1, picks, gates, f)
        past = 1.0 / _power(max(1.0, float(seen[0])), averaging)
        for c in range(outputs):
            f[c, 1] = scale * (f[c, 0] - f[c, 1] * past)
            f[c, 0] *= scale
            scores[i, c] = f[c, force[0] if adaptive else _MEAN]
        if not learns:
            continue
        if adaptive:
            _compare(f, y[i], force)
        p = picks[0]
        late, reach = p, scale
        squares[p] += 2.0 * near[p] + 1.0 if members[p] > 0.0 else 1.0
        members[p] += 1.0
        place(p, members, squares, offset, slope)
        if _step(f, y[i], norm, C, step):
            past = _power(float(seen[0]), averaging)
            for c in range(outputs):
                if step[c] != 0.0:
                    a = scale * step[c]
                    add_mixed(X, i, V, found + 1, picks, gates, c, a, past * a)
            updates[0] += 1
        seen[0] += 1
    if late >= 0:
        last = end - 1
        add_to_prototype(X, last, rows[last & 1], reach, S, late)


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

    A row costs 1.3 to 2.9 times what LOL's does with k = 60 where it is dense (measured up to 26 classes), or sparse with
    two classes (``olscale bench soft-local`` and ``local``). A sparse row with many features and many classes costs far
    more: some 40 times LOL's with 50,000 features and 105 classes (``olscale bench soft-local-wide``), since each of its
    values is looked up in m + 1 places for every class, where LOL's weights of all classes lie side by side.

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
            "V": aligned_zeros((k + 1, outputs, -(-columns // PARTS) * PARTS, 2), self.dtype),
            "S": aligned_zeros((columns, padded(k)), self.dtype),
            "members": np.zeros(k),
            "squares": np.zeros(k),
            **choice,
        }

    def _sweep(self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray) -> None:
        model = (state["V"], state["S"], state["members"], state["squares"], state["seen"], state["updates"])
        force, m, sharpness = state.get("force", _NO_CHOICE), int(self.m), int(self.sharpness)
        averaging = _EXPONENT if self.averaging == "adaptive" else int(self.averaging)
        settings = (m, sharpness, float(self.lam), float(self.C), averaging, self.norm_limits())
        _sweep(X, y, *model, force, *settings, learning, scores)

    @property
    def prototypes_(self) -> FloatArray:
        """The prototypes made so far, means of rows of length 1, shape (at most k, n_features)."""
        members = self.state_["members"]
        made = int(np.count_nonzero(members))
        means: FloatArray = (self.state_["S"][:, :made] / members[:made]).T
        return means
