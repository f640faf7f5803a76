"""Mistakes before each update: their number, curve and segments, or their share by weights."""

import numpy as np

from olscale.arrays import BoolArray, FloatArray, IntArray
from olscale.evaluation.metrics.base import Metric, StreamShape, points_among
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series

_SPARSE_POINTS = 2048
"""Rows per point from which counting each piece is faster than a running sum over all rows."""


def _counts_before(ends: IntArray, wrong: BoolArray) -> IntArray:
    """Return how many of the first rows are wrong, for each number of rows in `ends`."""
    if len(ends) * _SPARSE_POINTS > len(wrong):
        counts: IntArray = np.cumsum(wrong, dtype=np.int64)[ends - 1]
        return counts
    starts = [0, *ends[:-1]]
    pieces = [
        np.count_nonzero(wrong[start:end])
        for start, end in zip(starts, ends, strict=False)
    ]
    return np.cumsum(pieces, dtype=np.int64)


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

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Count the rows whose predicted code is not the target."""
        wrong = codes != y
        first = int(self.sums["rows"][0])
        mistakes = int(self.sums["mistakes"][0])
        reached = points_among(self._points, first, len(y))
        ends = self._points[reached] - first
        self.sums["curve"][reached] = mistakes + _counts_before(ends, wrong)
        if len(self._names):
            numbers = np.arange(first, first + len(y))
            segment = np.searchsorted(self._starts, numbers, side="right") - 1
            count = len(self._names)
            self.sums["segment_rows"] += np.bincount(segment, minlength=count)
            self.sums["segment_mistakes"] += np.bincount(
                segment[wrong], minlength=count
            )
        self.sums["rows"] += len(y)
        self.sums["mistakes"] += np.count_nonzero(wrong)

    def values(self) -> dict[str, float]:
        rows = int(self.sums["rows"][0])
        mistakes = int(self.sums["mistakes"][0])
        if not rows:
            return {}
        return {"mistakes": float(mistakes), "cumulative_error": mistakes / rows}

    def curve(self) -> tuple[IntArray, IntArray]:
        """Return numbers of rows and the mistakes after each."""
        reached = self._points <= self.sums["rows"][0]
        return self._points[reached], self.sums["curve"][reached]

    def segments(self) -> list[tuple[str, int, int]]:
        """Return name, rows and mistakes of each segment so far."""
        counts = zip(
            self._names,
            self.sums["segment_rows"],
            self.sums["segment_mistakes"],
            strict=True,
        )
        return [
            (name, int(rows), int(mistakes)) for name, rows, mistakes in counts if rows
        ]


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

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Add rows of the stream."""
        first = int(self.sums["rows"][0])
        terms = mistake_terms(codes != y, self.weights_of(len(y)))
        sums = running_sums(self.sums["weights"], terms)
        reached = points_among(self._points, first, len(y))
        at = self._points[reached] - first - 1
        self.sums["curve"][reached] = rates(sums[at])
        self.sums["rows"] += len(y)
        if len(sums):
            self.sums["weights"] = sums[-1].copy()

    def values(self) -> dict[str, float]:
        total, wrong = self.sums["weights"].tolist()
        if total > 0.0:
            return {"cumulative_error": wrong / total}
        return {}

    def series(self) -> list[Series]:
        """Return the curve from the first row with a weight on."""
        defined = np.isfinite(self.sums["curve"])
        if not defined.any():
            return []
        return [
            Series(
                "cumulative_error", self._points[defined], self.sums["curve"][defined]
            )
        ]


def running_sums(before: FloatArray, terms: FloatArray) -> FloatArray:
    """Return the sums after each row; `terms` has shape (rows, sums).

    Examples
    --------
    >>> running_sums(np.array([1.0]), np.array([[2.0], [3.0]]))
    array([[3.],
           [6.]])
    """
    sums: FloatArray = np.cumsum(np.vstack([before, terms]), axis=0)[1:]
    return sums


def mistake_terms(wrong: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the weight of each row and of its mistake, shape (rows, 2)."""
    return np.column_stack([weights, np.where(wrong, weights, 0.0)])


def rates(sums: FloatArray) -> FloatArray:
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
