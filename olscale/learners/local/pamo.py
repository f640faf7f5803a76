"""Passive-aggressive max-out: a projection and the hyperplane on it (Jorge and Paredes 2018)."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, values_of
from olscale.compiled.decorator import compiled, nested
from olscale.compiled.many_columns import move_multiply, multiply
from olscale.compiled.pages import aligned_zeros
from olscale.compiled.rows import add_row, weight_of
from olscale.compiled.simd.vectors import VECTOR
from olscale.learners.contract.class_axes import ClassAxes, ShardsClasses, class_axis
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.cost import EstimatesCost, in_dense_values
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import (
    UNKNOWN,
    FloatArray,
    State,
    array_of,
    score_columns,
)
from olscale.learners.contract.parameters import Choice, Real, Whole, param
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.contract.weighted import WeightedClassifier

_CACHE_BYTES = 1 << 18
"""Bytes of hyperplanes that a chunk updates at once: half of a core's second cache."""

_WORTH_COPYING = 8
"""Dense rows, or their equivalent, from which on copying hyperplanes together pays."""


# Of alpha = 0 the paper says that only w is modified, while Algorithm 1 alone would still pull
# the projection of a row to unit length. Here the projection then stays as it was drawn.
@nested
def _project(
    g: FloatArray,
    first: int,
    k: int,
    scale: float,
    raw: FloatArray,
    winner: Any,
    z: FloatArray,
) -> bool:
    """Set raw and unit projection of a row from its products `g`; False if it is 0.

    `g` are the products of the row with the hyperplanes.
    """
    square = 0.0
    for m in range(z.shape[0]):
        # Max-out: the hyperplane with the greatest product stands for the dimension.
        best = first + m * k
        for j in range(best + 1, first + (m + 1) * k):
            # Not "greater or equal": the first among equals wins.
            if g[j] > g[best]:
                best = j
        winner[m] = best
        raw[m] = g[best] * scale
        square += raw[m] * raw[m]
    norm = np.sqrt(square)
    for m in range(z.shape[0]):
        if norm > 0.0:
            z[m] = raw[m] / norm
        else:
            z[m] = 0.0
    return bool(norm > 0.0)


@nested
def _move(
    w: FloatArray, z: FloatArray, y: float, loss: float, C: float, alpha: float
) -> None:
    """Move hyperplane `w` by a part 1 - alpha of the loss, then projection `z` by the rest.

    These are eqs. 18-22, corrected.
    """
    tau = min(C, (1.0 - alpha) * loss)  # |z| = 1
    score = 0.0
    square = 0.0
    for m in range(z.shape[0]):
        w[m] += tau * y * z[m]
        score += w[m] * z[m]
        square += w[m] * w[m]
    # By the moved w, as Algorithm 1 has it.
    remaining = max(0.0, 1.0 - y * score)
    # A row without values has no direction: its projection is 0.
    if square > 0.0:
        for m in range(z.shape[0]):
            z[m] += remaining / square * y * w[m]


