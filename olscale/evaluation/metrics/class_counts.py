"""Counts of classes that were met, predicted and met as predicted, and what follows from them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.tallies import MAJORITY, SAME, add_classes, follow_classes
from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.summary import Events, Summary, ratio


class ClassCounts(Summary):
    """The diagonal and the margins of the confusion matrix, and the hits of two dull learners.

    No measure here needs more of the matrix, so that a thousand classes take no million counts. Averages over classes are
    scikit-learn's: over the classes that were met (`balanced_accuracy`), or met or predicted (``macro_``).

    References
    ----------
    J. Cohen, A coefficient of agreement for nominal scales, 1960 (kappa). A. Bifet et al., Efficient online evaluation of
    big data stream classifiers, KDD 2015 (kappa-M). I. Zliobaite et al., Evaluation methods and decision theory for
    classification of streaming data with temporal dependence, Machine Learning 98, 2015 (kappa-temporal).
    """

    def __init__(self, shape: StreamShape) -> None:
        self._classes, self._costs = shape.classes, shape.scoring.costs
        self.size = 3 + 3 * shape.classes
        self.base = np.array([0, -1, *[0] * shape.classes], dtype=np.int64)

    def events(self, y: NDArray[Any], predicted: NDArray[Any], base: NDArray[Any], frozen: bool = False) -> Events:
        """Return class codes with the majority class so far and the class before."""
        # Copies: of arrays that may not be written to another machine code would be compiled.
        found = Events(np.array(y, np.int64), np.array(predicted, np.int64), np.empty((len(y), 2), np.int64))
        follow_classes(found.y, base, frozen, found.dull)
        return found

    def add(
        self,
        events: Events,
        sums: NDArray[np.float64],
        alpha: float,
        marks: NDArray[np.int64],
        found: NDArray[np.float64],
    ) -> None:
        """Count rows."""
        add_classes(*events, sums, alpha, marks, found)

    def values(self, sums: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the measures; each is NaN where its denominator is 0."""
        rows, k = sums[..., 0], self._classes
        hits, true, said = (sums[..., 3 + i * k : 3 + (i + 1) * k] for i in range(3))
        accuracy = ratio(hits.sum(axis=-1), rows)
        recall, f1 = ratio(hits, true), ratio(2.0 * hits, true + said)
        chance = ratio((true * said).sum(axis=-1), rows * rows)
        found = {
            "accuracy": accuracy,
            "balanced_accuracy": _mean(recall, true > 0.0),
            "macro_f1": _mean(f1, true + said > 0.0),
            "weighted_f1": ratio(np.nan_to_num(f1 * true).sum(axis=-1), rows),
            "macro_precision": _mean(np.nan_to_num(ratio(hits, said)), true + said > 0.0),
            "macro_recall": _mean(np.nan_to_num(recall), true + said > 0.0),
            "kappa": _beyond(accuracy, chance),
            "kappa_m": _beyond(accuracy, ratio(sums[..., MAJORITY], rows)),
            "kappa_t": _beyond(accuracy, ratio(sums[..., SAME], rows)),
        }
        if k == 2:  # in novelty detection class 0 is the novelty
            missed = true - hits
            found["true_positive_rate"] = ratio(hits[..., 0], true[..., 0])
            found["false_positive_rate"] = ratio(missed[..., 1], true[..., 1])
        if self._costs:
            found["cost"] = ratio(((true - hits) * np.array(self._costs)).sum(axis=-1), rows)
        return found


def _mean(of_classes: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    return ratio(np.where(counted, of_classes, 0.0).sum(axis=-1), counted.sum(axis=-1).astype(np.float64))


def _beyond(accuracy: NDArray[np.float64], dull: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of what a dull learner gets wrong that is right; NaN where it gets nothing wrong."""
    return ratio(accuracy - dull, 1.0 - dull)
