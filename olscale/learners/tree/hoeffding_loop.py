"""The loop of Hoeffding trees: a row goes to its leaf, which predicts, learns, and may split."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import compiled
from olscale.compiled.rows import set_column, weight_of
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.tree.gaussian_splits import (
    best_threshold,
    entropy,
    hoeffding_bound,
    learn_moments,
    set_densities,
    share_sides,
)
from olscale.learners.tree.tree_arrays import HIGH, LEAF, LOW, Tree

MAJORITY, BAYES, ADAPTIVE = range(3)
"""How leaves predict."""

TIE = -1e-9
"""Greatest score of two classes if the first wins."""


class HoeffdingRule(NamedTuple):
    """Parameters of the learner; `leaf` is one of `MAJORITY`, `BAYES` and `ADAPTIVE`."""

    grace: int
    confidence: float
    tie: float
    leaf: int
    max_leaves: int


@compiled
def _leaf_of(x: Any, tree: Tree) -> int:
    node = 0
    while tree.feature[node] != LEAF:
        # Not above is at most, and the first child.
        above = x[tree.feature[node]] > tree.threshold[node]
        node = tree.child[node] + above
    return node


@compiled
def _largest(votes: Any) -> int:
    """Return the first of the classes with most votes; class 0 where its votes are no number."""
    top = 0
    for c in range(1, votes.shape[0]):
        if votes[c] > votes[top]:
            top = c
    return top


@compiled
def _set_bayes_votes(x: Any, tree: Tree, node: int, densities: Any, votes: Any) -> None:
    """Set the votes of a leaf's naive Bayes: shares of the classes times densities of features."""
    counts = tree.counts[tree.slot[node]]
    classes = votes.shape[0]
    total = 0.0
    observed = False
    for c in range(classes):
        total += tree.weights[node, c]
        observed |= counts[c] > 0.0
    for c in range(classes):
        votes[c] = tree.weights[node, c] / total if total > 0.0 else 0.0
    # Before its first row a leaf knows no feature.
    if not observed:
        return
    moments = tree.moments[tree.slot[node]]
    for c in range(classes):
        vote = 0.0
        if counts[c] > 0.0:
            vote = votes[c]
            set_densities(x, c, moments, densities)
            # One after the other, as MOA: what is too small for a number is so for both.
            for density in densities:
                vote *= density
        votes[c] = vote


@compiled
def _set_scores(votes: Any, scores: Any) -> None:
    """Set shares of the votes, such that the largest score is of the class with most votes."""
    top = _largest(votes)
    total = 0.0
    for vote in votes:
        total += vote
    if not 0.0 < total < np.inf:
        # Beyond the range of numbers, or no votes at all.
        certain = total != 0.0
        for c in range(votes.shape[0]):
            votes[c] = 1.0 if certain and c == top else 0.0
        total = 1.0
    if scores.shape[0] == 1:
        scores[0] = (votes[1] - votes[0]) / total
        if top == 0:
            scores[0] = min(scores[0], TIE)
        return
    for c in range(scores.shape[0]):
        scores[c] = votes[c] / total
    for c in range(top):
        # Rounding may have made a lower share equal.
        if scores[c] >= scores[top] and scores[top] > 0.0:
            scores[c] = np.nextafter(scores[top], 0.0)


@compiled
def _begin_leaf(tree: Tree, node: int, slot: int) -> None:
    """Make of `node`, whose weights are set, a leaf without rows."""
    tree.feature[node] = LEAF
    tree.slot[node] = slot
    tree.correct[node, 0] = 0.0
    tree.correct[node, 1] = 0.0
    total = 0.0
    for c in range(tree.weights.shape[1]):
        total += tree.weights[node, c]
    tree.evaluated[node] = total
    for c in range(tree.counts.shape[1]):
        tree.counts[slot, c] = 0.0
    moments = tree.moments[slot]
    for part in range(moments.shape[0]):
        for k in range(moments.shape[1]):
            moments[part, k] = 0.0


@compiled
def _split(tree: Tree, node: int, j: int, threshold: float, sides: Any) -> None:
    """Make of a leaf a test of feature `j`, with two leaves for what is expected of them."""
    slot = tree.slot[node]
    counts = tree.counts[slot]
    moments = tree.moments[slot]
    classes = counts.shape[0]
    columns = moments.shape[1] // classes
    share_sides(moments, counts, j, threshold, sides)
    first = tree.sizes[0]
    for side in range(2):
        tree.classes[first + side] = 0
        for c in range(classes):
            tree.weights[first + side, c] = sides[side, c]
            below = counts[c] > 0.0 and not threshold < moments[LOW, c * columns + j]
            above = counts[c] > 0.0 and not threshold >= moments[HIGH, c * columns + j]
            if (side == 0 and below) or (side == 1 and above):
                tree.classes[first + side] = c + 1
    _begin_leaf(tree, first, slot)
    _begin_leaf(tree, first + 1, tree.sizes[1])
    tree.feature[node] = j
    tree.threshold[node] = threshold
    tree.child[node] = first
    tree.sizes[0] += 2
    tree.sizes[1] += 1


