"""NORMA for novelties (Kivinen, Smola and Williamson 2004)."""

from typing import Any, NamedTuple

from olscale.compiled.elementary import falling_power
from olscale.learners.contract.parameters import Real, param
from olscale.learners.kernel.kernel_learner import KernelDetector
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink
from olscale.learners.kernel.norma import FadingLearner, slot_of_oldest


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


class NORMAN(FadingLearner, KernelDetector):
    """NORMA for novelties: a row is normal where ``f - rho >= 0``, and one that is not comes in.

    A row t takes a step ``eta_t = eta t^-power``: all coefficients are multiplied by ``1 - eta_t
    lam``, and a novelty comes in with ``alpha = eta_t``. rho begins at 0 and moves by ``eta_t (nu -
    1)`` after a novelty and by ``eta_t nu`` after another row, so that a share nu of rows are
    novelties.

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
    rule_type = NORMANoveltyRule
    numbers_per_second = 1.7e9
    version = 2
    kept_share = 0.1

    lam: float = 1.0
    nu: float = param(0.1, Real(0.0, 1.0, open_="both"), "Share of novelties.")
