"""The error of the latest rows: over a sliding window, or with earlier rows fading."""

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.evaluation.metrics.base import Metric, StreamShape, points_among
from olscale.evaluation.metrics.prequential import mistake_terms, rates, running_sums
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
            # mistakes in up to a window of the last rows
            "last": np.zeros(0, dtype=np.uint8),
            "curve": np.zeros(len(self._points), dtype=np.int64),
        }

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Count the mistakes in the windows that end at positions of the curve among these rows."""
        first = int(self.sums["rows"][0])
        last = self.sums["last"]
        wrong = np.concatenate([last, (codes != y).astype(np.uint8)])
        # Sums of mistakes before each row give any window as a difference.
        before = np.concatenate([[0], np.cumsum(wrong, dtype=np.int64)])
        reached = points_among(self._points, first, len(y))
        stop = self._points[reached] - first + len(last)
        start = np.maximum(0, stop - self._window)
        self.sums["curve"][reached] = before[stop] - before[start]
        self.sums["last"] = wrong[max(0, len(wrong) - self._window) :]
        self.sums["rows"] += len(y)

    def values(self) -> dict[str, float]:
        last = self.sums["last"]
        if not len(last):
            return {}
        return {"window_error": int(last.sum()) / len(last)}

    def series(self) -> list[Series]:
        at = self._points[self._points <= self.sums["rows"][0]]
        mistakes = self.sums["curve"][: len(at)]
        # The first windows are shorter.
        return [Series("window_error", at, mistakes / np.minimum(at, self._window))]


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
            # weights and mistakes of up to a window of the last rows
            "last": np.zeros((0, 2)),
            "curve": np.full(len(self._points), np.nan),
        }

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Sum the windows that end at positions of the curve among these rows."""
        first = int(self.sums["rows"][0])
        before = len(self.sums["last"])
        new_terms = mistake_terms(codes != y, self.weights_of(len(y)))
        terms = np.vstack([self.sums["last"], new_terms])
        reached = points_among(self._points, first, len(y))
        for i in range(reached.start, reached.stop):
            stop = int(self._points[i]) - first + before
            window = terms[max(0, stop - self._window) : stop]
            # Summed anew: subtracting old rows from a running sum would leave rounding behind.
            self.sums["curve"][i] = rates(running_sums(np.zeros(2), window)[-1:])[0]
        # A view of the terms would keep all of them in memory.
        self.sums["last"] = terms[max(0, len(terms) - self._window) :].copy()
        self.sums["rows"] += len(y)

    def values(self) -> dict[str, float]:
        last = self.sums["last"]
        if not len(last):
            return {}
        total = running_sums(np.zeros(2), last)[-1:]
        error = float(rates(total)[0])
        if not np.isfinite(error):
            return {}
        return {"window_error": error}

    def series(self) -> list[Series]:
        defined = np.isfinite(self.sums["curve"])
        return [
            Series("window_error", self._points[defined], self.sums["curve"][defined])
        ]


class FadingError(Metric):
    """`fading_error`: ``S_t / N_t``, ``S_t = e_t + alpha S_{t-1}``, ``N_t = 1 + alpha N_{t-1}``.

    e_t is 1 for a mistake and 0 otherwise; if rows have weights, w_t replaces each 1. Requested by
    ``fading = alpha``; the error covers about the last ``1 / (1 - alpha)`` rows. The value is that
    at the end of the stream; the curve has the positions of the curve of mistakes.

    References
    ----------
    Gama et al., Machine Learning 90, 2013.

    Examples
    --------
    >>> metric = FadingError(StreamShape(rows=3, classes=2, scoring=Scoring(fading=0.5)))
    >>> metric.see(np.array([0, 1, 1]), np.array([1, 1, 1]), np.zeros((3, 1)))
    >>> metric.values()["fading_error"] == 0.25 / (1 + 0.5 + 0.25)
    True
    """

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.fading is not None

    weighs_rows = True

    def __init__(self, shape: StreamShape) -> None:
        self._alpha = shape.scoring.fading or 0.0
        self._points = shape.points()
        self.sums = {
            "rows": np.zeros(1, dtype=np.int64),
            "faded": np.zeros((2, 1)),  # alpha times the sums S and N
            "curve": np.full(len(self._points), np.nan),
        }

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Continue both sums row by row.

        Any other order of the additions would give bits that depend on the chunks.
        """
        if len(y) == 0:
            return
        from scipy.signal import lfilter

        first = int(self.sums["rows"][0])
        weights = np.ones(len(y)) if self._weights is None else self.weights_of(len(y))
        terms = mistake_terms(codes != y, weights).T[::-1]
        sums, faded = lfilter([1.0], [1.0, -self._alpha], terms, zi=self.sums["faded"])
        self.sums["faded"] = faded
        reached = points_among(self._points, first, len(y))
        at = self._points[reached] - first - 1
        self.sums["curve"][reached] = rates(sums[::-1, at].T)
        self.sums["rows"] += len(y)

    def values(self) -> dict[str, float]:
        errors = self.series()[0].values
        if not len(errors):
            return {}
        return {"fading_error": float(errors[-1])}

    def series(self) -> list[Series]:
        reached = np.isfinite(self.sums["curve"]) & (
            self._points <= self.sums["rows"][0]
        )
        return [
            Series("fading_error", self._points[reached], self.sums["curve"][reached])
        ]
