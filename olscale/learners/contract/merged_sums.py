"""Merged sums: a learner whose final model is made of sums over the rows.

Rows are added in blocks that depend only on the length of the stream, and the sums of blocks are
added in their order. So the final model has the same bits for any split of the stream.
Settings that differ only in the solution share the sums.
"""

from abc import abstractmethod
from typing import Any

from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.learners.contract.capability import Capability
from olscale.learners.contract.class_weights import weighs_classes
from olscale.learners.contract.learner import State


class MergesSums(Capability):
    """A learner that needs no order of the rows if only its final model counts."""

    @property
    @abstractmethod
    def mergeable(self) -> bool:
        """Whether that holds with its parameters."""

    def sums_key(self) -> object:
        """Return the key that mergeable settings with the same sums share, or None."""
        return None

    @abstractmethod
    def no_sums(self) -> State:
        """Return the sums of no rows, plain arrays, after `begin` and `prepare`."""

    @abstractmethod
    def add_rows(self, X: Rows, y: NDArray[Any], sums: State) -> None:
        """Add rows to `sums`; the split of a block into calls changes no bit.

        A learner that `takes_weights` has the additional argument ``weights=None``, as in `learn`.
        """

    @abstractmethod
    def end_sums(self, sums: State) -> State:
        """Return the sums of the rows of a block, arrays to which those of others are added."""

    @abstractmethod
    def take_sums(self, sums: State) -> None:
        """Become the final model of all rows, whose sums these are, replacing any model before.

        Raises
        ------
        DivergedError
            If the sums have no solution.
        """


def mergeable(learner: object) -> bool:
    """Return whether sums over the rows make the final model of `learner`.

    Examples
    --------
    >>> from olscale.learners import OSELM, PA1
    >>> mergeable(OSELM()), mergeable(OSELM(forget=0.99)), mergeable(PA1())
    (True, False, False)
    """
    return (
        isinstance(learner, MergesSums)
        and bool(learner.mergeable)
        and not weighs_classes(learner)
    )


def sums_key(learner: object) -> object:
    """Return the key that `learner` shares with settings of the same sums, or None.

    Examples
    --------
    >>> from olscale.learners import OSELM
    >>> sums_key(OSELM(lam=0.1)) == sums_key(OSELM(lam=1.0)) != sums_key(OSELM(seed=1))
    True
    """
    return getattr(learner, "sums_key", lambda: None)()
