"""Logistic regression that learners of one pass are set against."""

import warnings
from typing import Any

from numpy.typing import NDArray

from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.reference.capped_machine import CappedMachine


class BatchLogistic(CappedMachine, WeightedClassifier):
    """Batch reference, not one-pass: scikit-learn's logistic regression, multinomial.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training: O(classes nnz) for each of at most
    `iterations` steps of L-BFGS, for each doubling up to `along` and for the test.

    A row's weight multiplies its loss, as scikit-learn's ``sample_weight`` does.

    References
    ----------
    D. C. Liu, J. Nocedal, On the limited memory BFGS method for large scale optimization,
    Mathematical Programming 45 (1989).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> bool(np.mean(BatchLogistic().fit(X, y).predict(X) == y) > 0.95)
    True
    """

    name = "batch-logistic"
    numbers_per_second = 1.4e9

    C: float = param(
        1.0, Real(0.0, open_="low"), "Inverse of the strength of the penalty."
    )
    iterations: int = param(300, Whole(1), "Most steps.")

    def _train(self, X: Any, y: NDArray[Any], weights: FloatArray | None = None) -> Any:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=self.C, max_iter=self.iterations)
        with warnings.catch_warnings():
            # The number of steps is a parameter: running out of them is no accident.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, y, sample_weight=weights)
