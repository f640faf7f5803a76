"""Online gradient descent on the hinge loss (Zinkevich, ICML 2003)."""

from typing import NamedTuple

import numpy as np

from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.first_order import AggressiveLearner, implements


class OGDRule(NamedTuple):
    """First step `C`."""

    C: FloatArray


@implements(OGDRule)
def _ogd(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    if y * f < 1.0:
        return weight * (rule.C[s] / np.sqrt(t))
    return 0.0


class OGD(AggressiveLearner, WeightedClassifier):
    """Online gradient descent: ``w += C/sqrt(t) y x`` where the hinge loss is positive.

    `t` is the number of the row from 1 and counts every row, whether or not it moves the weights.
    In the max-score form the hinge is that of the margin of the true class over the best wrong
    class; both classes move by the same step.

    Notes
    -----
    State: ``columns * outputs`` weights of 8 (float32: 4) bytes. Time a row:
    ``O(nonzeros * outputs)``.

    scikit-learn's ``SGDClassifier(loss="hinge", penalty=None, learning_rate="invscaling",
    power_t=0.5, eta0=C)`` is the same rule, except that it also steps at a margin of exactly 1.

    A row's weight multiplies its step, as in CSOGD (J. Wang, P. Zhao, S. C. H. Hoi, Cost-sensitive
    online classification, ICDM 2012): its loss counts as many times.

    With ``dtype="float32"`` mistakes differ in the few rows whose score is within rounding of 0.

    References
    ----------
    M. Zinkevich, Online convex programming and generalized infinitesimal gradient ascent, ICML
    2003: greedy projection with ``eta_t = t^(-1/2)``, no constraint. LIBOL's ``OGD.m`` and
    ``M_OGD.m`` are this form.

    Examples
    --------
    >>> import numpy as np
    >>> learner = OGD(C=0.5).fit(np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([0, 1]))
    >>> learner.coef_.round(3)
    array([[-1.   ,  0.707]])
    """

    name = "ogd"
    rule_type = OGDRule
    numbers_per_second = 6e9
    row_seconds = 9e-9

    C: float = param(1.0, Real(0.0, open_="low"), "Step at the first row.")
