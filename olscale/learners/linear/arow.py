"""Adaptive regularisation of weights (Crammer, Kulesza, Dredze, NIPS 2009)."""

from typing import NamedTuple

from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.second_order import SecondOrderLearner
from olscale.learners.linear.second_order_rule import moves


class AROWRule(NamedTuple):
    """Regularisation `r`."""

    r: float


def _needed(rule, square):  # type: ignore[no-untyped-def]
    return 1.0


@moves(AROWRule, _needed)
def _arow(rule, m, v, weight):  # type: ignore[no-untyped-def]
    return weight * (1.0 - m) / (weight * v + rule.r), weight / rule.r


class AROW(SecondOrderLearner, WeightedClassifier):
    """Adaptive regularisation of weights: keep the mean's margin, shrink the variance at a loss.

    With margin m, hinge loss ``l = max(0, 1 - m)`` and variance ``v = x' Sigma x``, where ``l >
    0``::

        beta = 1 / (v + r),   mu += l beta y Sigma x,
        Sigma -= beta Sigma x x' Sigma   (that is Sigma^-1 += x x' / r)

    The diagonal form keeps the diagonal of the inverse: ``1/sigma_j += x_j^2 / r``. In the
    max-score form m is the margin of the true class over the best wrong class, the two means move
    by ``+-l beta Sigma x`` and all classes share one Sigma.

    Notes
    -----
    State, in numbers of 8 (float32: 4) bytes, with K outputs (1 for two classes) and S covariances
    (K for "ova", else 1): full ``d K + d^2 S``, diagonal ``d (K + S)``. Time a row that moves: full
    ``O(d^2)`` an update, and ``O(d nonzeros)`` for v; diagonal ``O(nonzeros (K + S))``. A row with
    no loss costs its scores only.

    Other implementations: "diagonal" here is that of AROW's authors, SOL and DOGMA. Dropping the
    rest of Sigma itself, ``sigma_j -= beta (sigma_j x_j)^2``, is another algorithm with other
    figures.

    A row's weight divides `r`: in the objective (section 3) its squared loss and its variance count
    that many times as much.

    On a9a the full form makes 5062 mistakes in float32 instead of 5055, the diagonal form 5068 in
    both.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze, Adaptive regularization of weight vectors, NIPS 2009:
    figure 1.
    Multi-class: LIBOL's ``M_AROW``.

    Examples
    --------
    >>> import numpy as np
    >>> learner = AROW(r=1.0).fit(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1]))
    >>> learner.coef_
    array([[-0.5,  0.4]])
    >>> learner.state_["covariance"][0].diagonal()
    array([0.5, 0.2])
    """

    name = "arow"
    numbers_per_second = 5e9
    _update_numbers = 330.0
    update_params = ("r",)

    r: float = param(
        1.0,
        Real(0.0, open_="low"),
        "Regularisation; the larger, the slower the variance shrinks.",
    )

    def _rule(self, max_score: bool) -> NamedTuple:
        return AROWRule(float(self.r))