@compiled
def _try_to_split(tree: Tree, node: int, columns: int, rule: Any, sides: Any) -> None:
    """Split a leaf by its best candidate, if that is sure enough, or as good as the second."""
    weight = 0.0
    present = 0
    for c in range(tree.weights.shape[1]):
        weight += tree.weights[node, c]
        present += tree.weights[node, c] != 0.0
    tree.evaluated[node] = weight
    if present < 2:
        return
    slot = tree.slot[node]
    before = entropy(tree.weights[node])
    # Not to split is a candidate, of the least merit; of equal candidates the last wins.
    best = -np.inf
    second = -np.inf
    best_feature = LEAF
    best_at = 0.0
    for j in range(columns):
        is_possible, merit, threshold = best_threshold(
            tree.moments[slot], tree.counts[slot], j, before, sides
        )
        if not is_possible:
            continue
        if merit >= best:
            second = best
            best = merit
            best_feature = j
            best_at = threshold
        elif merit > second:
            second = merit
    if best_feature == LEAF:
        _begin_leaf(tree, node, slot)
        return
    bound = hoeffding_bound(tree.classes[node], rule.confidence, weight)
    if best - second > bound or bound < rule.tie:
        _split(tree, node, best_feature, best_at, sides)


@compiled
def _has_room(tree: Tree, node: int, weight: float, rule: Any) -> bool:
    """Return whether the arrays can hold the leaf that this row may bring."""
    if tree.sizes[1] < tree.counts.shape[0] or tree.sizes[1] >= rule.max_leaves:
        return True
    total = 0.0
    for c in range(tree.weights.shape[1]):
        total += tree.weights[node, c]
    # The sum with the row may be rounded up.
    return bool(total + weight - tree.evaluated[node] < rule.grace - 1.0)


@compiled
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
    """Add a row of class `c`, for which naive Bayes predicted `by_bayes`, to its leaf."""
    if rule.leaf == ADAPTIVE:
        if tree.classes[node] > 0 and _largest(tree.weights[node]) == c:
            tree.correct[node, 0] += weight
        if by_bayes == c:
            tree.correct[node, 1] += weight
    tree.weights[node, c] += weight
    tree.classes[node] = max(tree.classes[node], c + 1)
    slot = tree.slot[node]
    learn_moments(x, c, weight, tree.counts[slot], tree.moments[slot])
    total = 0.0
    for other in range(tree.weights.shape[1]):
        total += tree.weights[node, other]
    # Room as well: of weights beyond 1e16 the sum is not the one that `_has_room` looked at.
    most = min(rule.max_leaves, tree.counts.shape[0])
    if total - tree.evaluated[node] >= rule.grace and tree.sizes[1] < most:
        _try_to_split(tree, node, x.shape[0], rule, sides)


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    start: int,
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

    Return the row that needs a larger tree, or the number of rows.
    """
    low, high = limits
    classes = tree.weights.shape[1]
    columns = tree.moments.shape[2] // classes
    row = np.empty((columns, 1))
    x = row[:, 0]
    densities = np.empty(columns)
    votes = np.empty(classes)
    sides = np.empty((2, classes))
    for i in range(start, scores.shape[0]):
        set_column(X, i, row, 0)
        square = 0.0
        for j in range(columns):
            square += x[j] * x[j]
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        node = _leaf_of(x, tree)
        weight = weight_of(weights, i) if learning else 0.0
        learned = learning and y[i] != UNKNOWN
        if learned and not _has_room(tree, node, weight, rule):
            return i
        by_bayes = 0
        bayes_wins = rule.leaf == BAYES or (
            rule.leaf == ADAPTIVE and tree.correct[node, 0] <= tree.correct[node, 1]
        )
        copy_numbers(tree.weights[node], votes, classes)
        if tree.classes[node] > 0 and (
            bayes_wins or (learned and rule.leaf == ADAPTIVE)
        ):
            _set_bayes_votes(x, tree, node, densities, votes)
            by_bayes = _largest(votes)
            if not bayes_wins:
                copy_numbers(tree.weights[node], votes, classes)
        _set_scores(votes, scores[i])
        if learned:
            seen[0] += 1
            if weight > 0.0:
                updates[0] += 1
                _learn(x, y[i], weight, tree, node, by_bayes, rule, sides)
    return len(scores)
