"""The arrays of a growing tree: made, enlarged, and checked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.tree.bins import are_bins, bins_of, empty_bins_like
from olscale.learners.tree.leaf_features import features_of
from olscale.learners.tree.value_counts import (
    FOLLOWS,
    NO_BRANCH,
    are_tests,
    are_value_counts,
    is_end_of_values,
    value_counts_of,
    with_room_of,
    with_slots,
)

MEAN, SQUARES, LOW, HIGH, HEIGHT, FALL = range(6)
"""What `Tree.moments` has of each feature and class: mean, sum of squared differences, least and
greatest value, and the density ``height exp(-(x - mean)^2 / fall)``."""

LEAF = -1
"""In the place of a leaf's feature."""


class Tree(NamedTuple):
    """The state of the learner; node 0 is the root.

    Parameters
    ----------
    feature : int64 array of shape (nodes,)
        Feature that a node tests, `LEAF` for a leaf, below it for a nominal one (`values_test`).
    threshold : float64 array of shape (nodes,)
        Rows whose feature is at most this go to the first child; of a nominal one those that have
        this value.
    child : int64 array of shape (nodes,)
        First child; the second is the next node.
    slot : int64 array of shape (nodes,)
        Where `counts` and `moments` have a leaf.
    weights : float64 array of shape (nodes, classes)
        Weight of each class in a leaf: what its parent expected there, and its rows.
    classes : int64 array of shape (nodes,)
        One more than the last class that has come, or was expected to.
    evaluated : float64 array of shape (nodes,)
        Weight of the rows when splits of the leaf were last evaluated.
    correct : float64 array of shape (nodes, 2)
        Weight of its rows that the majority class, and naive Bayes, predicted correctly.
    counts : float64 array of shape (slots, classes)
        Weight of the rows of each class since the leaf began.
    moments : float64 array of shape (slots, 6, classes * columns)
        Moments of these rows: of all features in class 0, then in class 1, and so on. None, in
        shape (slots, 0, classes * columns), where leaves have histograms.
    sizes : int64 array of shape (2,)
        Number of nodes, and of leaves.
    values : ValueCounts or tuple of nothing
        Values of nominal columns in these rows, if there are such columns.
    bins : Bins or tuple of nothing
        Histograms of these rows, if they are in place of moments.
    drawn : LeafFeatures or tuple of nothing
        Columns at which leaves look, if not at all: what leaves have of features is of these.
    """

    feature: NDArray[np.int64]
    threshold: FloatArray
    child: NDArray[np.int64]
    slot: NDArray[np.int64]
    weights: FloatArray
    classes: NDArray[np.int64]
    evaluated: FloatArray
    correct: FloatArray
    counts: FloatArray
    moments: FloatArray
    sizes: NDArray[np.int64]
    values: Any
    bins: Any
    drawn: Any


def empty_tree(columns: int, classes: int, leaves: int) -> State:
    """Return the arrays of a tree of one leaf, with room for `leaves`.

    Examples
    --------
    >>> empty_tree(columns=9, classes=2, leaves=4)["moments"].shape
    (4, 6, 18)
    """
    # A tree of tests with two children each has one test less than leaves.
    nodes = 2 * leaves - 1
    return {
        "feature": np.full(nodes, LEAF, dtype=np.int64),
        "threshold": np.zeros(nodes),
        "child": np.zeros(nodes, dtype=np.int64),
        "slot": np.zeros(nodes, dtype=np.int64),
        "weights": np.zeros((nodes, classes)),
        "classes": np.zeros(nodes, dtype=np.int64),
        "evaluated": np.zeros(nodes),
        "correct": np.zeros((nodes, 2)),
        "counts": np.zeros((leaves, classes)),
        "moments": np.zeros((leaves, 6, classes * columns)),
        "sizes": np.ones(2, dtype=np.int64),
    }


def tree_of(state: Mapping[str, NDArray[Any]]) -> Tree:
    """Return the tree of these arrays, ignoring others."""
    names = set(Tree._fields) - {"values", "bins", "drawn"}
    return Tree(
        **{name: state[name] for name in names},
        values=value_counts_of(state),
        bins=bins_of(state),
        drawn=features_of(state),
    )


def grown(state: Mapping[str, NDArray[Any]], leaves: int) -> State:
    """Return the arrays with room for `leaves`."""
    classes = state["counts"].shape[1]
    columns = state["moments"].shape[2] // classes
    larger = empty_tree(columns, classes, leaves)
    larger.update(empty_bins_like(state, leaves))
    for name, array in larger.items():
        array[: len(state[name])] = state[name]
    return {**larger, **with_slots(state, leaves)}


def branches_below(tree: Tree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the branches of the tests among `nodes`: all values of those of nominal columns."""
    branches = []
    tests = nodes[tree.feature[nodes] != LEAF]
    while len(tests):
        first = tree.child[tests[tree.child[tests] != NO_BRANCH]]
        follows = tree.slot[first + 1] == FOLLOWS
        branches += [first, first[~follows] + 1]
        # Chains continue at their second children.
        tests = first[follows] + 1
    return np.concatenate([nodes[:0], *branches])


def allow_sizes(state: State, other: Mapping[str, NDArray[Any]]) -> None:
    """Give `state` the room that the tree `other` needs, if that is one of the same columns."""
    counts = other.get("counts", state["counts"])
    if counts.shape[1:] == state["counts"].shape[1:] and len(counts) > len(
        state["counts"]
    ):
        state.update(grown(state, len(counts)))
    state.update(with_room_of(state, other))


def is_tree(tree: Tree, columns: int) -> bool:
    """Return whether a loop that follows the tree stays within its arrays, and ends."""
    nodes, leaves = tree.sizes.tolist()
    slots, classes = tree.counts.shape
    if not (1 <= leaves <= slots and 1 <= nodes <= 2 * slots - 1):
        return False
    feature = tree.feature[:nodes]
    is_end = is_end_of_values(feature, tree.child[:nodes])
    inner = np.flatnonzero((feature != LEAF) & ~is_end)
    children = tree.child[inner]
    outer = tree.slot[:nodes][feature == LEAF]
    return bool(
        nodes == 2 * (leaves + is_end.sum()) - 1
        and are_tests(feature, tree.values, columns)
        # A child behind its parent: no way leads in a circle.
        and (children > inner).all()
        and (children + 1 < nodes).all()
        and np.array_equal(np.sort(outer), np.arange(leaves))
        and (tree.classes >= 0).all()
        and (tree.classes <= classes).all()
        and are_value_counts(tree.values)
        and are_bins(tree.bins)
    )
