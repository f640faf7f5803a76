"""The loop of Hoeffding adaptive trees: a branch whose mistakes rise may lose to an alternate."""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import (
    WIDTH,
    add_to_window,
    copy_window,
    empty_window,
    window_mean,
)
from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.java_random import JavaRandom
from olscale.compiled.rows import weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.tree.adaptive_tree_arrays import NONE, AdaptiveTree
from olscale.learners.tree.forest_draws import draw_poisson
from olscale.learners.tree.leaves import (
    BEGINS_ANEW,
    STAYS,
    add_row,
    begin_leaf,
    child_of,
    choose_split,
    is_due,
    largest,
    set_scores,
    set_votes,
)
from olscale.learners.tree.nominal_branches import make_split, pairs_of_split
from olscale.learners.tree.nominal_values import (
    are_codes,
    most_branches,
    needs_values,
)
from olscale.learners.tree.row_blocks import take_row
from olscale.learners.tree.tree_arrays import LEAF, Tree
from olscale.learners.tree.tree_pool import (
    PAIRS,
    give_back_pair,
    give_back_tree,
    slots_used,
    splits_left,
    take_pair,
    take_slot,
)
from olscale.learners.tree.value_counts import (
    FOLLOWS,
    NO_BRANCH,
    column_of_test,
    has_nominal,
)

_LEAST_WIDTH = 300
"""Numbers that windows of a branch and its alternate have before these are compared."""

_LOG_40 = 3.6888794541139363  # 2 / 0.05
_E = 2.718281828459045

# What becomes of a branch: nothing, its alternate, or its alternate, which has split.
_KEPT, _IS_LEAF, _SPLIT = range(3)


class AdaptiveRule(NamedTuple):
    """Parameters of the learner; `leaf` is as for Hoeffding trees."""

    grace: int
    confidence: float
    tie: float
    leaf: int
    max_leaves: int
    drift: float
    bits: int


class NodeSpace(NamedTuple):
    """Space for what is known of a row.

    Parameters
    ----------
    x : float64 array of shape (columns,)
    densities : float64 array of shape (columns,)
    votes : float64 array of shape (classes,)
    sides : float64 array of shape (2, classes)
    spare : float64 array of shape (2,)
        Of the generators; they draw no Gaussians.
    """

    x: FloatArray
    densities: FloatArray
    votes: FloatArray
    sides: FloatArray
    spare: FloatArray


def node_space(columns: int, classes: int) -> NodeSpace:
    """Return space for a row of so many features."""
    return NodeSpace(
        np.empty(columns),
        np.empty(columns),
        np.empty(classes),
        np.empty((2, classes)),
        np.zeros(2),
    )


@inlined
def _set_leaf_votes(
    adaptive: AdaptiveTree, node: int, leaf: int, learned: bool, space: NodeSpace
) -> int:
    """Set the votes of a leaf; return the class by naive Bayes.

    They are shares divided by the square of the leaf's share of mistakes.
    """
    by_bayes = set_votes(
        space.x, adaptive.tree, node, leaf, learned, space.densities, space.votes
    )
    if has_nominal(adaptive.tree.values) and adaptive.tree.feature[node] != LEAF:
        return by_bayes
    mistakes = window_mean(adaptive.windows, node)
    total = 0.0
    for vote in space.votes:
        total += vote
    divisor = total * mistakes * mistakes
    if divisor > 0.0:
        for c in range(space.votes.shape[0]):
            space.votes[c] /= divisor
    return by_bayes


@nested
def _begin_node(adaptive: AdaptiveTree, node: int, bits: int) -> None:
    """Forget the mistakes at a node, and start its generator."""
    adaptive.alternate[node] = NONE
    adaptive.bits[node] = bits
    empty_window(adaptive.windows, node)


@nested
def _drop_alternate(adaptive: AdaptiveTree, node: int) -> None:
    if adaptive.alternate[node] != NONE:
        give_back_pair(adaptive.tree, adaptive.pool, adaptive.alternate[node])
        adaptive.alternate[node] = NONE


@nested
def _begin_alternate(adaptive: AdaptiveTree, node: int, bits: int) -> None:
    """Let a leaf without rows learn alongside the branch of a node, in place of another one."""
    _drop_alternate(adaptive, node)
    tree = adaptive.tree
    first = take_pair(tree, adaptive.pool)
    for leaf in range(first, first + 2):
        for c in range(tree.weights.shape[1]):
            tree.weights[leaf, c] = 0.0
        tree.classes[leaf] = 0
        begin_leaf(tree, leaf, take_slot(tree, adaptive.pool))
        _begin_node(adaptive, leaf, bits)
    adaptive.alternate[node] = first
    adaptive.replacements[0] += 1


