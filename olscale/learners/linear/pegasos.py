"""Pegasos in its online form: one new row per iteration.

Shalev-Shwartz, Singer, Srebro, Cotter 2011.

The shrinks ``1 - 1/t`` and the steps ``1/(lam t)`` telescope: after row t the weights are
``V c / (lam t)``. `V` is the plain sum of ``y x`` over the rows that had a hinge loss, each divided
by `c` at the time; `c`, one number per column, is the product of the projections so far. So a row
costs its nonzeros, and without projection no rounding builds up: on integer features a score that
is zero by arithmetic is zero.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.compiled.decorator import compiled, nested
from olscale.compiled.rows import add_column, borrowed_rows, row_scores, weight_of
from olscale.learners.contract.class_axes import ClassAxes, ShardsClasses, class_axis
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.learner import UNKNOWN, FloatArray, State, frobenius_norm
from olscale.learners.contract.parameters import Choice, Flag, Real, Whole, param
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.first_order import linear_scores

FOLD_BELOW = 1e-12
"""Product of projections below which it is multiplied into the weights: ``1/c`` must fit."""


@nested
def _project(
    V: Any, c: FloatArray, norms: FloatArray, lam: float, t: int, k: int
) -> None:
    """Shrink column `k` onto the ball of radius ``1/sqrt(lam)``; `norms` holds ``|V|^2``."""
    # The sum of updates can be rounded to just below 0.
    norm = np.sqrt(max(norms[k], 0.0)) * c[k] / (lam * t)
    radius = 1.0 / np.sqrt(lam)
    if norm > radius:
        c[k] *= radius / norm


@nested
def _fold(V: Any, c: FloatArray, norms: FloatArray) -> None:
    """Multiply the projections into `V`."""
    for k in range(V.shape[1]):
        for j in range(V.shape[0]):
            V[j, k] *= c[k]
        norms[k] *= c[k] * c[k]
        c[k] = 1.0


@compiled
def _learn(
    X: Any,
    y: NDArray[np.int64],
    V: Any,
    c: FloatArray,
    norms: FloatArray,
    lam: float,
    offset: int,
    project: bool,
    max_score: bool,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> None:
    X, (low, high) = borrowed_rows(X), limits
    outputs = V.shape[1]
    f = np.zeros(outputs)
    for i in range(y.shape[0]):
        square = row_scores(X, i, V, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        before = seen[0] + offset
        t = before + 1
        for k in range(outputs):
            # Before the first step V is 0, for any divisor.
            scores[i, k] = f[k] * (c[k] / (lam * max(before, 1)))
        if y[i] == UNKNOWN:
            continue
        seen[0] += 1
        weight = weight_of(weights, i)
        # Such a row moves nothing, but the step number has grown.
        if square == 0.0 or weight == 0.0:
            continue
        if max_score:
            true = y[i]
            if true != 0:
                rival = 0
            else:
                rival = 1
            for k in range(outputs):
                if k != true and scores[i, k] > scores[i, rival]:
                    rival = k
            if scores[i, true] - scores[i, rival] < 1.0:
                updates[0] += 1
                # V is multiplied by c when it is used, so what is added is divided by it.
                step = weight / c[0]
                along = 2.0 * step * (f[true] - f[rival])
                norms[0] += along + 2.0 * step * step * square
                add_column(X, i, V, true, step)
                add_column(X, i, V, rival, -step)
                if project:
                    # All columns are one vector in the max-score form: one ball, one factor.
                    _project(V, c, norms, lam, t, 0)
                    c[1:] = c[0]
        else:
            moved = False
            for k in range(outputs):
                if outputs > 1:
                    true = k
                else:
                    true = 1
                if y[i] == true:
                    target = 1.0
                else:
                    target = -1.0
                if target * scores[i, k] < 1.0:
                    moved = True
                    step = weight * target / c[k]
                    norms[k] += 2.0 * step * f[k] + step * step * square
                    add_column(X, i, V, k, step)
                    if project:
                        _project(V, c, norms, lam, t, k)
            if moved:
                count_update(updates, i)
        if project:
            is_small = False
            for k in range(c.shape[0]):
                is_small |= c[k] < FOLD_BELOW
            if is_small:
                _fold(V, c, norms)


class Pegasos(WeightedClassifier, ShardsClasses, EstimatesCost):
    """Pegasos, online: sub-gradient descent on the SVM objective ``lam/2 |w|^2 + hinge``.

    Row t (from 1) is scored with `w`; then ``w *= 1 - 1/t`` and, if its hinge loss was positive,
    ``w += y x / (lam t)``. With `project`, `w` is then scaled back onto the ball of radius
    ``1/sqrt(lam)``. In the max-score form the hinge is that of the true class over the best wrong
    class, the two move by ``+-1/(lam t) x``, and the ball holds all classes together.

    Notes
    -----
    State: ``columns * outputs`` numbers of 8 (float32: 4) bytes and two numbers an output. Time a
    row: ``O(nonzeros * outputs)``: shrinks and projections are a factor a column.

    BudgetedSVM keeps a weight vector for each of two classes, moves both and starts at t = 2: its
    ``lam`` is twice ours. Its a9a run (``lam = 1e-4``, bias feature 1, 6297 mistakes) is
    ``lam=5e-5, offset=1`` here, with the 624 rows of score exactly 0 left out of the count; counted
    as everywhere in olscale (the sign of 0 is +1) it makes 6688 mistakes.

    A row's weight multiplies its step, as in CSOGD (J. Wang, P. Zhao, S. C. H. Hoi, Cost-sensitive
    online classification, ICDM 2012): its loss counts as many times. The shrinks are those of any
    row.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, Pegasos: primal estimated sub-gradient
    solver for SVM, Mathematical Programming 127 (1), 2011: figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> learner = Pegasos(lam=0.5).fit(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1]))
    >>> learner.coef_
    array([[-1.,  1.]])
    """

    name = "pegasos"
    numbers_per_second = 7e9
    row_seconds = 24e-9
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    lam: float = param(1e-4, Real(0.0, open_="low"), "Weight of the regulariser.")
    offset: int = param(0, Whole(0), "Added to t in step and shrink; 0 is the paper's.")
    project: bool = param(
        False,
        Flag(),
        "Project onto the ball after each step that moved the weights (the step the paper calls "
        "optional).",
    )
    multiclass: str = param(
        "max-score",
        Choice(("max-score", "ova")),
        "True class against the best wrong class, or one binary learner a class.",
    )
    dtype: str = param(
        "float64",
        Choice(("float64", "float32")),
        "Precision of the state; sums are float64 in both, each number is rounded when it is "
        "stored.",
    )

    def _allocate(self, columns: int, outputs: int) -> State:
        return {
            "V": np.zeros((columns, outputs), dtype=self.dtype),
            "c": np.ones(outputs),
            "norms": np.zeros(outputs),
        }

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axes of weights, projections and norms, in the one-vs-all form."""
        if self.multiclass != "ova":
            return None
        return {
            "V": class_axis(1, outputs),
            "c": class_axis(0, outputs),
            "norms": class_axis(0, outputs),
        }

    def learn(
        self, X: Rows, y: NDArray[np.int64], weights: FloatArray | None = None
    ) -> FloatArray:
        state = self.state_
        weights = self._weights_of(y, weights)
        V = state["V"]
        c = state["c"]
        norms = state["norms"]
        scores = np.empty((rows_of(X), V.shape[1]))
        shared = V.shape[1] > 1 and self.multiclass == "max-score"
        limits = self.norm_limits()
        settings = (float(self.lam), int(self.offset), self.project, shared, limits)
        _learn(
            X,
            y,
            V,
            c,
            norms,
            *settings,
            state["seen"],
            state["updates"],
            scores,
            weights,
        )
        return scores

    def scores(self, X: Rows) -> FloatArray:
        """Return ``X w``, shape (rows, outputs)."""
        return linear_scores(X, self.state_["V"], self.norm_limits()) * self._factors()

    def _factors(self) -> FloatArray:
        steps = max(int(self.state_["seen"][0]) + int(self.offset), 1)
        return np.asarray(self.state_["c"] / (self.lam * steps))

    @property
    def coef_(self) -> FloatArray:
        """Weights, shape (1 or n_classes, n_features)."""
        return np.asarray(self.state_["V"] * self._factors()).T

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `norm_w`, the Frobenius norm of the weights."""
        return {**super().measures(), "norm_w": frobenius_norm(self.coef_)}
