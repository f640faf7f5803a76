"""Adaptive regularisation of weights (Crammer, Kulesza, Dredze, NIPS 2009)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from olscale.learners.domain import Domain, Real
from olscale.learners.second_order import SecondOrderLearner, moves

__all__ = ["AROW"]


class AROWRule(NamedTuple):
    """Regularisation `r`."""

    r: float


def _needed(rule, square):  # type: ignore[no-untyped-def]
    return 1.0


@moves(AROWRule, _needed)
def _arow(rule, m, v):  # type: ignore[no-untyped-def]
    return (1.0 - m) / (v + rule.r), 1.0 / rule.r


class AROW(SecondOrderLearner):
    name = "arow"
    domains: ClassVar[dict[str, Domain]] = {"r": Real(0.0, open_="low"), **SecondOrderLearner.shared_domains}

    def __init__(
        self, r: float = 1.0, covariance: str = "full", multiclass: str = "max-score", dtype: str = "float64"
    ) -> None:
        self.r = r
        self.covariance = covariance
        self.multiclass = multiclass
        self.dtype = dtype

    def _rule(self, max_score: bool) -> NamedTuple:
        return AROWRule(float(self.r))
