"""A one-class support vector machine that keeps all rows: a batch reference for novelty detectors that do not."""

from typing import Any

from olscale.learners.contract.detector import Detector
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Real, param
from olscale.learners.reference.batch_machine import GaussianMachine


class OneClassSVM(GaussianMachine, Detector):
    """Batch reference, no one-pass learner: scikit-learn's OneClassSVM, trained on all rows it was given.

    It keeps every row, and is trained anew whenever they have doubled in number, as
    `olscale.learners.reference.batch_machine.BatchMachine` says; the scores of the first 64 rows are 0, which
    is normal.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training on n rows: O(n^2) kernel values or more, for each doubling and for the
    test.

    References
    ----------
    B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson, Estimating the support of a high-dimensional
    distribution, Neural Computation 13(7), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> OneClassSVM(nu=0.1).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    name = "one-class-svm"
    numbers_per_second = 1.5e9

    nu: float = param(
        0.1,
        Real(0.0, 1.0, open_="low"),
        "Most rows that are novelties, and fewest that are support vectors, as a share.",
    )

    def _machine(self) -> Any:
        import sklearn.svm

        return sklearn.svm.OneClassSVM(nu=self.nu, gamma=self._gamma())

    def _score(self, machine: Any, X: Any) -> FloatArray:
        scores: FloatArray = machine.decision_function(X)
        return scores
