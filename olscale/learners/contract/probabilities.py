"""Probabilities of classes: for the log loss, where a learner has them."""

from abc import abstractmethod

from olscale.learners.contract.capability import Capability


class GivesProbabilities(Capability):
    """A learner whose model says how likely each class is; a score that is squeezed into 0 to 1 is no such thing."""

    @abstractmethod
    def show_probabilities(self) -> bool:
        """From now on, have `learn` and `scores` return a probability of each class in columns after those of the scores.

        It is called after `begin`, of runs that measure the log loss. Return whether there are
        probabilities: if not, the scores stay as they are.
        """


def show_probabilities(learner: object, classes: int) -> int:
    """Have a learner that has begun show its probabilities, if it has any; return in how many columns."""
    return (
        classes if isinstance(learner, GivesProbabilities) and learner.show_probabilities() else 0
    )
