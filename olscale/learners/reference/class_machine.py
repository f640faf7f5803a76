"""Batch references for classes: what a row scores where some classes have not come yet."""

import warnings
from typing import Any

import numpy as np

from olscale.compiled.csr import Rows, rows_of, to_csr
from olscale.learners.contract.learner import FloatArray
from olscale.learners.reference.batch_machine import BatchMachine


class ClassMachine(BatchMachine):
    """Base of batch references whose machine has the `decision_function` of scikit-learn."""

    def _scores_by(self, count: int, X: Rows) -> FloatArray:
        """Return the scores of the machine trained on the first `count` rows.

        Scores are 0 for no rows, and 1 for a class that is the only one among them.
        """
        scores = np.zeros((rows_of(X), self._outputs))
        classes = np.unique(self.state_["y"][:count][self._weighing(count)])
        if not (len(scores) and len(classes)):
            return scores
        if len(classes) == 1:
            if self._outputs > 1 or classes[0] == 1:
                scores[:, 0 if self._outputs == 1 else classes[0]] = 1.0
            else:
                scores[:, 0 if self._outputs == 1 else classes[0]] = -1.0
            return scores
        decisions = self._trained(count).decision_function(self._matrix(to_csr(X)))
        if self._outputs == 1:
            scores[:, 0] = decisions
            return scores
        if decisions.ndim == 1:
            decisions = np.stack([-decisions, decisions], axis=1)
        # for classes that have not come
        scores[:] = decisions.min(axis=1, keepdims=True) - 1.0
        scores[:, classes] = decisions
        return scores

    def _trained(self, count: int) -> Any:
        with warnings.catch_warnings():
            # Of forty faces with five pictures each, the first 64 rows do look like a regression.
            warnings.filterwarnings("ignore", "The number of unique classes is greater")
            return super()._trained(count)
