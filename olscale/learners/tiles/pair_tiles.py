"""Tables over binned features and pairs of them, learned by constant steps."""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.learners.contract.class_distribution import ClassShares
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State, array_of, score_columns
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.tiles.pair_tiles_loop import BINS, PAIR_CELLS, learn_and_score

MOST_SINGLES = 256
"""Features that have cells of their own, the first ones."""

MOST_PAIRS = 128
"""Pairs of features that have cells: all up to 16 features, drawn ones of more."""


class PairTiles(OnePassLearner, WeightedClassifier, ClassShares, EstimatesCost):
    """Pair tiles: tables over single binned features and pairs of them, with constant steps.

    A row x lies in P cells: the bin of each feature (16 bins), the pair of bins of each pair of
    features, and that of bins four times as wide. ``f_c = sum over its cells of T[cell, c]``,
    ``p = softmax f``, and each of these cells moves by ``(rate / P) ([c = y] - p_c)``. Steps do not
    shrink, so that the tables follow a drift; a larger `rate` forgets sooner. It learns rules of
    one and two features, such as those of Agrawal's streams.

    Bins are of one width from -1.8 to 1.8: rows must be standardized, as by
    ``running-standardize``.

    Notes
    -----
    The scores are p, that of two classes ``2 p - 1``, p being a sigmoid of one table.

    The first 256 features have bins, and all pairs of up to 16 features; of more features 128 pairs
    are drawn by `seed`. State: at most ``outputs (16 d + 272 pairs)`` numbers for d features. Cost
    of a row: O(d + P outputs), on sparse rows too.

    A row's weight multiplies its step: its loss counts as many times.

    References
    ----------
    R. S. Sutton, Generalization in reinforcement learning: successful examples using sparse coarse
    coding, NIPS 1995, section 3 (tiles).

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> PairTiles().fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "pair-tiles"
    numbers_per_second = 9.5e8
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    update_params = ("rate",)

    rate: float = param(
        1.0,
        Real(0.0, open_="low"),
        "Step of all cells of a row together.",
    )
    seed: int = param(
        0, Whole(0), "Seed of the pairs, where not all of them have cells."
    )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: its features, and cells read and written."""
        del values
        active = singles_of(columns) + 2 * _pairs(columns)
        # The scores of a cell lie side by side: most of the time goes to finding it.
        return columns + 0.5 * active * (score_columns(classes) + 3.0)

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the table."""
        return 8 * score_columns(classes) * cells_of(columns)

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse a table that this machine cannot hold."""
        what = f"the table of {cells_of(columns):,} cells and {classes:,} classes needs"
        require_memory(self, self.state_bytes(columns, classes), what)

    def cheaper(self) -> str:
        """Return what to do if a run takes too much time or memory, as half a sentence."""
        return "take fewer features, as by the transform project, or fewer classes"

    def _allocate(self, columns: int, outputs: int) -> State:
        return {
            "table": np.zeros((cells_of(columns), outputs)),
            "pairs": draw_pairs(columns, self._random()),
        }

    def _can_continue(self) -> bool:
        pairs = self.state_["pairs"]
        return super()._can_continue() and bool(
            ((pairs >= 0) & (pairs < self._columns)).all()
        )

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        tiles = (
            state["table"],
            state["pairs"],
            singles_of(self._columns),
            float(self.rate),
        )
        counts = (state["seen"], state["updates"])
        ends = (np.empty((self._columns, 1)), scores, array_of(weights))
        learn_and_score(X, y, *tiles, self.norm_limits(), learning, *counts, *ends)


def singles_of(columns: int) -> int:
    """Return the number of features that have cells of their own."""
    return min(columns, MOST_SINGLES)


def _pairs(columns: int) -> int:
    return min(columns * (columns - 1) // 2, MOST_PAIRS)


def cells_of(columns: int) -> int:
    """Return the number of cells of rows with so many features."""
    return BINS * singles_of(columns) + PAIR_CELLS * _pairs(columns)


def draw_pairs(columns: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return pairs of features, the smaller first: all, or `MOST_PAIRS` drawn ones."""
    of_all = columns * (columns - 1) // 2
    numbers = np.arange(_pairs(columns))
    if of_all > MOST_PAIRS:
        numbers = np.sort(random.choice(of_all, MOST_PAIRS, replace=False))
    pairs = np.empty((len(numbers), 2), dtype=np.int64)
    # Pairs are numbered by their larger feature j: those before it are j (j - 1) / 2.
    for place, number in enumerate(numbers.tolist()):
        larger = (1 + isqrt(1 + 8 * number)) // 2
        pairs[place, 0] = number - larger * (larger - 1) // 2
        pairs[place, 1] = larger
    return pairs
