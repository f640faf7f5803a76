"""Forests as nodes of ONNX: a row takes a step in all trees at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from olscale.learners.tree.adaptive_forest import AdaptiveRandomForest
from olscale.learners.tree.adaptive_forest_r import AdaptiveRandomForestR
from olscale.learners.tree.forest_arrays import Forest, forest_of
from olscale.learners.tree.leaf_features import NOT_DRAWN
from olscale.learners.tree.regression_pieces import LinearPieces
from olscale.learners.tree.tree_arrays import LEAF, Tree
from olscale.models.onnx_graph import Value
from olscale.models.onnx_trees import (
    add_scores,
    add_votes,
    densities_of,
    levels_of,
    require_numeric,
)


def add_forest(learner: AdaptiveRandomForest, rows: Value) -> Value:
    """Add the shares of the votes of all trees; of two classes the difference."""
    require_numeric(learner)
    weights = _weights_of(forest_of(learner.state_))
    of_trees = weights[:, np.newaxis]
    weighted = _add_shares(learner, rows, learner.leaf) * of_trees
    combined = weighted.sum(axis=1, keeps=False)
    return add_scores(combined, learner._outputs)


def add_trees(learner: AdaptiveRandomForest, rows: Value) -> Iterator[Value]:
    """Add the scores of each tree as if it were alone, then those by naive Bayes."""
    for leaf in (learner.leaf, "nb"):
        shares = _add_shares(learner, rows, leaf)
        for place in range(int(learner.trees)):
            yield add_scores(shares.columns(np.array(place)), learner._outputs)


def _add_shares(learner: AdaptiveRandomForest, rows: Value, leaf: str) -> Value:
    """Add the shares of the classes in the votes of each tree, shape (rows, trees, classes)."""
    forest = forest_of(learner.state_)
    tree = forest.tree
    graph = rows.graph
    levels = levels_of(tree, forest.front)
    node = _add_leaves(tree, forest.front, rows, len(levels) - 1)
    slot = graph.add("Gather", tree.slot, node)
    nodes = np.concatenate(levels)
    leaves = nodes[tree.feature[nodes] == LEAF]
    densities = densities_of(tree, leaf, leaves)
    parts = _add_parts(forest, rows, slot)
    votes = add_votes(tree, densities, parts, slot, node, axis=2)
    total = votes.sum(axis=2)
    is_zero = total.is_equal(0.0)
    # A tree all of whose products are too small for a number votes for no class.
    divisor = is_zero.choose(1.0, total)
    return votes / divisor


def add_regression_forest(learner: AdaptiveRandomForestR, rows: Value) -> Value:
    """Add the mean of the predictions of all trees."""
    pieces, roots = learner.pieces()
    node = _add_leaves(pieces, roots, rows, pieces.depth)
    predictions = rows.graph.add("Gather", pieces.constants, node)
    share = 1.0 / len(roots)
    return predictions.sum() * share


def _add_leaves(
    tree: Tree | LinearPieces, roots: np.ndarray, rows: Value, depth: int
) -> Value:
    """Add the number of each row's leaf in each tree."""
    graph = rows.graph
    is_leaf = tree.feature == LEAF
    feature = np.where(is_leaf, 0, tree.feature)
    # A row stays in its leaf.
    threshold = np.where(is_leaf, np.inf, tree.threshold)
    nodes = np.arange(len(is_leaf))
    child = np.where(is_leaf, nodes, tree.child)
    # The roots, for as many rows as there are: nothing is greater than infinity.
    any_feature = rows.columns(np.array([0]))
    zeros = any_feature.is_greater(np.inf).as_integers()
    node = zeros + roots[np.newaxis]
    for _ in range(depth):
        tested = graph.add("Gather", feature, node)
        values = graph.add("GatherElements", rows, tested, axis=1)
        limits = graph.add("Gather", threshold, node)
        above = values.is_greater(limits)
        lower_child = graph.add("Gather", child, node)
        node = lower_child + above.as_integers()
    return node


def _add_parts(forest: Forest, rows: Value, slot: Value) -> Value:
    """Add the features that each row's leaves look at, shape (rows, trees, features, 1)."""
    trees = len(forest.front)
    features = forest.tree.drawn.features
    subspace = features.shape[1]
    # Leaves that have drawn no features have density 1 whatever they look at.
    looked_at = np.where(features != NOT_DRAWN, features, 0)
    own_features = rows.graph.add("Gather", looked_at, slot)
    flat = own_features.reshape(-1, trees * subspace)
    values = rows.graph.add("GatherElements", rows, flat, axis=1)
    return values.reshape(-1, trees, subspace, 1)


def _weights_of(forest: Forest) -> np.ndarray:
    """Return the weight of each tree's vote: the percentage that it has predicted correctly."""
    correct, total = forest.hits.T
    has_correct = correct > 0.0
    percent = np.where(has_correct, 100.0 * correct, 1.0)
    rows = np.where(has_correct, total, 1.0)
    return percent / rows