@nested
def _replace_branch(adaptive: AdaptiveTree, node: int) -> None:
    """Make of a node its alternate, a leaf, and give back its branch with all alternates in it."""
    tree = adaptive.tree
    pool = adaptive.pool
    leaf = adaptive.alternate[node]
    pair = pool.free_sizes[PAIRS]
    give_back_tree(tree, pool, node)
    stop = pool.free_sizes[PAIRS]
    for k in range(pair, stop):
        for child in range(pool.free_pairs[k], pool.free_pairs[k] + 2):
            _drop_alternate(adaptive, child)
    tree.feature[node] = LEAF
    tree.classes[node] = tree.classes[leaf]
    tree.evaluated[node] = tree.evaluated[leaf]
    copy_numbers(tree.weights[leaf], tree.weights[node], tree.weights.shape[1])
    copy_numbers(tree.correct[leaf], tree.correct[node], 2)
    # The generator moves with the leaf, whose draws continue.
    adaptive.bits[node] = adaptive.bits[leaf]
    copy_window(adaptive.windows, leaf, node)
    # The slot moves: the pair goes back with one of no rows.
    tree.slot[node] = tree.slot[leaf]
    tree.slot[leaf] = take_slot(tree, pool)
    adaptive.alternate[node] = NONE
    give_back_pair(tree, pool, leaf)


@nested
def _split(
    adaptive: AdaptiveTree,
    node: int,
    j: int,
    threshold: float,
    space: NodeSpace,
    bits: int,
) -> None:
    tree = adaptive.tree
    make_split(tree, adaptive.pool, node, j, threshold, space.sides)
    _begin_node(adaptive, node, bits)
    end = node
    # All nodes of a chain begin, the last of which has no children.
    while end == node or (has_nominal(tree.values) and tree.slot[end] == FOLLOWS):
        first = tree.child[end]
        if first == NO_BRANCH:
            break
        _begin_node(adaptive, first, bits)
        _begin_node(adaptive, first + 1, bits)
        if tree.feature[first + 1] == LEAF:
            break
        end = first + 1


@nested
def _learn_leaf(
    adaptive: AdaptiveTree,
    node: int,
    c: int,
    weight: float,
    by_bayes: int,
    rule: AdaptiveRule,
    space: NodeSpace,
) -> tuple[int, float]:
    """Let a leaf learn a row as often as is drawn, once at least; return the split that it chooses.

    `space` has its votes.
    """
    random = JavaRandom(adaptive.bits[node : node + 1], space.spare)
    # In MOA a draw of 0 leaves the weight as it is, so that no row is lost.
    times = max(1, draw_poisson(random, 1.0, _E))
    mistake = 0.0 if largest(space.votes) == c else 1.0
    add_to_window(adaptive.windows, node, mistake, rule.drift)
    tree = adaptive.tree
    add_row(space.x, c, weight * times, tree, node, by_bayes, rule.leaf)
    used = slots_used(tree, adaptive.pool)
    if used >= rule.max_leaves or not is_due(tree, node, rule.grace):
        return STAYS, 0.0
    # Weights beyond 1e16 make leaves due for which nothing else has looked.
    if splits_left(tree, adaptive.pool) < 1:
        return STAYS, 0.0
    j, threshold = choose_split(tree, node, space.x.shape[0], rule, space.sides)
    if j >= 0:
        pairs = pairs_of_split(tree.values, tree, node, j, threshold)
        # By all values of a column there is a leaf less than pairs.
        if (
            used + pairs - 1 > rule.max_leaves
            or splits_left(tree, adaptive.pool) < pairs
        ):
            return STAYS, 0.0
    return j, threshold


@nested
def _follow_choice(
    adaptive: AdaptiveTree,
    node: int,
    j: int,
    threshold: float,
    space: NodeSpace,
    bits: int,
) -> None:
    """Split a leaf, or let it begin anew, as it has chosen."""
    if j == BEGINS_ANEW:
        begin_leaf(adaptive.tree, node, adaptive.tree.slot[node])
        _begin_node(adaptive, node, bits)
    elif j != STAYS:
        _split(adaptive, node, j, threshold, space, bits)


@inlined
def _beats(adaptive: AdaptiveTree, first: int, second: int) -> float:
    """Return 1 if the first node errs surely less often, -1 if the second does, else 0."""
    widths = adaptive.windows.window_counts
    wide = min(widths[first, WIDTH], widths[second, WIDTH])
    if wide <= _LEAST_WIDTH:
        return 0.0
    rate = window_mean(adaptive.windows, second)
    difference = rate - window_mean(adaptive.windows, first)
    shares = 1.0 / widths[first, WIDTH] + 1.0 / widths[second, WIDTH]
    bound = sqrt(2.0 * rate * (1.0 - rate) * _LOG_40 * shares)
    if bound < difference:
        return 1.0
    if bound < -difference:
        return -1.0
    return 0.0


