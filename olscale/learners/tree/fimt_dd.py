"""FIMT-DD: a regression or model tree that grows row by row and replaces parts that drift."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.java_random import JavaRandom, java_random, java_seed
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Choice, Real, Whole, param
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.tree.fimt_loop import learn_and_score, regression_space
from olscale.learners.tree.regression_arrays import (
    ALTERNATES,
    allow_sizes,
    are_trees,
    bytes_of_trees,
    empty_trees,
    grown,
    rows_at_once,
    sizes_with_room,
    sum_trees_of,
    trees_of,
)
from olscale.learners.tree.regression_loop import RegressionRule
from olscale.learners.tree.regression_pieces import LinearPieces, pieces_of
from olscale.learners.tree.row_blocks import go_through
from olscale.learners.tree.tree_parameters import (
    TIE,
    confidence_param,
    grace_param,
    max_leaves_param,
)


class FIMTDD(OnePassRegressor, EstimatesCost):
    """FIMT-DD: a regression tree with linear models in its leaves, which replaces parts that drift.

    A row goes by the tests of the tree, ``x_j <= threshold``, to a leaf, which predicts it and
    learns from it. Every `grace` rows the leaf compares all cuts between values of its rows by how
    much they reduce the variance of the targets. The best one is made if the second best feature
    has less than ``1 - epsilon`` of its reduction, with
    ``epsilon = sqrt(log(1 / confidence) / (2 n))`` for n rows, or if epsilon is below `tie`.

    A test of Page and Hinckley watches each node: where the error e_t of the tree grows, so that
    ``m = sum(e_t - mean(e) - alpha)`` is `lam` above its minimum, an alternate begins in its place.
    Every `t_min` rows their faded squared errors are compared. The alternate takes the place if its
    error is less, and is dropped after `t_max` rows.

    Notes
    -----
    It is MOA's ``trees.FIMTDD`` (``-e`` with ``leaf = "mean"``, ``-p`` with ``decay = 0``), and has
    the same predictions to the last bit, from the same random weights. What follows from that:

    - The model of a leaf sees features and targets in units of three standard deviations, of all
      rows so far. Models begin with random weights; those of a split with the weights of its leaf.
    - Errors of the test are in units of the targets, too.
    - An alternate in a place of its own knows no parent. If it was still a leaf, its first split
      makes it the root, and the other parts of the tree are lost.
    - A leaf of means predicts 0 for its first row.
    - Of equally good features the last is taken, and a single feature is split without a bound.

    Where rounding makes a variance negative, MOA predicts NaN; it is 0 here. MOA has no
    `max_leaves`.

    State: 40 bytes for each value of a feature that the rows of a leaf have had since it began, and
    up to `grace` rows of each leaf that wait. So it grows with the stream; with the default `tie` a
    leaf splits after 3,400 rows, or later while an alternate is tried above it. A tree beyond the
    memory ends its run. Cost of a row: O(d log n) for d features and n values of a leaf, on sparse
    rows too; O(d n) for values that only grow.

    References
    ----------
    E. Ikonomovska, J. Gama, S. Dzeroski, Learning model trees from evolving data streams, Data
    Mining and Knowledge Discovery 23, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(4000, 2))
    >>> y = np.where(X[:, 0] > 0.5, X[:, 1], -X[:, 1])
    >>> tree = FIMTDD(grace=50, eta=0.1).fit(X, y)
    >>> int(tree.measures()["leaves"]) > 3, bool(tree.score(X, y) > 0.9)
    (True, True)
    """

    name = "fimt-dd"
    numbers_per_second = 1.8e8
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    grace: int = grace_param(200)
    confidence: float = confidence_param(1e-7)
    tie: float = TIE
    leaf: str = param(
        "model",
        Choice(("model", "mean")),
        "How a leaf predicts: a linear model, or the mean of its targets.",
    )
    eta: float = param(0.02, Real(0.0), "First step of the linear models.")
    decay: float = param(
        0.001,
        Real(0.0),
        "How fast steps shrink: that after n rows is ``eta / (1 + decay n)``.",
    )
    alpha: float = param(
        0.005, Real(0.0), "Growth of the error that the test for drift overlooks."
    )
    lam: float = param(
        50.0, Real(0.0), "Sum of errors beyond the usual ones that is a drift."
    )
    fading: float = param(
        0.995,
        Real(0.0, 1.0),
        "Factor of what is past when an alternate is compared with what it may replace.",
    )
    t_min: int = param(150, Whole(1), "Rows from one such comparison to the next.")
    t_max: int = param(1_500, Whole(1), "Rows after which an alternate is dropped.")
    max_leaves: int = max_leaves_param(
        "Leaves, those of alternates included, at which the tree stops to grow."
    )
    seed: int = param(
        0,
        Whole(0),
        "Number of the first weights of models; each permutation draws others.",
    )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: on the way to each of its values."""
        del classes, values
        return 20.0 * columns

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the least tree that has learned: how much comes is unknown."""
        del classes
        # A root with two leaves, and the values of the rows up to the first comparison.
        return self._bytes(columns, 3, int(self.grace) * columns)

    def _bytes(self, columns: int, nodes: int, values: int) -> int:
        waiting = rows_at_once(int(self.grace), columns)
        return bytes_of_trees(columns + 1, columns, waiting, nodes, values)

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse if the values of a leaf's first rows exceed the memory of this machine."""
        what = f"{self.grace:,} rows of {columns:,} features need"
        require_memory(self, self.state_bytes(columns, classes), what)

    def cheaper(self) -> str:
        """Return what to do if a run takes too much time or memory, as half a sentence."""
        return (
            "take a smaller max_leaves, or fewer features, as by the transform project"
        )

    def _allocate(self, columns: int, outputs: int) -> State:
        del outputs
        weights = columns + 1 if self.leaf == "model" else 0
        return {
            **empty_trees(1, weights, columns, rows_at_once(int(self.grace), columns)),
            "moments": np.zeros((2, columns)),
            # The generator by which MOA draws the first weights of models.
            "random": java_random(java_seed(self._entropy, int(self.seed))).bits,
        }

    def _rule(self) -> RegressionRule:
        return RegressionRule(
            int(self.grace),
            float(self.confidence),
            float(self.tie),
            float(self.alpha),
            float(self.lam),
            float(self.fading),
            float(self.t_min),
            float(self.t_max),
            float(self.eta),
            float(self.decay),
            int(self.max_leaves),
            self.leaf == "model",
            False,
        )

    def _pass(
        self,
        X: Rows,
        y: NDArray[Any],
        state: State,
        learning: bool,
        scores: FloatArray,
    ) -> None:
        # One row for all leaves: none draws its features, as those of forests do.
        features = np.arange(self._columns, dtype=np.int32).reshape(1, -1)
        form = (self._rule(), self.norm_limits(), learning)
        needed = np.zeros(2, dtype=np.int64)

        def learn(block: FloatArray, first: int, start: int) -> int:
            sums = sum_trees_of(state)
            return learn_and_score(
                block,
                first,
                start,
                y,
                trees_of(state),
                sums,
                state["moments"],
                features,
                JavaRandom(state["random"], np.zeros(2)),
                *form,
                state["seen"],
                state["updates"],
                # Anew after each growth: ways through the pool may be as long as that.
                regression_space(self._columns, sums, needed),
                scores,
            )

        def grow() -> None:
            self._grow(needed)

        go_through(X, self._columns, learn, grow)

    def _grow(self, needed: NDArray[np.int64]) -> None:
        """Make room for nodes and values, as far as there is memory."""
        nodes, values = sizes_with_room(self.state_, *needed.tolist())
        what = f"{nodes:,} nodes of the tree, and {values:,} values of features, need"
        require_memory(self, self._bytes(self._columns, nodes, values), what)
        self.state_.update(grown(self.state_, nodes, values))

    def pieces(self) -> LinearPieces:
        """Return the tree as a function that is linear on each piece of the space of features.

        Examples
        --------
        >>> pieces = FIMTDD(leaf="mean").fit([[0.0], [1.0]], [2.0, 4.0]).pieces()
        >>> pieces.feature.tolist(), pieces.constants.tolist()
        ([-1], [3.0])
        """
        has_models = self.leaf == "model"
        return pieces_of(trees_of(self.state_), 0, self.state_["moments"], has_models)

    def measures(self) -> dict[str, float]:
        """Return the shared measures, and leaves and tests on the longest way, and alternates."""
        pieces = self.pieces()
        return {
            **super().measures(),
            "leaves": float((pieces.feature < 0).sum()),
            "depth": float(pieces.depth),
            "alternates": float(trees_of(self.state_).sizes[0, ALTERNATES]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose tree may need more room than the current one."""
        allow_sizes(self.state_, state)
        super().restore(state)

    def _can_continue(self) -> bool:
        return super()._can_continue() and are_trees(
            trees_of(self.state_), sum_trees_of(self.state_), self._columns
        )
