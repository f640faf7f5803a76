"""Online learning with kernels for targets, OLK-R (Li, Wen, Li, Zhang, Yang and Mao 2013)."""

from typing import Any, NamedTuple

from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.kernel.kernel_learner import CAPACITY, KernelRegressor
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink
from olscale.learners.kernel.olk import forget_small


class OLKRegressionRule(NamedTuple):
    """Most loss `C` that counts, regularisation `r`, half the width of the tube, and the `threshold` of a coefficient."""

    C: float
    r: float
    epsilon: float
    threshold: float


@learns(OLKRegressionRule, weighted=True)
def learn_olk_r(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, then take in a row that would be outside the tube."""
    shrunk = 1.0 + rule.r
    error = shrunk * row.target[0] - row.f[0]
    short = abs(error) - shrunk * rule.epsilon
    most = row.weight * rule.C
    a = min(most, max(0.0, short / row.own)) / shrunk if row.own > 0.0 else 0.0
    row.step[0] = a if error > 0.0 else -a
    if rule.r > 0.0:
        shrink(model, 0, 1.0 / shrunk)
    if rule.threshold > 0.0:
        forget_small(model, rule.threshold)
    comes_in = a > 0.0 and a >= rule.threshold
    if comes_in:
        add(model, row, model.support.counts[0])
    return comes_in


class OLKR(KernelRegressor, WeightedRegressor):
    """Online learning with kernels for targets, OLK-R: the nearest model with a small norm and little loss.

    A row gives ``e = (1 + r) y - f`` and ``a = sign(e) clip((|e| - (1 + r) epsilon) / k(x, x), 0,
    C)``; all coefficients are divided by ``1 + r``, and with ``a != 0`` the row comes in with ``a /
    (1 + r)``. Then vectors whose coefficients have become less than `threshold` go. With ``r = 0``
    it is PA-I regression with kernels.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features. With a threshold a vector stays for at most
    ``ln(C / threshold) / ln(1 + r)`` rows, else m grows with every loss. Cost of a row: O(m d), or nnz for d.

    The paper's eq. (52) has the two multipliers the wrong way round, where (42) has them right, and
    (50), taken at its word, may choose a point outside the box of the multipliers; this is the
    solution of the problem that it states. The paper has ``k(x, x) = 1``. scikit-learn's
    SGDRegressor with ``learning_rate="pa1"`` is met at ``r = 0`` with a linear kernel.

    A row's weight multiplies `C`: in the objective its slack costs so many times as much. The
    model fades as for any row.

    References
    ----------
    G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, Model-based online learning with kernels, IEEE Transactions on Neural
    Networks and Learning Systems 24(3), 2013: eqs. (34)-(52), Remark 4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = OLKR(p=0.5).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.2)
    True
    """

    name = "olk-r"
    rule_type = OLKRegressionRule
    numbers_per_second = 2.1e9
    kept_share = 0.75
    update_params = ("C", "r", "epsilon", "threshold")

    C: float = param(1.0, Real(0.0, open_="low"), "Most that a row weighs.")
    r: float = param(0.001, Real(0.0), "Regularisation: how much faster old rows fade.")
    epsilon: float = param(
        0.1,
        Real(0.0),
        "Half the width of the tube in which there is no loss, in units of the target.",
    )
    threshold: float = param(
        0.0, Real(0.0), "Coefficients that are dropped are less than this; with 0 all stay."
    )
    capacity: int = CAPACITY
