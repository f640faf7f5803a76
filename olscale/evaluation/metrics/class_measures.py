"""Measures based on counts of classes."""

from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.class_counts import ClassCounts
from olscale.evaluation.metrics.estimates import Estimates


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
