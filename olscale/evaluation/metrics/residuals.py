"""How far predicted targets are from the true ones: sums of residuals, and their measures."""

from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.tallies import (
    RESIDUAL_MEASURES,
    add_residuals,
    follow_targets,
    measure_residuals,
)
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.estimates import Estimates, Events, RowSums
from olscale.task import Task


class ResidualSums(RowSums):
    """Sums of ``|e|`` and ``e^2``, ``e = y - prediction``, and those of the mean so far.

    They give `mae`, `rmse` and, with the spread of the targets,
    ``r2 = 1 - sum e^2 / sum (y - mean y)^2``. `rmae` and `rrmse` are `mae` and `rmse` relative to
    those of a learner that predicts the mean of the preceding targets. `epsilon_loss` is the mean
    of ``max(0, |e| - epsilon)``.
    """

    names: ClassVar[tuple[str, ...]] = RESIDUAL_MEASURES
    size = 8

    def __init__(self, shape: StreamShape) -> None:
        self._epsilon = shape.scoring.epsilon
        self.base = np.zeros(2)

    def events(self, y: Array, predicted: Array, baseline: bool) -> Events:
        """Return targets and predictions, with space for the mean so far."""
        room = np.empty(len(y) if baseline else 0)
        return Events(
            np.require(y, np.float64, ("C", "W")),
            np.require(predicted, np.float64, ("C", "W")),
            room,
        )

    def baseline_before(
        self, labels: Array, asked: IntArray, base: Array
    ) -> FloatArray:
        """Return the mean of the targets so far, shape (asked,)."""
        baseline = np.empty(len(asked))
        follow_targets(
            np.require(labels, np.float64, ("C", "W")), asked, base, baseline
        )
        return baseline

    def follow(
        self,
        events: Events,
        base: Array,
        frozen: bool,
        sums: FloatArray,
        marks: IntArray,
        values: FloatArray,
    ) -> None:
        """Add new rows."""
        add_residuals(
            *events, False, base, frozen, sums, 1.0, self._epsilon, marks, values
        )

    def add(
        self,
        events: Events,
        sums: FloatArray,
        alpha: float,
        marks: IntArray,
        values: FloatArray,
    ) -> None:
        """Add rows a second time."""
        add_residuals(
            *events, True, self.base, True, sums, alpha, self._epsilon, marks, values
        )

    def values(self, sums: FloatArray) -> FloatArray:
        """Return the measures."""
        measures = np.empty((len(sums), len(self.names)))
        measure_residuals(sums, measures)
        return measures


class Residuals(Estimates):
    """`mae`, `rmse`, `r2` and others of `ResidualSums`; every run has all forms of `rmse`.

    Examples
    --------
    >>> import numpy as np
    >>> metric = Residuals(StreamShape(rows=2, classes=0, task="regression"))
    >>> metric.see(np.array([1.0, 3.0]), np.array([0.0, 3.0]), np.zeros((2, 1)))
    >>> metric.values()["mae"], metric.values()["r2"]
    (0.5, 0.5)
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression",)
    always = ("rmse",)

    def overflows(self) -> bool:
        """Return whether squares of residuals exceed float64."""
        sums = np.stack([self.sums["stream"], self.sums["test"]])
        rmse = self._summary.values(sums)[:, ResidualSums.names.index("rmse")]
        return bool(np.isinf(rmse).any())

    def summary(self, shape: StreamShape) -> ResidualSums:
        """Return sums of residuals."""
        return ResidualSums(shape)
