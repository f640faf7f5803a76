"""Scores by which an external model ranks rows of two classes, next to its predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.foreign.labels import CODES, ClassLabels
from olscale.learners.contract.foreign.plain_answers import plain_answer
from olscale.learners.contract.foreign.probabilities import (
    are_known,
    codes_of_columns,
    given_probabilities,
    gives_probabilities,
)


class RowScores:
    """How a model scores rows, if it does.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> model = GaussianNB().fit(X, y)
    >>> scores = RowScores(model)
    >>> scores.method, scores.of(model, X[1:3], np.ones(2, bool), np.array([[-1.0], [1.0]])).round(3).tolist()
    ('predict_proba', [[0.0], [1.0]])
    """

    def __init__(self, model: Any) -> None:
        words = (
            ["predict_proba_one"]
            if hasattr(model, "learn_one")
            else ["decision_function", "predict_proba"]
        )
        self._methods = [word for word in words if hasattr(model, word)]
        if not gives_probabilities(model):
            self._methods = [word for word in self._methods if word == "decision_function"]
        self._has_scored = False

    @property
    def method(self) -> str:
        """The method that gives scores; empty if the model has none, or only one that fails."""
        return self._methods[0] if self._methods else ""

    def of(
        self,
        model: Any,
        rows: Any,
        sound: NDArray[np.bool_],
        scores: NDArray[np.float64],
        labels: ClassLabels = CODES,
    ) -> NDArray[np.float64]:
        """Return a score per row, shape (rows, 1): higher for the second class.

        Rows that are not `sound`, as all are before the first row is learned, rank between the
        classes; where the model's method fails, they rank by `scores`.
        """
        between = 0.5 if self.method.startswith("predict_proba") else 0.0
        ranked: NDArray[np.float64] = np.full((len(scores), 1), between)
        if not sound.any():
            return ranked
        while self._methods:
            try:
                own = self._asked(model, rows, len(scores), labels)
            except Exception:
                if self._has_scored:
                    raise
                del self._methods[0]  # the method exists but fails
                continue
            self._has_scored = True
            ranked[sound] = own[sound]
            return ranked
        ranked[sound] = scores[sound]
        return ranked

    def _asked(self, model: Any, rows: Any, count: int, labels: ClassLabels) -> NDArray[np.float64]:
        if self.method != "decision_function":
            given = given_probabilities(model, rows, count, 2, labels)
            return np.where(are_known(given)[:, np.newaxis], given[:, 1:], 0.5)
        answer = plain_answer(model.decision_function(rows), "decision_function").astype(np.float64)
        if answer.shape == (count, 2):
            answer = answer[:, 1] - answer[:, 0]
        if answer.size != count:
            raise ValueError(
                f"decision_function gave an array of shape {answer.shape} for {count} row(s) of "
                "two classes"
            )
        codes = codes_of_columns(model)
        is_reversed = codes is not None and codes.tolist() == [1, 0]
        own = answer.reshape(count, 1)
        return -own if is_reversed else own
