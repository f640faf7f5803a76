"""Rates of mistakes in which each row counts by its weight.

Sums grow row by row, so that the additions, and thus the bits, do not depend on the chunks.
"""

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series


def running_sums(before: NDArray[np.float64], terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums after each row; `terms` has shape (rows, sums).

    Examples
    --------
    >>> running_sums(np.array([1.0]), np.array([[2.0], [3.0]]))
    array([[3.],
           [6.]])
    """
    sums: NDArray[np.float64] = np.cumsum(np.vstack([before, terms]), axis=0)[1:]
    return sums


def mistake_terms(wrong: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each row and of its mistake, shape (rows, 2)."""
    return np.column_stack([weights, np.where(wrong, weights, 0.0)])


class WeightedError(Metric):
    """`cumulative_error` with `weighted_measures`: the weight of the mistakes by that of all rows.

    It also has a curve. There are no `mistakes`, which is a count of rows, and no errors by
    segment.

    Examples
    --------
    >>> scoring = Scoring(weights="w", weighted_measures=True)
    >>> metric = WeightedError(StreamShape(rows=2, classes=2, scoring=scoring))
    >>> metric.weigh(np.array([3.0, 1.0]))
    >>> metric.see(np.array([0, 1]), np.array([1, 1]), np.zeros((2, 1)))
    >>> metric.values()
    {'cumulative_error': 0.75}
    """

    weighs_rows = True

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.weighted_measures and not scoring.test_only

    def __init__(self, shape: StreamShape) -> None:
        self._points = shape.points()
        self.sums = {
            "rows": np.zeros(1, dtype=np.int64),
            "weights": np.zeros(2),
            "curve": np.full(len(self._points), np.nan),
        }

    def see(
        self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Add rows of the stream."""
        first = int(self.sums["rows"][0])
        sums = running_sums(
            self.sums["weights"], mistake_terms(codes != y, self.weights_of(len(y)))
        )
        low, high = np.searchsorted(self._points, [first, first + len(y)], side="right")
        reached = sums[self._points[low:high] - first - 1]
        self.sums["curve"][low:high] = rates(reached)
        self.sums["rows"] += len(y)
        if len(sums):
            self.sums["weights"] = sums[-1].copy()

    def values(self) -> dict[str, float]:
        total, wrong = self.sums["weights"].tolist()
        return {"cumulative_error": wrong / total} if total > 0.0 else {}

    def series(self) -> list[Series]:
        """Return the curve from the first row with a weight on."""
        defined = np.isfinite(self.sums["curve"])
        return (
            [Series("cumulative_error", self._points[defined], self.sums["curve"][defined])]
            if defined.any()
            else []
        )


class WeightedWindowError(Metric):
    """`window_error` with `weighted_measures`: of the last `window` rows, each by its weight.

    Each window is summed anew, row by row. A window without weight has no error.
    """

    weighs_rows = True

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.weighted_measures and scoring.window is not None

    def __init__(self, shape: StreamShape) -> None:
        self._window = shape.scoring.window or 1
        self._points = shape.points()
        self.sums = {
            "rows": np.zeros(1, dtype=np.int64),
            "last": np.zeros((0, 2)),  # weights and mistakes of up to a window of the last rows
            "curve": np.full(len(self._points), np.nan),
        }

    def see(
        self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Sum the windows that end at positions of the curve among these rows."""
        first = int(self.sums["rows"][0])
        before = len(self.sums["last"])
        terms = np.vstack([self.sums["last"], mistake_terms(codes != y, self.weights_of(len(y)))])
        low, high = np.searchsorted(self._points, [first, first + len(y)], side="right")
        for i in range(low, high):
            stop = int(self._points[i]) - first + before
            window = running_sums(np.zeros(2), terms[max(0, stop - self._window) : stop])
            self.sums["curve"][i] = rates(window[-1:])[0]
        self.sums["last"] = terms[max(0, len(terms) - self._window) :].copy()
        self.sums["rows"] += len(y)

    def values(self) -> dict[str, float]:
        last = self.sums["last"]
        if not len(last):
            return {}
        error = float(rates(running_sums(np.zeros(2), last)[-1:])[0])
        return {"window_error": error} if np.isfinite(error) else {}

    def series(self) -> list[Series]:
        defined = np.isfinite(self.sums["curve"])
        return [Series("window_error", self._points[defined], self.sums["curve"][defined])]


def rates(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of mistakes in sums of shape (points, 2); NaN before any weight.

    Examples
    --------
    >>> rates(np.array([[4.0, 1.0], [0.0, 0.0]]))
    array([0.25,  nan])
    """
    total, wrong = sums.T
    shares = np.full(len(sums), np.nan)
    np.divide(wrong, total, out=shares, where=total > 0.0)
    return shares
