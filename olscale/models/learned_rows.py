"""What a model gives for rows that it predicts, then learns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.csr import Rows
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.usable_rows import learn_usable, score_usable
from olscale.learners.registry import ask


@dataclass(slots=True)
class LearnedRows:
    """Rows that a model predicted, then learned.

    Attributes
    ----------
    X : Rows
        After the transforms.
    scores : ndarray of shape (rows, outputs)
    probabilities : ndarray of shape (rows, classes), optional
        Of calibrated models.
    codes : int array of shape (rows,), optional
        Predictions by the threshold of the model, if it has one.
    """

    X: Rows
    scores: FloatArray
    probabilities: FloatArray | None = None
    codes: IntArray | None = None

    @property
    def diverged(self) -> int | None:
        """The first row without finite scores, None if there is none."""
        finite = np.isfinite(self.scores).all(axis=1)
        if finite.all():
            return None
        return int(np.argmin(finite))


def score_or_refuse(learner: Learner, X: Rows) -> FloatArray:
    """Return the scores of rows; what an estimator from elsewhere raises becomes one line."""
    if learner.restorable:
        return score_usable(learner, X)
    return ask(learner.name, "predicting", partial(score_usable, learner, X))


def learn_or_refuse(
    learner: Learner, X: Rows, y: Array, weights: FloatArray | None
) -> FloatArray:
    """Learn rows and return their scores before; refuse as `score_or_refuse`."""
    if learner.restorable:
        return learn_usable(learner, X, y, weights)
    return ask(learner.name, "learning", partial(learn_usable, learner, X, y, weights))
