"""A support vector machine that keeps all rows: a batch reference for learners that do not."""

from typing import Any

import numpy as np

from olscale.compiled.csr import Rows, rows_of, to_csr
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.reference.batch_machine import GaussianMachine


class SVM(GaussianMachine, WeightedClassifier):
    """Batch reference, no one-pass learner: scikit-learn's SVC with a Gaussian kernel, trained on all rows it was given.

    It keeps every row. Test rows are scored by a machine trained on all of them. Along the stream a
    row is scored by the machine of the rows before it when these had last doubled in number: 64,
    128, 256 and so on; there is none, and scores are 0, before. So the test error is that of batch
    learning, and the cumulative error that of a batch learner which is trained anew ever more
    rarely.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training on n rows: O(n^2) kernel values or more, for each doubling and for the
    test; with late labels for every row that is predicted. More than two classes: one machine a pair, and scikit-learn's
    scores of a class by its votes.

    A row's weight multiplies `C`, as scikit-learn's ``sample_weight`` does.

    References
    ----------
    C. Cortes, V. Vapnik, Support-vector networks, Machine Learning 20 (1995).

    Examples
    --------
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> SVM().fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "svm"
    numbers_per_second = 0.8e9

    C: float = param(1.0, Real(0.0, open_="low"), "Penalty of a row's loss.")

    def _machine(self) -> Any:
        from sklearn.svm import SVC

        return SVC(C=self.C, gamma=self._gamma())

    def _scores_by(self, count: int, X: Rows) -> FloatArray:
        """Return the scores of the machine of the first `count` rows: 0 of none, and 1 for a class that is alone in them."""
        scores = np.zeros((rows_of(X), self._outputs))
        known = np.unique(self.state_["y"][:count][self._weighing(count)])
        if not (len(scores) and len(known)):
            return scores
        if len(known) == 1:
            scores[:, 0 if self._outputs == 1 else known[0]] = (
                1.0 if self._outputs > 1 or known[0] == 1 else -1.0
            )
            return scores
        found = self._trained(count).decision_function(self._matrix(to_csr(X)))
        if self._outputs == 1:
            scores[:, 0] = found
            return scores
        found = np.stack([-found, found], axis=1) if found.ndim == 1 else found
        scores[:] = found.min(axis=1, keepdims=True) - 1.0  # of classes that have not come
        scores[:, known] = found
        return scores
