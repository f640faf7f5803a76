"""Several targets: what they share is learned once, such as recursive least squares' matrix."""

from olscale.learners.contract.capability import Capability


class LearnsTargets(Capability):
    """A regressor that learns several targets of a row in one pass, each as it would alone.

    Targets are then of shape (rows, targets), all known or all NaN, and so are the scores.
    """

    _targets: int = 1

    def takes_several(self) -> bool:
        """Return whether the parameters allow several targets."""
        return True

    def expect_targets(self, targets: int) -> None:
        """Expect `targets` targets per row from the next `begin` on.

        Raise `ParameterError` where the parameters allow only one.
        """
        self._targets = targets


def learns_targets(learner: object) -> bool:
    """Return whether `learner` learns several targets in one pass."""
    return isinstance(learner, LearnsTargets)


def takes_several(learner: object) -> bool:
    """Return whether `learner`, with its parameters, learns several targets in one pass."""
    return isinstance(learner, LearnsTargets) and learner.takes_several()


def expect_targets(learner: object, targets: int) -> None:
    """Let `learner` expect `targets` targets per row.

    Raises
    ------
    TypeError
        If the learner learns one target.
    """
    if isinstance(learner, LearnsTargets):
        learner.expect_targets(targets)
    elif targets > 1:
        raise TypeError(f"{type(learner).__name__} learns one target, got {targets}")


def targets_of(learner: object) -> int:
    """Return how many targets per row `learner` expects."""
    return learner._targets if isinstance(learner, LearnsTargets) else 1
