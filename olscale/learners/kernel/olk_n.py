"""Online learning with kernels for novelties, OLK-N (Li, Wen, Li, Zhang, Yang and Mao 2013)."""

from typing import Any, NamedTuple

from olscale.errors import ParameterError
from olscale.learners.contract.learner import State
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.kernel.kernel_learner import CAPACITY, KernelDetector
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink
from olscale.learners.kernel.olk import forget_small


class OLKNoveltyRule(NamedTuple):
    """Bounds `C` and `v` of a coefficient, regularisation `r`, its `threshold`, and whether rho moves, as by eq. (68)."""

    C: float
    v: float
    r: float
    threshold: float
    moves: bool


@learns(OLKNoveltyRule)
def learn_olk_n(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, take the row in, and move rho."""
    shrunk = 1.0 + rule.r
    f = row.f[0] - model.offset[0]
    a = max(rule.v, min(rule.C, (shrunk - f) / row.own)) if row.own > 0.0 else rule.v
    row.step[0] = a / shrunk
    if rule.r > 0.0:
        shrink(model, 0, 1.0 / shrunk)
    if rule.moves:
        model.offset[0] = -max(1.0, (f + a * row.own) / shrunk)
    if rule.threshold > 0.0:
        forget_small(model, rule.threshold)
    comes_in: bool = row.step[0] > 0.0 and row.step[0] >= rule.threshold
    if comes_in:
        add(model, row, model.support.counts[0])
    return comes_in


class OLKN(KernelDetector):
    """Online learning with kernels for novelties, OLK-N: every row comes in, and a row is normal where ``f - 1 - rho >= 0``.

    A row gives ``a = clip((1 + r - f) / k(x, x), v, C)``; all coefficients are divided by ``1 +
    r``, and the row comes in with ``a / (1 + r)``. Then vectors whose coefficients have become less
    than `threshold` go.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features. m grows with every row, up to
    ``ln(C / threshold) / ln(1 + r)`` with a threshold: streams need one. Cost of a row: O(m d), or nnz for d.

    Labels are not looked at: novelties are learned too, and are normal when enough like them have
    come. (68) is what the model's own conditions ask for, and gives half of all normal rows away as
    novelties; (69) is the paper's. The first ``1 / C`` rows, whatever they are, are novelties.

    References
    ----------
    G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, Model-based online learning with kernels, IEEE Transactions on Neural
    Networks and Learning Systems 24(3), 2013: eqs. (55)-(69), Remark 4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> OLKN(p=1.0).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    name = "olk-n"
    numbers_per_second = 1.5e9
    kept_share = 1.0
    update_params = ("C", "v", "r", "threshold")

    C: float = param(
        0.2,
        Real(0.0, open_="low"),
        "Most that a row weighs. A row is normal after at least ``1 / C`` that are like it.",
    )
    v: float = param(0.1, Real(0.0), "Least that a row weighs; ``v <= C``.")
    r: float = param(0.001, Real(0.0), "Regularisation: how much faster old rows fade.")
    rule: str = param(
        "69",
        Choice(("69", "68")),
        "How rho moves, an equation of the paper. By (68) it is ``max(0, f(x) - 1)`` after "
        "every row, by (69) only where ``v < a < C``. But there f(x) is 1 and so rho 0: with "
        "'69' rho stays 0.",
    )
    threshold: float = param(
        0.0, Real(0.0), "Coefficients that are dropped are less than this; with 0 all stay."
    )
    capacity: int = CAPACITY

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form; bounds the wrong way round are refused."""
        params = super().resolved_params()
        if params["v"] > params["C"]:
            raise ParameterError(
                f"learner {self.name}: v was {params['v']:g}, expected at most C = {params['C']:g}"
            )
        return params

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["offset"][:] = -1.0
        return state

    def _rule(self) -> OLKNoveltyRule:
        return rule_of(OLKNoveltyRule, self, moves=self.rule == "68")
