"""The scikit-learn interface of a regressor."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from olscale.learners.contract.capability import (
    expect_targets,
    takes_several,
    targets_of,
)
from olscale.learners.contract.estimator import (
    Estimator,
    OnePass,
    checked_weights,
    to_rows,
)
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.scikit_learn import inherits
from olscale.system.plain_arrays import refuse_masked
from olscale.task import Task


@inherits("RegressorMixin")
class Regressor(Estimator):
    """A learner of targets as a scikit-learn regressor; its scores are the predictions."""

    task: ClassVar[Task] = "regression"
    _many = False  # whether targets came as columns

    def __sklearn_tags__(self) -> Any:
        import sklearn.base  # noqa: F401, the import adds the mixin

        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = takes_several(self)
        # One pass over a few dozen rows in the order given: the checks' bars assume many passes.
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything and learn from the rows in one pass, in their order.

        A learner that `looks_ahead` sees the rows, without targets, once before that pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or, of a learner that `LearnsTargets`, (n_samples,
        n_targets)
            Targets.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, first=True, whole=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from the next rows of the stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or, of a learner that `LearnsTargets`, (n_samples,
        n_targets)
            Targets.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, first=not hasattr(self, "state_"), whole=False)

    def _partial_fit(
        self, X: Any, y: Any, first: bool, whole: bool, sample_weight: Any = None
    ) -> Self:
        from sklearn.utils.validation import validate_data

        if first:
            self._forget()
        how = {
            "accept_sparse": "csr",
            "dtype": np.float64,
            "order": "C",
            "y_numeric": True,
        }
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        X, y = validate_data(
            self, X, y, reset=first, multi_output=takes_several(self), **how
        )
        rows = to_rows(X)
        if y.ndim == 2:
            targets = y.shape[1]
        else:
            targets = 1
        weights = checked_weights(X, sample_weight, whole)
        if first:
            self._many = y.ndim == 2
            expect_targets(self, targets)
            self._begin_rows(rows, X.shape[1], 0, whole)
        if targets != targets_of(self):
            raise ValueError(
                f"y has {targets} targets, expected {targets_of(self)} as in the first call"
            )
        if y.ndim == 2 and targets == 1:
            column = y[:, 0]
        else:
            column = y
        return self._learn_rows(rows, np.asarray(column, dtype=np.float64), weights)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the predicted targets, in the shape of those learned.

        The shape is (n_samples,) or (n_samples, n_targets).
        """
        scores = self._scores_of(X)
        if self._many:
            return scores
        return scores[:, 0]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the coefficient of determination R2."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))


class OnePassRegressor(OnePass, Regressor):
    """A regressor with one loop, `_pass`."""
