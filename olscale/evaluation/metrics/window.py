"""Error over a sliding window of the last rows."""

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series


class WindowError(Metric):
    """`window_error`: the fraction of wrong predictions in the last `window` rows.

    With fewer rows it is the fraction of all rows. `WeightedWindowError` takes its place if rows
    have weights.

    Requested by ``window = N``. The value is that at the end of the stream; the curve has the
    positions of the curve of mistakes.

    References
    ----------
    J. Gama, R. Sebastiao, P. P. Rodrigues, On evaluating stream learning algorithms,
    Machine Learning 90, 2013.

    Examples
    --------
    >>> metric = WindowError(StreamShape(rows=4, classes=2, scoring=Scoring(window=2)))
    >>> metric.see(np.array([0, 1, 1, 0]), np.array([1, 1, 0, 1]), np.zeros((4, 1)))
    >>> metric.values(), metric.series()[0].values
    ({'window_error': 1.0}, array([1. , 0.5, 0.5, 1. ]))
    """

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.window is not None and not scoring.weighted_measures

    def __init__(self, shape: StreamShape) -> None:
        self._window = shape.scoring.window or 1
        self._points = shape.points()
        self.sums = {
            "rows": np.zeros(1, dtype=np.int64),
            "last": np.zeros(0, dtype=np.uint8),  # mistakes in up to a window of the last rows
            "curve": np.zeros(len(self._points), dtype=np.int64),
        }

    def see(
        self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Count the mistakes in the windows that end at positions of the curve among these rows."""
        first = int(self.sums["rows"][0])
        last = self.sums["last"]
        wrong = np.concatenate([last, (codes != y).astype(np.uint8)])
        # Sums of mistakes before each row give any window as a difference.
        before = np.concatenate([[0], np.cumsum(wrong, dtype=np.int64)])
        low, high = np.searchsorted(self._points, [first, first + len(y)], side="right")
        stop = self._points[low:high] - first + len(last)
        self.sums["curve"][low:high] = before[stop] - before[np.maximum(0, stop - self._window)]
        self.sums["last"] = wrong[max(0, len(wrong) - self._window) :]
        self.sums["rows"] += len(y)

    def values(self) -> dict[str, float]:
        last = self.sums["last"]
        return {"window_error": int(last.sum()) / len(last)} if len(last) else {}

    def series(self) -> list[Series]:
        at = self._points[self._points <= self.sums["rows"][0]]
        return [
            Series("window_error", at, self.sums["curve"][: len(at)] / np.minimum(at, self._window))
        ]
