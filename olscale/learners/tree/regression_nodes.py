"""Nodes of growing regression trees: new leaves, splits, and drift that is looked for or not."""

from typing import Any

import numpy as np

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import inlined, nested
from olscale.learners.tree.regression_arrays import (
    ALTERNATE,
    ALTERNATES,
    DRIFT,
    FIRST,
    FIRST_UNUSED,
    LEAF,
    LEARNED,
    LEAST_DRIFT,
    LEAVES,
    NODES_END,
    NONE,
    ORIGINAL,
    PARENT,
    SECOND,
    STARTED,
    UNUSED,
    UNUSED_NODES,
    WATCHES,
    Trees,
)
from olscale.learners.tree.target_sums import NO_NODE, SumTrees, add_value, free_tree

# The largest float64: any drift is below, so that the first one is the least so far.
_LARGEST = 1.7976931348623157e308
# The least drift after a restart, which MOA takes from whole numbers.
_LARGEST_OF_RESTART = 2147483647.0


@inlined
def unused_nodes(trees: Trees) -> int:
    """Return how many nodes can be added."""
    room = trees.feature.shape[0] - trees.nodes[NODES_END]
    return int(room + trees.nodes[UNUSED_NODES])


@nested
def add_leaf(trees: Trees) -> int:
    """Add a leaf without rows, parent or weights; drift is looked for."""
    node = trees.nodes[FIRST_UNUSED]
    if trees.nodes[UNUSED_NODES] > 0:
        trees.nodes[FIRST_UNUSED] = trees.links[node, FIRST]
        trees.nodes[UNUSED_NODES] -= 1
    else:
        node = trees.nodes[NODES_END]
        trees.nodes[NODES_END] += 1
    trees.feature[node] = LEAF
    for place in range(trees.links.shape[1]):
        trees.links[node, place] = NONE
    for place in range(trees.numbers.shape[1]):
        trees.numbers[node, place] = 0.0
    for place in range(trees.weights.shape[1]):
        trees.weights[node, place] = 0.0
    for place in range(trees.values.shape[1]):
        trees.values[node, place] = NO_NODE
    trees.waiting[node] = 0
    trees.flags[node, WATCHES] = True
    trees.flags[node, STARTED] = False
    return int(node)


@nested
def free_values(trees: Trees, sums: SumTrees, node: int, stack: Any) -> None:
    """Drop the values that a leaf has kept."""
    for place in range(trees.values.shape[1]):
        free_tree(sums, trees.values[node, place], stack)
        trees.values[node, place] = NO_NODE
    trees.waiting[node] = 0


@nested
def keep_values(trees: Trees, sums: SumTrees, node: int) -> None:
    """Put the rows of a leaf that wait into the trees of its features."""
    rows = trees.rows[node]
    count = trees.waiting[node]
    features = trees.values.shape[1]
    # Feature by feature: each one's tree of values is reached once for all rows that wait.
    for place in range(features):
        root = trees.values[node, place]
        for i in range(count):
            root = add_value(sums, root, rows[i, place], rows[i, features])
        trees.values[node, place] = root
    trees.waiting[node] = 0


@nested
def split_leaf(
    trees: Trees, tree: int, sums: SumTrees, node: int, j: int, at: float, stack: Any
) -> bool:
    """Make of a leaf a test of feature `j`; return whether nodes are lost by that."""
    free_values(trees, sums, node, stack)
    for side in range(2):
        child = add_leaf(trees)
        trees.links[node, FIRST + side] = child
        trees.links[child, PARENT] = node
        trees.flags[child, WATCHES] = trees.flags[node, WATCHES]
        columns = trees.weights.shape[1]
        # Models start from the weights of the parent; forests without models draw features anew.
        if columns > 0:
            trees.flags[child, STARTED] = trees.flags[node, STARTED]
        copy_numbers(trees.weights[node], trees.weights[child], columns)
    trees.feature[node] = j
    trees.threshold[node] = at
    trees.numbers[node, LEARNED] = 0.0
    trees.numbers[node, DRIFT] = 0.0
    trees.numbers[node, LEAST_DRIFT] = _LARGEST
    is_top = trees.links[node, PARENT] == NONE and trees.links[node, ORIGINAL] == NONE
    trees.links[node, ORIGINAL] = NONE
    trees.sizes[tree, LEAVES] += 1
    # An alternate that has taken a place knows no parent: its first test is the new root.
    if is_top and trees.roots[tree] != node:
        trees.roots[tree] = node
        return True
    return False


@nested
def stop_watching(trees: Trees, node: int) -> None:
    """Look for drift no more in a test and below it."""
    stack = np.empty(trees.feature.shape[0], dtype=np.int64)
    stack[0] = node
    height = 1
    while height > 0:
        height -= 1
        at = stack[height]
        trees.flags[at, WATCHES] = False
        if trees.feature[at] != LEAF:
            stack[height] = trees.links[at, FIRST]
            stack[height + 1] = trees.links[at, SECOND]
            height += 2


@nested
def restart_watching(trees: Trees, node: int) -> None:
    """Look for drift anew in a node and below it, but for tests that have an alternate."""
    stack = np.empty(trees.feature.shape[0], dtype=np.int64)
    stack[0] = node
    height = 1
    while height > 0:
        height -= 1
        at = stack[height]
        if trees.feature[at] == LEAF:
            trees.flags[at, WATCHES] = True
        elif trees.links[at, ALTERNATE] == NONE:
            trees.flags[at, WATCHES] = True
            trees.numbers[at, DRIFT] = 0.0
            trees.numbers[at, LEAST_DRIFT] = _LARGEST_OF_RESTART
            stack[height] = trees.links[at, FIRST]
            stack[height + 1] = trees.links[at, SECOND]
            height += 2


@nested
def _mark_tree(trees: Trees, tree: int, in_use: Any) -> None:
    """Mark the nodes of a tree and of its alternates, and count leaves and alternates."""
    stack = np.empty(trees.feature.shape[0], dtype=np.int64)
    stack[0] = trees.roots[tree]
    height = 1
    leaves = 0
    alternates = 0
    while height > 0:
        height -= 1
        at = stack[height]
        in_use[at] = True
        if trees.feature[at] == LEAF:
            leaves += 1
            continue
        stack[height] = trees.links[at, FIRST]
        stack[height + 1] = trees.links[at, SECOND]
        height += 2
        if trees.links[at, ALTERNATE] != NONE:
            stack[height] = trees.links[at, ALTERNATE]
            height += 1
            alternates += 1
    trees.sizes[tree, LEAVES] = leaves
    trees.sizes[tree, ALTERNATES] = alternates


@nested
def free_lost_nodes(trees: Trees, sums: SumTrees, stack: Any) -> None:
    """Make nodes free to which no way leads from a root."""
    end = trees.nodes[NODES_END]
    in_use = np.zeros(end, dtype=np.bool_)
    for tree in range(trees.roots.shape[0]):
        _mark_tree(trees, tree, in_use)
    for node in range(end):
        if in_use[node] or trees.feature[node] == UNUSED:
            continue
        free_values(trees, sums, node, stack)
        trees.feature[node] = UNUSED
        # Unused nodes are a list: each has the next in place of its child.
        trees.links[node, FIRST] = trees.nodes[FIRST_UNUSED]
        trees.nodes[FIRST_UNUSED] = node
        trees.nodes[UNUSED_NODES] += 1
