"""Error on held-out rows every so many rows of the stream."""

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series


class HoldoutError(Metric):
    """`holdout_error`: error of the model as it is after every `holdout_every` rows, on rows that it does not learn from.

    Those are the test split, or with ``holdout_rows = M`` the next M rows of the stream each time. The curve has each
    measurement at the number of rows that came before it; the value is their mean.

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

    def __init__(self, shape: StreamShape) -> None:
        every, self._held = shape.scoring.holdout_every or 1, shape.scoring.holdout_rows or 0
        period = every + self._held
        whole = shape.rows // period
        self._at = np.arange(whole, dtype=np.int64) * period + every
        self._period, self._every = period, every
        self.sums = {
            "seen": np.zeros(1, dtype=np.int64),
            "rows": np.zeros(whole, dtype=np.int64),
            "mistakes": np.zeros(whole, dtype=np.int64),
        }

    def see(self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Count those of the stream's rows that are held out; a last, shorter group of them is left out."""
        row = np.arange(len(y)) + self.sums["seen"][0]
        if self._held:
            held = (row % self._period >= self._every) & (row < len(self._at) * self._period)
            self._count(row[held] // self._period, (codes != y)[held])
        self.sums["seen"] += len(y)

    def held_out(self, y: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        self._count(np.full(len(y), self.sums["seen"][0] // self._period - 1), codes != y)

    def _count(self, point: NDArray[np.int64], wrong: NDArray[np.bool_]) -> None:
        self.sums["rows"] += np.bincount(point, minlength=len(self._at))
        self.sums["mistakes"] += np.bincount(point[wrong], minlength=len(self._at))

    def values(self) -> dict[str, float]:
        """Return the mean of `holdout_error` over the measurements."""
        errors = self.series()[0].values
        return {"holdout_error": float(errors.mean())} if len(errors) else {}

    def series(self) -> list[Series]:
        known = self.sums["rows"] > 0
        return [Series("holdout_error", self._at[known], self.sums["mistakes"][known] / self.sums["rows"][known])]
