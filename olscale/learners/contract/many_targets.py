"""Several targets: what they share is learned once, as the matrix of recursive least squares."""

from olscale.learners.contract.capability import Capability


class LearnsTargets(Capability):
    """A regressor that learns several targets of a row in one pass, each as it would alone.

    Targets are then of shape (rows, targets), all known or all NaN, and so are the scores.
    """

    _targets: int = 1

    def takes_several(self) -> bool:
        """Tell whether the parameters allow several targets."""
        return True

    def expect_targets(self, targets: int) -> None:
        """Take so many targets a row from the next `begin` on; raise `ParameterError` where the parameters allow but one."""
        self._targets = targets


def learns_targets(learner: object) -> bool:
    """Tell whether `learner` learns several targets in one pass."""
    return isinstance(learner, LearnsTargets)


def takes_several(learner: object) -> bool:
    """Tell whether `learner`, with the parameters that it has, learns several targets in one pass."""
    return isinstance(learner, LearnsTargets) and learner.takes_several()


def expect_targets(learner: object, targets: int) -> None:
    """Have `learner` expect so many targets a row.

    Raises
    ------
    TypeError
        If it learns one target.
    """
    if isinstance(learner, LearnsTargets):
        learner.expect_targets(targets)
    elif targets > 1:
        raise TypeError(f"{type(learner).__name__} learns one target, got {targets}")


def targets_of(learner: object) -> int:
    """Return how many targets a row `learner` expects."""
    return learner._targets if isinstance(learner, LearnsTargets) else 1
