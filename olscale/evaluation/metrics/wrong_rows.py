"""Which rows are predicted wrongly, one bit per row."""

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import BoolArray, FloatArray, IntArray
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series

# McNemar's test needs to know which rows only one of two learners predicts rightly. Counts of
# pairs would make a record depend on the runs in its group; bits depend on its definition
# alone and can be compared later.

_SPLITS = {"wrong_rows": "stream", "test_wrong_rows": "test"}


class WrongRows(Metric):
    """`wrong_rows` and `test_wrong_rows`: one bit per row, set if the prediction is wrong.

    Requested by ``mcnemar = true``: for two learners on the same rows in the same order, the bits
    give the number of rows that only one of them predicts correctly (`olscale.analysis.mcnemar`).
    Each run keeps its own bits, so that nothing depends on which runs share a pass. The bits are
    stored as a curve: its values are 32-bit integers with the earliest row in the lowest bit, its
    positions the numbers of rows up to the last bit.

    Examples
    --------
    >>> metric = WrongRows(StreamShape(rows=4, classes=2, scoring=Scoring(mcnemar=True)))
    >>> metric.see(np.array([0, 1, 1, 0]), np.array([1, 1, 0, 0]), np.zeros((4, 1)))
    >>> metric.series()
    [Series(name='wrong_rows', rows=array([4]), values=array([5.]))]
    """

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.mcnemar

    def __init__(self, shape: StreamShape) -> None:
        self.sums = {
            "rows": np.zeros(2, dtype=np.int64),
            "stream": _words(shape.rows),
            "test": _words(0),
        }

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Keep the bits of rows of the stream."""
        self._keep("stream", 0, codes != y)

    def test(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Keep the bits of rows of the test split, whose number is not known in advance."""
        bits = self.sums["test"]
        needed = len(_words(int(self.sums["rows"][1]) + len(y)))
        more = np.zeros(needed - len(bits), dtype=np.uint8)
        self.sums["test"] = np.append(bits, more)
        self._keep("test", 1, codes != y)

    def _keep(self, split: str, place: int, wrong: BoolArray) -> None:
        first, before = divmod(int(self.sums["rows"][place]), 8)
        # The last byte so far may be filled in part: its bits come first again, as zeros.
        begun = np.zeros(before, dtype=bool)
        packed = np.packbits(np.append(begun, wrong), bitorder="little")
        self.sums[split][first : first + len(packed)] |= packed
        self.sums["rows"][place] += len(wrong)

    def values(self) -> dict[str, float]:
        """Return nothing: bits are not a number."""
        return {}

    def series(self) -> list[Series]:
        """Return the bits, 32 rows per value."""
        curves = []
        counts = self.sums["rows"].tolist()
        for (name, split), rows in zip(_SPLITS.items(), counts, strict=True):
            if not rows:
                continue
            words = self.sums[split].view("<u4")[: -(-rows // 32)]
            ends = np.arange(1, len(words) + 1, dtype=np.int64) * 32
            # 32-bit integers are exact in float64, the type of a curve's values.
            curves.append(
                Series(name, np.minimum(ends, rows), words.astype(np.float64))
            )
        return curves


def _words(rows: int) -> NDArray[np.uint8]:
    """Return cleared bits for so many rows, in bytes that form whole 32-bit words."""
    return np.zeros(4 * -(-rows // 32), dtype=np.uint8)
