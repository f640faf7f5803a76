"""Settings of soft-LOL in one pass: those that differ only in C, lam, averaging share gates."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.prototypes import open_prototypes
from olscale.learners.contract.learner import FloatArray, array_of
from olscale.learners.local.local_fused import FusedLocal
from olscale.learners.local.soft_lol_loop import (
    NO_CHOICE,
    SoftLOLRule,
    assign,
    learn_assigned,
    open_gates,
)


class FusedSoftLOL(FusedLocal[SoftLOLRule]):
    """Settings of soft-LOL.

    Examples
    --------
    >>> from olscale.learners.local.soft_lol import SoftLOL
    >>> learners = [SoftLOL(k=2, lam=1.0, C=C) for C in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=1, classes=2)
    >>> fused = learners[0].fuse(learners)
    >>> [scores.tolist() for scores in fused.learn(np.array([[1.0], [2.0]]), np.array([1, 0]))]
    [[[0.0], [0.1]], [[0.0], [0.5]]]
    """

    def _learn(
        self,
        X: Rows,
        y: NDArray[np.int64],
        scores: Sequence[FloatArray],
        weights: FloatArray | None,
    ) -> bool:
        shared = self._learners[0].state_
        rule = self._rules[0]
        prototypes = open_prototypes(shared, X, int(np.count_nonzero(shared["members"])))
        found = open_gates(len(y), rule.m)
        usable = assign(X, y, prototypes, found, rule, self._learners[0].norm_limits())
        for learner, mine, scored in zip(self._learners, self._rules, scores, strict=True):
            state = learner.state_
            model = (state["V"], found, usable, state.get("force", NO_CHOICE))
            counts = (state["seen"], state["updates"])
            learn_assigned(X, y, *model, mine, *counts, scored, array_of(weights))
        return bool(usable == len(y))
