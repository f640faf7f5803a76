"""Learners from elsewhere, ``module:Class``: any scikit-learn or River estimator beside ours, under the same protocol.

Rows are given one at a time, so that each is predicted before it is learned from. A model that cannot predict yet scores 0
for every class. Such learners have no state of plain arrays and start again from the first row after a loss.
"""

from __future__ import annotations

import importlib.metadata
import pickle
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import CSR, Rows, rows_of, to_dense
from olscale.errors import ParameterError
from olscale.learners.base import FloatArray, Learner, State, score_columns

__all__ = ["ForeignLearner"]


class ForeignLearner(Learner):
    """A scikit-learn or River estimator as a learner.

    Parameters
    ----------
    name : str
        ``module:Class`` as written in the experiment.
    estimator_class : type
        The class.
    params : dict
        Its constructor's arguments.
    """

    restorable = False

    def __init__(self, name: str, estimator_class: type[Any], params: dict[str, Any]) -> None:
        self.name = name  # type: ignore[misc]
        self.version = _version(estimator_class)  # type: ignore[misc,assignment]
        self.estimator_class, self.params = estimator_class, dict(params)
        self._estimator = self._new()
        for seed in ("random_state", "seed"):  # scikit-learn's and River's word for it
            if getattr(self._estimator, seed, 0) is None and seed in signature(estimator_class).parameters:
                # Seeded by the clock it would give other results each time: the run is that of seed 0, and says so.
                self.params[seed] = 0
                self._estimator = self._new()
        self._river = hasattr(self._estimator, "learn_one")
        if not self._river and not hasattr(self._estimator, "partial_fit"):
            raise ParameterError(f"learner {name}: has neither partial_fit (scikit-learn) nor learn_one (River)")

    def _new(self) -> Any:
        try:
            made = self.estimator_class(**self.params)
            if hasattr(made, "_validate_params"):  # scikit-learn: now, not in the middle of a run
                made._validate_params()
            return made
        except (TypeError, ValueError) as error:
            raise ParameterError(f"learner {self.name}: {error}") from None

    def resolved_params(self) -> dict[str, Any]:
        """Return the parameters as given: the defaults are the other library's, whose version is in the run's id."""
        return dict(sorted(self.params.items()))

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Start a new model for a stream of `columns` features and `classes` classes."""
        self._estimator, self._classes, self._columns = self._new(), classes, columns
        if self._river and classes > 2 and not getattr(self._estimator, "_multiclass", True):
            raise ParameterError(
                f"learner {self.name}: tells two classes apart, the dataset has {classes}; River's "
                "river.multiclass.OneVsRestClassifier around it is a class of your own to name"
            )
        self._fitted, self._updates = False, 0

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a learner of ours goes through in the time that one row takes here."""
        del columns, classes
        # SGDClassifier of scikit-learn took 0.85 ms a row, LogisticRegression of River 10 us and 0.2 us a value.
        return 4e4 + 1e3 * values if self._river else 3e6

    def _allocate(self, columns: int, outputs: int) -> State:
        return {}

    def compile(self, X: Rows) -> None:
        """Do nothing: there is no kernel."""

    def learn(self, X: Rows, y: NDArray[np.int64]) -> FloatArray:
        """Predict, then learn, row by row; return the scores before each update, shape (rows, outputs)."""
        with self._unchecked():
            return self._learn(X, y)

    def _learn(self, X: Rows, y: NDArray[np.int64]) -> FloatArray:
        scores = np.empty((rows_of(X), score_columns(self._classes)))
        classes = np.arange(self._classes)
        for i, row in enumerate(self._each(X)):
            scores[i] = self._score(row)
            label = int(y[i])
            if self._river:
                self._estimator.learn_one(row, label)
            else:
                self._estimator.partial_fit(row, [label], classes=classes)
            self._fitted = True
            self._updates += 1
        return scores

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of rows without learning from them, shape (rows, outputs)."""
        with self._unchecked():
            if not self._river and self._fitted:
                return self._as_scores(self._estimator.predict(self._matrix(X)))
            rows = [self._score(row) for row in self._each(X)]
        scores: FloatArray = np.array(rows, dtype=np.float64).reshape(rows_of(X), score_columns(self._classes))
        return scores

    def state(self) -> State:
        """Return nothing: the model cannot be saved as plain arrays."""
        return {}

    def measures(self) -> dict[str, float]:
        """Return the number of rows learned from and, for scikit-learn, the size of the model, pickled, in bytes.

        The pickled size of River's objects differs from one pass to the next, as which of them are shared does.
        """
        updates = {"updates": float(self._updates)}
        return updates if self._river else {**updates, "model_bytes": float(len(pickle.dumps(self._estimator)))}

    def _unchecked(self) -> AbstractContextManager[Any]:
        """Have scikit-learn leave out checks that cost more than most updates, and no estimator write to the terminal."""
        stack = ExitStack()
        stack.enter_context(np.errstate(all="ignore"))
        if not self._river:
            from sklearn import config_context

            stack.enter_context(config_context(assume_finite=True, skip_parameter_validation=True))
        return stack

    def _each(self, X: Rows) -> Any:
        for i in range(rows_of(X)):
            if isinstance(X, CSR):
                span = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
                pairs = zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)
                yield dict(pairs) if self._river else self._matrix(CSR(X.indptr[i : i + 2], X.indices, X.data))
            else:
                yield dict(enumerate(X[i].tolist())) if self._river else X[i : i + 1]

    def _matrix(self, X: Rows) -> Any:
        if not isinstance(X, CSR):
            return X
        if self._columns <= 1024:
            return to_dense(X, self._columns)
        from scipy.sparse import csr_matrix

        span = slice(int(X.indptr[0]), int(X.indptr[-1]))
        return csr_matrix((X.data[span], X.indices[span], X.indptr - X.indptr[0]), (rows_of(X), self._columns))

    def _score(self, row: Any) -> FloatArray:
        if self._river:
            predicted = self._estimator.predict_one(row)
        else:
            predicted = self._estimator.predict(row)[0] if self._fitted else None
        if predicted is None:
            return np.zeros(score_columns(self._classes))
        scores: FloatArray = self._as_scores(np.array([int(predicted)]))[0]
        return scores

    def _as_scores(self, codes: NDArray[Any]) -> FloatArray:
        if self._classes <= 2:
            signs: FloatArray = np.where(codes > 0, 1.0, -1.0).reshape(-1, 1)
            return signs
        scores: FloatArray = np.eye(self._classes)[codes.astype(np.int64)]
        return scores


def _version(cls: type[Any]) -> str:
    """Return the version of the package that `cls` is from; ``"0"`` for a module that belongs to none."""
    module = cls.__module__.partition(".")[0]
    distributions = importlib.metadata.packages_distributions().get(module)
    return importlib.metadata.version(distributions[0]) if distributions else "0"