@nested
def _learn_classes(
    X: Any,
    y: NDArray[np.int64],
    theta: Any,
    first: int,
    W: FloatArray,
    k: int,
    C: float,
    alpha: float,
    epsilon: float,
    always: bool,
    limits: Any,
    learning: bool,
    moved: NDArray[np.bool_],
    scores: FloatArray,
    weights: Any,
) -> int:
    """Learn and score the rows for the classes from `first` on whose hyperplanes are in `theta`.

    Return the row at which it ends; `moved` is set where a row changes a class.
    """
    low, high = limits
    outputs, h = W.shape
    planes = theta.shape[1]
    last = first + planes // (h * k)
    g = np.empty((planes + VECTOR - 1) // VECTOR * VECTOR)
    a = np.empty(planes)
    z = np.empty(h)
    raw = np.empty(h)
    winner = np.empty(h, dtype=np.int64)
    # the last row that moves hyperplanes, while its steps a are not in theta yet
    pending = -1
    end = scores.shape[0]
    for i in range(scores.shape[0]):
        learns = learning and y[i] != UNKNOWN
        # The move of the last row waits for this one: one pass over `theta` serves both, and
        # fetching it takes most of the time.
        if pending >= 0:
            square = move_multiply(X, pending, a, i, theta, g)
            pending = -1
        else:
            square = multiply(X, i, theta, g)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            end = i
            break
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
        else:
            scale = 0.0
        a[:] = 0.0
        moves = False
        pulls = False
        most = weight_of(weights, i) * C  # for both kinds of step
        for c in range(first, last):
            valid = _project(g, (c - first) * h * k, k, scale, raw, winner, z)
            score = 0.0
            for m in range(h):
                score += W[c, m] * z[m]
            scores[i, c] = score
            if learns and valid and most > 0.0:
                if outputs > 1:
                    own_class = c
                else:
                    own_class = 1
                if y[i] == own_class:
                    target = 1.0
                else:
                    target = -1.0
                loss = max(0.0, 1.0 - target * score)
                if loss > 0.0:
                    moves = True
                    _move(W[c], z, target, loss, most, alpha)
                if alpha > 0.0 and (loss > 0.0 or always):
                    pulls = True
                    for m in range(h):
                        error = z[m] - raw[m]
                        step = min(most, max(0.0, abs(error) - epsilon))
                        a[winner[m]] = (step if error > 0.0 else -step) * scale
        if moves or pulls:
            moved[i] = True
        if pulls:
            pending = i
    if pending >= 0:
        add_row(X, pending, theta, a)
    return int(end)


@compiled
def _learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    theta: Any,
    W: FloatArray,
    k: int,
    C: float,
    alpha: float,
    epsilon: float,
    always: bool,
    limits: Any,
    learning: bool,
    together: int,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
) -> None:
    """Learn and score the rows for `together` classes at a time: their hyperplanes fit a cache."""
    outputs, h = W.shape
    columns = theta.shape[0]
    rows = scores.shape[0]
    moved = np.zeros(rows, dtype=np.bool_)
    if together >= outputs:
        end = _learn_classes(
            X,
            y,
            theta,
            0,
            W,
            k,
            C,
            alpha,
            epsilon,
            always,
            limits,
            learning,
            moved,
            scores,
            weights,
        )
    else:
        end = rows
        # A copy next to each other: rows of `theta` are as far apart as all classes are wide.
        near = np.empty(columns * together * h * k, theta.dtype)
        for first in range(0, outputs, together):
            begin = first * h * k
            stop = min(first + together, outputs) * h * k
            part = near[: columns * (stop - begin)].reshape((columns, stop - begin))
            for j in range(columns):
                for p in range(stop - begin):
                    part[j, p] = theta[j, begin + p]
            end = _learn_classes(
                X,
                y,
                part,
                first,
                W,
                k,
                C,
                alpha,
                epsilon,
                always,
                limits,
                learning,
                moved,
                scores,
                weights,
            )
            # Scoring has changed nothing that would have to go back.
            for j in range(columns if learning else 0):
                for p in range(stop - begin):
                    theta[j, begin + p] = part[j, p]
    for i in range(end):
        if learning and y[i] != UNKNOWN:
            seen[0] += 1
        if moved[i]:
            count_update(updates, i)
    for i in range(end, rows):
        for c in range(outputs):
            scores[i, c] = np.nan


