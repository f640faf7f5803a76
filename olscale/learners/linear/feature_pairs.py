"""Learners whose state holds a number per pair of features: its cost and its memory."""

from collections.abc import Sequence

from olscale.compiled.simd.vectors import fill_vectors
from olscale.errors import ParameterError
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.learner import Learner
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text


class PairsFeatures(Learner, EstimatesCost):
    """A learner with a matrix over the features, unless `_pairs` says its parameters need none."""

    def _pairs(self) -> bool:
        return True

    def state_bytes(self, columns: int, classes: int) -> int:
        return 8 * columns * (fill_vectors(columns) + 2 if self._pairs() else 2)

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: the entire matrix."""
        return values + (columns * columns if self._pairs() else values)

    def check_memory(self, columns: int, classes: int) -> None:
        needed = self.state_bytes(columns, classes)
        memory = memory_bytes()
        if needed > memory:
            raise ParameterError(
                f"learner {self.name}: a matrix over {columns} features needs "
                f"{size_text(needed)}, this machine has "
                f"{size_text(memory)}; {self.cheaper()}"
            )

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Check parameters and memory, then allocate the state."""
        self.resolved_params()
        self.check_memory(columns, classes)
        super().begin(columns, classes, entropy)
