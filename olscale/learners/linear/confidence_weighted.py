"""Confidence-weighted learning (Dredze et al. 2008) and its soft forms (Wang et al. 2012)."""

from typing import NamedTuple

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.second_order import SecondOrderLearner
from olscale.learners.linear.second_order_rule import moves


def quantile(eta: float) -> float:
    """Return the quantile of the standard normal distribution at `eta`."""
    # the import takes 0.2 seconds, and only this learner needs it
    from scipy.special import ndtri

    return float(ndtri(eta))


@compiled
def confidence_gained(alpha: float, v: float, phi: float, factor: float) -> float:
    """Return the confidence gained, ``alpha phi / sqrt(u)``.

    Here ``sqrt(u) = (-a + sqrt(a^2 + factor v)) / 2`` with ``a = alpha v phi``, in a form without
    the difference, which loses its digits where a step is large.
    """
    a = alpha * v * phi
    root = np.sqrt(a * a + factor * v)
    gained: float = alpha * phi * 2.0 * (a + root) / (factor * v)
    return gained


class ConfidenceRule(NamedTuple):
    """Confidence `phi` (the quantile of eta), largest step `C`, and whether two classes move."""

    phi: float
    C: float
    max_score: bool


class VarianceRule(NamedTuple):
    """Confidence `phi` of the diagonal form."""

    phi: float


def needed(rule, square):  # type: ignore[no-untyped-def]
    """Return a margin above which no rule of this family moves: ``phi |x|``."""
    return rule.phi * np.sqrt(square)


def _needed_variance(rule, square):  # type: ignore[no-untyped-def]
    return rule.phi * square


@moves(ConfidenceRule, needed)
def _step(rule, m, v, weight):  # type: ignore[no-untyped-def]
    if rule.max_score and m >= rule.phi * np.sqrt(v):
        return 0.0, 0.0
    phi2 = rule.phi * rule.phi
    psi = 1.0 + 0.5 * phi2
    if rule.max_score:
        alpha = (
            -m * psi + np.sqrt(m * m * psi * (psi - 1.0) + 2.0 * v * phi2 * psi)
        ) / (2.0 * v * psi)
    else:
        xi = 1.0 + phi2
        discriminant = 0.25 * m * m * phi2 * phi2 + v * phi2 * xi
        alpha = (-m * psi + np.sqrt(discriminant)) / (v * xi)
    alpha = min(weight * rule.C, alpha)
    return alpha, confidence_gained(alpha, v, rule.phi, 8.0 if rule.max_score else 4.0)


@moves(VarianceRule, _needed_variance)
def _variance(rule, m, v):  # type: ignore[no-untyped-def]
    if rule.phi == 0.0:
        return -m / v, 0.0
    b = 1.0 + 2.0 * rule.phi * m
    discriminant = b * b - 8.0 * rule.phi * (m - rule.phi * v)
    alpha = (-b + np.sqrt(discriminant)) / (4.0 * rule.phi * v)
    return alpha, 2.0 * alpha * rule.phi


