"""How far probabilities are from frequencies: the expected calibration error."""

from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.tallies import add_to_bins
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.estimates import Estimates, Events, RowSums
from olscale.task import Task

BINS = 15
"""Bins of equal width from 0 to 1."""


class BinSums(RowSums):
    """Sums of probabilities less hits, 1 or 0 a row, in bins of the probability.

    The share of the rows in a bin, times how far its mean probability is from its share of hits, is
    the distance of both sums divided by all rows.
    """

    names: ClassVar[tuple[str, ...]] = ("ece",)
    size = 1 + BINS

    def __init__(self, shape: StreamShape) -> None:
        del shape
        self.base = np.empty(0)  # there is no baseline

    def events(self, y: Array, predicted: Array, baseline: bool) -> Events:
        """Return hits and probabilities."""
        hits = np.require(y, np.float64, ("C", "W"))
        return Events(
            hits,
            np.require(predicted, np.float64, ("C", "W")),
            np.empty((len(hits), 0)),
        )

    def baseline_before(
        self, labels: Array, asked: IntArray, base: Array
    ) -> FloatArray:
        """Return no predictions: there is no baseline."""
        return np.empty((len(asked), 0))

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
        add_to_bins(
            events.y, events.predicted, events.weights, sums, 1.0, marks, values
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
        add_to_bins(
            events.y, events.predicted, events.weights, sums, alpha, marks, values
        )

    def values(self, sums: FloatArray) -> FloatArray:
        """Return the error."""
        rows = sums[:, :1]
        distances = np.abs(sums[:, 1:]).sum(axis=1, keepdims=True)
        errors = np.full_like(rows, np.nan)
        np.divide(distances, rows, out=errors, where=rows > 0.0)
        return errors


class CalibrationError(Estimates):
    """`ece`: the mean distance of probabilities from frequencies, over 15 bins of equal width.

    Of two classes the probability of the second one counts, and how often it is the second one; of
    more classes that of the likeliest class, and how often it is that one.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, On calibration of modern neural networks, ICML 2017,
    equation 3.

    Examples
    --------
    >>> from olscale.evaluation.protocol import Scoring
    >>> shape = StreamShape(rows=4, classes=2, scoring=Scoring(measures=("ece",)))
    >>> metric = CalibrationError(shape)
    >>> metric.see(np.array([0, 1, 1, 1]), np.ones(4, int), np.full((4, 2), 0.5))
    >>> metric.values()
    {'ece': 0.25}
    """

    reads_scores = reads_probabilities = True
    measure = "ece"
    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    def summary(self, shape: StreamShape) -> BinSums:
        """Return sums of bins."""
        return BinSums(shape)

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the stream, if they have probabilities."""
        if scores.shape[1]:
            super().see(*_hits(y, scores), scores)

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the test split, if they have probabilities."""
        if scores.shape[1]:
            super().test(*_hits(y, scores), scores)

    def held_out(self, y: Array, codes: Array) -> None:
        """Add nothing: for held-out rows of the test split only the predictions are known."""


def _hits(y: Array, probabilities: FloatArray) -> tuple[Array, FloatArray]:
    """Return whether rows are of the class whose probability counts, and that probability."""
    if probabilities.shape[1] == 2:
        return y == 1, probabilities[:, 1]
    likeliest = probabilities.argmax(axis=1)
    return y == likeliest, probabilities[np.arange(len(y)), likeliest]
