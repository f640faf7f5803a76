"""NORMA for novelties (Kivinen, Smola and Williamson 2004)."""

from typing import Any, ClassVar, NamedTuple

from olscale.compiled.elementary import falling_power
from olscale.learners.contract.parameters import Domain, Maybe, Real, Whole
from olscale.learners.kernel_learner import KernelDetector
from olscale.learners.kernel_loop import learns
from olscale.learners.kernel_model import add, shrink
from olscale.learners.norma import check_fading, slot_of_oldest


class NORMANoveltyRule(NamedTuple):
    """Step ``eta t^-power``, regularisation `lam`, share `nu` of novelties, and vectors `tau` kept."""

    eta: float
    lam: float
    nu: float
    power: float
    tau: int


@learns(NORMANoveltyRule)
def learn_norma_n(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, take in a row that is a novelty, and move rho."""
    eta = rule.eta * falling_power(float(row.t), rule.power)
    hit: bool = row.f[0] < 0.0  # the offset is -rho
    shrink(model, 0, 1.0 - eta * rule.lam)
    model.offset[0] -= eta * (rule.nu - hit)
    if hit:
        row.step[0] = eta
        add(model, row, slot_of_oldest(model.support, rule.tau))
    return hit


class NORMAN(KernelDetector):
    """NORMA for novelties: a row is normal where ``f - rho >= 0``, and one that is not comes in.

    A row t takes a step ``eta_t = eta t^-power``: all coefficients are multiplied by ``1 - eta_t
    lam``, and a novelty comes in with ``alpha = eta_t``. rho begins at 0 and moves by ``eta_t (nu -
    1)`` after a novelty and by ``eta_t nu`` after another row, so that a share nu of rows are
    novelties.

    Parameters
    ----------
    eta : float
        First step; > 0, and ``eta lam < 1``.
    lam : float
        Regularisation; the paper has 1.
    nu : float
        Share of novelties; > 0.
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
    State: ``m (d + 1)`` numbers for m support vectors with d features; m is at most tau, or grows with every novelty.
    Cost of a row: O(m d), or nnz for d.

    Labels are not looked at. rho may become negative, as the paper leaves it; f is taken before the
    model fades. kernlab's ``onlearn`` decides by the score of the row before and is not met.

    References
    ----------
    J. Kivinen, A. J. Smola, R. C. Williamson, Online learning with kernels, IEEE Transactions on Signal Processing 52(8),
    2004: section III.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> NORMAN(lam=0.1, p=1.0).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    name = "norma-n"
    numbers_per_second = 1.7e9
    version = 2
    kept_share = 0.1
    update_params = ("eta", "lam", "nu", "power")
    domains: ClassVar[dict[str, Domain]] = {
        "eta": Real(0.0, open_="low"),
        "lam": Real(0.0),
        "nu": Real(0.0, 1.0, open_="both"),
        "power": Real(0.0, 1.0),
        "tau": Maybe(Whole(1)),
        "capacity": Whole(1),
        **KernelDetector.shared_domains,
    }

    def __init__(
        self,
        eta: float = 0.1,
        lam: float = 1.0,
        nu: float = 0.1,
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

    def _rule(self) -> NORMANoveltyRule:
        tau = -1 if self.tau is None else int(self.tau)
        return NORMANoveltyRule(
            float(self.eta), float(self.lam), float(self.nu), float(self.power), tau
        )

    def _slots(self) -> tuple[int, int]:
        return super()._slots() if self.tau is None else (int(self.tau) + 1, int(self.tau) + 1)