class PAMO1(OnePassLearner, WeightedClassifier, ShardsClasses, EstimatesCost):
    """Passive-aggressive max-out, PAMO-I: a hyperplane on a max-out projection; both learn.

    A row of unit length is projected to ``z_m = max_j u_mj.x``, m = 1..h, and z scaled to unit
    length; the score is ``w.z``. With hinge loss l, w takes a passive-aggressive step for a part 1
    - alpha of it, z one for the rest, and the winning hyperplanes ``u_mj`` take regression steps
    towards the moves z. More than two classes: one-vs-all.

    Notes
    -----
    State: ``outputs h (k d + 1)`` numbers for d features. Cost of a row: O(outputs h k d), or nnz
    for d on sparse rows. Errors in the paper: eq. (17) should leave alpha l, as (19) does; (22)
    must divide by ``|w|^2``, since there the roles of w and z are exchanged (Algorithm 1 rightly
    passes the new w).

    A row's weight multiplies `C` in both kinds of step, the largest of them; one of weight 0
    moves nothing.

    References
    ----------
    J. Jorge, R. Paredes, Passive-Aggressive online learning with nonlinear embeddings, Pattern
    Recognition 79, 2018: Algorithm 1, eqs. (18)-(30).

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (50, 1)), np.tile([1, 1, 0, 0], 50)
    >>> PAMO1(h=8).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "pamo1"
    numbers_per_second = 11.5e9
    version = 2
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    always: ClassVar[bool] = False
    update_params = ("C", "alpha", "epsilon")

    h: int = param(64, Whole(1), "Dimensions of the projection.")
    k: int = param(2, Whole(1), "Hyperplanes of a dimension.")
    C: float = param(
        0.125,
        Real(0.0, open_="low"),
        "Aggressiveness of both kinds of step (the paper's C and C_r).",
    )
    alpha: float = param(
        0.9,
        Real(0.0, 1.0, open_="high"),
        "Part of the loss left to the projection. With 0 only w is modified (section "
        "3): PA-I on the fixed random projection. Any other value also pulls the projection of "
        "a row with loss to unit length, so 0 is no limit of it.",
    )
    epsilon: float = param(
        0.0,
        Real(0.0),
        "Insensitivity of the regression steps (the paper names no value; 0).",
    )
    seed: int = param(
        0,
        Whole(0),
        "Seed of the random start: uniform in [-0.1, 0.1], the hyperplanes of a dimension then "
        "made orthogonal.",
    )
    dtype: str = param(
        "float64",
        Choice(("float64", "float32")),
        "Precision of the hyperplanes and of the sums of their products with a row; all else is "
        "float64.",
    )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: `h` groups of `k` hyperplanes per output."""
        planes = int(self.h) * int(self.k) * score_columns(classes)
        return planes * (in_dense_values(columns, values, 2.0) + 33.0)

    def _allocate(self, columns: int, outputs: int) -> State:
        h = int(self.h)
        k = int(self.k)
        random = self._random()
        planes = random.uniform(-0.1, 0.1, size=(outputs * h, k, columns))
        for j in range(1, k):
            # Gram-Schmidt among the hyperplanes of a dimension; lengths stay as drawn.
            for earlier in range(min(j, columns - 1)):
                base = planes[:, earlier]
                # At least 1e-300: a hyperplane of zeros has no direction to be orthogonal to.
                along = np.sum(planes[:, j] * base, axis=1) / np.maximum(
                    np.sum(base * base, axis=1), 1e-300
                )
                planes[:, j] -= along[:, None] * base
        theta = planes.reshape(outputs * h * k, columns).T
        W = random.uniform(-0.1, 0.1, size=(outputs, h))
        aligned = aligned_zeros(theta.shape, self.dtype)
        aligned[...] = theta
        return {"theta": aligned, "W": W}

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axes of projections and hyperplanes: each class has its own."""
        return {
            "theta": class_axis(1, outputs, each=int(self.h) * int(self.k)),
            "W": class_axis(0, outputs),
        }

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        settings = (
            int(self.k),
            float(self.C),
            float(self.alpha),
            float(self.epsilon),
            self.always,
            self.norm_limits(),
        )
        counts = (state["seen"], state["updates"])
        classes_together = self._classes_together(X, state["theta"])
        _learn_and_score(
            X,
            y,
            state["theta"],
            state["W"],
            *settings,
            learning,
            classes_together,
            *counts,
            scores,
            array_of(weights),
        )

    def _classes_together(self, X: Rows, theta: FloatArray) -> int:
        """Return how many classes learn all rows of a chunk at a time; it changes no bit.

        Hyperplanes of a few classes stay in a near cache from row to row. Copying them out and back
        takes as much work as a few rows.
        """
        columns, planes = theta.shape
        numbers_of_class = int(self.h) * int(self.k)
        # What fits a cache anyway, or is used by few rows, is not worth a copy.
        if theta.nbytes <= 2 * _CACHE_BYTES or values_of(X) < _WORTH_COPYING * columns:
            return int(planes // numbers_of_class)
        return max(
            1, int(_CACHE_BYTES // (columns * numbers_of_class * theta.itemsize))
        )


class PAMO2(PAMO1):
    """Passive-aggressive max-out, PAMO-II: PAMO-I whose projection moves on every row.

    On a row without loss the hyperplanes move towards the projection's unit-length form, so that it
    is learned.

    Notes
    -----
    Weights of rows count as in `PAMO1`.

    References
    ----------
    Jorge and Paredes 2018, section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (50, 1)), np.tile([1, 1, 0, 0], 50)
    >>> PAMO2(h=8).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "pamo2"
    numbers_per_second = 10.5e9
    always: ClassVar[bool] = True
