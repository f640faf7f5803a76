"""The online sequential extreme learning machine (Liang, Huang and others 2006)."""

from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.many_targets import LearnsTargets
from olscale.learners.contract.parameters import Choice, param
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
from olscale.learners.network.random_nodes import RandomNodes


class ChosenNodes(RandomNodes):
    """Base of learners with either kind of nodes."""

    activation: str = param("sigmoid", Choice(("sigmoid", "rbf")), "Kind of the hidden nodes.")


class OSELM(ChosenNodes, OnePassLearner, WeightedClassifier):
    """Online sequential extreme learning machine: recursive least squares on a random layer.

    Features ``h_j = 1 / (1 + exp(-(a_j.x + b_j)))``, or radial ones ``exp(-b_j |x - a_j|^2)``, are
    drawn at the start: entries of ``a_j`` from -1 to 1, ``b_j`` from -1 to 1 or, of the radial
    ones, from 0 to 1. With targets t of 1 and -1, ``P = I / lam`` at the start and ``u = P h``,
    each row has ``k = u / (forget + h.u)``, ``beta += k (t - h'beta)'`` and
    ``P = (P - k u') / forget``. One output separates two classes; more classes have one each.

    Notes
    -----
    State: ``L (d + 1)`` numbers of the hidden layer for L nodes, half of P, ``L^2 / 2``, and L for
    each output, each row of a block and 16 more. Time a row: O(L (d + L + outputs)). After each
    row, or block, of ``start="ridge"`` the weights are those of scikit-learn's
    ``Ridge(alpha=lam, fit_intercept=False)`` on the features of the rows seen.

    Scale the features to [-1, 1] or standardize them: sigmoids of sums far from 0 are constant, and
    radial nodes far away are 0. With ``forget < 1`` the variances of features that do not vary grow
    like ``forget^-t``: a run in which one passes ``1 / (lam 2.2e-16)`` ends as diverged, and so
    does a boosting phase whose sums have no inverse.

    The paper's own code has two outputs for two classes, each minus the other, and a pseudoinverse
    at the start, which here is an inverse. Sums are rounded in a fixed order; only half of P is
    kept, so it stays symmetric.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan, A fast and accurate online
    sequential learning algorithm for feedforward networks, IEEE Transactions on Neural Networks 17
    (2006), equations 19 to 23.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> OSELM(nodes=20).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "oselm"
    numbers_per_second = 2.8e9


class OSELMR(ChosenNodes, OnePassRegressor, WeightedRegressor, LearnsTargets):
    """Online sequential extreme learning machine for targets: `OSELM` on the targets themselves.

    Notes
    -----
    State and time are as in `OSELM`, with one output. Targets are not scaled: `lam` means more
    where they are large.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    N.-Y. Liang et al., IEEE Transactions on Neural Networks 17 (2006), equations 19 to 23.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> OSELMR(nodes=20, lam=1e-6).fit(X, np.sin(3.0 * X[:, 0])).predict(np.array([[0.5]])).round(1)
    array([1.])
    """

    name = "oselm-r"
    numbers_per_second = 2.8e9
