"""Trees as nodes of ONNX: a row takes a step at a time, as many as the longest way has."""

from __future__ import annotations

import numpy as np

from olscale.learners.tree.hoeffding_loop import TIE
from olscale.learners.tree.hoeffding_tree import HoeffdingTree
from olscale.learners.tree.tree_arrays import FALL, HEIGHT, LEAF, MEAN, Tree, tree_of
from olscale.models.onnx_graph import Value, doubles

_LEAST_FALL = 1e-300


def add_tree(learner: HoeffdingTree, rows: Value) -> Value:
    """Add the shares of the votes in the leaf of a row; of two classes the difference."""
    tree = tree_of(learner.state_)
    graph = rows.graph
    node = _add_leaf(tree, rows, int(learner.measures()["depth"]))
    slot = graph.add("Gather", tree.slot, node)
    heights, means, falls = _densities_of(learner, tree)
    differences = rows.add_axis(2) - graph.add("Gather", means, slot)
    squares = differences * differences / graph.add("Gather", falls, slot)
    densities = (squares * -1.0).apply("Exp") * graph.add("Gather", heights, slot)
    totals = tree.weights.sum(axis=1, keepdims=True)
    shares = tree.weights / np.where(totals > 0.0, totals, 1.0)
    votes = graph.add("Gather", shares, node) * densities.reduce(
        "ReduceProd", keeps=False
    )
    total = votes.sum()
    scores = votes / total.is_equal(0.0).choose(1.0, total)
    if learner._outputs > 1:
        return scores
    first = scores.columns(np.array([0]))
    second = scores.columns(np.array([1]))
    difference = second - first
    return second.is_greater(first).choose(difference, difference.at_most(TIE))


def _add_leaf(tree: Tree, rows: Value, depth: int) -> Value:
    """Add the number of each row's leaf."""
    graph = rows.graph
    is_leaf = tree.feature == LEAF
    feature = np.where(is_leaf, 0, tree.feature)
    # A row stays in its leaf.
    threshold = np.where(is_leaf, np.inf, tree.threshold)
    child = np.where(is_leaf, np.arange(len(is_leaf)), tree.child)
    node = rows.columns(np.array([0])).reshape(-1).is_greater(np.inf).as_integers()
    for _ in range(depth):
        tested = graph.add("Gather", feature, node).add_axis(1)
        values = graph.add("GatherElements", rows, tested, axis=1).reshape(-1)
        above = values.is_greater(graph.add("Gather", threshold, node))
        node = graph.add("Gather", child, node) + above.as_integers()
    return node


def _densities_of(
    learner: HoeffdingTree, tree: Tree
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return heights, means and falls of the slots, shape (slots, columns, classes)."""
    slots, classes = tree.counts.shape
    parts = tree.moments.reshape(slots, 6, classes, -1).swapaxes(2, 3)
    heights = parts[:, HEIGHT]
    falls = np.maximum(parts[:, FALL], _LEAST_FALL)
    # A class without rows has density 0.
    heights = np.where(tree.counts[:, np.newaxis] > 0.0, heights, 0.0)
    no_density = np.logical_not(tree.counts.any(axis=1))
    for node in np.flatnonzero(tree.feature[: tree.sizes[0]] == LEAF):
        if not learner.votes_by_bayes(tree, int(node)):
            no_density[tree.slot[node]] = True
    heights[no_density] = 1.0
    falls[no_density] = np.inf
    return heights, doubles(parts[:, MEAN]), falls
