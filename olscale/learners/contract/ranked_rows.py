"""Scores that rank rows, for the area under the ROC curve.

A learner gives them where its own scores only say which class.
"""

from abc import abstractmethod

from olscale.learners.contract.capability import Capability


class RanksRows(Capability):
    """A learner that may have better scores to rank rows by than those it predicts with."""

    @abstractmethod
    def expect_ranking(self) -> None:
        """From the next `begin` on, return scores that rank rows of two classes, if there are any.

        They are one column of what `learn` and `scores` return, after the scores and before
        probabilities: higher for the second class.
        """

    @property
    @abstractmethod
    def ranking_columns(self) -> int:
        """Number of columns for that: 1, or 0 if there are none; known after `begin`."""

    @property
    @abstractmethod
    def ranks_by_class(self) -> bool:
        """Whether rows can be ranked by the predicted class alone."""


def expect_ranking(learner: object) -> None:
    """Tell `learner` that its scores will rank rows."""
    if isinstance(learner, RanksRows):
        learner.expect_ranking()


def ranking_columns(learner: object) -> int:
    """Return how many columns of `learner` only rank rows."""
    return learner.ranking_columns if isinstance(learner, RanksRows) else 0


def ranks_by_class(learner: object) -> bool:
    """Return whether `learner` only says which class, so that its ranking measures classes."""
    return isinstance(learner, RanksRows) and learner.ranks_by_class
