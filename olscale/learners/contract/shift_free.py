"""Learners of distances: a shift of all rows changes no prediction."""

from abc import abstractmethod

from olscale.learners.contract.capability import Capability


class ShiftFree(Capability):
    """A learner whose predictions do not change when all rows are shifted alike.

    A Gaussian kernel gives that. `olscale.testing` checks it by an offset of 1e8, of which products
    of rows leave only rounding.
    """

    @property
    @abstractmethod
    def shift_free(self) -> bool:
        """Whether that holds with its parameters."""


def shift_free(learner: object) -> bool:
    """Return whether a shift of all rows leaves the predictions of `learner` unchanged.

    Examples
    --------
    >>> from olscale.learners import NORMA, LOL
    >>> shift_free(NORMA()), shift_free(NORMA(kernel="linear")), shift_free(LOL())
    (True, False, False)
    """
    return isinstance(learner, ShiftFree) and bool(learner.shift_free)