@nested
def _watch_branch(
    adaptive: AdaptiveTree,
    node: int,
    c: int,
    mistake: float,
    weight: float,
    rule: AdaptiveRule,
    space: NodeSpace,
) -> int:
    """Follow the mistakes of a branch, and let its alternate learn; return what became of it."""
    before = window_mean(adaptive.windows, node)
    changed = add_to_window(adaptive.windows, node, mistake, rule.drift)
    if changed and before <= window_mean(adaptive.windows, node):
        _begin_alternate(adaptive, node, rule.bits)
    elif adaptive.alternate[node] != NONE:
        better = _beats(adaptive, adaptive.alternate[node], node)
        if better > 0.0:
            _replace_branch(adaptive, node)
            adaptive.replacements[1] += 1
            # What was the alternate learns the row as a leaf of the tree.
            return _IS_LEAF
        if better < 0.0:
            _drop_alternate(adaptive, node)
            adaptive.replacements[2] += 1
    if adaptive.alternate[node] == NONE:
        return _KEPT
    leaf = adaptive.alternate[node]
    by_bayes = _set_leaf_votes(adaptive, leaf, rule.leaf, True, space)
    j, threshold = _learn_leaf(adaptive, leaf, c, weight, by_bayes, rule, space)
    if j == STAYS:
        return _KEPT
    # As in MOA: an alternate that splits takes the place of the branch, better or not.
    _replace_branch(adaptive, node)
    adaptive.replacements[1] += 1
    _follow_choice(adaptive, node, j, threshold, space, rule.bits)
    return _SPLIT


@inlined
def _branch_of(tree: Tree, node: int, x: FloatArray) -> int:
    """Return the branch of a test to which a row goes, at the end of its chain, or `NO_BRANCH`."""
    child = child_of(x, tree, node)
    if has_nominal(tree.values):
        while child != node and tree.slot[child] == FOLLOWS:
            node = child
            child = child_of(x, tree, node)
        if child == node:
            return NO_BRANCH
    return child


@nested
def _learn(
    adaptive: AdaptiveTree,
    c: int,
    weight: float,
    mistake: float,
    rule: AdaptiveRule,
    space: NodeSpace,
) -> None:
    """Let all nodes on the way of a row learn it, the root first."""
    tree = adaptive.tree
    node = 0
    while tree.feature[node] != LEAF:
        child = _branch_of(tree, node, space.x)
        change = _watch_branch(adaptive, node, c, mistake, weight, rule, space)
        if change == _SPLIT:
            return
        if change == _KEPT and has_nominal(tree.values) and child == NO_BRANCH:
            # As in MOA, a row without a branch is never learned.
            return
        if change == _KEPT:
            node = child
    by_bayes = _set_leaf_votes(adaptive, node, rule.leaf, True, space)
    j, threshold = _learn_leaf(adaptive, node, c, weight, by_bayes, rule, space)
    _follow_choice(adaptive, node, j, threshold, space, rule.bits)


@inlined
def _top_without_branch(tree: Tree, node: int, top: int, space: NodeSpace) -> int:
    """Return the class that counts as predicted for a row without a branch, and mend its votes.

    As in MOA, a row without a value has no votes, and the windows see the class of most rows; one
    with a value that has no branch has the votes of these, and the windows see the first class.
    """
    if space.x[column_of_test(tree.feature[node])] < 0.0:
        for c in range(space.votes.shape[0]):
            space.votes[c] = 0.0
        return top
    return 0


@compiled
def learn_and_score(
    block: FloatArray,
    first: int,
    start: int,
    y: NDArray[np.int64],
    adaptive: AdaptiveTree,
    rule: Any,
    limits: Any,
    learning: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
    weights: Any,
    space: NodeSpace,
    spans: NDArray[np.int64],
) -> int:
    """Score rows from `start` on by their leaves and, when `learning`, let their nodes learn.

    `first` is the first row of the `block`. Return what `go_through` asks for; `spans` then has how
    many values of each nominal column the row needs.
    """
    low, high = limits
    adaptive = borrowed(adaptive)
    space = borrowed(space)
    scores = borrowed(scores)
    tree = adaptive.tree
    branches = most_branches(tree.values)
    last: int = first + block.shape[0]
    for i in range(start, last):
        is_usable = take_row(block, i - first, space.x, low, high)
        if has_nominal(tree.values):
            is_usable &= are_codes(tree.values, space.x)
        if not is_usable:
            scores[i:] = np.nan
            return len(scores)
        node = 0
        depth = 0
        while tree.feature[node] != LEAF:
            child = _branch_of(tree, node, space.x)
            if has_nominal(tree.values) and child == NO_BRANCH:
                break
            node = child
            depth += 1
        weight = weight_of(weights, i) if learning else 0.0
        learned = learning and y[i] != UNKNOWN
        # Each test on the way may get an alternate, two slots; one leaf may split.
        if learned and splits_left(tree, adaptive.pool) < 2 * depth + 1 + branches:
            return i
        counts = learned and has_nominal(tree.values)
        if counts and needs_values(tree.values, space.x, spans):
            return i
        _set_leaf_votes(adaptive, node, rule.leaf, False, space)
        top = largest(space.votes)
        if has_nominal(tree.values) and tree.feature[node] != LEAF:
            top = _top_without_branch(tree, node, top, space)
        mistake = 0.0 if learned and top == y[i] else 1.0
        set_scores(space.votes, scores[i])
        if learned:
            seen[0] += 1
            if weight > 0.0:
                updates[0] += 1
                _learn(adaptive, y[i], weight, mistake, rule, space)
    return last
