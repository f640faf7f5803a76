"""Error of the final model on the test split."""

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.metrics.weighted_rates import mistake_terms, running_sums


class FinalError(Metric):
    """`test_error`: fraction of the test rows that the final model predicts wrongly."""

    weighs_rows = True

    def __init__(self, shape: StreamShape) -> None:
        kind = np.float64 if shape.scoring.weighted_measures else np.int64
        self.sums = {"rows": np.zeros(1, dtype=kind), "mistakes": np.zeros(1, dtype=kind)}

    def test(
        self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Count the rows whose predicted code is not the target."""
        if self._weights is None:
            self.sums["rows"] += len(y)
            self.sums["mistakes"] += int((codes != y).sum())
        elif len(y):
            before = np.concatenate([self.sums["rows"], self.sums["mistakes"]])
            after = running_sums(before, mistake_terms(codes != y, self.weights_of(len(y))))[-1]
            self.sums = {"rows": after[:1].copy(), "mistakes": after[1:].copy()}

    def values(self) -> dict[str, float]:
        rows = self.sums["rows"].item()
        return {"test_error": self.sums["mistakes"].item() / rows} if rows else {}
