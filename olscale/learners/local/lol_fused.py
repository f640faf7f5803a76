"""Settings of LOL in one pass: settings that differ only in C and lam share prototypes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.prototypes import open_prototypes
from olscale.learners.contract.learner import FloatArray
from olscale.learners.local.local_fused import FusedLocal
from olscale.learners.local.lol_loop import (
    Hyperplanes,
    LOLRule,
    assign,
    learn_assigned,
    open_output_space,
    open_places,
)


class FusedLOL(FusedLocal[LOLRule]):
    """Settings of LOL or I-LOL.

    Examples
    --------
    >>> from olscale.learners.local.lol import LOL
    >>> learners = [LOL(k=2, C=C) for C in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=1, classes=2)
    >>> fused = learners[0].fuse(learners)
    >>> [scores.tolist() for scores in fused.learn(np.array([[1.0], [2.0], [1.0]]), np.array([1, 0, 0]))]
    [[[0.0], [0.2], [0.0]], [[0.0], [1.0], [0.5]]]
    """

    def _learn(
        self,
        X: Rows,
        y: NDArray[np.int64],
        scores: Sequence[FloatArray],
        weights: FloatArray | None,
    ) -> bool:
        shared = self._learners[0].state_
        learned = int(shared["seen"][0])
        places = open_places(len(y))
        space = open_output_space(self._learners[0]._classes, scores[0].shape[1])
        prototypes = open_prototypes(shared, X, min(learned, len(shared["members"])))
        usable = assign(
            X, y, prototypes, places, self._rules[0], self._learners[0].norm_limits(), learned
        )
        for learner, rule, mine in zip(self._learners, self._rules, scores, strict=True):
            state = learner.state_
            planes = Hyperplanes(state["W"], state["U"])
            counts = (state["seen"], state["updates"])
            learn_assigned(X, y, planes, places, space, usable, rule, *counts, mine, weights)
        return bool(usable == len(y))
