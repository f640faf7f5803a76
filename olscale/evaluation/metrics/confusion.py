"""The confusion matrix, as its nonzero cells."""

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.results.record import Series


class Confusion(Metric):
    """`confusion`, `test_confusion`: the count, or weight, of rows per class and predicted class.

    Requested by ``measures = ["confusion"]``. The matrix is stored as a curve: its positions are
    cells, ``65536 * class + predicted class``, instead of rows of the stream;
    `olscale.analysis.curves.confusions` reads it.

    Examples
    --------
    >>> from olscale.evaluation.protocol import Scoring
    >>> metric = Confusion(StreamShape(rows=4, classes=2, scoring=Scoring(measures=("confusion",))))
    >>> metric.see(np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]), np.zeros((4, 1)))
    >>> metric.series()
    [Series(name='confusion', rows=array([    0,     1, 65537]), values=array([1., 1., 2.]))]
    """

    measure = "confusion"
    weighs_rows = True

    def __init__(self, shape: StreamShape) -> None:
        self.sums = {
            name: np.zeros((2, 0), dtype=shape.count_type)
            for name in ("stream", "test")
        }

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Count rows of the stream."""
        self._count("stream", y, codes)

    def test(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Count rows of the test split."""
        self._count("test", y, codes)

    def _count(self, split: str, y: IntArray, codes: IntArray) -> None:
        earlier, counts = self.sums[split]
        new = y * 65536 + codes
        cells, where = np.unique(np.concatenate([earlier, new]), return_inverse=True)
        of_earlier = where[: len(earlier)]
        of_new = where[len(earlier) :]
        total: Array
        if self._weights is None:
            total = np.bincount(of_new, minlength=len(cells))
            total[of_earlier] += counts
        else:  # row by row, so that chunks do not change a bit
            total = np.zeros(len(cells))
            total[of_earlier] = counts
            np.add.at(total, of_new, self.weights_of(len(y)))
        self.sums[split] = np.stack([cells, total])

    def values(self) -> dict[str, float]:
        """Return nothing: a matrix is not a number."""
        return {}

    def series(self) -> list[Series]:
        """Return the cells with their counts."""
        splits = (
            ("confusion", self.sums["stream"]),
            ("test_confusion", self.sums["test"]),
        )
        return [
            Series(name, cells.astype(np.int64), counts.astype(np.float64))
            for name, (cells, counts) in splits
            if len(cells)
        ]
