"""Error on held-out rows, measured after every so many rows of the stream."""

import numpy as np

from olscale.arrays import BoolArray, FloatArray, IntArray
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series

# A point of this curve also serves papers that print errors after so many rows: a published
# cell ``test_error@40`` is the value at row 40, so it needs no form of record of its own.


class HoldoutPlan:
    """When held-out rows of a stream are measured, and which rows of the stream are held out.

    Attributes
    ----------
    at : int64 array
        Numbers of rows of the stream before each measurement.
    """

    def __init__(self, shape: StreamShape) -> None:
        self._every = shape.scoring.holdout_every or 1
        self._held = shape.scoring.holdout_rows or 0
        self._period = self._every + self._held
        measurements = 0
        if shape.scoring.holdout_every:
            measurements = shape.rows // self._period
        self.at = np.arange(measurements, dtype=np.int64) * self._period + self._every

    def numbers(self, row: IntArray) -> IntArray:
        """Return the measurement of each row; -1 for none, as in an incomplete last group."""
        is_complete = row < len(self.at) * self._period
        held = (row % self._period >= self._every) & is_complete
        return np.where(held, row // self._period, -1)

    def last(self, rows: int) -> int:
        """Return the number of the measurement due after so many rows."""
        return rows // self._period - 1


class HoldoutError(Metric):
    """`holdout_error`: error after every `holdout_every` rows on rows that the model never learns.

    These are the test split, or with ``holdout_rows = M`` the next M rows of the stream each time.
    The curve has each measurement at the number of rows before it; the value is their mean.

    References
    ----------
    Gama et al., Machine Learning 90, 2013: the holdout estimator.

    Examples
    --------
    >>> scoring = Scoring(holdout_every=1, holdout_rows=2)
    >>> metric = HoldoutError(StreamShape(rows=4, classes=2, scoring=scoring))
    >>> metric.see(np.array([0, 1, 1, 0]), np.array([1, 1, 0, 1]), np.zeros((4, 1)))
    >>> metric.values(), metric.series()[0].rows
    ({'holdout_error': 0.5}, array([1]))
    """

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.holdout_every is not None

    weighs_rows = True

    def __init__(self, shape: StreamShape) -> None:
        self._plan = HoldoutPlan(shape)
        measurements = len(self._plan.at)
        self.sums = {
            "seen": np.zeros(1, dtype=np.int64),
            "rows": np.zeros(measurements, dtype=shape.count_type),
            "mistakes": np.zeros(measurements, dtype=shape.count_type),
        }

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Count the rows of the stream that are held out."""
        rows = np.arange(len(y)) + self.sums["seen"][0]
        number = self._plan.numbers(rows)
        held = number >= 0
        weights = self.weights_of(len(y))
        if len(weights):
            weights = weights[held]
        wrong = codes != y
        self._count(number[held], wrong[held], weights)
        self.sums["seen"] += len(y)

    def held_out(self, y: IntArray, codes: IntArray) -> None:
        measurement = self._plan.last(int(self.sums["seen"][0]))
        number = np.full(len(y), measurement)
        self._count(number, codes != y, self.weights_of(len(y)))

    def _count(self, number: IntArray, wrong: BoolArray, weights: FloatArray) -> None:
        """Count rows of measurements; each has a weight of 1 if no weights are given."""
        measurements = len(self._plan.at)
        if self._weights is None:
            self.sums["rows"] += np.bincount(number, minlength=measurements)
            self.sums["mistakes"] += np.bincount(number[wrong], minlength=measurements)
        else:  # row by row, so that chunks do not change a bit
            np.add.at(self.sums["rows"], number, weights)
            np.add.at(self.sums["mistakes"], number[wrong], weights[wrong])

    def values(self) -> dict[str, float]:
        """Return the mean of `holdout_error` over the measurements."""
        errors = self.series()[0].values
        if not len(errors):
            return {}
        return {"holdout_error": float(errors.mean())}

    def series(self) -> list[Series]:
        measured = self.sums["rows"] > 0
        return [
            Series(
                "holdout_error",
                self._plan.at[measured],
                self.sums["mistakes"][measured] / self.sums["rows"][measured],
            )
        ]
