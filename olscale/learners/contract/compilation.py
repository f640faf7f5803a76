"""Compilation: compiled loops are ready before a clock starts."""

from typing import cast

from olscale.compiled.csr import Rows, slice_rows
from olscale.learners.contract.capability import Capability, targets_of
from olscale.learners.contract.learner import NO_WEIGHTS, Learner, learn_rows, no_labels


class CompilesLoops(Capability):
    """A learner with compiled loops, as every `Estimator` is."""

    def compile(self, X: Rows) -> None:
        """Compile the loops for rows like `X` by learning and scoring none of them.

        Override it where that misses a loop.
        """
        learner = cast("Learner", self)
        no_rows = slice_rows(X, 0, 0)
        learner.learn(no_rows, no_labels(learner.task, targets_of(learner)))
        learner.scores(no_rows)


def compile_loops(learner: Learner, X: Rows, weighted: bool = False) -> None:
    """Compile the loops of a begun learner for rows like `X`, so that no timing includes it.

    `weighted` says whether rows have weights, for which some loops have other machine code.
    """
    if isinstance(learner, CompilesLoops):
        learner.compile(X)
        if weighted:
            labels = no_labels(learner.task, targets_of(learner))
            learn_rows(learner, slice_rows(X, 0, 0), labels, NO_WEIGHTS)
