"""Mistakes before each update: their number, their curve and their share in each segment."""

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring


class Prequential(Metric):
    """`mistakes` (a count) and `cumulative_error` (their fraction of the rows seen).

    They follow Zhou et al. 2016, section 5.2. `WeightedError` takes their place if rows have
    weights.

    The curve has the mistakes after at most 1,000 evenly spaced numbers of rows, ending with all
    rows.

    Examples
    --------
    >>> metric = Prequential(StreamShape(rows=4, classes=2))
    >>> metric.see(np.array([0, 1, 1, 0]), np.array([1, 1, 0, 0]), np.zeros((4, 1)))
    >>> metric.values()
    {'mistakes': 2.0, 'cumulative_error': 0.5}
    >>> metric.curve()
    (array([1, 2, 3, 4]), array([1, 1, 2, 2]))
    """

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return not (scoring.test_only or scoring.weighted_measures)

    def __init__(self, shape: StreamShape) -> None:
        self._points = shape.points()
        self._names = [name for name, _ in shape.segments]
        self._starts = np.array([start for _, start in shape.segments], dtype=np.int64)
        self.sums = {
            "rows": np.zeros(1, dtype=np.int64),
            "mistakes": np.zeros(1, dtype=np.int64),
            "curve": np.zeros(len(self._points), dtype=np.int64),
            "segment_rows": np.zeros(len(self._names), dtype=np.int64),
            "segment_mistakes": np.zeros(len(self._names), dtype=np.int64),
        }

    def see(
        self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Count the rows whose predicted code is not the target."""
        wrong = codes != y
        first = int(self.sums["rows"][0])
        mistakes = int(self.sums["mistakes"][0])
        low, high = np.searchsorted(self._points, [first, first + len(y)], side="right")
        self.sums["curve"][low:high] = (
            mistakes + np.cumsum(wrong)[self._points[low:high] - first - 1]
        )
        if len(self._names):
            segment = (
                np.searchsorted(self._starts, np.arange(first, first + len(y)), side="right") - 1
            )
            self.sums["segment_rows"] += np.bincount(segment, minlength=len(self._names))
            self.sums["segment_mistakes"] += np.bincount(segment[wrong], minlength=len(self._names))
        self.sums["rows"] += len(y)
        self.sums["mistakes"] += int(wrong.sum())

    def values(self) -> dict[str, float]:
        rows = int(self.sums["rows"][0])
        mistakes = int(self.sums["mistakes"][0])
        return {"mistakes": float(mistakes), "cumulative_error": mistakes / rows} if rows else {}

    def curve(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return numbers of rows and the mistakes after each."""
        reached = self._points <= self.sums["rows"][0]
        return self._points[reached], self.sums["curve"][reached]

    def segments(self) -> list[tuple[str, int, int]]:
        """Return name, rows and mistakes of each segment so far."""
        counts = zip(
            self._names, self.sums["segment_rows"], self.sums["segment_mistakes"], strict=True
        )
        return [(name, int(rows), int(mistakes)) for name, rows, mistakes in counts if rows]
