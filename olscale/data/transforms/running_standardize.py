"""Standardizing with the mean and the deviation of the rows so far."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.data.transforms.base import FloatArray
from olscale.data.transforms.streaming import StreamingTransform


@compiled
def _scale(X: Any, trains: Any, count: Any, mean: Any, squares: Any, out: Any) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            if not abs(value) < np.inf:  # missing values stay missing, and an infinity ends the run
                out[i, j] = value
                continue
            if trains[i]:
                before = mean[j]
                count[j] += 1.0
                mean[j] += (value - before) / count[j]
                squares[j] += (value - before) * (value - mean[j])
            if squares[j] == np.inf:
                out[i, j] = np.inf
            else:
                out[i, j] = (
                    (value - mean[j]) / np.sqrt(squares[j] / count[j]) if squares[j] > 0.0 else 0.0
                )


class RunningStandardize(StreamingTransform):
    """Zero mean and unit variance of each feature over the rows so far, including this one.

    A feature is 0 before it varies. The variance is that of the population, by Welford's
    recurrence; missing values (NaN) are ignored and stay missing. River's ``StandardScaler`` gives
    these numbers when it learns a row before transforming it.

    Examples
    --------
    >>> step = RunningStandardize()
    >>> step.begin(1)
    >>> step.learn(np.array([[1.0], [3.0], [5.0]]), 1, np.array([True, True, False]))[:, 0]
    array([0., 1., 3.])
    """

    name = "running-standardize"
    keeps_missing = True

    def begin(self, columns: int) -> None:
        self.learned = {
            "count": np.zeros(columns),
            "mean": np.zeros(columns),
            "squares": np.zeros(columns),
        }

    def learn(self, X: FloatArray, columns: int, trains: NDArray[np.bool_]) -> FloatArray:
        scaled = np.empty(X.shape)
        _scale(
            X, trains, self.learned["count"], self.learned["mean"], self.learned["squares"], scaled
        )
        return scaled
