"""The metric contract."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.data.feature_names import NAMELESS, FeatureNames
from olscale.evaluation.protocol import PLAIN, Scoring
from olscale.results.record import Series
from olscale.task import Task

CURVE_POINTS = 1000


@dataclass(frozen=True, slots=True)
class StreamShape:
    """What is known of a stream before its first row.

    Attributes
    ----------
    rows : int
        Number of rows.
    classes : int
        Number of classes; 0 in a regression.
    segments : tuple of (str, int)
        Name and first row of each segment, in order; empty when the rows have none or are shuffled.
    scoring : Scoring
        What the protocol asks for beyond plain prequential evaluation.
    task : {"classification", "regression", "novelty"}
        What is predicted.
    targets : tuple of str
        Names of the targets of a row, if there are several; else empty.
    features : FeatureNames
        Names of the features, as the learner gets them.
    labels : tuple
        Labels of the class codes 0, 1, ...
    """

    rows: int
    classes: int
    segments: tuple[tuple[str, int], ...] = ()
    scoring: Scoring = PLAIN
    task: Task = "classification"
    targets: tuple[str, ...] = ()
    features: FeatureNames = NAMELESS
    labels: tuple[int | float | str, ...] = ()

    @property
    def count_type(self) -> type[np.float64] | type[np.int64]:
        """Type of counts of rows: numbers of rows are exact, and sums of weights are not whole."""
        if self.scoring.weighted_measures:
            return np.float64
        return np.int64

    def points(self) -> IntArray:
        """Return at most `CURVE_POINTS` evenly spaced numbers of rows, ending with all rows.

        Examples
        --------
        >>> StreamShape(rows=3, classes=2).points()
        array([1, 2, 3])
        """
        points = min(CURVE_POINTS, self.rows)
        numbers = np.arange(1, points + 1, dtype=np.int64)
        # Rounded up, in whole numbers: a float would be off by one in long streams.
        return -(-numbers * self.rows // max(points, 1))


def points_among(points: IntArray, first: int, rows: int) -> slice:
    """Return which points of a curve are reached in `rows` rows after the first `first` ones.

    Examples
    --------
    >>> points_among(np.array([2, 4, 6]), first=2, rows=3)
    slice(1, 2, None)
    """
    low, high = np.searchsorted(points, [first, first + rows], side="right").tolist()
    return slice(low, high)


class Metric(ABC):
    """Sums over the rows of a run.

    For each row a metric gets the target and the prediction: class codes, where 1 is normal and 0 a
    novelty in novelty detection, or numbers in a regression.

    `see` gets the rows of the stream with the predictions before each update; `held_out` gets test
    rows with the predictions of the model in mid-stream, `test` those of the final model. All sums
    are in `sums`, a dictionary of plain arrays, so that a run can be saved in mid-stream.

    Attributes
    ----------
    reads_scores : bool
        Whether it uses the scores as well as the predicted codes. Class shards, which exchange the
        best class of a row but not all of its scores, require that no metric does.
    reads_probabilities : bool
        Whether it gets class probabilities instead of scores, of shape (rows, classes): the
        learner's own, else calibrated ones; of shape (rows, 0) where there is neither.
    ranks_rows : bool
        Whether it uses scores to rank rows: it gets the learner's ranking scores, if the learner
        has any.
    watches : bool
        Whether `look` observes the model; the run then shares no pass and has no class shards.
    weighs_rows : bool
        Whether it counts rows by the weights that `weigh` passes; a protocol with
        `weighted_measures` allows no other metrics of rows.
    tasks : tuple of str
        The tasks that it can measure.
    measure : str
        The word in a protocol's `measures` that requests it; without one every run has it, unless
        `wanted` is overridden.
    """

    measure: ClassVar[str] = ""
    reads_scores: ClassVar[bool] = False
    reads_probabilities: ClassVar[bool] = False
    ranks_rows: ClassVar[bool] = False
    watches: ClassVar[bool] = False
    weighs_rows: ClassVar[bool] = False
    tasks: ClassVar[tuple[Task, ...]] = ("classification", "novelty")
    sums: dict[str, Array]
    _weights: FloatArray | None = None

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        """Return whether a protocol asks for this metric."""
        return not cls.measure or cls.measure in scoring.measures

    @classmethod
    def meets(cls, shape: StreamShape) -> bool:
        """Return whether it measures the stream: its task fits, and the protocol asks for it."""
        return shape.task in cls.tasks and cls.wanted(shape.scoring)

    @classmethod
    def needs_probabilities(cls, shape: StreamShape) -> bool:
        """Return whether runs on the stream need probabilities of classes for this metric."""
        return cls.reads_probabilities and cls.meets(shape)

    @abstractmethod
    def __init__(self, shape: StreamShape) -> None: ...

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Count rows of the stream: targets, predictions and scores before each update."""
        del y, codes, scores

    def arrive(self, labels: Array, asked: IntArray | None) -> None:
        """Note the labels that arrive while the next rows are predicted.

        Called before `see` when labels do not arrive one by one with its rows: if labels are
        delayed, or rows are held out or not counted.

        Parameters
        ----------
        labels : ndarray of shape (events,) or (events, targets)
            Class codes or targets in the order in which they arrive; `UNKNOWN` or NaN at an event
            that brings none.
        asked : ndarray of shape (rows,), optional
            The event before which each of the rows of the next `see` is predicted. None if there
            are no rows, so that labels of later rows arrive one by one.
        """
        del labels, asked

    def weigh(self, weights: FloatArray) -> None:
        """Note the weights of the rows of the next call to `see`, `test`, `train` or `held_out`.

        Called before each of them if the protocol has `weighted_measures`, and never otherwise.
        """
        self._weights = weights

    def weights_of(self, rows: int) -> FloatArray:
        """Return the weight of each of so many rows; an empty array if all count alike."""
        if self._weights is None:
            return np.empty(0)
        return self._weights[:rows]

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Count test rows: targets, predictions and scores of the final model."""
        del y, codes, scores

    def train(self, y: Array, codes: Array) -> None:
        """Count training rows that are predicted again: targets, predictions of the final model."""
        del y, codes

    def held_out(self, y: Array, codes: Array) -> None:
        """Count test rows: targets, and predictions of the model after the rows counted so far."""
        del y, codes

    def look(
        self, rows: int, model_bytes: float | None, seconds: tuple[float, float]
    ) -> None:
        """Note the model's size after `rows` rows, and the time to predict and to learn one row."""
        del rows, model_bytes, seconds

    def timings(self) -> dict[str, float]:
        """Return measures that depend on the machine, by name; they are kept apart from results."""
        return {}

    def series(self) -> list[Series]:
        """Return the curves along the stream, by name."""
        return []

    def overflows(self) -> bool:
        """Return whether sums exceed float64, so that measures of every run are lost."""
        return False

    @abstractmethod
    def values(self) -> dict[str, float]:
        """Return the metrics by name, without those that were not measured."""
