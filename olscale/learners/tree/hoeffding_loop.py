"""The loop of Hoeffding trees: a row goes to its leaf, which predicts, learns, and may split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, inlined, nested
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
)
from olscale.learners.tree.nominal_branches import (
    NOWHERE,
    branch_of_value,
    make_split,
    pairs_of_split,
)
from olscale.learners.tree.nominal_values import (
    are_codes,
    most_branches,
    needs_values,
)
from olscale.learners.tree.row_blocks import take_row
from olscale.learners.tree.tree_arrays import LEAF, Tree
from olscale.learners.tree.tree_pool import NODES, Pool
from olscale.learners.tree.value_counts import has_nominal


@inlined
def _branches_left(sizes: Any, most: int) -> int:
    """Return how many leaves may still come, of `most` in all."""
    # An end of a chain counts as the leaf that it may become: tests are one less than both.
    left: int = most - (sizes[NODES] + 1) // 2
    return left


@nested
def _try_to_split(
    tree: Tree, pool: Pool, node: int, columns: int, rule: Any, sides: Any, left: int
) -> None:
    j, threshold = choose_split(tree, node, columns, rule, sides)
    if j == BEGINS_ANEW:
        begin_leaf(tree, node, tree.slot[node])
    elif j != STAYS and pairs_of_split(tree.values, tree, node, j, threshold) <= left:
        make_split(tree, pool, node, j, threshold, sides)


@nested
def _has_room(tree: Tree, node: int, weight: float, rule: Any, branches: int) -> bool:
    """Return whether the arrays can hold the leaves, at most `branches`, that a row may bring."""
    room = tree.counts.shape[0]
    if _branches_left(tree.sizes, room) >= branches or room >= rule.max_leaves:
        return True
    if has_nominal(tree.values) and tree.feature[node] != LEAF:
        return False
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
    pool: Pool,
    node: int,
    by_bayes: int,
    rule: Any,
    sides: Any,
) -> None:
    most = min(rule.max_leaves, tree.counts.shape[0])
    if has_nominal(tree.values) and tree.feature[node] != LEAF:
        if _branches_left(tree.sizes, most) < 1:
            return
        node = branch_of_value(tree.values, tree, pool, node, x, sides[0])
        if node == NOWHERE:
            return
    add_row(x, c, weight, tree, node, by_bayes, rule.leaf)
    # Room as well: of weights beyond 1e16 the sum is not the one that `_has_room` looked at.
    left = _branches_left(tree.sizes, most)
    if is_due(tree, node, rule.grace) and left > 0:
        _try_to_split(tree, pool, node, x.shape[0], rule, sides, left)


@compiled
def learn_and_score(
    block: FloatArray,
    first: int,
    start: int,
    y: NDArray[np.int64],
    tree: Tree,
    pool: Pool,
    rule: Any,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
    spans: NDArray[np.int64],
) -> int:
    """Score rows from `start` on by their leaves and, when `learning`, add each to its leaf.

    `first` is the first row of the `block`. Return what `go_through` asks for; `spans` then has how
    many values of each nominal column the row needs.
    """
    low, high = limits
    # Counting references took most of the time.
    tree = borrowed(tree)
    pool = borrowed(pool)
    scores = borrowed(scores)
    classes = tree.weights.shape[1]
    columns = tree.moments.shape[2] // classes
    x = np.empty(columns)
    densities = np.empty(columns)
    votes = np.empty(classes)
    sides = np.empty((2, classes))
    branches = most_branches(tree.values)
    last: int = first + block.shape[0]
    for i in range(start, last):
        is_usable = take_row(block, i - first, x, low, high)
        if has_nominal(tree.values):
            is_usable &= are_codes(tree.values, x)
        if not is_usable:
            scores[i:] = np.nan
            return len(scores)
        node = leaf_of(tree, x, 0)
        weight = weight_of(weights, i) if learning else 0.0
        learned = learning and y[i] != UNKNOWN
        if learned and not _has_room(tree, node, weight, rule, branches):
            return i
        counts = learned and has_nominal(tree.values)
        if counts and needs_values(tree.values, x, spans):
            return i
        by_bayes = set_votes(x, tree, node, rule.leaf, learned, densities, votes)
        set_scores(votes, scores[i])
        if learned:
            seen[0] += 1
            if weight > 0.0:
                updates[0] += 1
                _learn(x, y[i], weight, tree, pool, node, by_bayes, rule, sides)
    return last
