"""Learners whose state holds a number per pair of features: its cost and its memory."""

from math import sqrt

from olscale.compiled.simd.vectors import fill_vectors
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.learner import Learner

_NEAR_NUMBERS = 1e6
"""Numbers of a matrix that the caches near a core hold half of."""


class PairsFeatures(Learner, EstimatesCost):
    """A learner with a matrix over the features, unless `_pairs` says its parameters need none."""

    def _pairs(self) -> bool:
        return True

    def state_bytes(self, columns: int, classes: int) -> int:
        return 8 * columns * (fill_vectors(columns) + 2 if self._pairs() else 2)

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: the entire matrix."""
        if not self._pairs():
            return 2.0 * values
        size = columns * columns
        # Reading a matrix beyond the caches takes up to four times as long.
        return values + size * min(3.5, max(1.0, sqrt(size / _NEAR_NUMBERS)))

    def check_memory(self, columns: int, classes: int) -> None:
        what = f"a matrix over {columns} features needs"
        require_memory(self, self.state_bytes(columns, classes), what)
