"""Probabilities of classes, where a learner has them, and scores to make them of."""

from abc import abstractmethod

from olscale.learners.contract.capability import Capability
from olscale.learners.contract.ranked_rows import ranks_by_class


class GivesProbabilities(Capability):
    """A learner whose model gives probabilities of classes; squeezed scores do not count."""

    @abstractmethod
    def show_probabilities(self) -> bool:
        """Let `learn` and `scores` append a probability of each class to the scores.

        It is called after `begin`, in runs that need probabilities. Return whether there are
        probabilities: if not, the scores stay unchanged.
        """


def show_probabilities(learner: object, classes: int) -> int:
    """Let a begun learner append its probabilities, if it has any; return their columns."""
    return (
        classes if isinstance(learner, GivesProbabilities) and learner.show_probabilities() else 0
    )


class ShowsMargins(Capability):
    """A learner whose scores only say which class, and whose model has more telling ones."""

    @abstractmethod
    def show_margins(self) -> int:
        """Let `learn` and `scores` append the model's own scores, to be made probabilities.

        It is called after `begin`, where there are no probabilities. Return the number of columns:
        1 for two classes, higher for the second one, else one for each class; 0 if there are none.
        """


def show_margins(learner: object) -> int:
    """Let a begun learner append scores to calibrate, if it has any apart from its own."""
    return learner.show_margins() if isinstance(learner, ShowsMargins) else 0


def only_says_class(learner: object) -> bool:
    """Return whether a learner has neither probabilities nor scores to make them of."""
    return ranks_by_class(learner)
