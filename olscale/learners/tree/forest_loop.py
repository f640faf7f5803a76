"""The loop of adaptive random forests: each tree votes, learns, and is replaced where it drifts."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import empty_window, mean_rises
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.java_random import JavaRandom
from olscale.compiled.nearest import nearest_exponential
from olscale.compiled.rows import weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.tree.forest_arrays import Forest, place_behind
from olscale.learners.tree.forest_draws import draw_features, draw_poisson
from olscale.learners.tree.leaf_features import NOT_DRAWN
from olscale.learners.tree.leaves import (
    BEGINS_ANEW,
    STAYS,
    add_row,
    begin_leaf,
    choose_split,
    is_due,
    largest,
    leaf_of,
    set_bayes_votes,
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
from olscale.learners.tree.tree_pool import begin_tree, slots_used, splits_left
from olscale.learners.tree.value_counts import has_nominal

_SCALE = 2.0**200


class ForestRule(NamedTuple):
    """Parameters of the learner; `leaf` is as for Hoeffding trees.

    A leaf compares splits each `grace` rows, or once it has more rows by the share `growth`,
    whichever is later.
    """

    grace: int
    confidence: float
    tie: float
    leaf: int
    max_leaves: int
    rate: float
    warning: float
    drift: float
    tree_bits: int
    growth: float


class RowSpace(NamedTuple):
    """Space for what is known of a row.

    Parameters
    ----------
    row : float64 array of shape (columns,)
    part : float64 array of shape (features of a leaf,)
        The row as a leaf sees it.
    numbers : int64 array of shape (columns,)
        Features that can be drawn.
    densities : float64 array of shape (features of a leaf,)
    votes, combined : float64 arrays of shape (classes,)
        Votes of one tree, and of all.
    sides : float64 array of shape (2, classes)
    leaf, top, by_bayes : int64 arrays of shape (trees,)
        Leaf of each tree, its class of most votes, and that of its naive Bayes.
    spare : float64 array of shape (2,)
        Of the generators; they draw no Gaussians.
    spans : int64 array of shape (nominal columns,)
        How many values a row needs of each.
    next_tree : int64 array of shape (1,)
        The first tree that has not learned the row; 0 also before it is predicted.
    """

    row: FloatArray
    part: FloatArray
    numbers: NDArray[np.int64]
    densities: FloatArray
    votes: FloatArray
    combined: FloatArray
    sides: FloatArray
    leaf: NDArray[np.int64]
    top: NDArray[np.int64]
    by_bayes: NDArray[np.int64]
    spare: FloatArray
    spans: NDArray[np.int64]
    next_tree: NDArray[np.int64]


def row_space(
    columns: int, subspace: int, classes: int, trees: int, nominal: int = 0
) -> RowSpace:
    """Return space for a row of so many features; a leaf sees `subspace` of them."""
    of_trees = np.empty((3, trees), dtype=np.int64)
    return RowSpace(
        np.empty(columns),
        np.empty(subspace),
        np.empty(columns, dtype=np.int64),
        np.empty(subspace),
        np.empty(classes),
        np.empty(classes),
        np.empty((2, classes)),
        of_trees[0],
        of_trees[1],
        of_trees[2],
        np.zeros(2),
        np.zeros(nominal, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def _take_part(forest: Forest, node: int, space: RowSpace) -> None:
    """Set the row as a leaf sees it; one that has no features yet looks at none."""
    tree = forest.tree
    if has_nominal(tree.values) and tree.feature[node] != LEAF:
        return
    features = tree.drawn.features[tree.slot[node]]
    if features[0] == NOT_DRAWN:
        return
    for j in range(features.shape[0]):
        space.part[j] = space.row[features[j]]


@inlined
def _set_tree_votes(
    forest: Forest, root: int, leaf: int, learned: bool, space: RowSpace
) -> tuple[int, int]:
    """Set the votes of one tree; return its leaf and the class by naive Bayes."""
    node = leaf_of(forest.tree, space.row, root)
    _take_part(forest, node, space)
    by_bayes = set_votes(
        space.part, forest.tree, node, leaf, learned, space.densities, space.votes
    )
    return node, by_bayes


@inlined
def _add_votes(hits: Any, votes: Any, combined: Any) -> None:
    """Add the shares of a tree's votes, times its share of correct rows in percent.

    A tree without a correct row counts as one of a percent.
    """
    total = 0.0
    for vote in votes:
        total += vote
    if not total > 0.0:
        return
    if total == np.inf:
        # Products beyond the range of numbers: the first such class has the vote.
        combined[largest(votes)] += 1.0
        return
    scale = 1.0
    if 1.0 / total == np.inf:
        # In MOA the votes of this tree, and so those of all, are no numbers.
        scale = _SCALE
    factor = 1.0 / (scale * total)
    accuracy = 1.0
    if hits[0] > 0.0:
        accuracy = hits[0] / hits[1] * 100.0
    for c in range(votes.shape[0]):
        combined[c] += scale * votes[c] * factor * accuracy


@nested
def _set_tree_scores(
    tree: Tree, node: int, t: int, space: RowSpace, scores: Any
) -> None:
    """Set the scores of tree `t`, whose votes are known, and those by naive Bayes."""
    trees = scores.shape[0] // 2
    set_scores(space.votes, scores[t])
    set_bayes_votes(space.part, tree, node, space.densities, space.votes)
    set_scores(space.votes, scores[trees + t])


@nested
def _split(
    forest: Forest, place: int, node: int, rule: ForestRule, space: RowSpace
) -> None:
    """Split a leaf if its best candidate is sure enough."""
    tree = forest.tree
    subspace = tree.drawn.features.shape[1]
    j, threshold = choose_split(tree, node, subspace, rule, space.sides)
    if j == BEGINS_ANEW:
        begin_leaf(tree, node, tree.slot[node])
    elif j != STAYS:
        pairs = pairs_of_split(tree.values, tree, node, j, threshold)
        # By all values of a column there is a leaf less than pairs.
        if forest.leaves[place] + pairs - 1 <= rule.max_leaves:
            before = slots_used(tree, forest.pool)
            make_split(tree, forest.pool, node, j, threshold, space.sides)
            forest.leaves[place] += slots_used(tree, forest.pool) - before


@nested
def _learn_leaf(
    forest: Forest,
    place: int,
    node: int,
    c: int,
    weight: float,
    by_bayes: int,
    rule: ForestRule,
    space: RowSpace,
) -> None:
    """Let the leaf of a tree learn a row, and split."""
    tree = forest.tree
    if has_nominal(tree.values) and tree.feature[node] != LEAF:
        if forest.leaves[place] >= rule.max_leaves:
            return
        row = space.row
        sides = space.sides
        node = branch_of_value(tree.values, tree, forest.pool, node, row, sides[0])
        if node == NOWHERE:
            return
        forest.leaves[place] += 1
    slot = tree.slot[node]
    if tree.drawn.features[slot, 0] == NOT_DRAWN:
        random = JavaRandom(forest.tree_bits[place : place + 1], space.spare)
        columns = space.row.shape[0]
        draw_features(random, columns, space.numbers, tree.drawn.features[slot])
    _take_part(forest, node, space)
    add_row(space.part, c, weight, tree, node, by_bayes, rule.leaf)
    grace = max(float(rule.grace), rule.growth * tree.evaluated[node])
    if forest.leaves[place] < rule.max_leaves and is_due(tree, node, grace):
        _split(forest, place, node, rule, space)


@nested
def _begin_place(forest: Forest, place: int, rule: ForestRule) -> None:
    begin_tree(forest.tree, forest.pool, place)
    forest.tree_bits[place] = rule.tree_bits
    forest.leaves[place] = 1


@inlined
def _watch(forest: Forest, t: int, mistake: float, rule: ForestRule) -> None:
    """Begin a tree behind one that errs more often, and replace it if that continues."""
    trees = forest.front.shape[0]
    behind = place_behind(forest.front, t)
    if mean_rises(forest.windows, t, mistake, rule.warning):
        forest.alarms[t, 0] += 1
        _begin_place(forest, behind, rule)
        forest.has_other[t] = 1
        empty_window(forest.windows, t)
    if mean_rises(forest.windows, trees + t, mistake, rule.drift):
        forest.alarms[t, 1] += 1
        _begin_place(forest, forest.front[t], rule)
        # The window that warns is a new one only with a new tree: as in MOA.
        if forest.has_other[t]:
            forest.front[t] = behind
            forest.has_other[t] = 0
            empty_window(forest.windows, t)
        empty_window(forest.windows, trees + t)
        # Another tree votes, which has predicted nothing yet.
        forest.hits[t, 0] = 0.0
        forest.hits[t, 1] = 0.0


@inlined
def _learn_tree(
    forest: Forest,
    t: int,
    c: int,
    weight: float,
    power: float,
    rule: ForestRule,
    space: RowSpace,
) -> None:
    """Let a tree learn a row as often as is drawn, and the tree behind it once."""
    if space.top[t] == c:
        forest.hits[t, 0] += weight
    forest.hits[t, 1] += weight
    random = JavaRandom(forest.forest_bits, space.spare)
    times = draw_poisson(random, rule.rate, power)
    if times == 0:
        return
    place = forest.front[t]
    by_bayes = space.by_bayes[t]
    _learn_leaf(forest, place, space.leaf[t], c, weight * times, by_bayes, rule, space)
    if forest.has_other[t]:
        behind = place_behind(forest.front, t)
        node, by_bayes = _set_tree_votes(forest, behind, rule.leaf, True, space)
        _learn_leaf(forest, behind, node, c, weight, by_bayes, rule, space)
    # After it has learned the row: as in MOA, this is the mistake that counts for a drift.
    _set_tree_votes(forest, place, rule.leaf, False, space)
    mistake = 0.0 if largest(space.votes) == c else 1.0
    _watch(forest, t, mistake, rule)


@inlined
def _vote(
    forest: Forest,
    leaf: int,
    learned: bool,
    space: RowSpace,
    tree_scores: FloatArray,
    i: int,
) -> None:
    """Add the votes of all trees, and set the scores of each for row `i` if they are asked for."""
    space.combined[:] = 0.0
    for t in range(forest.front.shape[0]):
        node, by_bayes = _set_tree_votes(forest, forest.front[t], leaf, learned, space)
        space.leaf[t] = node
        space.by_bayes[t] = by_bayes
        space.top[t] = largest(space.votes)
        _add_votes(forest.hits[t], space.votes, space.combined)
        if tree_scores.shape[0] > 0:
            _set_tree_scores(forest.tree, node, t, space, tree_scores[i])


@inlined
def _learn(
    forest: Forest,
    c: int,
    weight: float,
    power: float,
    rule: ForestRule,
    space: RowSpace,
) -> bool:
    """Let the trees learn a row from `next_tree` on; return whether all had the room to do so.

    Nominal columns may bring many leaves at a split. The room is of one tree: that of all may be
    many times what the forest needs.
    """
    tree = forest.tree
    for t in range(space.next_tree[0], forest.front.shape[0]):
        if has_nominal(tree.values):
            # A leaf for a value without a branch, and its split, in the tree and the one behind.
            most = 2 * (most_branches(tree.values) + 1)
            if splits_left(tree, forest.pool) < most:
                space.next_tree[0] = t
                return False
        _learn_tree(forest, t, c, weight, power, rule, space)
    space.next_tree[0] = 0
    return True


@compiled
def learn_and_score(
    block: FloatArray,
    first: int,
    start: int,
    y: NDArray[np.int64],
    forest: Forest,
    rule: Any,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    tree_scores: FloatArray,
    weights: Any,
    space: RowSpace,
) -> int:
    """Score rows from `start` on by the votes of all trees and, when `learning`, learn each.

    `first` is the first row of the `block`. Set the scores of each tree too, and behind them those
    by naive Bayes, shape (rows, 2 trees, outputs), unless `tree_scores` has no rows. Return what
    `go_through` asks for; `space` then has what the row needs, and continues with it.
    """
    low, high = limits
    # Counting references took five sixths of the time.
    forest = borrowed(forest)
    space = borrowed(space)
    scores = borrowed(scores)
    tree_scores = borrowed(tree_scores)
    trees = forest.front.shape[0]
    power = nearest_exponential(rule.rate)
    last: int = first + block.shape[0]
    for i in range(start, last):
        is_usable = take_row(block, i - first, space.row, low, high)
        if has_nominal(forest.tree.values):
            is_usable &= are_codes(forest.tree.values, space.row)
        if not is_usable:
            scores[i:] = np.nan
            return len(scores)
        weight = weight_of(weights, i) if learning else 0.0
        learned = learning and y[i] != UNKNOWN
        # Each tree may split, and so may the one behind it.
        if learned and splits_left(forest.tree, forest.pool) < 2 * trees:
            return i
        counts = learned and has_nominal(forest.tree.values)
        if counts and needs_values(forest.tree.values, space.row, space.spans):
            return i
        if space.next_tree[0] == 0:
            _vote(forest, rule.leaf, learned, space, tree_scores, i)
            set_scores(space.combined, scores[i])
        if learned:
            if weight > 0.0:
                if not _learn(forest, y[i], weight, power, rule, space):
                    return i
                updates[0] += 1
            seen[0] += 1
    return last
