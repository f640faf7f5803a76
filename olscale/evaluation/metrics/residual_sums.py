"""Sums of residuals, and what follows from them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.tallies import (
    ABSOLUTE,
    BEYOND,
    DULL_ABSOLUTE,
    DULL_SQUARED,
    SPREAD,
    SQUARED,
    add_residuals,
    follow_targets,
)
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.summary import Events, Summary, ratio


class ResidualSums(Summary):
    """Sums of ``|e|`` and ``e^2`` with ``e = y - prediction``, of those of the mean so far, and the spread of the targets.

    `mae`, `rmse` and ``r2 = 1 - sum e^2 / sum (y - mean y)^2``; `rmae` and `rrmse` are `mae` and `rmse` beside those of a
    learner that predicts the mean of the targets before each; `epsilon_loss` is the mean of ``max(0, |e| - epsilon)``.
    """

    size = 8

    def __init__(self, shape: StreamShape) -> None:
        self._epsilon = shape.scoring.epsilon
        self.base = np.zeros(2)

    def events(self, y: NDArray[Any], predicted: NDArray[Any], base: NDArray[Any], frozen: bool = False) -> Events:
        """Return targets and predictions with the mean so far."""
        found = Events(np.array(y, np.float64), np.array(predicted, np.float64), np.empty(len(y)))
        follow_targets(found.y, base, frozen, found.dull)
        return found

    def add(
        self,
        events: Events,
        sums: NDArray[np.float64],
        alpha: float,
        marks: NDArray[np.int64],
        found: NDArray[np.float64],
    ) -> None:
        """Add rows."""
        add_residuals(*events, sums, alpha, self._epsilon, marks, found)

    def values(self, sums: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the measures; each is NaN where its denominator is 0."""
        rows, squared = sums[..., 0], sums[..., SQUARED]
        return {
            "mae": ratio(sums[..., ABSOLUTE], rows),
            "rmse": ratio(squared, rows) ** 0.5,
            "r2": 1.0 - ratio(squared, sums[..., SPREAD]),
            "rmae": ratio(sums[..., ABSOLUTE], sums[..., DULL_ABSOLUTE]),
            "rrmse": ratio(squared, sums[..., DULL_SQUARED]) ** 0.5,
            "epsilon_loss": ratio(sums[..., BEYOND], rows),
        }
