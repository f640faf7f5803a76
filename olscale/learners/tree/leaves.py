"""What leaves of growing trees do: predict, learn, and choose their split."""

from typing import Any, NamedTuple

import numpy as np

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import inlined, nested
from olscale.learners.tree.bin_splits import (
    best_bound,
    forget_bins,
    learn_bins,
    part_at_bound,
)
from olscale.learners.tree.bins import has_bins
from olscale.learners.tree.gaussian_splits import (
    best_threshold,
    entropy,
    hoeffding_bound,
    learn_moments,
    set_densities,
    share_sides,
)
from olscale.learners.tree.leaf_features import column_at, forget_features
from olscale.learners.tree.nominal_values import (
    are_all_nominal,
    best_of_values,
    forget_values,
    learn_values,
    multiply_by_shares,
    set_value_shares,
)
from olscale.learners.tree.tree_arrays import HIGH, LEAF, LOW, Tree
from olscale.learners.tree.value_counts import (
    NO_BRANCH,
    by_columns,
    column_of_test,
    has_nominal,
    nominal_place,
)

MAJORITY, BAYES, ADAPTIVE = range(3)
"""How leaves predict."""

TIE = -1e-9
"""Greatest score of two classes if the first wins."""


STAYS = -1
BEGINS_ANEW = -2
"""What a leaf does that does not split: nothing, or it forgets its moments."""


class HoeffdingRule(NamedTuple):
    """Parameters of the learner; `leaf` is one of `MAJORITY`, `BAYES` and `ADAPTIVE`."""

    grace: int
    confidence: float
    tie: float
    leaf: int
    max_leaves: int


@inlined
def child_of(x: Any, tree: Tree, node: int) -> int:
    """Return the child of a test to which a row goes; the test itself without one."""
    feature = tree.feature[node]
    second = 0
    if feature >= 0:
        second = int(x[feature] > tree.threshold[node])
    else:
        value = x[column_of_test(feature)]
        if value < 0.0 or tree.child[node] == NO_BRANCH:
            return node
        second = int(value != tree.threshold[node])
    child: int = tree.child[node] + second
    return child


@by_columns
def leaf_of(tree: Tree, x: Any, root: int) -> Any:
    """Return the leaf of a row in the tree below `root`, or the test that has no branch for it."""

    def numeric(tree: Any, x: Any, root: int) -> int:
        node = root
        while tree.feature[node] != LEAF:
            # Not above is at most, and the first child.
            above = x[tree.feature[node]] > tree.threshold[node]
            node = tree.child[node] + above
        return node

    def nominal(tree: Any, x: Any, root: int) -> int:
        node = root
        while tree.feature[node] != LEAF:
            child = child_of(x, tree, node)
            if child == node:
                break
            node = child
        return node

    return numeric, nominal


@nested
def largest(votes: Any) -> int:
    """Return the first of the classes with most votes; class 0 where its votes are no number."""
    top = 0
    for c in range(1, votes.shape[0]):
        if votes[c] > votes[top]:
            top = c
    return top


@nested
def set_bayes_votes(x: Any, tree: Tree, node: int, densities: Any, votes: Any) -> None:
    """Set the votes of a leaf's naive Bayes: shares of the classes times densities of features."""
    slot = tree.slot[node]
    counts = tree.counts[slot]
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
    if are_all_nominal(tree.values, tree.drawn, x.shape[0], slot):
        for c in range(classes):
            votes[c] = votes[c] if counts[c] > 0.0 else 0.0
        multiply_by_shares(tree.values, tree.drawn, x, slot, votes)
        return
    moments = tree.moments[slot]
    for c in range(classes):
        vote = 0.0
        if counts[c] > 0.0:
            vote = votes[c]
            if has_bins(tree.bins):
                # As in MOA, whose histograms give each value the probability 0.
                densities[:] = 0.0
            else:
                set_densities(x, c, moments, densities)
            set_value_shares(tree.values, tree.drawn, x, c, slot, densities)
            # One after the other, as MOA: what is too small for a number is so for both.
            for density in densities:
                vote *= density
        votes[c] = vote


@nested
def set_scores(votes: Any, scores: Any) -> None:
    """Set shares of the votes, such that the largest score is of the class with most votes."""
    top = largest(votes)
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


@nested
def begin_leaf(tree: Tree, node: int, slot: int) -> None:
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
    forget_values(tree.values, slot)
    forget_bins(tree.bins, slot)
    forget_features(tree.drawn, slot)


@nested
def _part_normal(
    tree: Tree, slot: int, j: int, threshold: float, sides: Any, first: int
) -> None:
    """Set what is expected on both sides of a threshold, and their numbers of classes."""
    counts = tree.counts[slot]
    moments = tree.moments[slot]
    classes = counts.shape[0]
    columns = moments.shape[1] // classes
    share_sides(moments, counts, j, threshold, sides)
    for side in range(2):
        tree.classes[first + side] = 0
        for c in range(classes):
            below = counts[c] > 0.0 and not threshold < moments[LOW, c * columns + j]
            above = counts[c] > 0.0 and not threshold >= moments[HIGH, c * columns + j]
            if (side == 0 and below) or (side == 1 and above):
                tree.classes[first + side] = c + 1


