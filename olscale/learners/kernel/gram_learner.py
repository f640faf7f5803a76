"""Kernel learners with a matrix over their support vectors, which has to fit in memory."""

from typing import ClassVar

from olscale.compiled.support_vectors import WIDTH
from olscale.learners.contract.cost import require_memory
from olscale.learners.kernel.kernel_learner import SupportVectorLearner


class GramLearner(SupportVectorLearner):
    """Base of kernel learners with a matrix; `keeps_matrix` may depend on the parameters."""

    keeps_matrix: ClassVar[bool] = True
    matrices: ClassVar[int] = 1
    matrix_share: ClassVar[float] = 1.0 / 16.0
    """Share of each matrix that a row costs on average: most rows do not read it."""

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the matrix at the start; with a budget it never grows."""
        del columns, classes
        slots = -(-self._slots()[0] // WIDTH) * WIDTH
        if self.keeps_matrix:
            return 8 * self.matrices * slots**2
        return 0

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through: some of them need the matrices."""
        _, mean = self._expected_vectors(rows)
        if self.keeps_matrix:
            matrices = rows * self.matrices * self.matrix_share * mean**2
        else:
            matrices = 0.0
        return super().stream_numbers(columns, classes, values, rows) + matrices

    def check_memory(self, columns: int, classes: int) -> None:
        self._refuse_more_than_memory(
            self.state_bytes(columns, classes), self._slots()[0]
        )

    def _grow(self, entries: int) -> None:
        slots = len(self.state_["sizes"])
        # the old matrix stays in memory while the new one is filled
        if self.keeps_matrix and self.state_["counts"][0] == slots:
            self._refuse_more_than_memory(
                8 * self.matrices * (4 + 1) * slots**2, 2 * slots
            )
        super()._grow(entries)

    def _refuse_more_than_memory(self, needed: int, slots: int) -> None:
        require_memory(self, needed, f"the matrix of {slots:,} support vectors needs")

    def cheaper(self) -> str:
        """Return how to avoid a large matrix."""
        if self.keeps_matrix:
            return "it has a number for each pair of them: take fewer"
        return ""
