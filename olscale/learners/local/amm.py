"""The adaptive multi-hyperplane machine, online (Wang, Djuric, Crammer, Vucetic 2011).

The shrinks ``1 - 1/(t+1)`` and the steps ``1/((t+1) lam)`` telescope: after row t the weights are
``S / ((t+1) lam)``, `S` the plain sum of the rows added and subtracted. So a row
costs its scores and two moves, no rounding builds up, and on whole numbers ties are ties.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, nested
from olscale.compiled.rows import add_column, borrowed_rows, row_scores, weight_of
from olscale.learners.contract.cost import EstimatesCost, in_dense_values
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import (
    UNKNOWN,
    FloatArray,
    State,
    array_of,
    frobenius_norm,
)
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.contract.weighted import WeightedClassifier


class AMMRule(NamedTuple):
    """Parameters of updates and of pruning."""

    lam: float
    limit: int
    k: int
    c: float


class ClassPlanes(NamedTuple):
    """Sums ``S[feature, hyperplane]`` in order of arrival, their classes and their number."""

    S: FloatArray
    owner: NDArray[np.int64]
    counts: NDArray[np.int64]


@nested
def _find_best(f: FloatArray, planes: ClassPlanes, best: NDArray[np.int64]) -> None:
    """Set the hyperplane with the greatest score of each class, the first among equals."""
    best[:] = -1
    for h in range(planes.counts[0]):
        k = planes.owner[h]
        if best[k] < 0 or f[h] > f[best[k]]:
            best[k] = h


@nested
def _prune(planes: ClassPlanes, most: float) -> None:
    """Drop the shortest hyperplanes while their squares sum to at most `most`.

    The last hyperplane of a class is never dropped.
    """
    S, owner, counts = planes
    squares = np.zeros(counts[0])
    members = np.zeros(counts[0], np.int64)
    for j in range(S.shape[0]):
        for h in range(counts[0]):
            squares[h] += S[j, h] * S[j, h]
    for h in range(counts[0]):
        members[owner[h]] += 1
    stays = np.ones(counts[0], np.bool_)
    judged = np.zeros(counts[0], np.bool_)
    total = 0.0
    # The shortest one by one: few go, and numba takes a second to compile a sort. Of equal ones the
    # first to arrive goes first, on every machine.
    for _ in range(counts[0]):
        shortest = -1
        for h in range(counts[0]):
            if not judged[h] and (shortest < 0 or squares[h] < squares[shortest]):
                shortest = h
        judged[shortest] = True
        total += squares[shortest]
        if total > most:
            break
        if members[owner[shortest]] > 1:
            members[owner[shortest]] -= 1
            stays[shortest] = False
    last = 0
    for h in range(counts[0]):
        if stays[h]:
            if last < h:
                owner[last] = owner[h]
                for j in range(S.shape[0]):
                    S[j, last] = S[j, h]
            last += 1
    S[:, last:] = 0.0
    owner[last:] = 0
    counts[0] = last


@compiled
def _learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    first: int,
    planes: ClassPlanes,
    rule: AMMRule,
    limits: Any,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    learning: bool,
    scores: FloatArray,
    weights: Any,
) -> int:
    """Score rows from `first` on and, when `learning`, learn from them.

    Return the row at which another hyperplane needs room.
    """
    X, (low, high) = borrowed_rows(X), limits
    S, owner, counts = planes
    outputs = scores.shape[1]
    classes = max(outputs, 2)
    f = np.zeros(S.shape[1])
    best = np.empty(classes, np.int64)
    for i in range(first, scores.shape[0]):
        square = row_scores(X, i, S, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        _find_best(f, planes, best)
        t = seen[0] + 1
        scale = t * rule.lam  # of the weights before row t
        if outputs == 1:
            scores[i, 0] = (f[best[1]] - f[best[0]]) / scale
        else:
            for k in range(classes):
                scores[i, k] = f[best[k]] / scale
        if not learning or y[i] == UNKNOWN:
            continue
        # Before the row is learned: the caller makes room, and this row comes again.
        if counts[0] == S.shape[1] < classes * rule.limit:
            return i
        seen[0] = t
        true = y[i]
        if y[i] != 0:
            rival = 0
        else:
            rival = 1
        for k in range(classes):
            if k != true and f[best[k]] > f[best[rival]]:
                rival = k
        weight = weight_of(weights, i)
        # Sums are not divided by `scale`, so a margin of 1 is a difference of `scale`.
        has_loss = f[best[true]] - f[best[rival]] < scale
        if square > 0.0 and weight > 0.0 and has_loss:
            updates[0] += 1
            add_column(X, i, S, best[rival], -weight)
            if f[best[true]] > 0.0:
                add_column(X, i, S, best[true], weight)
            elif np.sum(owner[: counts[0]] == true) < rule.limit:
                # No hyperplane of the class is above the zero weight that every class has: the row
                # begins a new one.
                add_column(X, i, S, counts[0], weight)
                owner[counts[0]] = true
                counts[0] += 1
        if t % rule.k == 0:
            _prune(planes, (rule.c * (t + 1) / t) ** 2)
    return len(scores)


class AMM(OnePassLearner, WeightedClassifier, EstimatesCost):
    """Adaptive multi-hyperplane machine, online: classes get more hyperplanes where they need them.

    The score of class i is ``g_i = max_j w_ij.x``; each class begins with one weight of zero. Row t
    (from 1) is scored; then all weights are multiplied by ``1 - 1/(t+1)``, and if the class y of
    the row is not ahead of the best other class z by 1, z's best weight loses ``x / ((t+1) lam)``
    and y's best one gains it; if that scored 0 or less, the row begins a new weight of y. Every k
    rows the shortest weights are dropped. With two classes the score is ``g_1 - g_0``.

    Notes
    -----
    State: ``m d`` numbers for d features and room for m hyperplanes, which doubles up to ``limit``
    a class. Cost of a row: O(m d), or O(m nnz) for a sparse row; pruning goes through all of the
    state once in k rows.

    One pass trains it little: the OSPVM paper's figures need several (the protocol's ``passes``, a
    diagnostic), and BudgetedSVM's own default is five. The rule is that program's; it stores
    weights in float32 and multiplies them at every row, so that rounding decides its ties. Here the
    sums are not multiplied at all. A class never loses its last weight, and rows of zeros change
    nothing.

    A row's weight multiplies its step, that of gradient descent on a loss that counts as many
    times. The shrinks are those of any row.

    References
    ----------
    Z. Wang, N. Djuric, K. Crammer, S. Vucetic, Trading representability for scalability: adaptive
    multi-hyperplane machine for nonlinear classification, KDD 2011: Algorithm 2.
    N. Djuric, L. Lan, S. Vucetic, Z. Wang, BudgetedSVM: a toolbox for scalable SVM approximations,
    JMLR 14, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> learner = AMM(lam=0.01).fit(np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5))
    >>> learner.predict(corners), learner.measures()["hyperplanes"]
    (array([1, 1, 0, 0]), 6.0)
    """

    name = "amm"
    numbers_per_second = 2.5e9
    row_seconds = 75e-9
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    update_params = ("k", "c")

    lam: float = param(1e-4, Real(0.0, open_="low"), "Weight of the regulariser.")
    limit: int = param(
        20,
        Whole(1),
        "Most hyperplanes of a class; at the limit a row that would begin one more moves only "
        "the other class.",
    )
    k: int = param(10_000, Whole(1), "Rows from one pruning to the next.")
    c: float = param(
        10.0,
        Real(0.0),
        "Pruning: weights may go while the sum of their squared norms is at most ``(c / (t "
        "lam))^2``.",
    )

    def _allocate(self, columns: int, outputs: int) -> State:
        classes = max(outputs, 2)
        room = classes * min(2, int(self.limit))
        owner = np.zeros(room, dtype=np.int64)
        owner[:classes] = np.arange(classes)
        return {
            "S": np.zeros((columns, room)),
            "owner": owner,
            "count": np.full(1, classes, dtype=np.int64),
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
        rule = AMMRule(float(self.lam), int(self.limit), int(self.k), float(self.c))
        counts = (state["seen"], state["updates"])
        ends = (scores, array_of(weights))
        row = 0
        while True:
            planes = ClassPlanes(state["S"], state["owner"], state["count"])
            limits = self.norm_limits()
            row = _learn_and_score(
                X, y, row, planes, rule, limits, *counts, learning, *ends
            )
            if row == len(scores):
                return
            room = min(2 * len(state["owner"]), self._most())
            state.update(self._with_room(state, room))

    def _most(self) -> int:
        return max(self._outputs, 2) * int(self.limit)

    def _with_room(self, state: State, room: int) -> State:
        more = room - len(state["owner"])
        return {
            "S": np.pad(state["S"], ((0, 0), (0, more))),
            "owner": np.pad(state["owner"], (0, more)),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, which may have room for more hyperplanes than this one."""
        if "owner" in state:
            room = len(state["owner"])
        else:
            room = 0
        if len(self.state_["owner"]) < room <= self._most():
            self.state_.update(self._with_room(self.state_, room))
        super().restore(state)

    def _can_continue(self) -> bool:
        classes = max(self._outputs, 2)
        owner = self.state_["owner"]
        count = self.state_["count"][0]
        if not (classes <= count <= len(owner)):
            return False
        # Every class keeps a hyperplane, or it has no best one.
        has_each = np.array_equal(np.unique(owner[:count]), np.arange(classes))
        return has_each and super()._can_continue()

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: most times a class has a few hyperplanes."""
        return in_dense_values(columns, values, 3.6) * (max(classes, 2) + 2.0)

    @property
    def coef_(self) -> FloatArray:
        """Weights of all hyperplanes, shape (hyperplanes, n_features), of the classes `owner_`."""
        state = self.state_
        planes = state["S"][:, : state["count"][0]]
        divisor = (state["seen"][0] + 1) * float(self.lam)
        return np.asarray(planes / divisor).T

    @property
    def owner_(self) -> NDArray[np.int64]:
        """Class code of each hyperplane."""
        return np.asarray(self.state_["owner"][: self.state_["count"][0]])

    def measures(self) -> dict[str, float]:
        """Return the shared measures, `hyperplanes`, their number, and `norm_w`, their norm."""
        planes = {
            "hyperplanes": float(self.state_["count"][0]),
            "norm_w": frobenius_norm(self.coef_),
        }
        return {**super().measures(), **planes}
