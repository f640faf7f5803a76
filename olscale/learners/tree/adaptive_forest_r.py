"""The adaptive random forest for targets: regression trees that are replaced where they drift."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.java_random import java_random, java_seed
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Whole, param
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.tree.forest_arrays import TREE_SEED, features_of_leaf
from olscale.learners.tree.regression_arrays import (
    allow_sizes,
    bytes_of_trees,
    grown,
    rows_at_once,
    sizes_with_room,
    sum_trees_of,
    trees_of,
)
from olscale.learners.tree.regression_forest import (
    ReplacementRule,
    empty_regression_forest,
    forest_space,
    is_regression_forest,
    learn_and_score_rows,
    mean_leaves,
    regression_forest_of,
)
from olscale.learners.tree.regression_loop import RegressionRule
from olscale.learners.tree.regression_pieces import LinearPieces, joined, pieces_of
from olscale.learners.tree.row_blocks import go_through
from olscale.learners.tree.tree_parameters import (
    RATE,
    SHARE,
    TIE,
    WARNING,
    confidence_param,
    drift_param,
    grace_param,
    max_leaves_param,
)


class AdaptiveRandomForestR(OnePassRegressor, EstimatesCost):
    """The adaptive random forest for targets: the mean of regression trees replaced by drift.

    Each tree learns a row k times, k of the Poisson distribution with mean `rate`, and each of its
    leaves looks only at a random `share` of the features; otherwise it is a `fimt-dd` with means in
    its leaves. An ADWIN of `warning` follows the predictions of each tree: where they rise, another
    tree begins to learn behind it. Where they rise for that of `drift` too, it replaces the tree.

    Notes
    -----
    It is MOA's ``meta.AdaptiveRandomForestRegressor`` with its defaults, number for number: draws
    are those of ``java.util.Random``. What follows from that:

    - Drift is a rise of the predictions, whatever the errors are.
    - A row that is learned k times counts k times in its leaf, but once among the values of its
      features: sums above a cut are too large.
    - All trees, and those that begin later, draw the same features for their first leaf, by
      generators of the same seed; the rows that they learn differ.
    - A tree without another behind it begins anew where it drifts.
    - The notes on alternates of `fimt-dd` hold for each tree.

    Trees stop to grow at `max_leaves`; MOA has no such limit.

    State: 40 bytes for each value of the features of each leaf, as `fimt-dd`. Cost of a row:
    O(trees share d log n) for d features and n values of a leaf, and a comparison of all these
    values in every ``grace / rate`` rows of a leaf.

    References
    ----------
    H. M. Gomes, J. P. Barddal, L. E. Boiko Ferreira, A. Bifet, Adaptive random forests for data
    stream regression, ESANN 2018.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(2000, 3))
    >>> y = np.where(X[:, 0] > 0.5, 10.0 * X[:, 1], -5.0)
    >>> forest = AdaptiveRandomForestR(trees=10).fit(X, y)
    >>> bool(forest.score(X, y) > 0.8)
    True
    """

    name = "arf-r"
    numbers_per_second = 6.4e8
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    trees: int = param(100, Whole(1), "Trees whose mean is predicted.")
    share: float = SHARE
    rate: float = RATE
    grace: int = grace_param(50)
    confidence: float = confidence_param(0.01)
    tie: float = TIE
    warning: float = WARNING
    drift: float = drift_param(0.001)
    max_leaves: int = max_leaves_param(
        "Leaves of a tree, those of alternates included, at which it stops to grow."
    )
    seed: int = param(
        0,
        Whole(0),
        "Number of how often trees learn a row; each permutation draws others.",
    )

    def _subspace(self, columns: int) -> int:
        return features_of_leaf(columns, float(self.share))

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: values of all leaves that it comes to."""
        del classes, values
        return 150.0 * float(self.trees) * self._subspace(columns)

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the least forest that has learned: how much comes is unknown."""
        del classes
        places = 2 * int(self.trees)
        values = places * int(self.grace) * self._subspace(columns)
        return self._bytes(columns, 3 * places, values)

    def _bytes(self, columns: int, nodes: int, values: int) -> int:
        features = self._subspace(columns)
        waiting = rows_at_once(int(self.grace), features)
        return nodes * 4 * features + bytes_of_trees(
            0, features, waiting, nodes, values
        )

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse if the values of the first rows exceed the memory of this machine."""
        what = f"{self.trees:,} trees with rows of {columns:,} features need"
        require_memory(self, self.state_bytes(columns, classes), what)

    def cheaper(self) -> str:
        """Return what to do if a run takes too much time or memory, as half a sentence."""
        return (
            "take fewer trees, a smaller share or max_leaves, or fewer features, as by "
            "the transform project"
        )

    def _allocate(self, columns: int, outputs: int) -> State:
        del outputs
        subspace = self._subspace(columns)
        waiting = rows_at_once(int(self.grace), subspace)
        seed = java_seed(self._entropy, int(self.seed))
        return empty_regression_forest(int(self.trees), subspace, waiting, seed)

    def _rule(self) -> RegressionRule:
        # What MOA's trees of a forest have by default.
        return RegressionRule(
            int(self.grace),
            float(self.confidence),
            float(self.tie),
            0.005,
            50.0,
            0.995,
            150.0,
            1500.0,
            0.0,
            0.0,
            int(self.max_leaves),
            False,
            True,
        )

    def _pass(
        self,
        X: Rows,
        y: NDArray[Any],
        state: State,
        learning: bool,
        scores: FloatArray,
    ) -> None:
        replacement = ReplacementRule(
            float(self.rate),
            float(self.warning),
            float(self.drift),
            int(java_random(TREE_SEED).bits[0]),
        )
        form = (self._rule(), replacement, self.norm_limits(), learning)
        needed = np.zeros(2, dtype=np.int64)

        def learn(block: FloatArray, first: int, start: int) -> int:
            sums = sum_trees_of(state)
            return learn_and_score_rows(
                block,
                first,
                start,
                y,
                trees_of(state),
                sums,
                regression_forest_of(state),
                *form,
                state["seen"],
                state["updates"],
                forest_space(self._columns, sums, needed),
                scores,
            )

        def grow() -> None:
            self._grow(*needed.tolist())

        go_through(X, self._columns, learn, grow)

    def _grow(self, new_nodes: int, new_values: int) -> None:
        """Make room for nodes and values, as far as there is memory."""
        nodes, values = sizes_with_room(self.state_, new_nodes, new_values)
        what = f"{nodes:,} nodes of trees, and {values:,} values of features, need"
        require_memory(self, self._bytes(self._columns, nodes, values), what)
        self._set_sizes(nodes, values)

    def _set_sizes(self, nodes: int, values: int) -> None:
        features = self.state_["features"]
        larger = np.zeros((nodes, features.shape[1]), dtype=np.int32)
        larger[: len(features)] = features
        # What a leaf draws is stored apart from the trees, whose arrays do not refer to it.
        self.state_.update(grown(self.state_, nodes, values))
        self.state_["features"] = larger

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose trees may need more room than the current ones."""
        allow_sizes(self.state_, state)
        self._set_sizes(len(self.state_["feature"]), len(self.state_["cuts"]) - 1)
        super().restore(state)

    def _can_continue(self) -> bool:
        return super()._can_continue() and is_regression_forest(
            self.state_, self._columns
        )

    def pieces(self) -> tuple[LinearPieces, NDArray[np.int64]]:
        """Return the trees that predict, constant on each piece of space, and their roots.

        Examples
        --------
        >>> forest = AdaptiveRandomForestR(trees=2).fit([[0.0], [1.0]], [3.0, 3.0])
        >>> pieces, roots = forest.pieces()
        >>> pieces.constants.tolist(), roots.tolist()
        ([3.0, 3.0], [0, 1])
        """
        trees = trees_of(self.state_)
        # Means need no units of the features.
        no_moments = np.zeros((2, self._columns))
        front = self.state_["front"].tolist()
        return joined([pieces_of(trees, place, no_moments, False) for place in front])

    def measures(self) -> dict[str, float]:
        """Return the shared measures, leaves of a tree on average, warnings and replaced trees."""
        warnings, replaced = self.state_["alarms"].sum(axis=0).tolist()
        return {
            **super().measures(),
            "leaves": mean_leaves(self.state_),
            "warnings": float(warnings),
            "replaced": float(replaced),
        }
