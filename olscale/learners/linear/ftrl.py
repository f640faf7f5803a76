"""FTRL-Proximal on the log loss (McMahan et al., KDD 2013)."""

from typing import NamedTuple

import numpy as np

from olscale.compiled.elementary import quotient
from olscale.compiled.row_layout import THREE, TWO
from olscale.learners.contract.cost import EstimatesCost, in_dense_values
from olscale.learners.contract.learner import score_columns
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.linear.per_coordinate import PerCoordinateLearner, moves_by


class FTRLRule(NamedTuple):
    """Step `alpha`, its smoothing `beta` and the two regularisers."""

    alpha: float
    beta: float
    l1: float
    l2: float


@moves_by(FTRLRule)
def _move(rule, A, at, stride, gradient):  # type: ignore[no-untyped-def]
    squares = A[at + TWO * stride] + gradient * gradient
    root = np.sqrt(squares)
    sigma = quotient(root - A[at + THREE * stride], rule.alpha)
    z = A[at + stride] + (gradient - sigma * A[at])
    beyond = abs(z) - rule.l1
    scale = quotient(rule.beta + root, rule.alpha) + rule.l2
    moved = quotient(-np.copysign(beyond, z), scale)
    A[at] = moved if beyond > 0.0 else 0.0
    A[at + stride] = z
    A[at + TWO * stride] = squares
    A[at + THREE * stride] = root


class FTRL(PerCoordinateLearner, EstimatesCost):
    """FTRL-Proximal on the log loss: a step for each weight, and weights that are exactly 0.

    With the gradient ``g = -([c is the class] - p_c) x`` of the row, for each coordinate::

        sigma = (sqrt(n + g^2) - sqrt(n)) / alpha,   z += g - sigma w,   n += g^2
        w = 0 if |z| <= l1, else (sign(z) l1 - z) / ((beta + sqrt(n)) / alpha + l2)

    p is the softmax of all scores (of two classes: the logistic function of one score), or each
    class has a binary learner. An intercept is the transform `bias`.

    Notes
    -----
    State: four numbers of 8 bytes a weight (w, z, n and its root). Time a row:
    ``O(nonzeros * outputs)``, with a root and divisions each.

    Tests compare it row by row with Algorithm 1 of the paper in NumPy. River's
    ``optim.FTRLProximal`` computes the weights before it adds the gradient, so that they lack the
    last row of each feature, and leaves weights as they are where z falls below l1: other figures.
    So are those of Vowpal Wabbit's ``--ftrl``, whose defaults are other ones and whose updates are
    normalised and importance-invariant.

    A row's weight multiplies its loss, and so the gradient.

    References
    ----------
    H. B. McMahan et al., Ad click prediction: a view from the trenches, KDD 2013: algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[2.0, 0.1], [0.0, 2.0]]), np.array([0, 1])
    >>> FTRL(alpha=0.1, l1=0.1).fit(X, y).coef_.round(3)
    array([[-0.045,  0.042]])
    """

    name = "ftrl"
    numbers_per_second = 1.94e8
    row_seconds = 45e-9
    _kinds = 4

    alpha: float = param(0.5, Real(0.0, open_="low"), "Scale of the steps.")
    beta: float = param(
        1.0, Real(0.0, open_="low"), "Keeps the first steps of a weight small."
    )
    l1: float = param(
        0.0, Real(0.0), "Weight of the absolute values: the larger, the more are 0."
    )
    l2: float = param(0.0, Real(0.0), "Weight of the squares.")

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: a weight is worked out for each product."""
        products = in_dense_values(columns, values, 0.75)
        return products * (score_columns(classes) + 0.5)

    def _rule(self) -> NamedTuple:
        return rule_of(FTRLRule, self)
