"""How well scores rank rows of two classes: the ROC curve and the area under it."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.kept_rows import EveryRow
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series
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

    def _kept(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        return np.stack([scores[:, 0], y], axis=1)

    def _value(self, rows: FloatArray) -> float:
        if rows.shape[1] > self.width:
            return _weighted_auc(*rows.T)
        scores, codes = rows.T
        high = np.sort(scores[codes == 1])
        low = np.sort(scores[codes == 0])
        pairs = len(high) * len(low)
        if not pairs:
            return np.nan
        # A tie is below on one side only, and so counts half.
        below = np.searchsorted(low, high, "left").sum()
        not_above = np.searchsorted(low, high, "right").sum()
        return float(below + not_above) / (2 * pairs)


def _weighted_auc(score: FloatArray, code: FloatArray, weight: FloatArray) -> float:
    """Return the weighted share of pairs whose row of class 1 has the higher score.

    Ties count 1/2.
    """
    low = np.flatnonzero(code == 0)
    low = low[np.argsort(score[low], kind="stable")]
    below = np.concatenate([[0.0], np.cumsum(weight[low])])
    high = code == 1
    pairs = weight[high].sum() * below[-1]
    sides = (
        below[np.searchsorted(score[low], score[high], side)]
        for side in ("left", "right")
    )
    # Sums without BLAS, whose bits depend on the number of threads.
    won = sum(float((weight[high] * of_side).sum()) for of_side in sides)
    if pairs > 0.0:
        return won / (2.0 * float(pairs))
    return np.nan


POINTS = 200


class Roc(EveryRow):
    """`roc` of the stream, by the scores before each update, and `test_roc`, with up to 200 points.

    Positions are numbers of false positives, from 0 to all negative rows, instead of rows of the
    stream; the value is the largest true positive rate at that number. Positives are rows of class
    1, or novelties in novelty detection.

    Examples
    --------
    >>> from olscale.evaluation.protocol import Scoring
    >>> metric = Roc(StreamShape(rows=4, classes=2, scoring=Scoring(measures=("roc",))))
    >>> metric.test(np.array([1, 0, 1, 0]), np.zeros(4), np.array([[2.0], [1.0], [0.5], [-3.0]]))
    >>> metric.series()
    [Series(name='test_roc', rows=array([0, 1, 2]), values=array([0.5, 1. , 1. ]))]
    """

    name = "roc"
    width = 2
    reads_scores = ranks_rows = True
    tasks = ("novelty", "classification")

    @classmethod
    def meets(cls, shape: StreamShape) -> bool:
        """Return whether there are two classes and the protocol asks for the curve."""
        return (
            shape.task in cls.tasks and shape.classes == 2 and cls.wanted(shape.scoring)
        )

    def __init__(self, shape: StreamShape) -> None:
        # Windows have no curve: a curve would have to be kept for each of them.
        scoring = replace(shape.scoring, window=None)
        super().__init__(replace(shape, scoring=scoring))
        # A novelty has code 0 and a low score.
        is_novelty = shape.task == "novelty"
        self._sign = -1.0 if is_novelty else 1.0
        self._positive = 0 if is_novelty else 1

    def _kept(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        return np.stack([self._sign * scores[:, 0], y == self._positive], axis=1)

    def _value(self, rows: FloatArray) -> float:
        return np.nan  # a curve is not a number

    def series(self) -> list[Series]:
        """Return both curves, if there are rows of both classes."""
        parts = {"roc": self._seen(), "test_roc": self.sums["test"]}
        return [
            Series(name, *_curve(rows))
            for name, rows in parts.items()
            if 0.0 < rows[:, 1].sum() < len(rows)
        ]


def _curve(rows: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return false positives and true positive rates; `rows` has scores and whether positive."""
    scores, positive = rows[np.argsort(-rows[:, 0], kind="stable")].T
    # Rows of equal scores cannot be distinguished, so points lie between different scores.
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    true_positives = np.append(0, np.cumsum(positive)[ends].astype(np.int64))
    false = np.append(0, ends + 1) - true_positives
    most = np.append(false[1:] > false[:-1], True)
    false = false[most]
    share = true_positives[most] / true_positives[-1]
    arc_length = false / false[-1] + share
    if len(false) <= POINTS:
        return false, share
    # Evenly along the curve, which is steep at its beginning.
    steps = np.linspace(arc_length[0], arc_length[-1], POINTS)
    nearest = np.searchsorted(arc_length, steps).clip(max=len(arc_length) - 1)
    picked = np.unique(nearest)
    return false[picked], share[picked]
