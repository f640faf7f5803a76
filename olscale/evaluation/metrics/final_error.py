"""Error of the final model on the test split, and on its training rows."""

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.metrics.prequential import mistake_terms, running_sums
from olscale.evaluation.protocol import Scoring


class FinalError(Metric):
    """`test_error`: fraction of the test rows that the final model predicts wrongly."""

    weighs_rows = True

    def __init__(self, shape: StreamShape) -> None:
        self.sums = {
            "rows": np.zeros(1, dtype=shape.count_type),
            "mistakes": np.zeros(1, dtype=shape.count_type),
        }

    def test(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Count the rows whose predicted code is not the target."""
        if self._weights is None:
            self.sums["rows"] += len(y)
            self.sums["mistakes"] += int((codes != y).sum())
        elif len(y):
            before = np.concatenate([self.sums["rows"], self.sums["mistakes"]])
            terms = mistake_terms(codes != y, self.weights_of(len(y)))
            after = running_sums(before, terms)[-1]
            # Copies: both would be views of the sums of all rows.
            self.sums = {"rows": after[:1].copy(), "mistakes": after[1:].copy()}

    def values(self) -> dict[str, float]:
        rows = self.sums["rows"].item()
        if not rows:
            return {}
        return {"test_error": self.sums["mistakes"].item() / rows}


class TrainError(FinalError):
    """`train_error`: fraction of the training rows that the final model predicts wrongly.

    Requested by ``measures = ["train_error"]``; the rows are read once more for it.

    Examples
    --------
    >>> from olscale.evaluation.metrics import StreamShape
    >>> metric = TrainError(StreamShape(rows=4, classes=2))
    >>> metric.train(np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]))
    >>> metric.values()
    {'train_error': 0.25}
    """

    # Shards exchange nothing about rows that are predicted again, so the whole model is needed.
    reads_scores = True

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.predicts_again

    def test(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Count nothing: test rows are not training rows."""

    def train(self, y: IntArray, codes: IntArray) -> None:
        """Count the rows whose predicted code is not the target."""
        super().test(y, codes, np.empty((0, 0)))

    def values(self) -> dict[str, float]:
        errors = super().values()
        return {name.replace("test", "train"): error for name, error in errors.items()}
