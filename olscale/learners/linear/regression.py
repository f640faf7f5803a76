"""First-order linear learners of targets: one loop, to which each learner adds only its rule.

The loop takes several settings or several targets.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import falling_power
from olscale.compiled.many_targets import target_of
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.rows import add_row, row_scores, weight_of
from olscale.learners.contract.capability import LearnsTargets, targets_of
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.regressor import Regressor
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.linear.first_order import LinearModel, implements, step_size


@compiled
def learn_targets(
    X: Any,
    y: NDArray[np.float64],
    W: Any,
    rule: Any,
    settings: int,
    limits: Any,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> None:
    """Learn rows with a column of weights per setting or per target."""
    X, (low, high) = borrowed_rows(X), limits
    f = np.empty(settings)
    a = np.zeros(settings)
    t = seen[0]
    for i in range(y.shape[0]):
        square = row_scores(X, i, W, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        for s in range(settings):
            scores[i, s] = f[s]
        if np.isnan(target_of(y, i, 0)):
            continue
        t += 1
        if square == 0.0:
            continue
        moved = False
        for s in range(settings):
            target = target_of(y, i, s)
            weight = weight_of(weights, i)
            a[s] = step_size(rule, s, target, f[s], square, t, False, weight)
            if a[s] != 0.0:
                moved = True
                updates[s] += 1
        if moved:
            add_row(X, i, W, a)
    seen[0] = t


class LinearRegressor(LinearModel, Regressor, LearnsTargets):
    """Base of the first-order linear learners of targets."""

    def _loop(self, outputs: int) -> Any:
        return learn_targets

    def grid_key(self) -> object:
        """Return class and precision; with one target, only the rule may differ in a pass."""
        if targets_of(self) == 1:
            return (type(self), self.dtype)
        return None

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        targets = targets_of(self)
        if targets == 1:
            return super().learn(X, y, weights)
        # Targets share a pass as settings do: each has a column of weights and the same rule.
        rule = self._rule()
        state = {**self.state_, "updates": np.zeros(targets, dtype=np.int64)}
        alike: Any = type(rule)
        repeated = alike(*(np.repeat(value, targets) for value in rule))
        scores = self._learn(
            X, y, state, repeated, targets, self._weights_of(y, weights)
        )
        self.state_["updates"] += state["updates"].sum()
        return scores


class PARRule(NamedTuple):
    """Width `epsilon` of the tube."""

    epsilon: FloatArray


class PA1RRule(NamedTuple):
    """Aggressiveness `C` and width `epsilon` of the tube."""

    C: FloatArray
    epsilon: FloatArray


class PA2RRule(PA1RRule):
    """Aggressiveness `C` of the squared slack."""


class SGDRRule(NamedTuple):
    """First step `eta`, its decay `power`, the width `epsilon` and the number of the loss."""

    eta: FloatArray
    power: FloatArray
    epsilon: FloatArray
    loss: FloatArray


@implements(PARRule)
def _pa_r(rule, s, y, f, square, t, wrong):  # type: ignore[no-untyped-def]
    loss = max(0.0, abs(y - f) - rule.epsilon[s])
    return np.sign(y - f) * loss / square


@implements(PA1RRule)
def _pa1_r(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    loss = max(0.0, abs(y - f) - rule.epsilon[s])
    return np.sign(y - f) * min(weight * rule.C[s], loss / square)


@implements(PA2RRule)
def _pa2_r(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    if weight == 0.0:
        return 0.0
    slack = 0.5 / (weight * rule.C[s])
    loss = max(0.0, abs(y - f) - rule.epsilon[s])
    return np.sign(y - f) * loss / (square + slack)


LOSSES = ("squared", "absolute", "epsilon-insensitive", "huber")


@implements(SGDRRule)
def _sgd_r(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    residual = y - f
    epsilon = rule.epsilon[s]
    loss = rule.loss[s]
    if loss == 1.0 or (loss == 2.0 and abs(residual) > epsilon):
        residual = np.sign(residual)
    elif loss == 2.0:
        residual = 0.0
    elif loss == 3.0:
        residual = min(max(residual, -epsilon), epsilon)
    eta = rule.eta[s] * falling_power(float(t), rule.power[s])
    return weight * (eta * residual)


class TubeRegressor(LinearRegressor):
    """Base of the learners whose loss has a width."""

    epsilon: float = param(
        0.1,
        Real(0.0),
        "Half the width of the tube in which no loss is, in units of the target.",
    )


class PAR(TubeRegressor):
    """Passive-aggressive regression: the smallest change of `w` that brings `y` within `epsilon`.

    With the loss ``l = max(0, |y - f| - epsilon)`` the update is ``w += tau sign(y - f) x``, ``tau
    = l / |x|^2``.

    Notes
    -----
    State: a weight of 8 (float32: 4) bytes a feature. Time a row: ``O(nonzeros)``. Targets are not
    scaled; the transform ``bias`` gives an intercept.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, Online passive-aggressive
    algorithms, JMLR 7, 2006: section 5, figure 3.

    Examples
    --------
    >>> import numpy as np
    >>> PAR(epsilon=0.5).fit(np.array([[2.0, 0.0]]), np.array([2.5])).coef_
    array([1., 0.])
    """

    name = "pa-r"
    rule_type = PARRule
    numbers_per_second = 4e9
    row_seconds = 9e-9
    update_params = ("epsilon",)


class PA1R(TubeRegressor, WeightedRegressor):
    """Passive-aggressive regression with linear slack: ``tau = min(C, l / |x|^2)``.

    Notes
    -----
    State and time are as in `PAR`. scikit-learn's ``SGDRegressor(loss="epsilon_insensitive",
    learning_rate="pa1", eta0=C, epsilon=epsilon, penalty=None,
    fit_intercept=False)`` is the same rule and agrees to 1e-12. River's ``PARegressor`` is not: its
    loss takes targets for labels.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much.
    scikit-learn's ``sample_weight`` multiplies the step instead.

    References
    ----------
    Crammer et al., JMLR 7, 2006: section 5, figure 3, PA-I.

    Examples
    --------
    >>> import numpy as np
    >>> PA1R(C=0.1).fit(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([-3.0, 0.15])).coef_.round(3)
    array([-0.2 ,  0.05])
    """

    name = "pa1-r"
    rule_type = PA1RRule
    numbers_per_second = 4e9
    row_seconds = 9e-9
    update_params = ("C", "epsilon")

    C: float = param(
        1.0,
        Real(0.0, open_="low"),
        "Aggressiveness, the largest step, in units of the target.",
    )


class PA2R(PA1R):
    """Passive-aggressive regression with squared slack: ``tau = l / (|x|^2 + 1/(2C))``.

    Notes
    -----
    State and time are as in `PAR`. scikit-learn's ``SGDRegressor(loss="epsilon_insensitive",
    learning_rate="pa2", eta0=C, epsilon=epsilon, penalty=None, fit_intercept=False)`` is the same
    rule and agrees to 1e-12.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much.
    scikit-learn's ``sample_weight`` multiplies the step instead.

    References
    ----------
    Crammer et al., JMLR 7, 2006: section 5, figure 3, PA-II.

    Examples
    --------
    >>> import numpy as np
    >>> PA2R(C=0.5, epsilon=0.0).fit(np.array([[2.0, 0.0]]), np.array([-3.0])).coef_
    array([-1.2,  0. ])
    """

    name = "pa2-r"
    rule_type = PA2RRule
    numbers_per_second = 4e9
    row_seconds = 9e-9

    C: float = param(1.0, Real(0.0, open_="low"), "Aggressiveness.")


class SGDR(TubeRegressor, WeightedRegressor):
    """Stochastic gradient descent on a loss of targets: ``w -= eta t^-power loss'(f) x``.

    `t` is the number of the row from 1 and counts every row with a target. The losses are ``(y -
    f)^2 / 2``, ``|y - f|``, ``max(0, |y - f| - epsilon)``, and Huber's, squared within `epsilon`
    and linear beyond.

    Notes
    -----
    State and time are as in `PAR`. With the squared loss a step of ``2 / |x|^2`` or more
    overshoots, and weights may grow until the run ends as diverged: scale the features, or take
    another loss. scikit-learn's ``SGDRegressor(learning_rate="invscaling", eta0=eta, power_t=power,
    penalty=None, fit_intercept=False)`` is the same rule; River's squared loss is twice as large,
    so that its rate is half of `eta`.

    A row's weight multiplies its step, that of gradient descent on a loss that counts as many
    times. So does scikit-learn's ``sample_weight``.

    References
    ----------
    B. Widrow, M. Hoff, Adaptive switching circuits, 1960 (squared loss, ``power=0``: least mean
    squares).

    Examples
    --------
    >>> import numpy as np
    >>> SGDR(eta=0.1).fit(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([3.0, 1.0])).coef_.round(4)
    array([0.6   , 0.0707])
    """

    name = "sgd-r"
    numbers_per_second = 4e9
    row_seconds = 9e-9
    version = 2
    update_params = ("eta", "power", "epsilon")

    eta: float = param(0.01, Real(0.0, open_="low"), "Step at the first row.")
    power: float = param(0.5, Real(0.0), "Decay of the step; 0 keeps it.")
    loss: str = param(
        "squared", Choice(LOSSES), "Loss; half the square is meant by the first."
    )
    epsilon: float = param(
        0.1, Real(0.0), "Width of the losses that have one, in units of the target."
    )

    def _rule(self) -> NamedTuple:
        return rule_of(SGDRRule, self, loss=LOSSES.index(self.loss))
