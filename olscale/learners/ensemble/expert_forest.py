"""The forest among the experts of drift-ensemble, and its arrays among those of the learner."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import part_of, with_mark
from olscale.compiled.csr import Rows, rows_of
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.tree.adaptive_forest import AdaptiveRandomForest
from olscale.learners.tree.forest_arrays import allow_slots, forest_of, is_forest

TREES = 5
VOTES = 2 * TREES
"""Experts: the class of most rows in each tree's leaf, and the naive Bayes of each leaf."""

MAX_LEAVES = 500
"""Leaves of a tree, so that the memory of a long stream is bounded."""

MOST_FEATURES = 10
"""Features at which a leaf looks: with more, trees would take most of the time on wide rows."""

_PREFIX = "forest_"


class ExpertForest(AdaptiveRandomForest):
    """An `arf` of few trees that split early, each of which is two experts.

    Its leaves look at all features, or at ten drawn ones where there are more, and at their splits
    the less often the more rows they have: splits take most of the time of a tree.

    Examples
    --------
    >>> import numpy as np
    >>> forest = expert_forest(seed=0)
    >>> forest.begin(columns=2, classes=2)
    >>> forest.tree_scores(np.zeros((3, 2)), np.zeros(3, dtype=np.int64), learning=True).shape
    (3, 10, 1)
    """

    name = "drift-ensemble"
    growth = 0.5

    def _subspace(self, columns: int) -> int:
        return min(columns, MOST_FEATURES)

    def tree_scores(self, X: Rows, y: NDArray[np.int64], learning: bool) -> FloatArray:
        """Return the scores of all votes, shape (rows, votes, outputs); learn the rows if asked.

        Rows behind an unusable one are not learned, and have the score 0.
        """
        scores = np.empty((rows_of(X), self._outputs))
        tree_scores = np.zeros((rows_of(X), VOTES, self._outputs))
        self._pass_trees(X, y, self.state_, learning, scores, tree_scores)
        return tree_scores


def expert_forest(seed: int) -> ExpertForest:
    """Return the forest of drift-ensemble, not begun."""
    return ExpertForest(
        trees=TREES,
        grace=100,
        confidence=0.1,
        leaf="mc",
        max_leaves=MAX_LEAVES,
        seed=seed,
    )


def with_prefix(state: State) -> State:
    """Return the arrays of the forest by their names in the learner.

    Examples
    --------
    >>> import numpy as np
    >>> list(with_prefix({"front": np.arange(5)}))
    ['forest_front']
    """
    return with_mark(state, _PREFIX)


def forest_state(state: Mapping[str, NDArray[Any]]) -> State:
    """Return the arrays of the forest among those of the learner, by their own names."""
    return part_of(state, _PREFIX)


def allow_forest(state: State, other: Mapping[str, NDArray[Any]]) -> None:
    """Give the learner's `state` the room that the forest of `other` needs."""
    own = forest_state(state)
    allow_slots(own, forest_state(other))
    state.update(with_prefix(own))


def has_forest(state: Mapping[str, NDArray[Any]], columns: int) -> bool:
    """Return whether loops that follow the trees stay within their arrays, and end."""
    return is_forest(forest_of(forest_state(state)), columns)


def forest_bytes(columns: int, classes: int) -> int:
    """Return the bytes of all leaves that the trees, and those behind them, can have.

    Examples
    --------
    >>> forest_bytes(columns=10, classes=2)
    4800000
    """
    values = 6 * min(columns, MOST_FEATURES) * max(2, classes)
    return 8 * values * 2 * TREES * MAX_LEAVES
