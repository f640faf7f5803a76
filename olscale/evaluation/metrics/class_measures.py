"""Counts of actual, predicted and correctly predicted classes, and the measures based on them."""

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.class_totals import add_class_totals, open_counts
from olscale.compiled.tallies import (
    CLASS_MEASURES,
    count_classes,
    follow_classes,
    measure_classes,
)
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.estimates import Estimates, Events, RowSums

# Margins, not a matrix: all these measures need only the hits, the true and the predicted
# rows of each class, so 1,000 classes cost 3,003 numbers in place of a million.


class ClassCounts(RowSums):
    """The diagonal and the margins of the confusion matrix, and the hits of two trivial baselines.

    No measure here needs more of the matrix, so a thousand classes do not take a million counts.
    Averages over classes follow scikit-learn: over the actual classes (`balanced_accuracy`), or the
    actual and predicted ones (``macro_``).

    References
    ----------
    J. Cohen, A coefficient of agreement for nominal scales, 1960 (kappa). A. Bifet et al.,
    Efficient online evaluation of big data stream classifiers, KDD 2015 (kappa-M). I. Zliobaite et
    al., Evaluation methods and decision theory for classification of streaming data with temporal
    dependence, Machine Learning 98, 2015 (kappa-temporal).
    """

    names = CLASS_MEASURES

    def __init__(self, shape: StreamShape) -> None:
        self._costs = np.array(shape.scoring.costs, dtype=np.float64)
        self.size = 3 + 3 * shape.classes
        # Before the first label both predict the first class, as `majority` and `no-change` do.
        self.base = np.zeros(2 + shape.classes, dtype=np.int64)

    def events(self, y: Array, predicted: Array, baseline: bool) -> Events:
        """Return class codes, with space for the majority class so far and the previous class."""
        room = np.empty((len(y) if baseline else 0, 2), np.int64)
        return Events(_codes(y), _codes(predicted), room)

    def baseline_before(self, labels: Array, asked: IntArray, base: Array) -> IntArray:
        """Return the majority class and the previous class, shape (asked, 2)."""
        baseline = np.empty((len(asked), 2), dtype=np.int64)
        follow_classes(_codes(labels), asked, base, baseline)
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
        """Count new rows."""
        if not len(events.baseline) and not len(marks) and not len(events.weights):
            counts = open_counts(len(base) - 2)
            add_class_totals(events.y, events.predicted, base, frozen, sums, counts)
        else:
            count_classes(*events, False, base, frozen, sums, 1.0, marks, values)

    def add(
        self,
        events: Events,
        sums: FloatArray,
        alpha: float,
        marks: IntArray,
        values: FloatArray,
    ) -> None:
        """Count rows a second time."""
        count_classes(*events, True, self.base, True, sums, alpha, marks, values)

    def values(self, sums: FloatArray) -> FloatArray:
        """Return the measures."""
        measures = np.empty((len(sums), len(self.names)))
        measure_classes(sums, self._costs, measures)
        return measures


def _codes(codes: Array) -> IntArray:
    """Return codes in an array that can be written to: others would compile another loop."""
    flags = codes.flags
    if codes.dtype == np.int64 and flags.c_contiguous and flags.writeable:
        return codes
    return np.require(codes, np.int64, ("C", "W"))


class ClassMeasures(Estimates):
    """Accuracy, F1, kappas, rates and costs of `ClassCounts`.

    Examples
    --------
    >>> import numpy as np
    >>> metric = ClassMeasures(StreamShape(rows=4, classes=2))
    >>> metric.see(np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]), np.zeros((4, 1)))
    >>> metric.values()["balanced_accuracy"], metric.values()["kappa"]
    (0.75, 0.5)
    """

    def summary(self, shape: StreamShape) -> ClassCounts:
        """Return counts of classes."""
        if shape.scoring.costs:
            self.always = ("cost",)
        return ClassCounts(shape)
