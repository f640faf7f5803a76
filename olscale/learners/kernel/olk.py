"""Online learning with kernels, OLK, for all tasks (Li, Wen, Li, Zhang, Yang and Mao 2013)."""

from typing import Any, NamedTuple

from olscale.compiled.decorator import nested
from olscale.compiled.support_vectors import drop
from olscale.errors import ParameterError
from olscale.learners.contract.learner import State
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
from olscale.learners.kernel.kernel_learner import (
    CAPACITY,
    KernelDetector,
    KernelLearner,
    KernelRegressor,
)
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink


class OLKRule(NamedTuple):
    """Most loss `C` that counts, regularisation `r`, and the `threshold` of a coefficient."""

    C: float
    r: float
    threshold: float


@learns(OLKRule, weighted=True)
def learn_olk(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, then add a row that falls short of a margin of ``1 + r``."""
    # The two outputs of the max-score form move the margin twice as far.
    shrunk = 1.0 + rule.r
    if row.pair:
        parts = 2.0
    else:
        parts = 1.0
    largest = 0.0
    for c in range(row.f.shape[0]):
        short = shrunk - row.margin[c]
        most = row.weight * rule.C
        if row.own > 0.0:
            a = min(most, max(0.0, short / (parts * row.own)))
        else:
            a = 0.0
        row.step[c] = row.target[c] * a / shrunk
        largest = max(largest, abs(row.step[c]))
        if rule.r > 0.0:
            shrink(model, c, 1.0 / shrunk)
    if rule.threshold > 0.0:
        forget_small(model, rule.threshold)
    comes_in = largest > 0.0 and largest >= rule.threshold
    if comes_in:
        add(model, row, model.support.counts[0])
    return comes_in


@nested
def forget_small(model: Any, threshold: float) -> None:
    """Drop the vectors whose coefficients are all less than `threshold`."""
    alpha = model.alpha
    outputs = model.alpha.shape[1]
    # From the last slot down: the vector that moves into an empty slot has stayed already.
    for s in range(model.support.counts[0] - 1, -1, -1):
        small = True
        for c in range(outputs):
            small &= abs(alpha[s, c]) * model.scale[c] < threshold
        if small:
            last = drop(model.support, s)
            for c in range(outputs):
                alpha[s, c] = alpha[last, c]


class OLK(KernelLearner, WeightedClassifier):
    """Online learning with kernels for classes, OLK-C: the nearest model of small norm and loss.

    A row gives ``a = clip((1 + r - y f) / k(x, x), 0, C)``; all coefficients are divided by
    ``1 + r``, and with ``a > 0`` the row is added with ``y a / (1 + r)``. Then vectors whose
    coefficients have become less than `threshold` go. With ``r = 0`` it is PA-I with kernels.

    Notes
    -----
    State: ``m (d + outputs)`` numbers for m support vectors with d features. With a threshold a
    vector stays for at most ``ln(C / threshold) / ln(1 + r)`` rows, else m grows with every loss.
    Cost of a row: O(m d), or nnz for d.

    The paper has two classes and ``k(x, x) = 1``. Max-score: ``a = clip((1 + r - margin) / (2 k(x,
    x)), 0, C)`` for the class, -a for its best rival, by the same derivation. A row that would come
    in with less than `threshold` does not.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much. The
    model fades as for any row.

    References
    ----------
    G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, Model-based online learning with kernels,
    IEEE Transactions on Neural Networks and Learning Systems 24(3), 2013: eqs. (15)-(33), Remark 4.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> OLK(p=1.0).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "olk"
    rule_type = OLKRule
    numbers_per_second = 2.2e9
    kept_share = 0.9
    update_params = ("C", "r", "threshold")

    C: float = param(1.0, Real(0.0, open_="low"), "Most that a row weighs.")
    r: float = param(0.001, Real(0.0), "Regularisation: how much faster old rows fade.")
    threshold: float = param(
        0.0,
        Real(0.0),
        "Coefficients that are dropped are less than this; with 0 all stay.",
    )
    capacity: int = CAPACITY


class OLKRegressionRule(NamedTuple):
    """Most loss `C` that counts, regularisation `r`, half the tube's width and `threshold`."""

    C: float
    r: float
    epsilon: float
    threshold: float


@learns(OLKRegressionRule, weighted=True)
def learn_olk_r(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, then add a row that would be outside the tube."""
    shrunk = 1.0 + rule.r
    # After the model has faded, the loss of the row is that of f / (1 + r).
    error = shrunk * row.target[0] - row.f[0]
    short = abs(error) - shrunk * rule.epsilon
    most = row.weight * rule.C
    if row.own > 0.0:
        a = min(most, max(0.0, short / row.own)) / shrunk
    else:
        a = 0.0
    if error > 0.0:
        row.step[0] = a
    else:
        row.step[0] = -a
    if rule.r > 0.0:
        shrink(model, 0, 1.0 / shrunk)
    if rule.threshold > 0.0:
        forget_small(model, rule.threshold)
    comes_in: bool = a > 0.0 and a >= rule.threshold
    if comes_in:
        add(model, row, model.support.counts[0])
    return comes_in


class OLKR(KernelRegressor, WeightedRegressor):
    """Online learning with kernels for targets, OLK-R: the nearest model of small norm and loss.

    A row gives ``e = (1 + r) y - f`` and
    ``a = sign(e) clip((|e| - (1 + r) epsilon) / k(x, x), 0, C)``; all coefficients are divided by
    ``1 + r``, and with ``a != 0`` the row is added with ``a / (1 + r)``. Then vectors whose
    coefficients have become less than `threshold` go. With ``r = 0`` it is PA-I regression with
    kernels.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features. With a threshold a vector
    stays for at most ``ln(C / threshold) / ln(1 + r)`` rows, else m grows with every loss. Cost of
    a row: O(m d), or nnz for d.

    The paper's eq. (52) has the two multipliers the wrong way round, where (42) has them right, and
    (50), taken at its word, may choose a point outside the box of the multipliers; this is the
    solution of the problem that it states. The paper has ``k(x, x) = 1``. scikit-learn's
    SGDRegressor with ``learning_rate="pa1"`` agrees at ``r = 0`` with a linear kernel.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much. The
    model fades as for any row.

    References
    ----------
    G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, Model-based online learning with kernels,
    IEEE Transactions on Neural Networks and Learning Systems 24(3), 2013: eqs. (34)-(52), Remark 4.

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
    numbers_per_second = 2.2e9
    kept_share = 0.45
    update_params = ("C", "r", "epsilon", "threshold")

    C: float = param(1.0, Real(0.0, open_="low"), "Most that a row weighs.")
    r: float = param(0.001, Real(0.0), "Regularisation: how much faster old rows fade.")
    epsilon: float = param(
        0.1,
        Real(0.0),
        "Half the width of the tube in which there is no loss, in units of the target.",
    )
    threshold: float = param(
        0.0,
        Real(0.0),
        "Coefficients that are dropped are less than this; with 0 all stay.",
    )
    capacity: int = CAPACITY


# Under eq. (69) rho is 0 but for rounding, so it is set to 0 exactly and no rounding decides. In
# Example 3 rule 68 gives 39.5 % false alarms, rule 69 gives 9.4 %.
class OLKNoveltyRule(NamedTuple):
    """Bounds `C` and `v`, regularisation `r`, `threshold`, and whether rho moves as by eq. (68)."""

    C: float
    v: float
    r: float
    threshold: float
    moves: bool


@learns(OLKNoveltyRule)
def learn_olk_n(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, add the row, and move rho."""
    shrunk = 1.0 + rule.r
    # The score is f - rho, and the offset is -rho.
    f = row.f[0] - model.offset[0]
    if row.own > 0.0:
        a = max(rule.v, min(rule.C, (shrunk - f) / row.own))
    else:
        a = rule.v
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
    """Online learning with kernels for novelties, OLK-N: every row is added.

    A row is normal where ``f - 1 - rho >= 0``.

    A row gives ``a = clip((1 + r - f) / k(x, x), v, C)``; all coefficients are divided by
    ``1 + r``, and the row is added with ``a / (1 + r)``. Then vectors whose coefficients have
    become less than `threshold` go.

    Notes
    -----
    State: ``m (d + 1)`` numbers for m support vectors with d features. m grows with every row, up
    to ``ln(C / threshold) / ln(1 + r)`` with a threshold: streams need one. Cost of a row: O(m d),
    or nnz for d.

    Labels are ignored: novelties are learned too, and are normal once enough similar rows have
    come. (68) is what the model's own conditions ask for, and gives half of all normal rows away as
    novelties; (69) is the paper's. The first ``1 / C`` rows are always novelties.

    References
    ----------
    G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, Model-based online learning with kernels,
    IEEE Transactions on Neural Networks and Learning Systems 24(3), 2013: eqs. (55)-(69), Remark 4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> OLKN(p=1.0).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    name = "olk-n"
    numbers_per_second = 2.2e9
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
        0.0,
        Real(0.0),
        "Coefficients that are dropped are less than this; with 0 all stay.",
    )
    capacity: int = CAPACITY

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form; refuse bounds in the wrong order."""
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
