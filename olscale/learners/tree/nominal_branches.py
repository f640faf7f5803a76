"""Tests of nominal columns: chains of nodes that each ask for one value.

A test with a branch for each value is a chain: the first child of a node is the branch of its
value, the second asks for the next one. The last node of a chain has no children; a row that stops
there, or has no value, is predicted by the classes that the test had as a leaf, and a value that is
learned there gets a branch of its own.
"""

from typing import Any

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import nested
from olscale.learners.tree.leaf_features import column_at
from olscale.learners.tree.leaves import begin_leaf, split_leaf
from olscale.learners.tree.nominal_values import (
    ALL_VALUES,
    part_value,
    set_classes_of_value,
    values_of_leaf,
)
from olscale.learners.tree.tree_arrays import Tree
from olscale.learners.tree.tree_pool import Pool, take_pair, take_slot
from olscale.learners.tree.value_counts import (
    FOLLOWS,
    NO_BRANCH,
    ValueCounts,
    column_of_test,
    nominal_place,
    of_nominal,
    values_test,
)

NOWHERE = -1
"""In place of a leaf: no leaf learns a row without the value that a test asks for."""


@nested
def _end_test(tree: Tree, node: int, before: int) -> None:
    """Let `node` end the test of the node before it."""
    tree.feature[node] = tree.feature[before]
    tree.threshold[node] = 0.0
    tree.child[node] = NO_BRANCH
    tree.slot[node] = FOLLOWS
    tree.classes[node] = tree.classes[before]
    tree.evaluated[node] = tree.evaluated[before]
    copy_numbers(tree.weights[before], tree.weights[node], tree.weights.shape[1])
    copy_numbers(tree.correct[before], tree.correct[node], 2)


@nested
def add_branch(
    tree: Tree, pool: Pool, node: int, value: int, slot: int, weights: Any, classes: int
) -> int:
    """Give the end of a chain a leaf for a value; return it. These classes are expected there."""
    first = take_pair(tree, pool)
    tree.threshold[node] = value
    tree.child[node] = first
    copy_numbers(weights, tree.weights[first], weights.shape[0])
    tree.classes[first] = classes
    begin_leaf(tree, first, slot)
    _end_test(tree, first + 1, node)
    return first


@of_nominal(NOWHERE)
def branch_of_value(
    values: ValueCounts, tree: Tree, pool: Pool, node: int, x: Any, weights: Any
) -> int:
    """Give a test a leaf for the value that a row has; return it, `NOWHERE` without a value.

    There must be room. `weights` is space for the classes that are expected there: none.
    """
    value = int(x[column_of_test(tree.feature[node])])
    if value < 0:
        # As in MOA, a row whose value is missing is learned nowhere.
        return NOWHERE
    weights[:] = 0.0
    return add_branch(tree, pool, node, value, take_slot(tree, pool), weights, 0)


@of_nominal(1)
def pairs_of_split(
    values: ValueCounts, tree: Tree, node: int, j: int, threshold: float
) -> int:
    """Return how many pairs of nodes a leaf gets by the split that it has chosen."""
    slot = tree.slot[node]
    k = nominal_place(values, column_at(tree.drawn, slot, j))
    if k < 0 or threshold != ALL_VALUES:
        return 1
    # In MOA a column without any value leads to a test without branches.
    return max(1, values_of_leaf(values, slot, k))


@of_nominal()
def _split_by_values(
    values: ValueCounts, tree: Tree, pool: Pool, node: int, k: int, sides: Any
) -> None:
    """Make of a leaf a test of the nominal column `k` with a branch for each value."""
    own_slot = tree.slot[node]
    branches = max(1, values_of_leaf(values, own_slot, k))
    tree.feature[node] = values_test(values.nominal[k])
    end = node
    for value in range(branches):
        classes = set_classes_of_value(values, own_slot, k, value, sides[0])
        slot = own_slot
        if value < branches - 1:
            slot = take_slot(tree, pool)
        # The last leaf gets the slot of the counts that are read until then.
        end = add_branch(tree, pool, end, value, slot, sides[0], classes) + 1


@of_nominal()
def _part_leaf(
    values: ValueCounts,
    tree: Tree,
    pool: Pool,
    node: int,
    k: int,
    value: int,
    sides: Any,
) -> None:
    """Make of a leaf a test with one leaf for a value of the nominal column `k`, one for others."""
    slot = tree.slot[node]
    part_value(values, slot, k, value, sides)
    first = take_pair(tree, pool)
    for side in range(2):
        tree.classes[first + side] = 0
        for c in range(sides.shape[1]):
            tree.weights[first + side, c] = sides[side, c]
            span = values.value_spans[slot, c, k]
            has_value = value < span
            has_other = span > 1 or (span == 1 and value != 0)
            if (side == 0 and has_value) or (side == 1 and has_other):
                tree.classes[first + side] = c + 1
    begin_leaf(tree, first, slot)
    begin_leaf(tree, first + 1, take_slot(tree, pool))
    tree.feature[node] = values_test(values.nominal[k])
    tree.threshold[node] = value
    tree.child[node] = first


@nested
def make_split(
    tree: Tree, pool: Pool, node: int, j: int, threshold: float, sides: Any
) -> None:
    """Make of a leaf the test that it has chosen, with its branches; there must be room."""
    column = column_at(tree.drawn, tree.slot[node], j)
    k = nominal_place(tree.values, column)
    if k < 0:
        first = take_pair(tree, pool)
        slot = take_slot(tree, pool)
        split_leaf(tree, node, j, column, threshold, sides, first, slot)
    elif threshold == ALL_VALUES:
        _split_by_values(tree.values, tree, pool, node, k, sides)
    else:
        _part_leaf(tree.values, tree, pool, node, k, int(threshold), sides)
