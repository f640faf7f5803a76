"""Forests as nodes of ONNX: a row takes a step in all trees at a time."""

from __future__ import annotations

import numpy as np

from olscale.learners.tree.adaptive_forest import AdaptiveRandomForest
from olscale.learners.tree.adaptive_forest_r import AdaptiveRandomForestR
from olscale.learners.tree.forest_arrays import NOT_DRAWN, Forest, forest_of
from olscale.learners.tree.regression_pieces import LinearPieces
from olscale.learners.tree.tree_arrays import LEAF, Tree
from olscale.models.onnx_graph import Value, doubles
from olscale.models.onnx_trees import add_scores, densities_of, levels_of


def add_forest(learner: AdaptiveRandomForest, rows: Value) -> Value:
    """Add the shares of the votes of all trees; of two classes the difference."""
    forest = forest_of(learner.state_)
    tree = forest.tree
    graph = rows.graph
    levels = levels_of(tree, forest.front)
    node = _add_leaves(tree, forest.front, rows, len(levels) - 1)
    slot = graph.add("Gather", tree.slot, node)
    nodes = np.concatenate(levels)
    leaves = nodes[tree.feature[nodes] == LEAF]
    heights, means, falls = densities_of(tree, learner.leaf, leaves)
    differences = _add_parts(forest, rows, slot) - graph.add("Gather", means, slot)
    squares = differences * differences / graph.add("Gather", falls, slot)
    densities = (squares * -1.0).apply("Exp") * graph.add("Gather", heights, slot)
    totals = tree.weights.sum(axis=1, keepdims=True)
    shares = tree.weights / np.where(totals > 0.0, totals, 1.0)
    votes = graph.add("Gather", doubles(shares), node) * densities.reduce(
        "ReduceProd", axis=2, keeps=False
    )
    total = votes.sum(axis=2)
    shares_of_trees = votes / total.is_equal(0.0).choose(1.0, total)
    combined = shares_of_trees * _weights_of(forest)[:, np.newaxis]
    return add_scores(combined.sum(axis=1, keeps=False), learner._outputs)


def add_regression_forest(learner: AdaptiveRandomForestR, rows: Value) -> Value:
    """Add the mean of the predictions of all trees."""
    pieces, roots = learner.pieces()
    node = _add_leaves(pieces, roots, rows, pieces.depth)
    return rows.graph.add("Gather", pieces.constants, node).sum() * (1.0 / len(roots))


def _add_leaves(
    tree: Tree | LinearPieces, roots: np.ndarray, rows: Value, depth: int
) -> Value:
    """Add the number of each row's leaf in each tree."""
    graph = rows.graph
    is_leaf = tree.feature == LEAF
    feature = np.where(is_leaf, 0, tree.feature)
    # A row stays in its leaf.
    threshold = np.where(is_leaf, np.inf, tree.threshold)
    child = np.where(is_leaf, np.arange(len(is_leaf)), tree.child)
    zeros = rows.columns(np.array([0])).is_greater(np.inf).as_integers()
    node = zeros + roots[np.newaxis]
    for _ in range(depth):
        tested = graph.add("Gather", feature, node)
        values = graph.add("GatherElements", rows, tested, axis=1)
        above = values.is_greater(graph.add("Gather", threshold, node))
        node = graph.add("Gather", child, node) + above.as_integers()
    return node


def _add_parts(forest: Forest, rows: Value, slot: Value) -> Value:
    """Add the features that each row's leaves look at, shape (rows, trees, features, 1)."""
    trees, subspace = len(forest.front), forest.features.shape[1]
    drawn = np.where(forest.features == NOT_DRAWN, 0, forest.features)
    features = rows.graph.add("Gather", drawn, slot)
    flat = features.reshape(-1, trees * subspace)
    values = rows.graph.add("GatherElements", rows, flat, axis=1)
    return values.reshape(-1, trees, subspace, 1)


def _weights_of(forest: Forest) -> np.ndarray:
    """Return the weight of each tree's vote: the percentage that it has predicted correctly."""
    correct, total = forest.hits.T
    percent = np.where(correct > 0.0, 100.0 * correct, 1.0)
    return percent / np.where(correct > 0.0, total, 1.0)
