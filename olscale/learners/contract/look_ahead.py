"""Look-ahead: a learner that must see rows before it begins, and so is not one-pass."""

from abc import abstractmethod
from typing import TypeGuard

from olscale.compiled.csr import Rows
from olscale.learners.contract.capability import Capability


class LooksAhead(Capability):
    """A learner that sees rows without labels between `begin` and the first `learn`."""

    @property
    @abstractmethod
    def looks_ahead(self) -> bool:
        """Whether it looks ahead with its parameters."""

    @abstractmethod
    def prepare(self, X: Rows) -> None:
        """Look at all rows that will come, or at a uniform sample of them."""


def looks_ahead(learner: object) -> TypeGuard[LooksAhead]:
    """Return whether `learner` must `prepare` on rows of the stream before it learns.

    Examples
    --------
    >>> from olscale.learners import LOL
    >>> looks_ahead(LOL()), looks_ahead(LOL(prototypes="offline"))
    (False, True)
    """
    return isinstance(learner, LooksAhead) and bool(learner.looks_ahead)
