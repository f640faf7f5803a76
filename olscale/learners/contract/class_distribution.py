"""Classifiers of scikit-learn that say how likely each class is, by their scores alone.

A run needs nothing of this: it calibrates scores along the stream, and its records and models have
those probabilities.
"""

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from olscale.learners.contract.estimator import Classifier
from olscale.learners.contract.learner import FloatArray

_BELOW_HALF = float(np.nextafter(0.5, 0.0))


class ClassDistribution(Classifier):
    """Base of classifiers with `predict_proba`, whose scores are a distribution of the classes."""

    @abstractmethod
    def probabilities_of(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of classes by scores, shape (rows, classes)."""

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probabilities of the classes, shape (n_samples, n_classes).

        They follow from the scores, in the order of `classes_`, and each row sums to 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        """
        return self.probabilities_of(self._scores_of(X))


class ClassShares(ClassDistribution):
    """Base of classifiers whose scores are shares of the classes, or the difference of two shares.

    Where all shares are 0, as before the first row, all classes are equally likely.
    """

    def probabilities_of(self, scores: FloatArray) -> FloatArray:
        if self._classes == 1:
            return np.ones((len(scores), 1))
        if scores.shape[1] == 1:
            return _shares_of_two(scores[:, 0])
        has_shares = (scores != 0.0).any(axis=1)
        return np.where(has_shares[:, np.newaxis], scores, 1.0 / scores.shape[1])


def _shares_of_two(difference: FloatArray) -> FloatArray:
    """Return both shares; the second is greater where the difference is not below 0."""
    first = 0.5 * (1.0 - difference)
    # Half of a tiny difference is lost in rounding, and the predicted class would be a tie.
    first = np.where(difference >= 0.0, np.minimum(first, _BELOW_HALF), first)
    return np.column_stack([first, 1.0 - first])
