"""Learners that know why a usable row has no score."""

from abc import abstractmethod

from olscale.compiled.csr import Rows
from olscale.learners.contract.capability import Capability


class ExplainsNoScore(Capability):
    """A learner whose scores are NaN for its own reason, which the run that ends there reports."""

    @abstractmethod
    def why_no_score(self, row: Rows) -> str:
        """Return why the only row of `row` has no score, or an empty text if that is unknown."""
