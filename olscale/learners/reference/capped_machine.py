"""Batch references at the size of a study: of many rows the first ones train, and few machines."""

from olscale.compiled.csr import Rows
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Whole, param
from olscale.learners.foresight import FIRST_MACHINE
from olscale.learners.reference.batch_machine import trained_rows
from olscale.learners.reference.class_machine import ClassMachine


class CappedMachine(ClassMachine):
    """Base of batch references for classes that train on a limited number of rows.

    Every row is kept. Test rows are scored by a machine trained on the first `rows` of them. Along
    the stream a row is scored by the machine trained when the number of rows last doubled, at 64,
    128 and so on up to `along`, and by the last of these from then on.
    """

    rows: int = param(
        50_000, Whole(FIRST_MACHINE), "Most rows that train: the first of the stream."
    )
    # Where only test errors count, machines along the stream would double the time.
    along: int = param(
        50_000,
        Whole(FIRST_MACHINE),
        "Most rows of a machine that scores rows of the stream.",
    )

    def _scoring(self, trained: int) -> int:
        return trained_rows(min(trained, self.along, self.rows))

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of the machine trained on the first `rows` rows."""
        return self._scores_by(min(self.rows, int(self.state_["seen"][0])), X)
