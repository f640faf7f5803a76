"""Soft confidence-weighted learning (Wang, Zhao, Hoi, ICML 2012)."""

from typing import NamedTuple

import numpy as np

from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.confidence_weighted import (
    ConfidenceRule,
    confidence_gained,
    needed,
    quantile,
)
from olscale.learners.linear.second_order import SecondOrderLearner
from olscale.learners.linear.second_order_rule import moves


class SquaredSlackRule(NamedTuple):
    """Confidence `phi`, weight of the squared loss `C`, and whether two classes move, as in max-score."""

    phi: float
    C: float
    max_score: bool


@moves(SquaredSlackRule, needed)
def _step(rule, m, v, weight):  # type: ignore[no-untyped-def]
    if weight == 0.0 or (rule.max_score and m >= rule.phi * np.sqrt(v)):
        return 0.0, 0.0
    phi2, moved = rule.phi * rule.phi, 2.0 if rule.max_score else 1.0
    n = moved * v + 0.5 / (weight * rule.C)
    root = rule.phi * np.sqrt(phi2 * m * m * v * v + 4.0 * moved * n * v * (n + v * phi2))
    alpha = (-(2.0 * m * n + phi2 * m * v) + root) / (2.0 * (n * n + n * v * phi2))
    return alpha, confidence_gained(alpha, v, rule.phi, 4.0 * moved)


class SCW1(SecondOrderLearner, WeightedClassifier):
    """Soft confidence-weighted, linear slack (SCW-I): CW whose step is at most C.

    ``phi`` is the normal quantile of eta, m the margin, ``v = x' Sigma x``, ``psi = 1 + phi^2/2``,
    ``xi = 1 + phi^2``. The update is ``mu += alpha y Sigma x``, ``Sigma -= beta Sigma x x' Sigma``
    with::

        alpha = min(C, max(0, (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 xi)) / (v xi)))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v))^2 / 4,   beta = alpha phi / (sqrt(u) + v alpha phi)

    The diagonal form keeps the diagonal of the inverse: ``1/sigma_j += (alpha phi / sqrt(u))
    x_j^2``. The max-score form is LIBOL's, with one Sigma for all classes; where ``m < phi
    sqrt(v)``::

        alpha = min(C, (-m psi + sqrt(m^2 psi^2 - m^2 psi + 2 v phi^2 psi)) / (2 v psi))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 8 v))^2 / 8,   beta = alpha phi / (sqrt(2 u) + alpha phi v)

    Notes
    -----
    State and time are as in `AROW`; a row with ``m >= phi |x|`` costs its scores only.

    Other implementations: LIBOL's ``SCW`` and ``M_SCW1`` are the full forms; figures agree to the
    last mistake. In its max-score step psi stands where the binary one has xi; it is kept so, to be
    comparable.

    A row's weight multiplies `C`: in the objective its slack costs so many times as much.

    On a9a the full form makes 5176 mistakes in float32 for 5173, the diagonal form 5384 in both.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, Exact soft confidence-weighted learning, ICML 2012: proposition 1. Multi-class:
    LIBOL's ``M_SCW1``.

    Examples
    --------
    >>> import numpy as np
    >>> learner = SCW1(eta=0.75, C=0.25).fit(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1]))
    >>> learner.coef_.round(4)
    array([[-0.25,  0.5 ]])
    """

    name = "scw1"
    numbers_per_second = 1.8e9
    update_params = ("C", "eta")

    eta: float = param(0.75, Real(0.5, 1.0, open_="high"), "Confidence, a probability.")
    C: float = param(1.0, Real(0.0, open_="low"), "Largest step.")

    def _rule(self, max_score: bool) -> NamedTuple:
        return ConfidenceRule(quantile(self.eta), float(self.C), max_score)


class SCW2(SecondOrderLearner, WeightedClassifier):
    """Soft confidence-weighted, squared slack (SCW-II).

    ``phi`` is the normal quantile of eta, m the margin, ``v = x' Sigma x``, ``n = v + 1/(2C)``. The
    update is ``mu += alpha y Sigma x``, ``Sigma -= beta Sigma x x' Sigma`` with::

        alpha = max(0, (-(2 m n + phi^2 m v) + phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2))) / (2 (n^2 + n v phi^2)))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v))^2 / 4,   beta = alpha phi / (sqrt(u) + v alpha phi)

    The diagonal form keeps the diagonal of the inverse: ``1/sigma_j += (alpha phi / sqrt(u))
    x_j^2``. The max-score form is LIBOL's, with one Sigma for all classes; where ``m < phi
    sqrt(v)``, with ``n = 2v + 1/(2C)``::

        alpha = max(0, (-(2 m n + phi^2 m v) + phi sqrt(phi^2 m^2 v^2 + 8 n v (n + v phi^2))) / (2 (n^2 + n v phi^2)))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 8 v))^2 / 8,   beta = alpha phi / (sqrt(2 u) + alpha phi v)

    Notes
    -----
    State and time are as in `AROW`; a row with ``m >= phi |x|`` costs its scores only.

    Other implementations: LIBOL's ``SCW2`` has two typing slips in the root: it computes ``v * 2``
    for ``v^2`` and ``phi * 2`` for ``phi^2``, and prints 5335 mistakes on a9a (eta = 0.9) where the
    paper's formula makes 5254. Ours is the paper's. ``M_SCW2`` has no such slip.

    A row's weight multiplies `C`: in the objective its slack costs so many times as much.

    On a9a both forms make the same mistakes in both precisions; norms differ by 1e-3 (full).

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, Exact soft confidence-weighted learning, ICML 2012: proposition 2. Multi-class:
    LIBOL's ``M_SCW2``.

    Examples
    --------
    >>> import numpy as np
    >>> learner = SCW2(eta=0.9, C=1.0).fit(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1]))
    >>> learner.coef_.round(4)
    array([[-0.5903,  0.7263]])
    """

    name = "scw2"
    numbers_per_second = 1.3e9
    update_params = ("C", "eta")

    eta: float = param(0.9, Real(0.5, 1.0, open_="high"), "Confidence, a probability.")
    C: float = param(1.0, Real(0.0, open_="low"), "Weight of the squared loss.")

    def _rule(self, max_score: bool) -> NamedTuple:
        return SquaredSlackRule(quantile(self.eta), float(self.C), max_score)
