"""The scikit-learn interface of a novelty detector."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olscale.learners.contract.estimator import Estimator, OnePass, to_rows
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.scikit_learn import inherits
from olscale.system.plain_arrays import refuse_masked
from olscale.task import NORMAL, NOVEL, Task


@inherits("OutlierMixin")
class Detector(Estimator):
    """A novelty detector as an outlier detector of scikit-learn.

    Its only score is 0 or more for rows like those before. It learns from every row, without
    labels.
    """

    task: ClassVar[Task] = "novelty"

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Forget everything and learn from the rows in one pass, in their order.

        A learner that `looks_ahead` sees the rows once before that pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used; scikit-learn's pipelines pass it.

        Returns
        -------
        self
        """
        return self._partial_fit(X, first=True, whole=True)

    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from the next rows of the stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self
        """
        return self._partial_fit(X, first=not hasattr(self, "state_"), whole=False)

    def _partial_fit(self, X: Any, first: bool, whole: bool) -> Self:
        from sklearn.utils.validation import validate_data

        if first:
            self._forget()
        refuse_masked(X, "X")
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=first
        )
        rows = to_rows(X)
        if first:
            self._begin_rows(rows, X.shape[1], 2, whole)
        return self._learn_rows(rows, np.zeros(X.shape[0], dtype=np.int64))

    def fit_predict(self, X: ArrayLike, y: Any = None) -> NDArray[np.int64]:
        """Learn from the rows, then predict them; shape (n_samples,)."""
        return self.fit(X).predict(X)

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Return how normal each row is, shape (n_samples,): lower for novelties."""
        return self._scores_of(X)[:, 0]

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the scores, shape (n_samples,): negative for novelties."""
        return self.score_samples(X)

    @property
    def offset_(self) -> float:
        """What `decision_function` subtracts from `score_samples`: nothing."""
        return 0.0

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return +1 for rows like those before and -1 for novelties, shape (n_samples,)."""
        return np.where(self.decision_function(X) >= 0.0, NORMAL, NOVEL)


class OnePassDetector(OnePass, Detector):
    """A detector with one loop, `_pass`."""
