"""First-order linear learners that share a pass: weights have a block of columns per setting."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.pages import aligned_copy
from olscale.learners.contract.fused_settings import FusedSettings
from olscale.learners.contract.learner import FloatArray, Learner, State


class FusedLinear(FusedSettings):
    """Settings of a first-order linear learner in one pass.

    Examples
    --------
    >>> from olscale.learners.linear.passive_aggressive import PA1
    >>> learners = [PA1(C=0.1), PA1(C=1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=2, classes=2)
    >>> fused = FusedLinear(learners)
    >>> _ = fused.learn(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1]))
    >>> fused.release()
    >>> [learner.coef_.tolist() for learner in learners]
    [[[-0.2, 0.1]], [[-0.5, 1.0]]]
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        self._learners: list[Any] = list(
            learners
        )  # linear models with one rule: `grid_key` guarantees it
        self.task = self._learners[0].task
        states = [learner.state_ for learner in self._learners]
        self._state: State = {
            "W": aligned_copy(np.concatenate([state["W"] for state in states], axis=1)),
            "seen": states[0]["seen"].copy(),
            "updates": np.concatenate([state["updates"] for state in states]),
        }
        rules = [learner._rule() for learner in self._learners]
        rule: Any = type(rules[0])
        self._rule = rule(*(np.concatenate(values) for values in zip(*rules, strict=True)))

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> list[FloatArray]:
        settings = len(self._learners)
        first = self._learners[0]
        scores: FloatArray = first._learn(X, y, self._state, self._rule, settings, weights)
        return np.split(scores, settings, axis=1)

    def release(self) -> None:
        blocks = np.split(self._state["W"], len(self._learners), axis=1)
        for s, learner in enumerate(self._learners):
            learner.state_ = {
                "seen": self._state["seen"].copy(),
                "updates": self._state["updates"][s : s + 1].copy(),
                "W": np.ascontiguousarray(blocks[s]),
            }
