"""The adaptive random forest: Hoeffding trees that vote, and are replaced where they drift."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.java_random import java_random
from olscale.learners.contract.class_distribution import ClassShares
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State, array_of
from olscale.learners.contract.parameters import Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.tree.forest_arrays import (
    TREE_SEED,
    allow_slots,
    empty_forest,
    features_of_leaf,
    forest_of,
    grown_forest,
    is_forest,
)
from olscale.learners.tree.forest_loop import ForestRule, learn_and_score, row_space
from olscale.learners.tree.growing import GrowsLeaves
from olscale.learners.tree.hoeffding_tree import PREDICTIONS
from olscale.learners.tree.row_blocks import go_through
from olscale.learners.tree.tree_parameters import (
    LEAF,
    RATE,
    SHARE,
    TIE,
    WARNING,
    confidence_param,
    drift_param,
    grace_param,
    max_leaves_param,
)
from olscale.learners.tree.value_counts import LEAST_ROOM

# Options of MOA are whole numbers of 32 bits.
_SEEDS = 1 << 31


class AdaptiveRandomForest(
    GrowsLeaves, OnePassLearner, WeightedClassifier, ClassShares, EstimatesCost
):
    """The adaptive random forest: Hoeffding trees that vote, and are replaced where they drift.

    Each tree learns a row k times, k of the Poisson distribution with mean `rate`, and each of its
    leaves looks only at a random `share` of the features; otherwise it is a `hoeffding-tree`. Votes
    are shares of classes, times the percentage of rows that the tree has predicted correctly. An
    ADWIN of `warning` follows the mistakes of each tree: where they rise, another tree begins to
    learn behind it. Where they rise for that of `drift` too, it replaces the tree.

    Notes
    -----
    It is MOA's ``meta.AdaptiveRandomForest`` with its defaults, number for number: draws are those
    of ``java.util.Random``, and columns that `nominal` names are its nominal attributes, as in
    `hoeffding-tree`. What follows from that:

    - A mistake counts for a drift if it is still one after the row was learned.
    - A tree without a correct row has the weight of a percent.
    - All trees, and those that begin later, draw the same features for their first leaf, by
      generators of the same seed; the rows that they learn differ.
    - A tree without another behind it begins anew where it drifts.
    - A leaf that a new value of a nominal column makes draws features of its own.

    Where all votes of a tree are below 6e-309, MOA's forest predicts the first class; here the tree
    votes as any other.

    Gomes et al. have 100 trees, ``sqrt(d) + 1`` of d features, and 0.0001 and 0.00001 for
    `warning` and `drift`. Trees stop to grow at `max_leaves`; MOA's instead switch leaves off as
    memory fills.

    State: ``6 classes share d`` numbers for each leaf, and one for each class and value of all
    nominal columns. Cost of a row: O(trees classes share d), on sparse rows too. A row's weight
    multiplies k.

    References
    ----------
    H. M. Gomes, A. Bifet, J. Read, J. P. Barddal, F. Enembreck, B. Pfahringer, G. Holmes,
    T. Abdessalem, Adaptive random forests for evolving data stream classification, Machine
    Learning 106, 2017, algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(3000, 3))
    >>> y = (X[:, 0] > 0.5) ^ (np.arange(3000) >= 1500)
    >>> forest = AdaptiveRandomForest(trees=10).fit(X, y)
    >>> bool(forest.score(X[1500:], y[1500:]) > 0.9), forest.measures()["replaced"] > 0
    (True, True)
    >>> codes = np.arange(1000).reshape(-1, 1) % 5
    >>> forest = AdaptiveRandomForest(trees=10, nominal="0").fit(codes, codes[:, 0] % 2)
    >>> forest.predict([[1], [2], [3]])
    array([1, 0, 1])
    """

    name = "arf"
    numbers_per_second = 1.5e8
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    growth: ClassVar[float] = 0.0
    """Share by which a leaf must have grown before it compares splits again."""

    trees: int = param(100, Whole(1), "Trees that vote.")
    share: float = SHARE
    rate: float = RATE
    grace: int = grace_param(50)
    confidence: float = confidence_param(0.01)
    tie: float = TIE
    leaf: str = LEAF
    warning: float = WARNING
    drift: float = drift_param(0.001)
    max_leaves: int = max_leaves_param(
        "Leaves at which a tree stops to grow; they continue to learn."
    )
    seed: int = param(
        0,
        Whole(0),
        "Seed of how often trees learn a row; the seed and number of the run count too.",
    )

    def _subspace(self, columns: int) -> int:
        return features_of_leaf(columns, float(self.share))

    def java_seed(self) -> int:
        """Return the seed of this run for MOA's forest, its option ``-r``."""
        return int(self._random().integers(_SEEDS))

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: densities, twice, and moments of a class."""
        del values
        of_tree = float(self._subspace(columns)) * (4.0 * max(2, classes) + 12.0)
        return float(self.trees) * of_tree + columns

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the least forest that has learned: how it grows is unknown."""
        values = len(self.nominal_columns(columns)) * LEAST_ROOM
        return self._forest_bytes(columns, classes, 4 * int(self.trees), values)

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse if one more leaf of each tree exceeds the memory of this machine."""
        self._check_room(columns, classes, 4 * int(self.trees))

    def _check_room(
        self, columns: int, classes: int, leaves: int, values: int = 0
    ) -> None:
        what = (
            f"{leaves:,} leaves of {self._subspace(columns):,} features and "
            f"{classes:,} classes need"
        )
        needed = self._forest_bytes(columns, classes, leaves, values)
        require_memory(self, needed, what)

    def _forest_bytes(
        self, columns: int, classes: int, leaves: int, values: int = 0
    ) -> int:
        """Return the bytes of so many leaves; nearly all are of moments and of counts of values."""
        numbers = 6 * self._subspace(columns) + values
        return 8 * numbers * max(2, classes) * leaves

    def cheaper(self) -> str:
        """Return what to do if a run takes too much time or memory, as half a sentence."""
        return (
            "take fewer trees, a smaller share or max_leaves, or fewer features, as by the "
            "transform project"
        )

    def _allocate(self, columns: int, outputs: int) -> State:
        subspace = self._subspace(columns)
        seed = self.java_seed()
        nominal = self.nominal_columns(columns)
        classes = max(2, outputs)
        return empty_forest(int(self.trees), subspace, classes, seed, nominal)

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        no_trees = np.empty((0, int(self.trees), self._outputs))
        self._pass_trees(X, y, state, learning, scores, no_trees, weights)

    def _pass_trees(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        tree_scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        """Do what `_pass` does, and set the scores of each tree; see `learn_and_score`."""
        rule = ForestRule(
            int(self.grace),
            float(self.confidence),
            float(self.tie),
            PREDICTIONS[self.leaf],
            int(self.max_leaves),
            float(self.rate),
            float(self.warning),
            float(self.drift),
            int(java_random(TREE_SEED).bits[0]),
            float(self.growth),
        )
        form = (rule, self.norm_limits(), learning, state["seen"], state["updates"])
        space = row_space(
            self._columns,
            self._subspace(self._columns),
            max(2, self._classes),
            int(self.trees),
            len(self.nominal_columns(self._columns)),
        )

        def learn(block: FloatArray, first: int, start: int) -> int:
            forest = forest_of(state)
            ends = (scores, tree_scores, array_of(weights), space)
            return learn_and_score(block, first, start, y, forest, *form, *ends)

        def grow() -> None:
            self._make_room(state, space.spans)

        go_through(X, self._columns, learn, grow)

    def _more_leaves(self, state: State, values: int) -> State:
        # Twice as many each time, so that a leaf is copied about once.
        leaves = 2 * len(state["counts"])
        self._check_room(self._columns, self._classes, leaves, values)
        return grown_forest(state, leaves)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose trees may need more room than the current ones."""
        allow_slots(self.state_, state)
        super().restore(state)

    def _can_continue(self) -> bool:
        return super()._can_continue() and is_forest(
            forest_of(self.state_), self._columns
        )

    def measures(self) -> dict[str, float]:
        """Return the shared measures, leaves of a tree on average, warnings and replaced trees."""
        forest = forest_of(self.state_)
        warnings, replaced = forest.alarms.sum(axis=0).tolist()
        return {
            **super().measures(),
            "leaves": float(forest.leaves[forest.front].mean()),
            "warnings": float(warnings),
            "replaced": float(replaced),
        }
