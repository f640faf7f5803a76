"""Compilation: compiled loops are ready before a clock starts."""

from typing import cast

from olscale.compiled.csr import Rows, slice_rows
from olscale.learners.contract.capability import Capability
from olscale.learners.contract.learner import Learner, no_labels
from olscale.learners.contract.many_targets import targets_of


class CompilesLoops(Capability):
    """A learner with compiled loops, as every `Estimator` is."""

    def compile(self, X: Rows) -> None:
        """Have the loops for rows like `X` ready, by learning and scoring none of them; override where that misses some."""
        learner, none = cast("Learner", self), slice_rows(X, 0, 0)
        learner.learn(none, no_labels(learner.task, targets_of(learner)))
        learner.scores(none)


def compile_loops(learner: Learner, X: Rows) -> None:
    """Have the loops of a begun learner ready for rows like `X`, so that no measured time has compilation in it."""
    if isinstance(learner, CompilesLoops):
        learner.compile(X)