@nested
def split_leaf(
    tree: Tree,
    node: int,
    j: int,
    feature: int,
    threshold: float,
    sides: Any,
    first: int,
    slot: int,
) -> None:
    """Make of a leaf a test, with two leaves for what is expected of them.

    The test is of `feature`, the leaf's feature `j`. The new leaves are `first` and the node after
    it; `slot` is for the second, while the first has that of `node`.
    """
    own_slot = tree.slot[node]
    if has_bins(tree.bins):
        threshold = part_at_bound(tree.bins, tree, own_slot, j, threshold, sides, first)
    else:
        _part_normal(tree, own_slot, j, threshold, sides, first)
    for side in range(2):
        copy_numbers(sides[side], tree.weights[first + side], sides.shape[1])
    begin_leaf(tree, first, own_slot)
    begin_leaf(tree, first + 1, slot)
    tree.feature[node] = feature
    tree.threshold[node] = threshold
    tree.child[node] = first


@nested
def choose_split(
    tree: Tree, node: int, columns: int, rule: Any, sides: Any
) -> tuple[int, float]:
    """Return feature and threshold of the best candidate, if sure enough or tied with the second.

    Otherwise the feature is `STAYS`, or `BEGINS_ANEW` if there is no candidate. The threshold of a
    nominal feature is the value that is parted from the others, or `ALL_VALUES`.
    """
    weight = 0.0
    present = 0
    for c in range(tree.weights.shape[1]):
        weight += tree.weights[node, c]
        present += tree.weights[node, c] != 0.0
    tree.evaluated[node] = weight
    if present < 2:
        return STAYS, 0.0
    slot = tree.slot[node]
    before = entropy(tree.weights[node])
    # Not to split is a candidate, of the least merit; of equal candidates the last wins.
    best = -np.inf
    second = -np.inf
    best_feature = LEAF
    best_at = 0.0
    for j in range(columns):
        k = nominal_place(tree.values, column_at(tree.drawn, slot, j))
        if k >= 0:
            # Possible even without a value, as in MOA.
            is_possible = True
            merit, threshold = best_of_values(tree.values, slot, k, before, sides)
        elif has_bins(tree.bins):
            is_possible, merit, threshold = best_bound(
                tree.bins, slot, j, before, sides
            )
        else:
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
        return BEGINS_ANEW, 0.0
    bound = hoeffding_bound(tree.classes[node], rule.confidence, weight)
    if best - second > bound or bound < rule.tie:
        return best_feature, best_at
    return STAYS, 0.0


@nested
def add_row(
    x: Any, c: int, weight: float, tree: Tree, node: int, by_bayes: int, leaf: int
) -> None:
    """Add a row of class `c`, for which naive Bayes predicted `by_bayes`, to its leaf."""
    if leaf == ADAPTIVE:
        if tree.classes[node] > 0 and largest(tree.weights[node]) == c:
            tree.correct[node, 0] += weight
        if by_bayes == c:
            tree.correct[node, 1] += weight
    tree.weights[node, c] += weight
    tree.classes[node] = max(tree.classes[node], c + 1)
    slot = tree.slot[node]
    if has_bins(tree.bins):
        tree.counts[slot, c] += weight
        learn_bins(tree.bins, x, c, weight, slot)
    else:
        learn_moments(x, c, weight, tree.counts[slot], tree.moments[slot])
    if has_nominal(tree.values):
        learn_values(tree.values, tree.drawn, x, c, weight, slot)


@nested
def is_due(tree: Tree, node: int, grace: int) -> bool:
    """Return whether enough rows have come since the splits of a leaf were last compared."""
    total = 0.0
    for c in range(tree.weights.shape[1]):
        total += tree.weights[node, c]
    return bool(total - tree.evaluated[node] >= grace)


@nested
def set_votes(
    x: Any,
    tree: Tree,
    node: int,
    leaf: int,
    learned: bool,
    densities: Any,
    votes: Any,
) -> int:
    """Set the votes of a leaf; return the class by naive Bayes, 0 where nothing needs it.

    A row that is `learned` needs it where the leaf counts which of its ways is correct. A test
    without a branch for the row votes by the classes that it had when it was a leaf.
    """
    classes = votes.shape[0]
    by_bayes = 0
    if has_nominal(tree.values) and tree.feature[node] != LEAF:
        copy_numbers(tree.weights[node], votes, classes)
        return by_bayes
    bayes_wins = leaf == BAYES or (
        leaf == ADAPTIVE and tree.correct[node, 0] <= tree.correct[node, 1]
    )
    copy_numbers(tree.weights[node], votes, classes)
    if tree.classes[node] > 0 and (bayes_wins or (learned and leaf == ADAPTIVE)):
        set_bayes_votes(x, tree, node, densities, votes)
        by_bayes = largest(votes)
        if not bayes_wins:
            copy_numbers(tree.weights[node], votes, classes)
    return by_bayes
