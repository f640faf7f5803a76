"""NORMA for targets (Kivinen, Smola and Williamson 2004)."""

from typing import Any, ClassVar, NamedTuple

from olscale.compiled.elementary import falling_power
from olscale.learners.contract.learner import State
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.kernel.kernel_learner import KernelRegressor
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink
from olscale.learners.kernel.norma import FadingLearner, slot_of_oldest


class NORMARegressionRule(NamedTuple):
    """Step ``eta t^-power``, regularisation `lam`, share `nu` of rows outside the tube, vectors `tau` kept, and the loss."""

    eta: float
    lam: float
    nu: float
    power: float
    tau: int
    squared: bool


@learns(NORMARegressionRule, weighted=True)
def learn_norma_r(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, take in a row outside the tube, and move the tube."""
    tube, error = model.memory[0], row.margin[0]
    eta = rule.eta * falling_power(float(row.t), rule.power)
    hit: bool = error != 0.0 and row.weight > 0.0
    shrink(model, 0, 1.0 - eta * rule.lam)
    if rule.squared:
        row.step[0] = row.weight * (eta * error)
    else:
        hit = abs(error) > tube[0] and row.weight > 0.0
        row.step[0] = row.weight * (eta if error > 0.0 else -eta)
        if rule.nu > 0.0:
            tube[0] += row.weight * (eta * (hit - rule.nu))
    if hit:
        add(model, row, slot_of_oldest(model.support, rule.tau))
    return hit


class NORMAR(FadingLearner, KernelRegressor, WeightedRegressor):
    """NORMA for targets: stochastic gradient descent on the epsilon-insensitive or squared loss and the norm.

    A row t takes a step ``eta_t = eta t^-power``: all coefficients are multiplied by ``1 - eta_t
    lam``, and a row outside the tube, ``|y - f| > epsilon``, comes in with ``alpha = eta_t sign(y -
    f)``. With ``nu > 0`` the tube moves, by ``eta_t (1 - nu)`` after such a row and by ``-eta_t
    nu`` after another, so that a share nu of rows is outside. With the squared loss every row comes
    in, with ``eta_t (y - f)``.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features; m is at most tau, or grows with every loss.
    Cost of a row: O(m d), or nnz for d.

    f is taken before the model fades. The tube may become negative, as the paper leaves it; every
    row is outside then. The R package NORMA is met with a fixed tube, operalib's ONORMA with the
    squared loss and half of its lam. kernlab's ``onlearn`` decides by the score of the row before
    and adds rows inside the tube, kafbox fades first: not met.

    A row's weight multiplies the step of its loss, by which coefficient and tube move; the
    model fades as for any row.

    References
    ----------
    J. Kivinen, A. J. Smola, R. C. Williamson, Online learning with kernels, IEEE Transactions on Signal Processing 52(8),
    2004: section III.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = NORMAR(eta=0.2, lam=0.001, epsilon=0.01, p=0.5).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.2)
    True
    """

    name = "norma-r"
    numbers_per_second = 2.6e9
    version = 2
    kept_share = 0.75
    memory: ClassVar[int] = 1

    loss: str = param(
        "epsilon-insensitive",
        Choice(("epsilon-insensitive", "squared")),
        "The loss that is followed.",
    )
    epsilon: float = param(
        0.1,
        Real(0.0),
        "Half the width of the tube in units of the target, that at the start where it moves.",
    )
    nu: float = param(
        0.0, Real(0.0, 1.0, open_="high"), "Share of rows outside the tube; with 0 the tube stays."
    )

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["memory"][:] = self.epsilon
        return state

    def _rule(self) -> NamedTuple:
        tau = self.tau or -1
        return rule_of(NORMARegressionRule, self, tau=tau, squared=self.loss == "squared")
