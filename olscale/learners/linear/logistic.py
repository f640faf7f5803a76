"""Logistic regression by stochastic gradient descent, a row at a time."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import falling_power
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.rows import add_row, borrowed_rows, row_scores, weight_of
from olscale.learners.contract.class_axes import ClassAxes, class_axis
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.fused_settings import FusedSettings
from olscale.learners.contract.learner import UNKNOWN, FloatArray, Learner
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.linear.first_order import LinearModel, implements, step_size
from olscale.learners.linear.log_loss import FusedLogLoss, LogLossLearner, set_residuals


class LogisticRule(NamedTuple):
    """First step `eta` and its decay `power`."""

    eta: FloatArray
    power: FloatArray


@implements(LogisticRule)
def _step(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    return weight * (rule.eta[s] * falling_power(float(t), rule.power[s]))


@compiled
def _learn(
    softmax: bool,
    X: Any,
    y: NDArray[np.int64],
    W: Any,
    rule: Any,
    settings: int,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> None:
    X, (low, high) = borrowed_rows(X), limits
    weights = borrowed(weights)
    columns = scores.shape[1]
    outputs = columns // settings
    f = np.empty(columns)
    r = np.empty(columns)
    t = seen[0]
    for i in range(y.shape[0]):
        square = row_scores(X, i, W, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        for c in range(columns):
            scores[i, c] = f[c]
        if y[i] == UNKNOWN:
            continue
        t += 1
        weight = weight_of(weights, i)
        if square == 0.0 or weight == 0.0:
            continue
        for s in range(settings):
            first = s * outputs
            set_residuals(f, first, outputs, y[i], softmax, r)
            step = step_size(rule, s, 1.0, f[first], square, t, False, weight)
            for c in range(first, first + outputs):
                r[c] *= step
            if settings > 1:
                updates[s] += 1
        if settings == 1:
            count_update(updates, i)
        add_row(X, i, W, r)
    seen[0] = t


class Logistic(LogLossLearner, LinearModel):
    """Logistic regression: gradient descent on the log loss, a step a row.

    With p the probability that the model gives the row's class before it is learned::

        w += eta / t^power (1 - p) y x

    for two classes, whose score is the log odds of the second one. `t` is the number of the row
    from 1. More classes: ``w_c += eta / t^power ([c is the class] - p_c) x`` for the softmax p of
    all scores, or a binary learner a class. An intercept is the transform `bias`.

    Notes
    -----
    State: ``columns * outputs`` weights of 8 (float32: 4) bytes. Time a row:
    ``O(nonzeros * outputs)``; each row moves the weights, unlike with a hinge loss.

    The same rule are scikit-learn's ``SGDClassifier(loss="log_loss", penalty=None, eta0=eta)`` with
    ``learning_rate="constant"`` (``power=0``) or ``"invscaling"`` (``power_t=power``), whose form
    for more classes is "ova", and River's ``LogisticRegression`` and ``SoftmaxRegression`` with
    ``optim.SGD`` and without intercept. Weights agree to rounding.

    A row's weight multiplies its step: its loss counts as many times.

    References
    ----------
    L. Bottou, Large-scale machine learning with stochastic gradient descent, COMPSTAT 2010:
    section 2 and table 1. The loss is the log loss of logistic regression (D. R. Cox, The
    regression analysis of binary sequences, JRSS B 20, 1958).

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([0, 1])
    >>> learner = Logistic(eta=0.5, power=0).fit(X, y)
    >>> learner.coef_
    array([[-0.5,  0.5]])
    >>> learner.predict_proba(X).round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """

    name = "logistic"
    rule_type = LogisticRule
    numbers_per_second = 3.3e9
    row_seconds = 36e-9
    update_params = ("eta", "power")

    eta: float = param(0.1, Real(0.0, open_="low"), "Step at the first row.")
    power: float = param(0.0, Real(0.0), "Decay of the step; 0 keeps it.")

    def _loop(self, outputs: int) -> Any:
        return partial(_learn, self.is_softmax(outputs))

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axis of the weights, in the one-vs-all form."""
        if self.multiclass == "ova":
            return {"W": class_axis(1, outputs)}
        return None

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        return self.with_probabilities(super().learn(X, y, weights))

    def scores(self, X: Rows) -> FloatArray:
        """Return ``X W``, shape (rows, outputs)."""
        return self.with_probabilities(super().scores(X))

    def grid_key(self) -> object:
        """Return class, form and precision: in a pass only steps may differ."""
        return type(self), self.multiclass, self.dtype

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        return FusedLogLoss(learners)
