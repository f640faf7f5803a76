"""Probabilities of classes: for the log loss, where a learner has them."""

from abc import abstractmethod

from olscale.learners.contract.capability import Capability


class GivesProbabilities(Capability):
    """A learner whose model gives probabilities of classes; squeezed scores do not count."""

    @abstractmethod
    def show_probabilities(self) -> bool:
        """Let `learn` and `scores` append a probability of each class to the scores.

        It is called after `begin`, in runs that measure the log loss. Return whether there are
        probabilities: if not, the scores stay unchanged.
        """


def show_probabilities(learner: object, classes: int) -> int:
    """Let a begun learner append its probabilities, if it has any; return their columns."""
    return (
        classes if isinstance(learner, GivesProbabilities) and learner.show_probabilities() else 0
    )
