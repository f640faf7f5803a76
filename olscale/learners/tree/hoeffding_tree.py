"""The Hoeffding tree, VFDT: a decision tree that grows row by row."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.learners.contract.class_distribution import ClassShares
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, Learner, State, array_of
from olscale.learners.contract.parameters import Choice, Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.tree.bins import empty_bins
from olscale.learners.tree.growing import GrowsLeaves
from olscale.learners.tree.hoeffding_loop import learn_and_score
from olscale.learners.tree.leaves import (
    ADAPTIVE,
    BAYES,
    MAJORITY,
    HoeffdingRule,
)
from olscale.learners.tree.row_blocks import go_through
from olscale.learners.tree.tree_arrays import (
    allow_sizes,
    branches_below,
    empty_tree,
    grown,
    is_tree,
    tree_of,
)
from olscale.learners.tree.tree_parameters import (
    LEAF,
    TIE,
    confidence_param,
    grace_param,
    max_leaves_param,
)
from olscale.learners.tree.tree_pool import NODES, SLOTS, Pool
from olscale.learners.tree.value_counts import empty_value_counts

_NONE = np.zeros(0, dtype=np.int64)
_NO_POOL = Pool(_NONE, _NONE, np.zeros(2, dtype=np.int64))
"""Of a tree that is never pruned."""

_NO_VALUES = np.zeros(1, dtype=np.int64)

PREDICTIONS = {"mc": MAJORITY, "nb": BAYES, "nba": ADAPTIVE}

_GAUSSIAN = "gaussian"
_HISTOGRAM = "histogram"


class SplitsNumeric(Learner):
    """Base of trees that choose how they split numeric columns: adds `splits` and `bins`."""

    splits: str = param(
        _GAUSSIAN,
        Choice((_GAUSSIAN, _HISTOGRAM)),
        "How numeric columns are split: by a normal distribution of each class, or at the bounds "
        "of a histogram, for which naive Bayes has no densities, so that `leaf` is best mc.",
    )
    bins: int = param(10, Whole(1), "Bins of a histogram.")

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form, those of splits only if there are histograms."""
        params = super().resolved_params()
        if params["splits"] == _GAUSSIAN:
            # Runs and models of normal distributions stay what they were.
            del params["splits"]
            del params["bins"]
        return params

    def has_histograms(self) -> bool:
        """Return whether numeric columns are split at bounds of histograms."""
        return self.splits == _HISTOGRAM

    def most_bins(self) -> int:
        """Return how many bins a histogram may have, 0 where there are none."""
        return int(self.bins) if self.has_histograms() else 0


