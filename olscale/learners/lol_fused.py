"""Settings of LOL in one pass: those of which only C and lam differ have the same prototypes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of, slice_rows, values_of
from olscale.compiled.pages import copy_of
from olscale.compiled.prototypes import PROTOTYPES, open_prototypes
from olscale.learners.contract.fused_settings import FusedSettings
from olscale.learners.contract.learner import FloatArray, Learner
from olscale.learners.lol_loop import Hyperplanes, LOLRule, assign, learn_assigned, open_places

_NUMBERS = 1 << 17  # of rows that stay in the cache while all settings go through them


class FusedLOL(FusedSettings):
    """Settings of LOL or I-LOL: each row's prototype is found once, then every setting scores it and learns from it.

    Parameters
    ----------
    learners : sequence of Learner
        Learners with sequential prototypes, after `begin`.
    rules : sequence of LOLRule
        What the parameters of each say of a step.

    Examples
    --------
    >>> from olscale.learners.lol import LOL
    >>> learners = [LOL(k=2, C=C) for C in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=1, classes=2)
    >>> fused = learners[0].fuse(learners)
    >>> [scores.tolist() for scores in fused.learn(np.array([[1.0], [2.0], [1.0]]), np.array([1, 0, 0]))]
    [[[0.0], [0.2], [0.0]], [[0.0], [1.0], [0.5]]]
    """

    def __init__(self, learners: Sequence[Learner], rules: Sequence[LOLRule]) -> None:
        self._learners, self._rules = learners, rules
        for learner in learners:
            learner.state_ = {name: np.require(array, requirements="W") for name, array in learner.state_.items()}

    def learn(self, X: Rows, y: NDArray[np.int64]) -> list[FloatArray]:
        """Predict, then update, row by row; return each learner's scores before each update."""
        rows = rows_of(X)
        scores = [np.empty((rows, learner.state_["U"].shape[2])) for learner in self._learners]
        size = max(1, int(_NUMBERS * rows / max(1, values_of(X))))
        for start in range(0, max(1, rows), size):
            part = slice(start, min(start + size, rows))
            if not self._learn(slice_rows(X, start, part.stop), y[part], [mine[part] for mine in scores]):
                for mine in scores:
                    mine[part.stop :] = np.nan
                break
        return scores

    def _learn(self, X: Rows, y: NDArray[np.int64], scores: Sequence[FloatArray]) -> bool:
        """Learn from a few rows; False where one cannot be used."""
        shared = self._learners[0].state_
        learned, places = int(shared["seen"][0]), open_places(len(y))
        prototypes = open_prototypes(shared, X, min(learned, len(shared["members"])))
        usable = assign(X, y, prototypes, places, self._rules[0], self._learners[0].norm_limits(), learned)
        for learner, rule, mine in zip(self._learners, self._rules, scores, strict=True):
            state = learner.state_
            planes = Hyperplanes(state["W"], state["U"])
            learn_assigned(X, y, planes, places, usable, rule, state["seen"], state["updates"], mine)
        return bool(usable == len(y))

    def release(self) -> None:
        """Bring the learners up to date."""
        first, *others = self._learners
        for learner in others:
            learner.state_.update({name: copy_of(first.state_[name]) for name in PROTOTYPES})
