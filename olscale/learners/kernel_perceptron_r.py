"""The perceptron with kernels for targets: kernel least mean squares, or steps of one length."""

from typing import Any, ClassVar, NamedTuple

from olscale.learners.contract.parameters import Choice, Domain, Real, Whole
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.kernel_learner import KernelRegressor
from olscale.learners.kernel_loop import learns
from olscale.learners.kernel_model import add


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

    Parameters
    ----------
    eta : float
        Step; > 0. Those of ``"sign"`` are in units of the target.
    step : {"lms", "sign"}
        ``"lms"``: the step goes with the residual, which is known as kernel least mean squares.
        ``"sign"``: all are of one length, as the perceptron's are.
    capacity : int
        Most support vectors; a row that comes after one more ends learning with an error.
    kernel, gamma, sigma, p, degree, coef0
        As in `olscale.learners.kernel_learner.SupportVectorLearner`.

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
    domains: ClassVar[dict[str, Domain]] = {
        "eta": Real(0.0, open_="low"),
        "step": Choice(("lms", "sign")),
        "capacity": Whole(1),
        **KernelRegressor.domains,
    }

    def __init__(
        self,
        eta: float = 0.5,
        step: str = "lms",
        capacity: int = 100_000,
        kernel: str = "gaussian",
        gamma: float | str = "auto",
        sigma: float | None = None,
        p: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
    ) -> None:
        self.eta = eta
        self.step = step
        self.capacity = capacity
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.p = p
        self.degree = degree
        self.coef0 = coef0

    def _rule(self) -> ResidualRule:
        return ResidualRule(float(self.eta), self.step == "sign")
