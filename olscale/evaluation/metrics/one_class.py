"""Measures of one class against all others, named by its label."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.tallies import FADED
from olscale.evaluation.class_options import label_text
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.metrics.class_measures import ClassCounts
from olscale.evaluation.metrics.estimates import Estimates
from olscale.evaluation.metrics.kept_rows import EveryRow
from olscale.evaluation.protocol import Scoring
from olscale.measures import OF_CLASSES, label_of
from olscale.results.record import Series
from olscale.task import Task

_RANKED = "average_precision"


def class_of(shape: StreamShape, label: str) -> int:
    """Return the code of the class of a label's text; without one, that of the positive class.

    Raises
    ------
    ValueError
        If there is no such class; a plan refuses such a protocol before.

    Examples
    --------
    >>> class_of(StreamShape(rows=1, classes=2, labels=("ham", "spam")), "ham")
    0
    """
    text = label or shape.scoring.positive
    if text is None and shape.classes == 2:
        return 1
    texts = [label_text(known) for known in shape.labels or range(shape.classes)]
    return texts.index(text)


def _requested(scoring: Scoring, ranked: bool) -> Iterator[str]:
    """Yield the names of measures of one class, of those that rank rows or of the others."""
    for name in scoring.measures:
        base = name.partition(":")[0]
        if base in OF_CLASSES and (base == _RANKED) == ranked:
            yield name


class OneClassCounts(ClassCounts):
    """Counts of all classes, and precision, recall and F1 of those that a protocol names."""

    def __init__(self, shape: StreamShape) -> None:
        super().__init__(shape)
        self.names = tuple(_requested(shape.scoring, ranked=False))  # type: ignore[misc,assignment]
        self._codes = [class_of(shape, label_of(name)) for name in self.names]
        self._classes = shape.classes

    def values(self, sums: FloatArray) -> FloatArray:
        """Return the measures; NaN where the class was never met, or never predicted."""
        measures = np.full((len(sums), len(self.names)), np.nan)
        for column, (name, code) in enumerate(
            zip(self.names, self._codes, strict=True)
        ):
            hits = sums[:, 3 + code]
            true = sums[:, 3 + self._classes + code]
            predicted = sums[:, 3 + 2 * self._classes + code]
            numerator = hits
            denominator = predicted
            if name.startswith("recall"):
                denominator = true
            elif name.startswith("f1"):
                numerator = 2.0 * hits
                denominator = true + predicted
            defined = denominator > FADED
            np.divide(numerator, denominator, out=measures[:, column], where=defined)
        return measures


class OneClass(Estimates):
    """`precision`, `recall` and `f1` of the positive class, or of any as ``recall:LABEL``.

    They are scikit-learn's. One whose denominator is 0 is absent.

    Examples
    --------
    >>> scoring = Scoring(measures=("precision:spam", "recall:spam"))
    >>> labels = ("ham", "spam")
    >>> metric = OneClass(StreamShape(rows=4, classes=2, scoring=scoring, labels=labels))
    >>> metric.see(np.array([0, 1, 1, 1]), np.array([1, 1, 0, 0]), np.zeros((4, 1)))
    >>> {name: round(value, 3) for name, value in metric.values().items()}
    {'precision:spam': 0.5, 'recall:spam': 0.333}
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return any(_requested(scoring, ranked=False))

    def summary(self, shape: StreamShape) -> OneClassCounts:
        """Return counts of classes."""
        return OneClassCounts(shape)


class _AveragePrecision(EveryRow):
    """Average precision of the class `code`, by a column of its scores."""

    width = 2

    def __init__(self, shape: StreamShape, name: str, code: int) -> None:
        self.name = name  # type: ignore[misc]
        self._code = code
        self._is_binary = shape.classes == 2
        super().__init__(shape)

    def _kept(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        column = scores[:, 0]
        if not self._is_binary:
            column = scores[:, self._code]
        elif self._code == 0:  # scores are those of the second class
            column = -column
        return np.stack([column, y == self._code], axis=1)

    def _value(self, rows: FloatArray) -> float:
        weights = np.ones(len(rows))
        if rows.shape[1] > self.width:
            weights = rows[:, 2]
        return average_precision(rows[:, 0], rows[:, 1], weights)


class AveragePrecision(Metric):
    """`average_precision` of the positive class, or of any as ``average_precision:LABEL``.

    It is scikit-learn's: the mean precision over the rows of the class, each with all rows that are
    scored as high as it. Rows of two classes go by their scores, as for `auc`, rows of more classes
    by the probability of the class. It keeps 16 bytes per row and class.

    Examples
    --------
    >>> scoring = Scoring(measures=("average_precision",))
    >>> metric = AveragePrecision(StreamShape(rows=3, classes=2, scoring=scoring))
    >>> metric.see(np.array([1, 0, 1]), np.zeros(3), np.array([[2.0], [1.0], [0.0]]))
    >>> round(metric.values()["average_precision"], 4)
    0.8333
    """

    reads_scores = reads_probabilities = ranks_rows = weighs_rows = True
    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return any(_requested(scoring, ranked=True))

    @classmethod
    def needs_probabilities(cls, shape: StreamShape) -> bool:
        """Return whether there are more than two classes."""
        return shape.classes > 2 and cls.meets(shape)

    def __init__(self, shape: StreamShape) -> None:
        self.reads_probabilities = shape.classes > 2  # type: ignore[misc]
        self._parts = [
            _AveragePrecision(shape, name, class_of(shape, label_of(name)))
            for name in _requested(shape.scoring, ranked=True)
        ]

    @property
    def sums(self) -> dict[str, Array]:
        """All arrays, with names that begin with the number of the measure."""
        return {
            f"{i}/{name}": array
            for i, part in enumerate(self._parts)
            for name, array in part.sums.items()
        }

    @sums.setter
    def sums(self, sums: dict[str, Array]) -> None:
        for i, part in enumerate(self._parts):
            mark = f"{i}/"
            part.sums = {
                name.removeprefix(mark): array
                for name, array in sums.items()
                if name.startswith(mark)
            }

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        if scores.shape[1]:
            for part in self._parts:
                part.see(y, codes, scores)

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        if scores.shape[1]:
            for part in self._parts:
                part.test(y, codes, scores)

    def weigh(self, weights: FloatArray) -> None:
        for part in self._parts:
            part.weigh(weights)

    def values(self) -> dict[str, float]:
        return {
            name: value for part in self._parts for name, value in part.values().items()
        }

    def series(self) -> list[Series]:
        return [series for part in self._parts for series in part.series()]


def average_precision(
    scores: FloatArray, hits: FloatArray, weights: FloatArray
) -> float:
    """Return the average precision of rows; NaN if none is a hit.

    Examples
    --------
    >>> average_precision(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0]), np.ones(3))
    0.5833333333333333
    """
    order = np.argsort(-scores, kind="stable")
    # Rows of equal scores cannot be told apart, so precision counts where scores change.
    ends: IntArray = np.flatnonzero(np.append(np.diff(scores[order]) != 0.0, True))
    hits_so_far = np.cumsum((weights * hits)[order])[ends]
    rows = np.cumsum(weights[order])[ends]
    if not hits_so_far[-1] > 0.0:
        return np.nan
    precision = np.divide(hits_so_far, rows, out=np.zeros(len(rows)), where=rows > 0.0)
    return float(
        (np.diff(hits_so_far, prepend=0.0) * precision).sum() / hits_so_far[-1]
    )
