"""How well scores rank rows of two classes: the area under the ROC curve."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.kept_rows import EveryRow
from olscale.evaluation.protocol import Scoring
from olscale.task import Task


class Ranking(EveryRow):
    """`auc`: the share of pairs in which the row of class 1 has a higher score than one of class 0.

    Ties count 1/2. If rows have weights, a pair counts by the product of both. In novelty
    detection, where every run has `test_auc`, the classes are normal rows and novelties. On the
    stream it uses the scores before each update.

    References
    ----------
    D. Brzezinski, J. Stefanowski, Prequential AUC: properties of the area under the ROC curve for
    data streams with concept drift, Knowledge and Information Systems 52, 2017: `window_auc`.

    Examples
    --------
    >>> metric = Ranking(StreamShape(rows=4, classes=2, task="novelty"))
    >>> metric.test(np.array([1, 0, 1, 0]), np.zeros(4), np.array([[2.0], [1.0], [1.0], [-3.0]]))
    >>> metric.values()
    {'test_auc': 0.875}
    """

    name = "auc"
    width = 2
    reads_scores = ranks_rows = weighs_rows = True
    tasks: ClassVar[tuple[Task, ...]] = ("novelty", "classification")

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return True

    @classmethod
    def meets(cls, shape: StreamShape) -> bool:
        """Return whether the task is novelty detection, or has two classes and asks for `auc`."""
        requested = shape.classes == 2 and cls.name in shape.scoring.measures
        return shape.task == "novelty" or (shape.task == "classification" and requested)

    def _kept(
        self, y: NDArray[Any], codes: NDArray[Any], scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return np.stack([scores[:, 0], y], axis=1)

    def _value(self, rows: NDArray[np.float64]) -> float:
        if rows.shape[1] > self.width:
            return _weighted_auc(*rows.T)
        high, low = (np.sort(rows[rows[:, 1] == code, 0]) for code in (1, 0))
        pairs = len(high) * len(low)
        below = (np.searchsorted(low, high, side).sum() for side in ("left", "right"))
        return float(sum(below)) / (2 * pairs) if pairs else np.nan


def _weighted_auc(
    score: NDArray[np.float64], code: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    """Return the weighted share of pairs whose row of class 1 has the higher score.

    Ties count 1/2.
    """
    low = np.flatnonzero(code == 0)
    low = low[np.argsort(score[low], kind="stable")]
    below = np.concatenate([[0.0], np.cumsum(weight[low])])
    high = code == 1
    pairs = weight[high].sum() * below[-1]
    sides = (below[np.searchsorted(score[low], score[high], side)] for side in ("left", "right"))
    # Sums without BLAS, whose bits depend on the number of threads.
    won = sum(float((weight[high] * of_side).sum()) for of_side in sides)
    return won / (2.0 * float(pairs)) if pairs > 0.0 else np.nan
