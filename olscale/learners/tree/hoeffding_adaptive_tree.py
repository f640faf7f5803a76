"""The Hoeffding adaptive tree: branches whose mistakes rise give way to new ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import BUCKETS, LEVELS
from olscale.compiled.csr import Rows
from olscale.compiled.java_random import java_random
from olscale.learners.contract.learner import FloatArray, State, array_of
from olscale.learners.tree.adaptive_tree_arrays import (
    NODE_SEED,
    adaptive_tree_of,
    empty_adaptive_tree,
    grown_adaptive_tree,
    is_adaptive_tree,
)
from olscale.learners.tree.adaptive_tree_loop import (
    AdaptiveRule,
    learn_and_score,
    node_space,
)
from olscale.learners.tree.hoeffding_tree import PREDICTIONS, HoeffdingTree
from olscale.learners.tree.row_blocks import go_through
from olscale.learners.tree.tree_arrays import LEAF, branches_below
from olscale.learners.tree.tree_parameters import (
    drift_param,
)
from olscale.learners.tree.value_counts import with_room_of


class HoeffdingAdaptiveTree(HoeffdingTree):
    """The Hoeffding adaptive tree: branches whose mistakes rise give way to new ones.

    It is a `hoeffding-tree` with an ADWIN of `drift` at each node, which follows the mistakes of
    the tree on the rows that come by. Where they rise at a test, an alternate begins to learn the
    rows of its branch. When both windows have more than 300 rows and the alternate errs less than
    the branch, by ``sqrt(2 e (1 - e) log(40) (1 / n + 1 / m))`` for windows of n and m rows and the
    branch's share e of mistakes, it replaces the branch; if it errs more by as much, it is dropped.

    Notes
    -----
    It is MOA's ``trees.HoeffdingAdaptiveTree``, and has the same predictions: its draws are those
    of ``java.util.Random`` with one seed for each leaf. What follows from that:

    - A leaf learns a row k times, k of the Poisson distribution with mean 1, but once for k = 0.
    - An alternate is a leaf. Where it would split, it replaces the branch, better or not.
    - At a further alarm another alternate begins in its place.
    - A value of a nominal column that has no branch never gets one, and a row without a value has
      no votes.

    `max_leaves` counts alternates too, twice each. In MOA squares of large windows overflow, beyond
    about 100,000 rows without a drop.

    State: ``6 classes d`` numbers for each leaf and d features, and 420 for each node. Cost of a
    row: O(classes d + depth), on sparse rows too. A row's weight multiplies k.

    References
    ----------
    A. Bifet, R. Gavalda, Adaptive learning from evolving data streams, IDA 2009, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(9000, 2))
    >>> y = (X[:, 0] > 0.5) ^ (np.arange(9000) >= 4500)
    >>> tree = HoeffdingAdaptiveTree().fit(X, y)
    >>> bool(tree.score(X[4500:], y[4500:]) > 0.9), tree.measures()["replaced"]
    (True, 1.0)
    """

    name = "hoeffding-adaptive-tree"
    numbers_per_second = 3.4e8
    row_seconds = 1.4e-6
    _least_slots = 4

    drift: float = drift_param(0.002)

    def _leaf_bytes(self, columns: int, classes: int, values: int = 0) -> int:
        """Return the bytes of a leaf with its moments, and of the windows of two nodes."""
        window = 8 * (2 * LEVELS * (BUCKETS + 1) + LEVELS)
        return super()._leaf_bytes(columns, classes, values) + 2 * window

    def _empty_tree(self, columns: int, classes: int) -> State:
        return empty_adaptive_tree(columns, classes, self._least_slots)

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        rule = AdaptiveRule(
            int(self.grace),
            float(self.confidence),
            float(self.tie),
            PREDICTIONS[self.leaf],
            int(self.max_leaves),
            float(self.drift),
            int(java_random(NODE_SEED).bits[0]),
        )
        form = (rule, self.norm_limits(), learning, state["seen"], state["updates"])
        space = node_space(self._columns, max(2, self._classes))
        spans = self._no_spans()

        def learn(block: FloatArray, first: int, start: int) -> int:
            adaptive = adaptive_tree_of(state)
            ends = (scores, array_of(weights), space, spans)
            return learn_and_score(block, first, start, y, adaptive, *form, *ends)

        def grow() -> None:
            self._make_room(state, spans)

        go_through(X, self._columns, learn, grow)

    def _more_leaves(self, state: State, values: int) -> State:
        # Not bounded by max_leaves: each of these tests may get an alternate.
        leaves = 2 * len(state["counts"])
        self._check_room(self._columns, self._classes, leaves, values)
        return grown_adaptive_tree(state, leaves)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose tree may need more room than the current one."""
        room = self.state_["counts"]
        counts = state.get("counts", room)
        if counts.shape[1:] == room.shape[1:] and len(counts) > len(room):
            self.state_.update(grown_adaptive_tree(self.state_, len(counts)))
        self.state_.update(with_room_of(self.state_, state))
        super(HoeffdingTree, self).restore(state)

    def _can_continue(self) -> bool:
        return super(HoeffdingTree, self)._can_continue() and is_adaptive_tree(
            adaptive_tree_of(self.state_), self._columns
        )

    def measures(self) -> dict[str, float]:
        """Return the shared measures, leaves, tests on the longest way, and replacements."""
        begun, replaced, dropped = self.state_["replacements"].tolist()
        tree = adaptive_tree_of(self.state_).tree
        # From the root: nodes that were given back are still in the arrays.
        level = np.zeros(1, dtype=np.int64)
        depth = -1
        leaves = 0
        while len(level):
            depth += 1
            leaves += int((tree.feature[level] == LEAF).sum())
            level = branches_below(tree, level)
        return {
            **super(HoeffdingTree, self).measures(),
            "leaves": float(leaves),
            "depth": float(depth),
            "alternates": float(begun),
            "replaced": float(replaced),
            "dropped": float(dropped),
        }
