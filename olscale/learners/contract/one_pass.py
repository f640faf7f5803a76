"""Learners whose one compiled loop both learns from rows and scores them."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.learners.contract.estimator import Classifier
from olscale.learners.contract.learner import NO_LABELS, FloatArray, State


class OnePassLearner(Classifier):
    """Base of learners that score a row in the same way whether they learn from it or not; a subclass gives `_pass`."""

    @abstractmethod
    def _pass(self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray) -> None:
        """Set `scores`; when `learning`, update `state` after each row. Without learning `y` is empty."""

    def learn(self, X: Rows, y: NDArray[np.int64]) -> FloatArray:
        return self._run(X, y, learning=True)

    def scores(self, X: Rows) -> FloatArray:
        return self._run(X, NO_LABELS, learning=False)

    def _run(self, X: Rows, y: NDArray[np.int64], learning: bool) -> FloatArray:
        # An unpickled model may be memory-mapped read-only; the loop is compiled for arrays it can write to.
        self.state_ = {name: np.require(array, requirements="W") for name, array in self.state_.items()}
        scores = np.empty((rows_of(X), self._outputs))
        self._pass(X, y, self.state_, learning, scores)
        return scores
