"""AdaGrad on the log loss (Duchi, Hazan, Singer, JMLR 2011)."""

from typing import NamedTuple

import numpy as np

from olscale.compiled.elementary import quotient
from olscale.learners.contract.cost import EstimatesCost, in_dense_values
from olscale.learners.contract.learner import score_columns
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.update_rule import rule_of
from olscale.learners.linear.per_coordinate import PerCoordinateLearner, moves_by


class AdaGradRule(NamedTuple):
    """Step `eta`, and `eps` under the root."""

    eta: float
    eps: float


@moves_by(AdaGradRule)
def _move(rule, A, at, stride, gradient):  # type: ignore[no-untyped-def]
    squares = A[at + stride] + gradient * gradient
    A[at + stride] = squares
    A[at] -= quotient(rule.eta * gradient, np.sqrt(squares + rule.eps))


class AdaGrad(PerCoordinateLearner, EstimatesCost):
    """AdaGrad on the log loss: the step of a weight falls with its own gradients.

    With the gradient ``g = -([c is the class] - p_c) x`` of the row, for each coordinate::

        G += g^2,   w -= eta g / sqrt(G + eps)

    Rare features so keep large steps. p is the softmax of all scores (of two classes: the logistic
    function of one score), or each class has a binary learner. An intercept is the transform
    `bias`.

    Notes
    -----
    State: two numbers of 8 bytes a weight. Time a row: ``O(nonzeros * outputs)``, with a root and
    a division each.

    River's ``LogisticRegression`` and ``SoftmaxRegression`` with ``optim.AdaGrad`` are the same
    rule: weights agree to rounding. The paper adds its delta to the root, not under it.

    A row's weight multiplies its loss, and so the gradient.

    References
    ----------
    J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods for online learning and stochastic
    optimization, JMLR 12, 2011: figure 1, the diagonal form, without regulariser.

    Examples
    --------
    >>> import numpy as np
    >>> learner = AdaGrad(eta=0.5).fit(np.array([[2.0, 0.0], [0.0, 0.1]]), np.array([0, 1]))
    >>> learner.coef_.round(3)
    array([[-0.5,  0.5]])
    """

    name = "adagrad"
    numbers_per_second = 1.35e9
    row_seconds = 45e-9
    update_params = ("eta", "eps")
    _kinds = 2

    eta: float = param(
        0.5, Real(0.0, open_="low"), "Step of a weight at its first row."
    )
    eps: float = param(1e-8, Real(0.0, open_="low"), "Added to the squared gradients.")

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: a value's root takes as long as seven."""
        products = in_dense_values(columns, values, 0.6)
        return products * (score_columns(classes) + 7.0)

    def _rule(self) -> NamedTuple:
        return rule_of(AdaGradRule, self)
