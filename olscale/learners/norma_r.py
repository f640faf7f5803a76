"""NORMA for targets (Kivinen, Smola and Williamson 2004)."""

from typing import Any, ClassVar, NamedTuple

from olscale.compiled.elementary import falling_power
from olscale.learners.contract.learner import State
from olscale.learners.contract.parameters import Choice, Domain, Maybe, Real, Whole
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.kernel_learner import KernelRegressor
from olscale.learners.kernel_loop import learns
from olscale.learners.kernel_model import add, shrink
from olscale.learners.norma import check_fading, slot_of_oldest


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


class NORMAR(KernelRegressor, WeightedRegressor):
    """NORMA for targets: stochastic gradient descent on the epsilon-insensitive or squared loss and the norm.

    A row t takes a step ``eta_t = eta t^-power``: all coefficients are multiplied by ``1 - eta_t
    lam``, and a row outside the tube, ``|y - f| > epsilon``, comes in with ``alpha = eta_t sign(y -
    f)``. With ``nu > 0`` the tube moves, by ``eta_t (1 - nu)`` after such a row and by ``-eta_t
    nu`` after another, so that a share nu of rows is outside. With the squared loss every row comes
    in, with ``eta_t (y - f)``.

    Parameters
    ----------
    eta : float
        First step; > 0, and ``eta lam < 1``.
    lam : float
        Regularisation.
    loss : {"epsilon-insensitive", "squared"}
    epsilon : float
        Half the width of the tube in units of the target, that at the start where it moves.
    nu : float
        Share of rows outside the tube; with 0 the tube stays.
    power : float
        How the step falls: 0 for a constant one, 0.5 as in the paper's bounds.
    tau : int, optional
        Support vectors that are kept: the oldest makes room. Without it all are, up to `capacity`.
    capacity : int
        Most support vectors without `tau`; a row that comes after one more ends learning with an
        error.
    kernel, gamma, sigma, p, degree, coef0
        As in `olscale.learners.kernel_learner.SupportVectorLearner`.

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
    update_params = ("eta", "lam", "nu", "power")
    domains: ClassVar[dict[str, Domain]] = {
        "eta": Real(0.0, open_="low"),
        "lam": Real(0.0),
        "loss": Choice(("epsilon-insensitive", "squared")),
        "epsilon": Real(0.0),
        "nu": Real(0.0, 1.0, open_="high"),
        "power": Real(0.0, 1.0),
        "tau": Maybe(Whole(1)),
        "capacity": Whole(1),
        **KernelRegressor.shared_domains,
    }

    def __init__(
        self,
        eta: float = 0.1,
        lam: float = 0.001,
        loss: str = "epsilon-insensitive",
        epsilon: float = 0.1,
        nu: float = 0.0,
        power: float = 0.0,
        tau: int | None = None,
        capacity: int = 100_000,
        kernel: str = "gaussian",
        gamma: float | str = "auto",
        sigma: float | None = None,
        p: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
    ) -> None:
        self.eta = eta
        self.lam = lam
        self.loss = loss
        self.epsilon = epsilon
        self.nu = nu
        self.power = power
        self.tau = tau
        self.capacity = capacity
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.p = p
        self.degree = degree
        self.coef0 = coef0

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form; steps that would turn the model over are refused."""
        params = super().resolved_params()
        check_fading(self.name, params["eta"], params["lam"])
        return params

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["memory"][:] = self.epsilon
        return state

    def _rule(self) -> NORMARegressionRule:
        tau = -1 if self.tau is None else int(self.tau)
        numbers = float(self.eta), float(self.lam), float(self.nu), float(self.power)
        return NORMARegressionRule(*numbers, tau, self.loss == "squared")

    def _slots(self) -> tuple[int, int]:
        return super()._slots() if self.tau is None else (int(self.tau) + 1, int(self.tau) + 1)
