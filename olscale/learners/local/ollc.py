"""Locally linear classification in two regions, learned online (Wang and Saligrama)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.elementary import exponential, logarithm_of_sum
from olscale.compiled.rows import add_row, row_scores, set_column, weight_of
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


@nested
def _decay(v: float) -> float:
    """Return ``exp(-|v|)``, from which softplus and logistic function of v are computed."""
    if v != v:  # the exponential of NaN would be 0
        return v
    return exponential(-abs(v))


@inlined
def _softplus(v: float, decay: float) -> float:
    return max(v, 0.0) + logarithm_of_sum(decay)


@inlined
def _logistic(v: float, decay: float) -> float:
    return (1.0 if v >= 0.0 else decay) / (1.0 + decay)


# Weights are the columns of V: region gate, classifier 1 and classifier 2 of each output, and last
# the anchor row. The gate is kept as V's column plus a multiple of the anchor, so that holding the
# anchor in its region costs nothing per feature.


# The gate's step has the sign that Algorithm 1 prints, opposite to the gradient of the paper's
# own objective: the printed sign learns the XOR of Fig. 2 (0.0 % test error after 1,000 rows, 20
# starts), descent does not (15.7 %). With a bias feature, some random starts end near chance.
@compiled
def _learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    V: FloatArray,
    lift: FloatArray,
    hold: FloatArray,
    anchor: FloatArray,
    beta: float,
    direction: float,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
) -> None:
    """Score rows and, when `learning`, take one step per row.

    `lift` is the multiple of the anchor in each gate, `hold` the product of V's gate column with
    the anchor, and ``anchor[0]`` the anchor's squared norm (0: no anchor yet).
    """
    low, high = limits
    outputs = lift.shape[0]
    last = 3 * outputs
    g = np.empty(V.shape[1])
    a = np.zeros(V.shape[1])
    for i in range(scores.shape[0]):
        learns = learning and y[i] != UNKNOWN
        square = row_scores(X, i, V, g)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        weight = weight_of(weights, i)
        if learns:
            seen[0] += 1
            if anchor[0] == 0.0 and square > 0.0:
                # The column was 0 when the row was multiplied: its product is now the row's square.
                set_column(X, i, V, last)
                anchor[0] = square
                g[last] = square
                for c in range(outputs):
                    hold[c] = g[3 * c]
                    lift[c] = max(0.0, (beta - hold[c]) / square)
            # Other rows move nothing, but make the steps shorter: they count in `seen`.
            learns = square > 0.0 and weight > 0.0
        rate = weight * (1.0 / np.sqrt(max(1, seen[0])))
        for c in range(outputs):
            gate = g[3 * c] + lift[c] * g[last]
            if gate > 0.0:
                scores[i, c] = g[3 * c + 1]
            else:
                scores[i, c] = g[3 * c + 2]
            if learns:
                if outputs > 1:
                    own_class = c
                else:
                    own_class = 1
                if y[i] == own_class:
                    target = 1.0
                else:
                    target = -1.0
                margin_of_first = target * g[3 * c + 1]
                margin_of_second = target * g[3 * c + 2]
                a[3 * c] = 0.0
                a[3 * c + 1] = 0.0
                a[3 * c + 2] = 0.0
                of_gate = _decay(gate)
                of_one = _decay(margin_of_first)
                of_two = _decay(margin_of_second)
                # The softplus of the gate minus that of its negative is the gate.
                if gate + _softplus(-margin_of_first, of_one) > _softplus(
                    -margin_of_second, of_two
                ):
                    a[3 * c] = direction * rate * _logistic(gate, of_gate)
                    a[3 * c + 1] = rate * target * _logistic(-margin_of_first, of_one)
                else:
                    a[3 * c] = -direction * rate * _logistic(-gate, of_gate)
                    a[3 * c + 2] = rate * target * _logistic(-margin_of_second, of_two)
                hold[c] += a[3 * c] * g[last]
                missing = beta - hold[c] - lift[c] * anchor[0]
                lift[c] += max(0.0, missing / anchor[0])
        if learns:
            count_update(updates, i)
            add_row(X, i, V, a)


class OLLC(OnePassLearner, WeightedClassifier, ShardsClasses, EstimatesCost):
    """Online locally linear classification: a gate splits the space into two linear regions.

    Each region has a hyperplane. With gate ``g = a.x`` and classifiers ``f_r = b_r.x`` the score is
    f_1 where g > 0 and f_2 elsewhere. On each row the larger term of
    ``max(s(g) + s(-y f_1), s(-g) + s(-y f_2))``, ``s(v) = log(1 + exp(v))``, names the region whose
    classifier, with the gate, takes a step of length 1/sqrt(t). The first row that is not empty is
    the anchor x_j: after every step the gate is projected onto ``a.x_j >= beta``, which keeps the
    regions from being exchanged. More than two classes: one-vs-all.

    Notes
    -----
    State: ``(3 outputs + 1) d`` numbers for d features. Cost of a row: O(outputs d), or nnz for d
    on sparse rows. Algorithm 1 prints the gradient of the gate with the sign opposite to that of
    the paper's objective. It is the printed form that learns XOR as Fig. 2 shows;
    ``gate="descent"`` does far worse there. The printed algorithm leaves out the anchor of section
    II.B; ours keeps it.

    A row's weight multiplies its step, that of gradient descent on a loss that counts as many
    times. The first row is the anchor for any weight: it is set before it is scored.

    References
    ----------
    J. Wang, V. Saligrama, Online local linear classification (OLLC): section II, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (100, 1)), np.tile([1, 1, 0, 0], 100)
    >>> OLLC().fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "ollc"
    numbers_per_second = 1.6e9
    version = 2
    takes_unknown = True
    checks_rows = True
    update_params = ("beta",)

    beta: float = param(
        1.0,
        Real(0.0, open_="low"),
        "Least gate value at the anchor; the paper has at least 1.",
    )
    scale: float = param(
        1.0, Real(0.0, open_="low"), "Standard deviation of the normal random start."
    )
    gate: str = param(
        "printed",
        Choice(("printed", "descent")),
        "Direction of the gate's step: as Algorithm 1 prints it, or down the surrogate.",
    )
    seed: int = param(0, Whole(0), "Seed of the random start.")

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: two hyperplanes per output, and losses."""
        products = in_dense_values(columns, values, 2.0)
        return score_columns(classes) * (products + 90.0) + 100.0

    def _allocate(self, columns: int, outputs: int) -> State:
        V = np.zeros((columns, 3 * outputs + 1))
        normal = self._random().standard_normal((columns, 3 * outputs))
        V[:, :-1] = float(self.scale) * normal
        return {
            "V": V,
            "lift": np.zeros(outputs),
            "hold": np.zeros(outputs),
            "anchor": np.zeros(1),
        }

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axes of gates and classifiers; all classes share the anchor."""
        return {
            "V": class_axis(1, outputs, each=3),
            "lift": class_axis(0, outputs),
            "hold": class_axis(0, outputs),
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
        arrays = (state["V"], state["lift"], state["hold"], state["anchor"])
        if self.gate == "printed":
            direction = 1.0
        else:
            direction = -1.0
        settings = (float(self.beta), direction, self.norm_limits())
        counts = (state["seen"], state["updates"])
        ends = (scores, array_of(weights))
        _learn_and_score(X, y, *arrays, *settings, learning, *counts, *ends)
