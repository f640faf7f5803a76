"""Support vector regression that keeps all rows: a batch reference for regressors that do not."""

from typing import Any

from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.reference.batch_machine import GaussianMachine


class SVR(GaussianMachine, WeightedRegressor):
    """Batch reference, no one-pass learner: scikit-learn's SVR with a Gaussian kernel, trained on all rows it was given.

    It keeps every row, and is trained anew whenever they have doubled in number, as
    `olscale.learners.reference.batch_machine.BatchMachine` says; the scores of the first 64 rows are 0.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training on n rows: O(n^2) kernel values or more, for each doubling and for the
    test.

    A row's weight multiplies `C`, as scikit-learn's ``sample_weight`` does.

    References
    ----------
    A. J. Smola, B. Schoelkopf, A tutorial on support vector regression, Statistics and Computing 14, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = SVR(epsilon=0.01, gamma=4.0).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.02)
    True
    """

    name = "svr"
    numbers_per_second = 1.2e9

    C: float = param(1.0, Real(0.0, open_="low"), "Penalty of a row's loss.")
    epsilon: float = param(
        0.1,
        Real(0.0),
        "Half the width of the tube in which there is no loss, in units of the target.",
    )

    def _machine(self) -> Any:
        import sklearn.svm

        return sklearn.svm.SVR(C=self.C, epsilon=self.epsilon, gamma=self._gamma())
