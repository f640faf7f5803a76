"""Trees as nodes of ONNX: a row takes a step at a time, as many as the longest way has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from olscale.errors import ModelError
from olscale.learners.tree.fimt_dd import FIMTDD
from olscale.learners.tree.hoeffding_tree import HoeffdingTree
from olscale.learners.tree.leaves import TIE
from olscale.learners.tree.nominal_columns import KnowsNominal
from olscale.learners.tree.regression_pieces import LinearPieces
from olscale.learners.tree.tree_arrays import FALL, HEIGHT, LEAF, MEAN, Tree, tree_of
from olscale.models.onnx_graph import Value, doubles

_LEAST_FALL = 1e-300


def require_numeric(learner: KnowsNominal) -> None:
    """Refuse trees that split nominal columns."""
    nominal = learner.resolved_params().get("nominal")
    if nominal is not None:
        raise ModelError(
            f"learner {learner.name} has nominal columns ({nominal}), and only trees of "
            "numeric ones are written as ONNX; learn with the columns one-hot, or predict with "
            "olscale predict"
        )


def add_tree(learner: HoeffdingTree, rows: Value) -> Value:
    """Add the shares of the votes in the leaf of a row; of two classes the difference."""
    require_numeric(learner)
    tree = tree_of(learner.state_)
    graph = rows.graph
    levels = levels_of(tree, np.zeros(1, dtype=np.int64))
    node = _add_leaf(tree, rows, len(levels) - 1)
    slot = graph.add("Gather", tree.slot, node)
    nodes = np.concatenate(levels)
    leaves = nodes[tree.feature[nodes] == LEAF]
    densities = densities_of(tree, learner.leaf, leaves)
    votes = add_votes(tree, densities, rows.add_axis(2), slot, node)
    return add_scores(votes, learner._outputs)


def add_scores(votes: Value, outputs: int) -> Value:
    """Add the shares of votes, shape (rows, classes); of two classes the difference."""
    total = votes.sum()
    is_zero = total.is_equal(0.0)
    scores = votes / is_zero.choose(1.0, total)
    if outputs > 1:
        return scores
    first = scores.columns(np.array([0]))
    second = scores.columns(np.array([1]))
    difference = second - first
    is_second = second.is_greater(first)
    below = difference.at_most(TIE)
    return is_second.choose(difference, below)


def levels_of(tree: Tree, roots: np.ndarray) -> list[np.ndarray]:
    """Return the nodes of the trees, those of equal distance from their roots together."""
    levels = [roots]
    while True:
        nodes = levels[-1]
        first = tree.child[nodes[tree.feature[nodes] != LEAF]]
        if not len(first):
            return levels
        levels.append(np.concatenate([first, first + 1]))


def add_regression_tree(learner: FIMTDD, rows: Value) -> Value:
    """Add the prediction of the leaf of a row."""
    pieces = learner.pieces()
    graph = rows.graph
    node = _add_leaf(pieces, rows, pieces.depth)
    products = rows * graph.add("Gather", pieces.slopes, node)
    own_constants = graph.add("Gather", pieces.constants, node)
    constants = own_constants.add_axis(1)
    return products.sum() + constants


def _add_leaf(tree: Tree | LinearPieces, rows: Value, depth: int) -> Value:
    """Add the number of each row's leaf."""
    graph = rows.graph
    is_leaf = tree.feature == LEAF
    feature = np.where(is_leaf, 0, tree.feature)
    # A row stays in its leaf.
    threshold = np.where(is_leaf, np.inf, tree.threshold)
    nodes = np.arange(len(is_leaf))
    child = np.where(is_leaf, nodes, tree.child)
    # The root, node 0, for as many rows as there are: nothing is greater than infinity.
    any_feature = rows.columns(np.array([0])).reshape(-1)
    node = any_feature.is_greater(np.inf).as_integers()
    for _ in range(depth):
        tested = graph.add("Gather", feature, node).add_axis(1)
        cells = graph.add("GatherElements", rows, tested, axis=1)
        values = cells.reshape(-1)
        limits = graph.add("Gather", threshold, node)
        above = values.is_greater(limits)
        lower_child = graph.add("Gather", child, node)
        node = lower_child + above.as_integers()
    return node


class LeafDensities(NamedTuple):
    """Normal densities in the slots of leaves, arrays of shape (slots, columns, classes)."""

    heights: np.ndarray
    means: np.ndarray
    falls: np.ndarray


def add_votes(
    tree: Tree,
    densities: LeafDensities,
    values: Value,
    slot: Value,
    node: Value,
    axis: int = 1,
) -> Value:
    """Add the votes of the leaves `node`: shares of their classes times densities at `values`.

    `axis` of the values has the columns.
    """
    graph = values.graph
    own_means = graph.add("Gather", densities.means, slot)
    differences = values - own_means
    squares = differences * differences
    own_falls = graph.add("Gather", densities.falls, slot)
    quotients = squares / own_falls
    exponents = quotients * -1.0
    shapes = exponents.apply("Exp")
    own_heights = graph.add("Gather", densities.heights, slot)
    own_densities = shapes * own_heights
    totals = tree.weights.sum(axis=1, keepdims=True)
    # A leaf without rows has no shares, and no total to divide by.
    divisors = np.where(totals > 0.0, totals, 1.0)
    shares = doubles(tree.weights / divisors)
    own_shares = graph.add("Gather", shares, node)
    likelihoods = own_densities.reduce("ReduceProd", axis=axis, keeps=False)
    return own_shares * likelihoods


def densities_of(tree: Tree, leaf: str, leaves: np.ndarray) -> LeafDensities:
    """Return the densities of a tree whose `leaves`, by their nodes, predict in the way `leaf`."""
    slots, classes = tree.counts.shape
    moments = tree.moments
    if moments.shape[1] == 0:
        # Histograms give each value the density 0, as do moments of nothing.
        moments = np.zeros((slots, 6, moments.shape[2]))
    by_class = moments.reshape(slots, 6, classes, -1)
    parts = by_class.swapaxes(2, 3)
    means = doubles(parts[:, MEAN])
    falls = np.maximum(parts[:, FALL], _LEAST_FALL)
    # A class without rows has density 0.
    has_rows = tree.counts[:, np.newaxis] > 0.0
    heights = np.where(has_rows, parts[:, HEIGHT], 0.0)
    no_density = np.logical_not(tree.counts.any(axis=1))
    majority, bayes = tree.correct[leaves].T
    by_bayes = (leaf == "nb") | ((leaf == "nba") & (majority <= bayes))
    no_density[tree.slot[leaves[~by_bayes]]] = True
    heights[no_density] = 1.0
    falls[no_density] = np.inf
    return LeafDensities(heights, means, falls)
