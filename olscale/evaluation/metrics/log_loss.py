"""The probability that a model assigns to the true classes."""

from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import logarithm
from olscale.compiled.tallies import ABSOLUTE
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.estimates import Estimates
from olscale.evaluation.metrics.residuals import ResidualSums
from olscale.task import Task

_EPS = float(np.finfo(np.float64).eps)


class LossSums(ResidualSums):
    """Sums of losses, which are treated as residuals from 0."""

    names: ClassVar[tuple[str, ...]] = ("log_loss",)

    def values(self, sums: FloatArray) -> FloatArray:
        """Return the mean."""
        rows = sums[:, :1]
        return np.divide(
            sums[:, ABSOLUTE : ABSOLUTE + 1],
            rows,
            out=np.full_like(rows, np.nan),
            where=rows > 0.0,
        )


class LogLoss(Estimates):
    """`log_loss`: the mean of ``-log p`` of the true classes.

    p is clipped to [eps, 1 - eps] as in scikit-learn. It is the learner's own, else a calibrated
    one.

    Examples
    --------
    >>> from olscale.evaluation.protocol import Scoring
    >>> metric = LogLoss(StreamShape(rows=2, classes=2, scoring=Scoring(measures=("log_loss",))))
    >>> metric.see(np.array([0, 1]), np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]]))
    >>> round(metric.values()["log_loss"], 6)  # half of log 2
    0.346574
    """

    reads_scores = reads_probabilities = True
    measure = "log_loss"
    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    def summary(self, shape: StreamShape) -> LossSums:
        """Return sums of losses."""
        return LossSums(shape)

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the stream, if they have probabilities."""
        if scores.shape[1]:
            super().see(_losses(y, scores), np.zeros(len(y)), scores)

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the test split, if they have probabilities."""
        if scores.shape[1]:
            super().test(_losses(y, scores), np.zeros(len(y)), scores)

    def held_out(self, y: Array, codes: Array) -> None:
        """Add nothing: for held-out rows of the test split only the predictions are known."""


def _losses(y: IntArray, probabilities: FloatArray) -> FloatArray:
    losses: FloatArray = probabilities[np.arange(len(y)), y]
    _take_logarithms(losses)
    return losses


# NumPy's logarithm has other bits on processors with AVX-512.
@compiled
def _take_logarithms(losses: FloatArray) -> None:
    """Replace probabilities by their losses; NaN stays."""
    for i in range(len(losses)):
        p = losses[i]
        if p == p:
            losses[i] = -logarithm(min(max(p, _EPS), 1.0 - _EPS))
