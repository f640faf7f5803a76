"""Learners whose scores are logarithms of probabilities, up to what all classes share.

Two classes have one score, the log odds of the second one. More have the softmax of a score each,
or, one-vs-all, the logistic function of each.
"""

import copy
from typing import Self

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential
from olscale.learners.contract.capability import GivesProbabilities
from olscale.learners.contract.class_distribution import ClassDistribution
from olscale.learners.contract.learner import FloatArray

GREATEST = 700.0
"""Greatest exponent: beyond it a probability is 1e-304, as good as 0."""


@compiled
def logistic_function(log_odds: float) -> float:
    """Return ``1 / (1 + exp(-log_odds))``, at least 1e-304."""
    return 1.0 / (1.0 + exponential(min(-log_odds, GREATEST)))


@compiled
def set_softmax(f: FloatArray, first: int, stop: int, p: FloatArray) -> None:
    """Set ``p[first:stop]`` to the softmax of ``f[first:stop]``."""
    # The greatest exponent is then 0: nothing overflows, and the sum is at least 1.
    greatest = f[first]
    for c in range(first + 1, stop):
        greatest = max(greatest, f[c])
    total = 0.0
    for c in range(first, stop):
        p[c] = exponential(f[c] - greatest)
        total += p[c]
    for c in range(first, stop):
        p[c] /= total


@compiled
def _set_probabilities(
    scores: FloatArray, softmax: bool, probabilities: FloatArray
) -> None:
    outputs = scores.shape[1]
    for i in range(scores.shape[0]):
        p = probabilities[i]
        # A model that has diverged has no probabilities; 1/K would look like an answer.
        if not np.isfinite(scores[i]).all():
            p[:] = np.nan
        elif outputs == 1:
            # 1 - p[1] would be lost in rounding where p[1] is close to 1.
            p[0] = logistic_function(-scores[i, 0])
            p[1] = logistic_function(scores[i, 0])
        elif softmax:
            set_softmax(scores[i], 0, outputs, p)
        else:
            total = 0.0
            for c in range(outputs):
                p[c] = logistic_function(scores[i, c])
                total += p[c]
            for c in range(outputs):
                p[c] /= total


class LogProbabilities(ClassDistribution):
    """Base of classifiers whose scores are logarithms of probabilities.

    Those of one-vs-all learners are divided by their sum.
    """

    def is_softmax(self, outputs: int) -> bool:
        """Return whether so many score columns belong together."""
        return outputs > 1

    def probabilities_of(self, scores: FloatArray) -> FloatArray:
        if self._classes == 1:
            return np.ones((len(scores), 1))
        probabilities = np.empty((len(scores), max(2, scores.shape[1])))
        softmax = self.is_softmax(scores.shape[1])
        _set_probabilities(np.ascontiguousarray(scores), softmax, probabilities)
        return probabilities


class LogProbabilityScores(LogProbabilities, GivesProbabilities):
    """Base of learners whose runs have the probabilities that follow from their scores."""

    _shows_probabilities = False

    def show_probabilities(self) -> bool:
        self._shows_probabilities = True
        return True

    def with_plain_scores(self) -> Self:
        """Return the learner as one that shows no probabilities."""
        # A shallow copy: both share the state, and neither learns from here on.
        plain = copy.copy(self)
        plain._shows_probabilities = False
        return plain

    def with_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return scores of shape (rows, outputs), with probabilities if these are shown."""
        if not self._shows_probabilities:
            return scores
        return np.hstack([scores, self.probabilities_of(scores)])
