"""Scores that rank rows: what the area under the ROC curve is of, where a learner's own scores only say which class."""

from abc import abstractmethod

from olscale.learners.contract.capability import Capability


class RanksRows(Capability):
    """A learner that may have better scores to rank rows by than those it predicts with."""

    @abstractmethod
    def expect_ranking(self) -> None:
        """From the next `begin` on, return scores that rank rows of two classes, if there are any.

        They stand in one column of what `learn` and `scores` return, behind the scores and before
        probabilities: the higher, the more of the second class.
        """

    @property
    @abstractmethod
    def ranking_columns(self) -> int:
        """How many columns that makes: 1, or 0 where there are none; known after `begin`."""

    @property
    @abstractmethod
    def ranks_by_class(self) -> bool:
        """Whether rows can be ranked by the predicted class alone."""


def expect_ranking(learner: object) -> None:
    """Tell `learner` that rows will be ranked by its scores."""
    if isinstance(learner, RanksRows):
        learner.expect_ranking()


def ranking_columns(learner: object) -> int:
    """Return how many columns `learner` has for scores that rank rows, and for nothing else."""
    return learner.ranking_columns if isinstance(learner, RanksRows) else 0


def ranks_by_class(learner: object) -> bool:
    """Return whether `learner` only says which class, so that measures of its ranking are measures of classes."""
    return isinstance(learner, RanksRows) and learner.ranks_by_class
