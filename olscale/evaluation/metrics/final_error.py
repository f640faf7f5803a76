"""Error of the final model on the test split."""

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape


class FinalError(Metric):
    """`test_error`: fraction of the test rows that the model predicts wrongly after its pass over the training rows."""

    def __init__(self, shape: StreamShape) -> None:
        self.sums = {"rows": np.zeros(1, dtype=np.int64), "mistakes": np.zeros(1, dtype=np.int64)}

    def test(self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Count the rows whose predicted code is not the target."""
        self.sums["rows"] += len(y)
        self.sums["mistakes"] += int((codes != y).sum())

    def values(self) -> dict[str, float]:
        rows = int(self.sums["rows"][0])
        return {"test_error": int(self.sums["mistakes"][0]) / rows} if rows else {}