class CW(SecondOrderLearner):
    """Confidence-weighted: the closest Gaussian that is right about the row with probability eta.

    ``phi`` is the normal quantile of eta, m the margin, ``v = x' Sigma x``, ``psi = 1 + phi^2/2``,
    ``xi = 1 + phi^2``. The update is ``mu += alpha y Sigma x``, ``Sigma -= beta Sigma x x' Sigma``.
    The full form is the exact one in the standard deviation::

        alpha = max(0, (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 xi)) / (v xi))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v))^2 / 4
        beta = alpha phi / (sqrt(u) + v alpha phi)

    The diagonal form is the older one in the variance (with phi = 0: ``alpha = max(0, -m/v)``)::

        alpha = max(0, (-(1 + 2 phi m) + sqrt((1 + 2 phi m)^2 - 8 phi (m - phi v))) / (4 phi v))
        1/sigma_j += 2 alpha phi x_j^2

    The max-score form, full and diagonal, is LIBOL's, with one Sigma for all classes; where ``m <
    phi sqrt(v)``::

        alpha = (-m psi + sqrt(m^2 psi^2 - m^2 psi + 2 v phi^2 psi)) / (2 v psi)
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 8 v))^2 / 8
        beta = alpha phi / (sqrt(2 u) + alpha phi v)

    Notes
    -----
    State and time are as in `AROW`; a row with ``m >= phi |x|`` costs its scores only.

    CW allows for no noise: on rows that cannot be separated it shrinks Sigma until rounding makes a
    variance negative, or the steps overflow. Such a run ends as ``diverged`` with the row (from 0).
    On a9a with eta = 0.7, full, that is row 16,907 here. The row is rounding too: twelve ways to
    write the same update gave rows 17,197 to 21,762. On letter (max-score, eta = 0.75) it is row
    383: the 93.57 % of the LOL paper's table is such a breakdown.

    Other implementations: SOL's CW is the variance form with the diagonal of the inverse, in
    float32 (332 mistakes on a1a with eta = 0.7, as here). LIBOL's ``CW`` is the full form. Neither
    says when its numbers have broken down.

    On a9a the diagonal form makes the same mistakes in float32 as in float64; the full form breaks
    down in both.

    References
    ----------
    M. Dredze, K. Crammer, F. Pereira, Confidence-weighted linear classification, ICML 2008
    (variance form).
    K. Crammer, M. Dredze, F. Pereira, Exact convex confidence-weighted learning, NIPS 2008
    (CW-Stdev).
    K. Crammer, M. Dredze, A. Kulesza, Multi-class confidence weighted algorithms, EMNLP 2009;
    LIBOL's ``M_CW``.

    Examples
    --------
    >>> import numpy as np
    >>> learner = CW(eta=0.7).fit(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1]))
    >>> learner.coef_.round(4)
    array([[-0.4644,  0.4644]])
    """

    name = "cw"
    numbers_per_second = 6.5e9
    update_params = ("eta",)

    eta: float = param(0.7, Real(0.5, 1.0, open_="high"), "Confidence, a probability.")

    def _rule(self, max_score: bool) -> NamedTuple:
        phi = quantile(self.eta)
        if max_score or self.covariance == "full":
            return ConfidenceRule(phi, np.inf, max_score)
        return VarianceRule(phi)


class SquaredSlackRule(NamedTuple):
    """Confidence `phi`, weight `C` of the squared loss, and whether two classes move."""

    phi: float
    C: float
    max_score: bool


@moves(SquaredSlackRule, needed)
def _squared_slack_step(rule, m, v, weight):  # type: ignore[no-untyped-def]
    if weight == 0.0 or (rule.max_score and m >= rule.phi * np.sqrt(v)):
        return 0.0, 0.0
    phi2 = rule.phi * rule.phi
    if rule.max_score:
        moved = 2.0
    else:
        moved = 1.0
    n = moved * v + 0.5 / (weight * rule.C)
    of_margin = phi2 * m * m * v * v
    of_variance = 4.0 * moved * n * v * (n + v * phi2)
    root = rule.phi * np.sqrt(of_margin + of_variance)
    minus_b = -(2.0 * m * n + phi2 * m * v)
    alpha = (minus_b + root) / (2.0 * (n * n + n * v * phi2))
    return alpha, confidence_gained(alpha, v, rule.phi, 4.0 * moved)


