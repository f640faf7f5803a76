"""The arrays and the loop of forests of regression trees, which are replaced where they drift."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import (
    Windows,
    are_windows,
    empty_window,
    empty_windows,
    mean_rises,
    windows_of,
)
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.elementary import quotient
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.java_random import JavaRandom, java_random
from olscale.compiled.nearest import nearest_exponential
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.tree.forest_arrays import TREE_SEED, place_behind
from olscale.learners.tree.forest_draws import draw_poisson
from olscale.learners.tree.regression_arrays import (
    ALTERNATES,
    LEAVES,
    Trees,
    are_trees,
    empty_trees,
    sum_trees_of,
    trees_of,
)
from olscale.learners.tree.regression_loop import (
    LearnedRow,
    in_spreads,
    leaf_of,
    learn_row,
    prediction_at,
    spread_of,
)
from olscale.learners.tree.regression_nodes import (
    add_leaf,
    free_lost_nodes,
    unused_nodes,
)
from olscale.learners.tree.row_blocks import take_row
from olscale.learners.tree.target_sums import SumTrees, free_nodes


class RegressionForest(NamedTuple):
    """The state of the learner.

    Each of n trees has two places, k and n + k: one for the tree that predicts, the other for the
    one that learns behind it after a warning.

    Parameters
    ----------
    features : int32 array of shape (nodes, features of a leaf)
        Features whose values a leaf keeps, ascending, once they are drawn.
    tree_bits : uint64 array of shape (2 trees,)
        The generator of each place.
    front : int64 array of shape (trees,)
        Place of the tree that predicts.
    has_other : int64 array of shape (trees,)
        Whether a tree learns behind it.
    windows : Windows
        Predictions of each tree, to warn in the first n windows, and to replace it in the others.
    alarms : int64 array of shape (trees, 2)
        Warnings, and how often the tree was replaced.
    forest_bits : uint64 array of shape (1,)
        The generator of how often trees learn a row.
    """

    features: NDArray[np.int32]
    tree_bits: NDArray[np.uint64]
    front: NDArray[np.int64]
    has_other: NDArray[np.int64]
    windows: Windows
    alarms: NDArray[np.int64]
    forest_bits: NDArray[np.uint64]


def empty_regression_forest(
    trees: int, subspace: int, waiting: int, seed: int
) -> State:
    """Return the arrays of a forest of trees of one leaf, which looks at `subspace` features.

    Examples
    --------
    >>> empty_regression_forest(trees=10, subspace=3, waiting=50, seed=1)["features"].shape
    (20, 3)
    """
    places = 2 * trees
    return {
        **empty_trees(places, 0, subspace, waiting),
        "features": np.zeros((places, subspace), dtype=np.int32),
        # The same for all, as in MOA: trees differ by the rows they learn.
        "tree_bits": np.repeat(java_random(TREE_SEED).bits, places),
        "front": np.arange(trees, dtype=np.int64),
        "has_other": np.zeros(trees, dtype=np.int64),
        **empty_windows(places)._asdict(),
        "alarms": np.zeros((trees, 2), dtype=np.int64),
        "forest_bits": java_random(seed).bits,
    }


def regression_forest_of(state: Mapping[str, NDArray[Any]]) -> RegressionForest:
    """Return the forest of these arrays, ignoring those of its trees and others."""
    names = set(RegressionForest._fields) - {"windows"}
    return RegressionForest(
        windows=windows_of(state), **{name: state[name] for name in names}
    )


def is_regression_forest(state: Mapping[str, NDArray[Any]], columns: int) -> bool:
    """Return whether loops that follow the trees stay within their arrays, and end."""
    forest = regression_forest_of(state)
    trees = len(forest.front)
    return bool(
        are_trees(trees_of(state), sum_trees_of(state), columns)
        and len(forest.features) == len(state["feature"])
        and (forest.features >= 0).all()
        and (forest.features < columns).all()
        and (forest.front % trees == np.arange(trees)).all()
        and (forest.front >= 0).all()
        and (forest.front < 2 * trees).all()
        and are_windows(forest.windows)
    )


class ForestSpace(NamedTuple):
    """Space for what a loop knows of a row.

    Parameters
    ----------
    x : float64 array of shape (columns,)
    stack : int32 array of shape (nodes of the pool,)
    needed : int64 array of shape (2,)
        Nodes of trees, and of the pool, that a row may bring.
    spare : float64 array of shape (2,)
        Of the generators; they draw no Gaussians.
    """

    x: FloatArray
    stack: NDArray[np.int32]
    needed: NDArray[np.int64]
    spare: FloatArray


def forest_space(
    columns: int, sums: SumTrees, needed: NDArray[np.int64]
) -> ForestSpace:
    """Return space for rows of so many features, and for ways through the pool."""
    return ForestSpace(
        np.empty(columns),
        np.empty(len(sums.cuts), dtype=np.int32),
        needed,
        np.zeros(2),
    )


class ReplacementRule(NamedTuple):
    """Parameters of a forest: rate of learning, bounds of ADWIN, and bits of new trees."""

    rate: float
    warning: float
    drift: float
    tree_bits: int


@nested
def _learn_place(
    trees: Trees,
    place: int,
    sums: SumTrees,
    forest: RegressionForest,
    y: float,
    weight: float,
    rule: Any,
    space: ForestSpace,
) -> None:
    """Let the tree of a place learn a row."""
    totals = trees.totals[place]
    totals[0] += weight
    totals[1] += weight * y
    totals[2] += weight * y * y
    mean = quotient(totals[1], totals[0])
    spread = spread_of(totals[0], totals[1], totals[2])
    x = space.x
    node, _ = leaf_of(x, trees, trees.roots[place])
    predicted = prediction_at(trees, node, x, mean, spread, False)
    error = abs(in_spreads(y, mean, spread) - in_spreads(predicted, mean, spread))
    row = LearnedRow(
        x, space.spare, forest.features, y, weight, mean, spread, predicted, error
    )
    random = JavaRandom(forest.tree_bits[place : place + 1], space.spare)
    learn_row(trees, place, sums, row, rule, random, space.stack)


@nested
def _begin_place(
    trees: Trees,
    place: int,
    sums: SumTrees,
    forest: RegressionForest,
    bits: int,
    stack: Any,
) -> None:
    """Let the tree of a place begin anew."""
    trees.roots[place] = add_leaf(trees)
    # The targets so far are the tree's own.
    for part in range(3):
        trees.totals[place, part] = 0.0
    forest.tree_bits[place] = bits
    free_lost_nodes(trees, sums, stack)


@nested
def _watch(
    trees: Trees,
    t: int,
    sums: SumTrees,
    forest: RegressionForest,
    predicted: float,
    rule: ReplacementRule,
    stack: Any,
) -> None:
    """Begin a tree behind one whose predictions rise, and replace it if that continues."""
    count = forest.front.shape[0]
    behind = place_behind(forest.front, t)
    bits = rule.tree_bits
    if mean_rises(forest.windows, t, predicted, rule.warning):
        forest.alarms[t, 0] += 1
        _begin_place(trees, behind, sums, forest, bits, stack)
        forest.has_other[t] = 1
        empty_window(forest.windows, t)
    if mean_rises(forest.windows, count + t, predicted, rule.drift):
        forest.alarms[t, 1] += 1
        _begin_place(trees, forest.front[t], sums, forest, bits, stack)
        # The window that warns is a new one only with a new tree: as in MOA.
        if forest.has_other[t]:
            forest.front[t] = behind
            forest.has_other[t] = 0
            empty_window(forest.windows, t)
        empty_window(forest.windows, count + t)


@inlined
def _add_needs(trees: Trees, place: int, depth: int, needed: Any) -> None:
    learners = 1 + trees.sizes[place, ALTERNATES]
    # One more, as the tree may begin anew.
    needed[0] += 2 * learners + depth + 1
    needed[1] += learners * trees.rows.shape[1] * trees.values.shape[1]


@compiled
def learn_and_score_rows(
    block: FloatArray,
    first: int,
    start: int,
    y: FloatArray,
    trees: Trees,
    sums: SumTrees,
    forest: RegressionForest,
    rule: Any,
    replacement: ReplacementRule,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    space: ForestSpace,
    scores: FloatArray,
) -> int:
    """Score rows from `start` on by the mean of all trees and, when `learning`, learn each.

    `first` is the first row of the `block`. Return what `go_through` asks for.
    """
    low, high = limits
    # Without counts of references for each of all trees.
    trees = borrowed(trees)
    sums = borrowed(sums)
    forest = borrowed(forest)
    space = borrowed(space)
    count = forest.front.shape[0]
    x = space.x
    power = nearest_exponential(replacement.rate)
    last: int = first + block.shape[0]
    for i in range(start, last):
        if not take_row(block, i - first, x, low, high):
            scores[i:] = np.nan
            return len(scores)
        is_learned = learning and not np.isnan(y[i])
        space.needed[0] = 0
        space.needed[1] = 0
        total = 0.0
        for t in range(count):
            place = forest.front[t]
            node, depth = leaf_of(x, trees, trees.roots[place])
            total += prediction_at(trees, node, x, 0.0, 0.0, False)
            _add_needs(trees, place, depth, space.needed)
            if is_learned and forest.has_other[t]:
                behind = place_behind(forest.front, t)
                _, depth = leaf_of(x, trees, trees.roots[behind])
                _add_needs(trees, behind, depth, space.needed)
        # All room at once: a row that has begun to be learned cannot be given back.
        if is_learned and (
            unused_nodes(trees) < space.needed[0] + count
            or free_nodes(sums) < space.needed[1]
        ):
            space.needed[0] += count
            return i
        scores[i, 0] = total / count
        if not is_learned:
            continue
        for t in range(count):
            random = JavaRandom(forest.forest_bits, space.spare)
            times = draw_poisson(random, replacement.rate, power)
            if times == 0:
                continue
            place = forest.front[t]
            _learn_place(trees, place, sums, forest, y[i], float(times), rule, space)
            if forest.has_other[t]:
                behind = place_behind(forest.front, t)
                _learn_place(trees, behind, sums, forest, y[i], 1.0, rule, space)
            node, _ = leaf_of(x, trees, trees.roots[place])
            predicted = prediction_at(trees, node, x, 0.0, 0.0, False)
            _watch(trees, t, sums, forest, predicted, replacement, space.stack)
        seen[0] += 1
        updates[0] += 1
    return last


def mean_leaves(state: Mapping[str, NDArray[Any]]) -> float:
    """Return how many leaves a tree that predicts has on average."""
    return float(state["sizes"][state["front"], LEAVES].mean())
