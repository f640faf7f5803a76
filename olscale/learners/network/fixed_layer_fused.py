"""Settings of a learner with a fixed layer in one pass: all share the features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of
from olscale.errors import DivergedError
from olscale.learners.contract.fused_settings import FusedSettings
from olscale.learners.contract.learner import FloatArray, Learner


class FusedLayers(FusedSettings):
    """Settings with one layer, each with its own weights and P.

    Examples
    --------
    >>> from olscale.learners.network.oselm import OSELM
    >>> learners = [OSELM(nodes=4, lam=lam) for lam in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=2, classes=2)
    >>> fused = learners[0].fuse(learners)
    >>> [scores.round(2).tolist() for scores in fused.learn(np.eye(2), np.array([0, 1]))]
    [[[0.0], [-1.24]], [[0.0], [-0.65]]]
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        self._learners: list[Any] = list(learners)  # all have one layer: `grid_key` guarantees it
        self.task = learners[0].task
        self._ends: list[DivergedError | None] = [None] * len(learners)

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> list[FloatArray | DivergedError]:
        scores = [np.full((rows_of(X), learner._outputs), np.nan) for learner in self._learners]
        going = [n for n, end in enumerate(self._ends) if end is None]
        for first, Z, T in self._learners[0].featured_rows(X, y, self._learners[0].state_):
            for n in tuple(going):
                learner = self._learners[n]
                try:
                    fine = learner.learn_featured(first, Z, T, learner.state_, scores[n], weights)
                except DivergedError as error:
                    fine = False
                    self._ends[n] = error
                if not fine:
                    going.remove(n)
        return [end or mine for end, mine in zip(self._ends, scores, strict=True)]

    def release(self) -> None:
        """Do nothing: each setting learns in its own arrays, which are up to date."""
