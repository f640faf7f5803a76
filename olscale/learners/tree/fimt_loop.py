"""The loop of FIMT-DD: a row is standardized, predicted by its leaf, and learned by the tree."""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.elementary import quotient
from olscale.compiled.intrinsics import borrowed
from olscale.learners.contract.learner import FloatArray
from olscale.learners.tree.regression_arrays import ALTERNATES, Trees
from olscale.learners.tree.regression_loop import (
    SPREADS,
    LearnedRow,
    in_spreads,
    leaf_of,
    learn_row,
    prediction_at,
    spread_of,
)
from olscale.learners.tree.regression_nodes import unused_nodes
from olscale.learners.tree.row_blocks import take_row
from olscale.learners.tree.target_sums import SumTrees, free_nodes


@inlined
def _standardize(x: Any, moments: Any, rows: float, z: Any) -> None:
    """Set a row's features in units of three standard deviations, and the constant's factor."""
    columns = x.shape[0]
    if rows <= 1.0:
        for j in range(columns + 1):
            z[j] = 0.0
        return
    totals = moments[0]
    squares = moments[1]
    for j in range(columns):
        total = totals[j]
        variance = quotient(squares[j] - quotient(total * total, rows), rows)
        spread = sqrt(max(variance, 0.0))
        scaled = quotient(x[j] - quotient(total, rows), SPREADS * spread)
        z[j] = scaled if spread > 0.0 else 0.0
    z[columns] = 1.0


@inlined
def _add_totals(totals: Any, moments: Any, x: Any, y: float) -> None:
    totals[0] += 1.0
    totals[1] += y
    totals[2] += y * y
    for j in range(moments.shape[1]):
        moments[0, j] += x[j]
        moments[1, j] += x[j] * x[j]


@inlined
def has_room(
    trees: Trees, tree: int, sums: SumTrees, depth: int, needed: NDArray[np.int64]
) -> bool:
    """Return whether the arrays can hold what a row may bring; set how much that is."""
    learners = 1 + trees.sizes[tree, ALTERNATES]
    needed[0] = 2 * learners + depth
    needed[1] = learners * trees.rows.shape[1] * trees.values.shape[1]
    return bool(unused_nodes(trees) >= needed[0] and free_nodes(sums) >= needed[1])


class RegressionSpace(NamedTuple):
    """Space for what a loop knows of a row.

    Parameters
    ----------
    x : float64 array of shape (columns,)
    scaled : float64 array of shape (columns + 1,)
    stack : int32 array of shape (nodes of the pool,)
    needed : int64 array of shape (2,)
        Nodes of trees, and of the pool, that a row may bring.
    """

    x: FloatArray
    scaled: FloatArray
    stack: NDArray[np.int32]
    needed: NDArray[np.int64]


def regression_space(
    columns: int, sums: SumTrees, needed: NDArray[np.int64]
) -> RegressionSpace:
    """Return space for rows of so many features, and for ways through the pool."""
    return RegressionSpace(
        np.empty(columns),
        np.empty(columns + 1),
        np.empty(len(sums.cuts), dtype=np.int32),
        needed,
    )


@compiled
def learn_and_score(
    block: FloatArray,
    first: int,
    start: int,
    y: FloatArray,
    trees: Trees,
    sums: SumTrees,
    moments: FloatArray,
    features: NDArray[np.int32],
    random: Any,
    rule: Any,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    space: RegressionSpace,
    scores: FloatArray,
) -> int:
    """Score rows from `start` on and, when `learning`, let the tree learn each.

    `first` is the first row of the `block`. Return what `go_through` asks for.
    """
    low, high = limits
    # Counting references took three quarters of the time.
    trees = borrowed(trees)
    sums = borrowed(sums)
    space = borrowed(space)
    x = space.x
    z = space.scaled
    stack = space.stack
    features = borrowed(features)
    totals = trees.totals[0]
    last: int = first + block.shape[0]
    for i in range(start, last):
        if not take_row(block, i - first, x, low, high):
            scores[i:] = np.nan
            return len(scores)
        node, depth = leaf_of(x, trees, trees.roots[0])
        is_learned = learning and not np.isnan(y[i])
        if is_learned and not has_room(trees, 0, sums, depth, space.needed):
            return i
        mean = quotient(totals[1], totals[0])
        spread = spread_of(totals[0], totals[1], totals[2])
        if rule.has_models:
            _standardize(x, moments, totals[0], z)
        scores[i, 0] = prediction_at(trees, node, z, mean, spread, rule.has_models)
        if not is_learned:
            continue
        _add_totals(totals, moments, x, y[i])
        mean = quotient(totals[1], totals[0])
        spread = spread_of(totals[0], totals[1], totals[2])
        # As in MOA, a row that is learned counts as seen when the tree predicts it again.
        if rule.has_models:
            _standardize(x, moments, totals[0], z)
        predicted = prediction_at(trees, node, z, mean, spread, rule.has_models)
        error = abs(
            in_spreads(y[i], mean, spread) - in_spreads(predicted, mean, spread)
        )
        row = LearnedRow(x, z, features, y[i], 1.0, mean, spread, predicted, error)
        learn_row(trees, 0, sums, row, rule, random, stack)
        seen[0] += 1
        updates[0] += 1
    return last