class SCW1(SecondOrderLearner, WeightedClassifier):
    """Soft confidence-weighted, linear slack (SCW-I): CW whose step is at most C.

    ``phi`` is the normal quantile of eta, m the margin, ``v = x' Sigma x``, ``psi = 1 + phi^2/2``,
    ``xi = 1 + phi^2``. The update is ``mu += alpha y Sigma x``, ``Sigma -= beta Sigma x x' Sigma``
    with::

        alpha = min(C, max(0, (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 xi)) / (v xi)))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v))^2 / 4
        beta = alpha phi / (sqrt(u) + v alpha phi)

    The diagonal form keeps the diagonal of the inverse: ``1/sigma_j += (alpha phi / sqrt(u))
    x_j^2``. The max-score form is LIBOL's, with one Sigma for all classes; where ``m < phi
    sqrt(v)``::

        alpha = min(C, (-m psi + sqrt(m^2 psi^2 - m^2 psi + 2 v phi^2 psi)) / (2 v psi))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 8 v))^2 / 8
        beta = alpha phi / (sqrt(2 u) + alpha phi v)

    Notes
    -----
    State and time are as in `AROW`; a row with ``m >= phi |x|`` costs its scores only.

    Other implementations: LIBOL's ``SCW`` and ``M_SCW1`` are the full forms; figures agree to the
    last mistake. In its max-score step psi stands where the binary one has xi; it is kept so, to be
    comparable.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much.

    On a9a the full form makes 5176 mistakes in float32 instead of 5173, the diagonal form 5384 in
    both.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, Exact soft confidence-weighted learning, ICML 2012: proposition
    1. Multi-class: LIBOL's ``M_SCW1``.

    Examples
    --------
    >>> import numpy as np
    >>> learner = SCW1(eta=0.75, C=0.25).fit(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1]))
    >>> learner.coef_.round(4)
    array([[-0.25,  0.5 ]])
    """

    name = "scw1"
    numbers_per_second = 6e9
    update_params = ("C", "eta")

    eta: float = param(0.75, Real(0.5, 1.0, open_="high"), "Confidence, a probability.")
    C: float = param(1.0, Real(0.0, open_="low"), "Largest step.")

    def _rule(self, max_score: bool) -> NamedTuple:
        return ConfidenceRule(quantile(self.eta), float(self.C), max_score)


class SCW2(SecondOrderLearner, WeightedClassifier):
    """Soft confidence-weighted, squared slack (SCW-II).

    ``phi`` is the normal quantile of eta, m the margin, ``v = x' Sigma x``, ``n = v + 1/(2C)``. The
    update is ``mu += alpha y Sigma x``, ``Sigma -= beta Sigma x x' Sigma`` with::

        r = phi sqrt(phi^2 m^2 v^2 + 4 n v (n + v phi^2))
        alpha = max(0, (-(2 m n + phi^2 m v) + r) / (2 (n^2 + n v phi^2)))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v))^2 / 4
        beta = alpha phi / (sqrt(u) + v alpha phi)

    The diagonal form keeps the diagonal of the inverse: ``1/sigma_j += (alpha phi / sqrt(u))
    x_j^2``. The max-score form is LIBOL's, with one Sigma for all classes; where ``m < phi
    sqrt(v)``, with ``n = 2v + 1/(2C)``::

        r = phi sqrt(phi^2 m^2 v^2 + 8 n v (n + v phi^2))
        alpha = max(0, (-(2 m n + phi^2 m v) + r) / (2 (n^2 + n v phi^2)))
        u = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 8 v))^2 / 8
        beta = alpha phi / (sqrt(2 u) + alpha phi v)

    Notes
    -----
    State and time are as in `AROW`; a row with ``m >= phi |x|`` costs its scores only.

    Other implementations: LIBOL's ``SCW2`` has two typing errors in the root: it computes ``v * 2``
    for ``v^2`` and ``phi * 2`` for ``phi^2``, and prints 5335 mistakes on a9a (eta = 0.9) where the
    paper's formula makes 5254. Ours is the paper's. ``M_SCW2`` has no such error.

    A row's weight multiplies `C`: in the objective its slack costs that many times as much.

    On a9a both forms make the same mistakes in both precisions; norms differ by 1e-3 (full).

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, Exact soft confidence-weighted learning, ICML 2012: proposition
    2. Multi-class: LIBOL's ``M_SCW2``.

    Examples
    --------
    >>> import numpy as np
    >>> learner = SCW2(eta=0.9, C=1.0).fit(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1]))
    >>> learner.coef_.round(4)
    array([[-0.5903,  0.7263]])
    """

    name = "scw2"
    numbers_per_second = 5.5e9
    update_params = ("C", "eta")

    eta: float = param(0.9, Real(0.5, 1.0, open_="high"), "Confidence, a probability.")
    C: float = param(1.0, Real(0.0, open_="low"), "Weight of the squared loss.")

    def _rule(self, max_score: bool) -> NamedTuple:
        return SquaredSlackRule(quantile(self.eta), float(self.C), max_score)
