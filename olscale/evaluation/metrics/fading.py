"""Error with fading factors: every row counts a little less with each subsequent row."""

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.metrics.weighted_rates import mistake_terms, rates
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series


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

    def see(
        self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Continue both sums row by row.

        Any other order of the additions would give bits that depend on the chunks.
        """
        if len(y) == 0:
            return
        from scipy.signal import lfilter

        first = int(self.sums["rows"][0])
        weights = np.ones(len(y)) if self._weights is None else self.weights_of(len(y))
        terms = mistake_terms(codes != y, weights).T[::-1]
        sums, self.sums["faded"] = lfilter([1.0], [1.0, -self._alpha], terms, zi=self.sums["faded"])
        low, high = np.searchsorted(self._points, [first, first + len(y)], side="right")
        at = self._points[low:high] - first - 1
        self.sums["curve"][low:high] = rates(sums[::-1, at].T)
        self.sums["rows"] += len(y)

    def values(self) -> dict[str, float]:
        errors = self.series()[0].values
        return {"fading_error": float(errors[-1])} if len(errors) else {}

    def series(self) -> list[Series]:
        reached = np.isfinite(self.sums["curve"]) & (self._points <= self.sums["rows"][0])
        return [Series("fading_error", self._points[reached], self.sums["curve"][reached])]
