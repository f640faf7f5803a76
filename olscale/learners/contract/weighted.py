"""The scikit-learn interface of learners that take weights: `fit` with `sample_weight`."""

from typing import Any, Self

from numpy.typing import ArrayLike

from olscale.learners.contract.class_weights import WeighsClasses
from olscale.learners.contract.estimator import Classifier
from olscale.learners.contract.regressor import Regressor


class WeightedClassifier(WeighsClasses, Classifier):
    """A classifier that takes weights of rows and classes: inherit it next to the learner's base.

    Its `learn` has ``weights=None`` as in the contract; its `_pass` gets the weights as last
    argument if there are some.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Forget everything and learn from the rows in one pass, in their order.

        A learner that `looks_ahead` sees the rows, without labels, once before that pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : float or array-like of shape (n_samples,), optional
            How much the loss of each row counts, >= 0; 1 by default.

        Returns
        -------
        self
        """
        self._has_all_rows = True
        try:
            return self._partial_fit(
                X, y, None, first=True, whole=True, sample_weight=sample_weight
            )
        finally:
            self._has_all_rows = False

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the next rows of the stream.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (n_classes,), optional
            All labels that may come; needed in the first call unless `y` has them all; the same in
            later calls.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `classes` differ from those of the first call, or `y` has a label that is not among
            them.
        """
        return self._partial_fit(
            X, y, classes, first=not self._is_begun(), sample_weight=sample_weight
        )

    def _begin_rows(self, rows: Any, columns: int, classes: int, whole: bool) -> None:
        self._labels = tuple(self.classes_.tolist())
        super()._begin_rows(rows, columns, classes, whole)


class WeightedRegressor(Regressor):
    """A regressor that takes weights of rows: inherit it next to the base of the learner.

    Its `learn` has ``weights=None`` as in the contract; its `_pass` gets the weights as last
    argument if there are some.
    """

    takes_weights = True

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Forget everything and learn from the rows in one pass, in their order.

        A learner that `looks_ahead` sees the rows, without targets, once before that pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or, of a learner that `LearnsTargets`, (n_samples,
        n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), optional
            How much the loss of each row counts, >= 0; 1 by default.

        Returns
        -------
        self
        """
        return self._partial_fit(
            X, y, first=True, whole=True, sample_weight=sample_weight
        )

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from the next rows of the stream.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        begun = hasattr(self, "state_")
        return self._partial_fit(
            X, y, first=not begun, whole=False, sample_weight=sample_weight
        )
