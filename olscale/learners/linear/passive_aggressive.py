"""The passive-aggressive family (Crammer et al., JMLR 7, 2006)."""

from typing import NamedTuple

from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.first_order import (
    AggressiveLearner,
    LinearLearner,
    implements,
)


class PARule(NamedTuple):
    """A rule without parameters."""


class PA1Rule(NamedTuple):
    """Aggressiveness `C`."""

    C: FloatArray


class PA2Rule(PA1Rule):
    """Aggressiveness `C` of the squared slack."""


@implements(PARule)
def _pa(rule, s, y, f, square, t, wrong):  # type: ignore[no-untyped-def]
    return max(0.0, 1.0 - y * f) / square


@implements(PA1Rule)
def _pa1(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    return min(weight * rule.C[s], max(0.0, 1.0 - y * f) / square)


@implements(PA2Rule)
def _pa2(rule, s, y, f, square, t, wrong, weight):  # type: ignore[no-untyped-def]
    if weight == 0.0:
        return 0.0
    loss = max(0.0, 1.0 - y * f)
    return loss / (square + 0.5 / (weight * rule.C[s]))


class PA(LinearLearner):
    """Passive-aggressive: the smallest change of `w` that gives the row the margin 1.

    With hinge loss ``l = max(0, 1 - y w.x)`` the update is ``w += tau y x``, ``tau = l / |x|^2``.
    In the max-score form the margin is that of the true class over the best wrong class and ``tau =
    l / (2 |x|^2)``.

    Notes
    -----
    State: ``columns * outputs`` weights of 8 (float32: 4) bytes. Time a row:
    ``O(nonzeros * outputs)`` to score and ``O(nonzeros)`` a column that moves. LIBOL's ``PA`` and
    ``M_PA`` are this form.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, Online passive-aggressive
    algorithms, JMLR 7, 2006: figure 1, PA. Zhou et al. 2016, eq. (2).

    Examples
    --------
    >>> import numpy as np
    >>> learner = PA().fit(np.array([[2.0, 0.0]]), np.array([1]))
    >>> learner.state_["W"][:, 0]
    array([-0.5,  0. ])
    """

    name = "pa"
    rule_type = PARule
    numbers_per_second = 6e9
    row_seconds = 9e-9


class PA1(AggressiveLearner, WeightedClassifier):
    """Passive-aggressive with linear slack: ``tau = min(C, l / |x|^2)``.

    In the max-score form ``tau = min(C, l / (2|x|^2))``.

    Notes
    -----
    State and time are as in `PA`. LIBOL's ``PA1`` and ``M_PA1`` are this form; scikit-learn's
    ``SGDClassifier(learning_rate="pa1", eta0=C, penalty=None, fit_intercept=False)`` is the same
    rule and agrees to 1e-12.

    A row's weight multiplies `C`: in the objective (figure 1, PA-I) its slack costs that many times
    as much. scikit-learn's ``sample_weight`` multiplies the step instead.

    References
    ----------
    Crammer et al., JMLR 7, 2006: figure 1, PA-I. Zhou et al. 2016, eq. (4).

    Examples
    --------
    >>> import numpy as np
    >>> learner = PA1(C=0.1).fit(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1]))
    >>> learner.coef_
    array([[-0.2,  0.1]])
    """

    name = "pa1"
    rule_type = PA1Rule
    numbers_per_second = 6e9
    row_seconds = 9e-9


class PA2(AggressiveLearner, WeightedClassifier):
    """Passive-aggressive with squared slack: ``tau = l / (|x|^2 + 1/(2C))``.

    In the max-score form ``tau = l / (2|x|^2 + 1/(2C))``.

    Notes
    -----
    State and time are as in `PA`. LIBOL's ``PA2`` and ``M_PA2`` are this form; scikit-learn's
    ``SGDClassifier(learning_rate="pa2", eta0=C, penalty=None, fit_intercept=False)`` is the same
    rule and agrees to 1e-12.

    A row's weight multiplies `C`: in the objective (figure 1, PA-II) its slack costs that many
    times as much. scikit-learn's ``sample_weight`` multiplies the step instead.

    References
    ----------
    Crammer et al., JMLR 7, 2006: figure 1, PA-II.

    Examples
    --------
    >>> import numpy as np
    >>> learner = PA2(C=0.5).fit(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1]))
    >>> learner.coef_
    array([[-0.4,  0.5]])
    """

    name = "pa2"
    rule_type = PA2Rule
    numbers_per_second = 6e9
    row_seconds = 11e-9

    C: float = param(1.0, Real(0.0, open_="low"), "Aggressiveness.")
