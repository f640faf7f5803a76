"""Soft confidence-weighted learning (Wang, Zhao, Hoi, ICML 2012)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri

from olscale.learners.confidence_weighted import confidence_gained
from olscale.learners.domain import Domain, Real
from olscale.learners.second_order import SecondOrderLearner, moves

__all__ = ["SCW1", "SCW2"]


class SCW1Rule(NamedTuple):
    """Confidence `phi` and largest step `C`."""

    phi: float
    C: float


class SCW1MaxScoreRule(NamedTuple):
    """Confidence `phi` and largest step `C`."""

    phi: float
    C: float


class SCW2Rule(NamedTuple):
    """Confidence `phi` and weight of the squared loss `C`."""

    phi: float
    C: float


class SCW2MaxScoreRule(NamedTuple):
    """Confidence `phi` and weight of the squared loss `C`."""

    phi: float
    C: float


def _needed(rule, square):  # type: ignore[no-untyped-def]
    return rule.phi * np.sqrt(square)


@moves(SCW1Rule, _needed)
def _scw1(rule, m, v):  # type: ignore[no-untyped-def]
    phi2 = rule.phi * rule.phi
    xi = 1.0 + phi2
    alpha = (-m * (1.0 + 0.5 * phi2) + np.sqrt(0.25 * m * m * phi2 * phi2 + v * phi2 * xi)) / (v * xi)
    alpha = min(rule.C, alpha)
    return alpha, confidence_gained(alpha, v, rule.phi, 4.0)


@moves(SCW1MaxScoreRule, _needed)
def _scw1_max_score(rule, m, v):  # type: ignore[no-untyped-def]
    if m >= rule.phi * np.sqrt(v):
        return 0.0, 0.0
    phi2 = rule.phi * rule.phi
    psi = 1.0 + 0.5 * phi2
    alpha = (-m * psi + np.sqrt(m * m * psi * (psi - 1.0) + 2.0 * v * phi2 * psi)) / (2.0 * v * psi)
    alpha = min(rule.C, alpha)
    return alpha, confidence_gained(alpha, v, rule.phi, 8.0)


@moves(SCW2Rule, _needed)
def _scw2(rule, m, v):  # type: ignore[no-untyped-def]
    phi2 = rule.phi * rule.phi
    n = v + 0.5 / rule.C
    root = rule.phi * np.sqrt(phi2 * m * m * v * v + 4.0 * n * v * (n + v * phi2))
    alpha = (-(2.0 * m * n + phi2 * m * v) + root) / (2.0 * (n * n + n * v * phi2))
    return alpha, confidence_gained(alpha, v, rule.phi, 4.0)


@moves(SCW2MaxScoreRule, _needed)
def _scw2_max_score(rule, m, v):  # type: ignore[no-untyped-def]
    if m >= rule.phi * np.sqrt(v):
        return 0.0, 0.0
    phi2 = rule.phi * rule.phi
    n = 2.0 * v + 0.5 / rule.C
    root = rule.phi * np.sqrt(phi2 * m * m * v * v + 8.0 * n * v * (n + v * phi2))
    alpha = (-(2.0 * m * n + phi2 * m * v) + root) / (2.0 * (n * n + n * v * phi2))
    return alpha, confidence_gained(alpha, v, rule.phi, 8.0)


class SCW1(SecondOrderLearner):
    name = "scw1"
    domains: ClassVar[dict[str, Domain]] = {
        "eta": Real(0.5, 1.0, open_="high"),
        "C": Real(0.0, open_="low"),
        **SecondOrderLearner.shared_domains,
    }

    def __init__(
        self,
        eta: float = 0.75,
        C: float = 1.0,
        covariance: str = "full",
        multiclass: str = "max-score",
        dtype: str = "float64",
    ) -> None:
        self.eta = eta
        self.C = C
        self.covariance = covariance
        self.multiclass = multiclass
        self.dtype = dtype

    def _rule(self, max_score: bool) -> NamedTuple:
        rule = SCW1MaxScoreRule if max_score else SCW1Rule
        return rule(float(ndtri(self.eta)), float(self.C))


class SCW2(SecondOrderLearner):
    name = "scw2"
    domains: ClassVar[dict[str, Domain]] = SCW1.domains

    def __init__(
        self,
        eta: float = 0.9,
        C: float = 1.0,
        covariance: str = "full",
        multiclass: str = "max-score",
        dtype: str = "float64",
    ) -> None:
        self.eta = eta
        self.C = C
        self.covariance = covariance
        self.multiclass = multiclass
        self.dtype = dtype

    def _rule(self, max_score: bool) -> NamedTuple:
        rule = SCW2MaxScoreRule if max_score else SCW2Rule
        return rule(float(ndtri(self.eta)), float(self.C))
