"""Online learning with kernels, OLK-C (Li, Wen, Li, Zhang, Yang and Mao 2013)."""

from typing import Any, NamedTuple

from olscale.compiled.decorator import compiled
from olscale.compiled.support_vectors import drop
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.kernel.kernel_learner import CAPACITY, KernelLearner
from olscale.learners.kernel.kernel_loop import learns
from olscale.learners.kernel.kernel_model import add, shrink


class OLKRule(NamedTuple):
    """Most loss `C` that counts, regularisation `r`, and the `threshold` of a coefficient."""

    C: float
    r: float
    threshold: float


@learns(OLKRule, weighted=True)
def learn_olk(rule: Any, model: Any, row: Any) -> bool:
    """Fade the model, then take in a row that falls short of a margin of ``1 + r``."""
    # The two outputs of the max-score form move the margin twice as far.
    shrunk, parts = 1.0 + rule.r, 2.0 if row.pair else 1.0
    largest = 0.0
    for c in range(row.f.shape[0]):
        short = shrunk - row.margin[c]
        most = row.weight * rule.C
        a = min(most, max(0.0, short / (parts * row.own))) if row.own > 0.0 else 0.0
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


@compiled
def forget_small(model: Any, threshold: float) -> None:
    """Drop the vectors whose coefficients are all less than `threshold`."""
    alpha, outputs = model.alpha, model.alpha.shape[1]
    for s in range(model.support.counts[0] - 1, -1, -1):
        small = True
        for c in range(outputs):
            small &= abs(alpha[s, c]) * model.scale[c] < threshold
        if small:
            last = drop(model.support, s)
            for c in range(outputs):
                alpha[s, c] = alpha[last, c]


class OLK(KernelLearner, WeightedClassifier):
    """Online learning with kernels for classes, OLK-C: the nearest model with a small norm and little loss.

    A row gives ``a = clip((1 + r - y f) / k(x, x), 0, C)``; all coefficients are divided by ``1 +
    r``, and with ``a > 0`` the row comes in with ``y a / (1 + r)``. Then vectors whose coefficients
    have become less than `threshold` go. With ``r = 0`` it is PA-I with kernels.

    Notes
    -----
    State: ``m (d + outputs)`` numbers for m support vectors with d features. With a threshold a vector stays for at most
    ``ln(C / threshold) / ln(1 + r)`` rows, else m grows with every loss. Cost of a row: O(m d), or nnz for d.

    The paper has two classes and ``k(x, x) = 1``. Max-score: ``a = clip((1 + r - margin) / (2 k(x,
    x)), 0, C)`` for the class, -a for its best rival, by the same derivation. A row that would come
    in with less than `threshold` does not.

    A row's weight multiplies `C`: in the objective its slack costs so many times as much. The
    model fades as for any row.

    References
    ----------
    G. Li, C. Wen, Z. G. Li, A. Zhang, F. Yang, K. Mao, Model-based online learning with kernels, IEEE Transactions on Neural
    Networks and Learning Systems 24(3), 2013: eqs. (15)-(33), Remark 4.

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
    numbers_per_second = 1e9
    kept_share = 0.75
    update_params = ("C", "r", "threshold")

    C: float = param(1.0, Real(0.0, open_="low"), "Most that a row weighs.")
    r: float = param(0.001, Real(0.0), "Regularisation: how much faster old rows fade.")
    threshold: float = param(
        0.0, Real(0.0), "Coefficients that are dropped are less than this; with 0 all stay."
    )
    capacity: int = CAPACITY
