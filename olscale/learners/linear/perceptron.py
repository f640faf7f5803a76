"""The perceptron."""

from typing import NamedTuple

from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.first_order import LinearLearner, implements


class PerceptronRule(NamedTuple):
    """A rule without parameters."""


@implements(PerceptronRule)
def _perceptron(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    if wrong:
        return weight
    return 0.0


class Perceptron(LinearLearner, WeightedClassifier):
    """The perceptron: ``w += y x`` on a mistake.

    Notes
    -----
    State and time are as in `PA`. LIBOL's ``Perceptron`` and ``M_PerceptronM`` are this form: the
    sign of 0 is +1, and of equal best scores the first class wins.

    A row's weight multiplies its step, as in CSOGD (J. Wang, P. Zhao, S. C. H. Hoi, Cost-sensitive
    online classification, ICDM 2012): its loss counts as many times.

    References
    ----------
    F. Rosenblatt, The perceptron: a probabilistic model for information storage and organization in
    the brain, Psychological Review 65 (6), 1958. Multi-class: K. Crammer, Y. Singer,
    Ultraconservative online algorithms for multiclass problems, JMLR 3, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([0, 1, 1])
    >>> learner = Perceptron().fit(X, y)
    >>> learner.coef_
    array([[-1.,  0.]])
    """

    name = "perceptron"
    rule_type = PerceptronRule
    numbers_per_second = 6e9
    row_seconds = 9e-9