class HoeffdingTree(
    GrowsLeaves,
    SplitsNumeric,
    OnePassLearner,
    WeightedClassifier,
    ClassShares,
    EstimatesCost,
):
    """The Hoeffding tree (VFDT): leaves split where a test of a feature is surely the best.

    A row goes by the tests of the tree, ``x_j <= threshold``, to a leaf, which predicts it and
    learns from it; `nominal` columns have a branch for each value. Every `grace` rows the leaf
    compares splits by their gain of information, in bits. The best one is made if it gains more
    than the second best feature by ``epsilon = sqrt(R^2 log(1 / confidence) / (2 n))``, for n rows
    and ``R = log2 classes``, or if epsilon is below `tie`. Within a class a feature counts as
    normal; its candidates are ten thresholds evenly between its least and greatest value. With
    ``splits="histogram"`` they are the bounds of `bins` that grow with the rows: a new value cuts
    its bin until there are enough. A split leaves more than 1 % of the weight on both sides.

    Notes
    -----
    It is MOA's ``trees.HoeffdingTree`` with its ``GaussianNumericAttributeClassObserver``, or
    ``VFMLNumericAttributeClassObserver -n bins`` for histograms, and
    ``NominalAttributeClassObserver``, and has the same predictions. What follows from that:

    - The scores of a leaf are shares of its classes, or of the products of shares and densities,
      those of two classes ``s_1 - s_0``. With some hundreds of features the products are 0 for all
      classes, and the first class wins. A density is 1 or 0 where a class has had one value of a
      feature.
    - A new leaf begins with the weights of classes that its parent expected there. Its moments
      begin with its first row: a class of which it has had none has density 0.
    - The density at a threshold counts as the probability of that very value.
    - Where no feature of a leaf has two values, its moments begin anew.
    - Of equally good features the last is taken.
    - Histograms give each value the probability 0, so that their naive Bayes predicts the first
      class in all leaves with rows; ``leaf="mc"`` does without it. A value at a bound goes above.
    - A nominal column splits into a branch for each code up to the greatest that its leaf has seen,
      or parts one value from all others where that gains more. Its factor of naive Bayes is the
      share ``(n_v + 1) / (n + m)`` of the value in the class, m being one more than the greatest
      code that came with the class.
    - A value without a branch, or a missing one, is predicted by the classes that the test had as a
      leaf. Learning a row with such a value makes the branch; one without a value is not learned.

    CapyMOA's ``HoeffdingTree`` is the same with another default, ``confidence = 0.001``.

    MOA switches leaves off as its memory fills, first looking at row 1,000,000; here the tree stops
    to grow at `max_leaves`, and one beyond the memory ends its run. A split with more branches than
    `max_leaves` leaves room for is not made. Columns that `nominal` does not name are numeric,
    those of one-hot categories too.

    A row's weight multiplies what it adds to its leaf: one of weight 2 counts as two equal rows,
    except that splits are compared after both.

    State: ``6 classes d`` numbers for each leaf and d features, with histograms
    ``bins (classes + 4) d``, and a number for each class and value of nominal columns. Cost of a
    row: O(classes d), on sparse rows too.

    References
    ----------
    P. Domingos, G. Hulten, Mining high-speed data streams, KDD 2000.

    R. Kirkby, Improving Hoeffding trees, PhD thesis, University of Waikato, 2007 (numeric
    features, adaptive leaves).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(4000, 2))
    >>> y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    >>> tree = HoeffdingTree(grace=50, confidence=0.1).fit(X, y)
    >>> int(tree.measures()["leaves"]) > 3, bool(tree.score(X, y) > 0.9)
    (True, True)
    >>> bins = HoeffdingTree(splits="histogram", leaf="mc", grace=50).fit(X, X[:, 0] > 0.5)
    >>> bool(bins.score(X, X[:, 0] > 0.5) > 0.9)
    True
    >>> codes = np.arange(1000).reshape(-1, 1) % 5
    >>> HoeffdingTree(nominal="0").fit(codes, codes[:, 0] % 2).predict([[1], [2], [3]])
    array([1, 0, 1])
    """

    name = "hoeffding-tree"
    numbers_per_second = 4.8e8
    row_seconds = 500e-9
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    _least_slots: ClassVar[int] = 1
    """Leaves for which a tree has room at first."""

    grace: int = grace_param(200)
    confidence: float = confidence_param(1e-7)
    tie: float = TIE
    leaf: str = LEAF
    max_leaves: int = max_leaves_param(
        "Leaves at which the tree stops to grow; they continue to learn."
    )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: densities, and the moments of a class."""
        del values
        numbers = float(columns) * (max(2, classes) + 6.0)
        # Searching bins takes twice as long as adding to moments.
        return 2.0 * numbers if self.has_histograms() else numbers

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the least tree that has learned: how many leaves come is unknown."""
        return self._leaf_bytes(columns, classes) * min(2, int(self.max_leaves))

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse if two leaves exceed the memory of this machine."""
        self._check_room(columns, classes, min(2, int(self.max_leaves)))

    def _check_room(
        self, columns: int, classes: int, leaves: int, values: int = 0
    ) -> None:
        what = f"{leaves:,} leaves of {columns:,} features and {classes:,} classes need"
        needed = self._leaf_bytes(columns, classes, values) * leaves
        require_memory(self, needed, what)

    def _leaf_bytes(self, columns: int, classes: int, values: int = 0) -> int:
        """Return the bytes of a leaf; nearly all are of moments and of counts of values."""
        numbers = (6 * columns + values) * max(2, classes)
        if self.has_histograms():
            # A bin has its classes and four more numbers.
            bins = columns * self.most_bins() * (max(2, classes) + 4)
            numbers = bins + values * max(2, classes)
        return 8 * numbers

    def cheaper(self) -> str:
        """Return what to do if a run takes too much time or memory, as half a sentence."""
        return (
            "take a smaller max_leaves, or fewer features, as by the transform project"
        )

    def _allocate(self, columns: int, outputs: int) -> State:
        classes = max(2, outputs)
        nominal = self.nominal_columns(columns)
        return {
            **self._empty_tree(columns, classes),
            **empty_value_counts(nominal, classes, self._least_slots),
            **empty_bins(columns, classes, self._least_slots, self.most_bins()),
        }

    def _empty_tree(self, columns: int, classes: int) -> State:
        """Return the arrays of a tree of one leaf."""
        return empty_tree(columns, classes, self._least_slots)

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        rule = HoeffdingRule(
            int(self.grace),
            float(self.confidence),
            float(self.tie),
            PREDICTIONS[self.leaf],
            int(self.max_leaves),
        )
        form = (rule, self.norm_limits(), learning, state["seen"], state["updates"])
        spans = self._no_spans()

        def learn(block: FloatArray, first: int, start: int) -> int:
            tree = tree_of(state)
            ends = (scores, array_of(weights), spans)
            return learn_and_score(block, first, start, y, tree, _NO_POOL, *form, *ends)

        def grow() -> None:
            self._make_room(state, spans)

        go_through(X, self._columns, learn, grow)

    def _more_leaves(self, state: State, values: int) -> State:
        # At once as many as the nominal column with most values may bring.
        rooms = np.diff(state.get("value_starts", _NO_VALUES))
        ends = (int(state["sizes"][NODES]) + 1) // 2
        most = ends + int(rooms.max(initial=1))
        leaves = min(max(2 * len(state["counts"]), most), int(self.max_leaves))
        self._check_room(self._columns, self._classes, leaves, values)
        return grown(state, leaves)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose tree may need more room than the current one."""
        allow_sizes(self.state_, state)
        super().restore(state)

    def _can_continue(self) -> bool:
        return super()._can_continue() and is_tree(tree_of(self.state_), self._columns)

    def measures(self) -> dict[str, float]:
        """Return the shared measures, the number of leaves, and the tests on the longest way."""
        tree = tree_of(self.state_)
        level = np.zeros(1, dtype=np.int64)
        depth = -1
        while len(level):
            depth += 1
            level = branches_below(tree, level)
        return {
            **super().measures(),
            "leaves": float(tree.sizes[SLOTS]),
            "depth": float(depth),
        }
