"""The perceptron with kernels for targets: kernel least mean squares, or steps of one length."""

from typing import Any, NamedTuple

from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.kernel.kernel_learner import CAPACITY, KernelRegressor
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add


class ResidualRule(NamedTuple):
    """Steps of `eta` times the residual, or its sign."""

    eta: float
    sign: bool


@learns(ResidualRule, weighted=True)
def learn_residual(rule: Any, model: Any, row: Any) -> bool:
    """Take in a row whose prediction was not its target."""
    error = row.margin[0]
    if error == 0.0 or row.weight == 0.0:
        return False
    step = rule.eta * error
    if rule.sign:
        step = rule.eta if error > 0.0 else -rule.eta
    row.step[0] = row.weight * step
    add(model, row, model.support.counts[0])
    return True


class KernelPerceptronR(KernelRegressor, WeightedRegressor):
    """The perceptron with kernels for targets: every row comes in, with ``alpha = eta (y - f)`` or ``eta sign(y - f)``.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features, and m grows with every row. Cost of a row: O(m d),
    or nnz for d.

    The OLK paper compares itself with a kernel perceptron for regression that no source defines;
    these are the readings.

    A row's weight multiplies its step, that of gradient descent on a loss which counts so many
    times.

    References
    ----------
    W. Liu, P. Pokharel, J. C. Principe, The kernel least-mean-square algorithm, IEEE Transactions on Signal Processing
    56(2), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = KernelPerceptronR(eta=0.5, p=0.5).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    name = "kernel-perceptron-r"
    numbers_per_second = 1.4e9
    kept_share = 1.0
    update_params = ("eta",)

    eta: float = param(
        0.5, Real(0.0, open_="low"), "Step. Those of ``'sign'`` are in units of the target."
    )
    step: str = param(
        "lms",
        Choice(("lms", "sign")),
        "``'lms'``: the step goes with the residual, which is known as kernel least mean "
        "squares. ``'sign'``: all are of one length, as the perceptron's are.",
    )
    capacity: int = CAPACITY

    def _rule(self) -> ResidualRule:
        return rule_of(ResidualRule, self, sign=self.step == "sign")
