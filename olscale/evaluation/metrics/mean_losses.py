"""Mean losses of rows: the Brier score of probabilities, and the cost of decisions."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.evaluation.class_options import costs_of
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.estimates import Estimates
from olscale.evaluation.metrics.log_loss import LossSums
from olscale.evaluation.protocol import Scoring
from olscale.task import Task


class MeanLoss(Estimates):
    """The mean of a loss of each row, which a subclass provides."""

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    def summary(self, shape: StreamShape) -> LossSums:
        """Return sums of losses."""
        sums = LossSums(shape)
        # Sums of losses are the same for each: only their name differs.
        sums.names = (self.measure,)  # type: ignore[misc]
        return sums

    @abstractmethod
    def _losses(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        """Return the losses of rows, shape (rows,), none of them negative."""

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the stream."""
        super().see(self._losses(y, codes, scores), np.zeros(len(y)), scores)

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the test split."""
        super().test(self._losses(y, codes, scores), np.zeros(len(y)), scores)


class Brier(MeanLoss):
    """`brier`: the mean squared distance of probabilities from 1 for the true class, else 0.

    As in scikit-learn, it is summed over the classes, and of two classes one counts.

    References
    ----------
    G. Brier, Verification of forecasts expressed in terms of probability, 1950.

    Examples
    --------
    >>> metric = Brier(StreamShape(rows=2, classes=2, scoring=Scoring(measures=("brier",))))
    >>> metric.see(np.array([0, 1]), np.array([0, 1]), np.array([[0.5, 0.5], [0.1, 0.9]]))
    >>> round(metric.values()["brier"], 6)
    0.13
    """

    reads_scores = reads_probabilities = True
    measure = "brier"

    def _losses(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        distances = scores.copy()
        distances[np.arange(len(y)), y] -= 1.0
        if scores.shape[1] == 2:
            distances = distances[:, 1:]
        losses: FloatArray = np.square(distances).sum(axis=1)
        return losses

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the stream, if they have probabilities."""
        if scores.shape[1]:
            super().see(y, codes, scores)

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the test split, if they have probabilities."""
        if scores.shape[1]:
            super().test(y, codes, scores)

    def held_out(self, y: Array, codes: Array) -> None:
        """Add nothing: for held-out rows of the test split only the predictions are known."""


class DecisionCost(MeanLoss):
    """`cost` of decisions by a matrix of costs: the mean of what rows cost that stand there.

    Examples
    --------
    >>> scoring = Scoring(measures=("cost",), threshold="0,1;10,0")
    >>> metric = DecisionCost(StreamShape(rows=2, classes=2, scoring=scoring))
    >>> metric.see(np.array([1, 0]), np.array([0, 0]), np.zeros((2, 1)))
    >>> metric.values()
    {'cost': 5.0}
    """

    measure = "cost"

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return bool(costs_of(scoring.threshold))

    def __init__(self, shape: StreamShape) -> None:
        self.always = ("cost",)
        self._costs = np.array(costs_of(shape.scoring.threshold))
        super().__init__(shape)

    def _losses(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        losses: FloatArray = self._costs[y, codes]
        return losses

    def held_out(self, y: Array, codes: Array) -> None:
        """Add held-out rows of the test split."""
        super().held_out(self._costs[y, codes], np.zeros(len(y)))
