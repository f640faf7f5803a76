"""Confidence-weighted learning (Dredze, Crammer, Pereira 2008; Crammer, Dredze, Pereira 2008)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri

from olscale.jit import kernel
from olscale.learners.domain import Domain, Real
from olscale.learners.second_order import SecondOrderLearner, moves

__all__ = ["CW", "confidence_gained"]


@kernel
def confidence_gained(alpha: float, v: float, phi: float, factor: float) -> float:
    """Return ``alpha phi / sqrt(u)``, ``sqrt(u) = (-a + sqrt(a^2 + factor v)) / 2`` with ``a = alpha v phi``.

    Written without the difference, which loses its digits where a step is large.
    """
    a = alpha * v * phi
    return alpha * phi * 2.0 * (a + np.sqrt(a * a + factor * v)) / (factor * v)


class StdevRule(NamedTuple):
    """Confidence `phi`, the normal quantile of eta."""

    phi: float


class VarianceRule(NamedTuple):
    """Confidence `phi`, the normal quantile of eta."""

    phi: float


class MaxScoreRule(NamedTuple):
    """Confidence `phi`, the normal quantile of eta."""

    phi: float


def _needed(rule, square):  # type: ignore[no-untyped-def]
    return rule.phi * np.sqrt(square)


def _needed_variance(rule, square):  # type: ignore[no-untyped-def]
    return rule.phi * square


@moves(StdevRule, _needed)
def _stdev(rule, m, v):  # type: ignore[no-untyped-def]
    phi2 = rule.phi * rule.phi
    xi = 1.0 + phi2
    alpha = (-m * (1.0 + 0.5 * phi2) + np.sqrt(0.25 * m * m * phi2 * phi2 + v * phi2 * xi)) / (v * xi)
    return alpha, confidence_gained(alpha, v, rule.phi, 4.0)


@moves(VarianceRule, _needed_variance)
def _variance(rule, m, v):  # type: ignore[no-untyped-def]
    if rule.phi == 0.0:
        return -m / v, 0.0
    b = 1.0 + 2.0 * rule.phi * m
    alpha = (-b + np.sqrt(b * b - 8.0 * rule.phi * (m - rule.phi * v))) / (4.0 * rule.phi * v)
    return alpha, 2.0 * alpha * rule.phi


@moves(MaxScoreRule, _needed)
def _max_score(rule, m, v):  # type: ignore[no-untyped-def]
    if m >= rule.phi * np.sqrt(v):
        return 0.0, 0.0
    phi2 = rule.phi * rule.phi
    psi = 1.0 + 0.5 * phi2
    alpha = (-m * psi + np.sqrt(m * m * psi * (psi - 1.0) + 2.0 * v * phi2 * psi)) / (2.0 * v * psi)
    return alpha, confidence_gained(alpha, v, rule.phi, 8.0)


class CW(SecondOrderLearner):
    name = "cw"
    domains: ClassVar[dict[str, Domain]] = {"eta": Real(0.5, 1.0, open_="high"), **SecondOrderLearner.shared_domains}

    def __init__(
        self, eta: float = 0.7, covariance: str = "full", multiclass: str = "max-score", dtype: str = "float64"
    ) -> None:
        self.eta = eta
        self.covariance = covariance
        self.multiclass = multiclass
        self.dtype = dtype

    def _rule(self, max_score: bool) -> NamedTuple:
        phi = float(ndtri(self.eta))
        if max_score:
            return MaxScoreRule(phi)
        return StdevRule(phi) if self.covariance == "full" else VarianceRule(phi)
