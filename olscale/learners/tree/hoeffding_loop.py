"""The loop of Hoeffding trees: a row goes to its leaf, which predicts, learns, and may split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, nested
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.rows import weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.tree.leaves import (
    BEGINS_ANEW,
    STAYS,
    add_row,
    begin_leaf,
    choose_split,
    is_due,
    leaf_of,
    set_scores,
    set_votes,
    split_leaf,
)
from olscale.learners.tree.row_blocks import take_row
from olscale.learners.tree.tree_arrays import Tree


@nested
def _try_to_split(tree: Tree, node: int, columns: int, rule: Any, sides: Any) -> None:
    j, threshold = choose_split(tree, node, columns, rule, sides)
    if j == BEGINS_ANEW:
        begin_leaf(tree, node, tree.slot[node])
    elif j != STAYS:
        first = tree.sizes[0]
        split_leaf(tree, node, j, j, threshold, sides, first, tree.sizes[1])
        tree.sizes[0] += 2
        tree.sizes[1] += 1


@nested
def _has_room(tree: Tree, node: int, weight: float, rule: Any) -> bool:
    """Return whether the arrays can hold the leaf that this row may bring."""
    if tree.sizes[1] < tree.counts.shape[0] or tree.sizes[1] >= rule.max_leaves:
        return True
    total = 0.0
    for c in range(tree.weights.shape[1]):
        total += tree.weights[node, c]
    # The sum with the row may be rounded up.
    return bool(total + weight - tree.evaluated[node] < rule.grace - 1.0)


@nested
def _learn(
    x: Any,
    c: int,
    weight: float,
    tree: Tree,
    node: int,
    by_bayes: int,
    rule: Any,
    sides: Any,
) -> None:
    add_row(x, c, weight, tree, node, by_bayes, rule.leaf)
    # Room as well: of weights beyond 1e16 the sum is not the one that `_has_room` looked at.
    most = min(rule.max_leaves, tree.counts.shape[0])
    if is_due(tree, node, rule.grace) and tree.sizes[1] < most:
        _try_to_split(tree, node, x.shape[0], rule, sides)


@compiled
def learn_and_score(
    block: FloatArray,
    first: int,
    start: int,
    y: NDArray[np.int64],
    tree: Tree,
    rule: Any,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
) -> int:
    """Score rows from `start` on by their leaves and, when `learning`, add each to its leaf.

    `first` is the first row of the `block`. Return what `go_through` asks for.
    """
    low, high = limits
    # Counting references took most of the time.
    tree = borrowed(tree)
    scores = borrowed(scores)
    classes = tree.weights.shape[1]
    columns = tree.moments.shape[2] // classes
    x = np.empty(columns)
    densities = np.empty(columns)
    votes = np.empty(classes)
    sides = np.empty((2, classes))
    last: int = first + block.shape[0]
    for i in range(start, last):
        if not take_row(block, i - first, x, low, high):
            scores[i:] = np.nan
            return len(scores)
        node = leaf_of(x, tree, 0)
        weight = weight_of(weights, i) if learning else 0.0
        learned = learning and y[i] != UNKNOWN
        if learned and not _has_room(tree, node, weight, rule):
            return i
        by_bayes = set_votes(x, tree, node, rule.leaf, learned, densities, votes)
        set_scores(votes, scores[i])
        if learned:
            seen[0] += 1
            if weight > 0.0:
                updates[0] += 1
                _learn(x, y[i], weight, tree, node, by_bayes, rule, sides)
    return last
