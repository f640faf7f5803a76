"""Trees that share their arrays, and give back what of them is pruned."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, nested
from olscale.learners.contract.learner import State
from olscale.learners.tree.bins import are_bins
from olscale.learners.tree.leaves import begin_leaf
from olscale.learners.tree.tree_arrays import LEAF, Tree, empty_tree
from olscale.learners.tree.value_counts import (
    NO_BRANCH,
    are_tests,
    are_value_counts,
)

NODES, SLOTS = range(2)
"""What `Tree.sizes` has of trees in a pool: nodes and slots that were ever used."""

PAIRS, FREE_SLOTS = range(2)
"""What `Pool.free_sizes` has."""


class Pool(NamedTuple):
    """Pairs of nodes and slots that trees have given back.

    Parameters
    ----------
    free_pairs : int64 array of shape (pairs,)
        The first nodes of pairs.
    free_slots : int64 array of shape (slots,)
    free_sizes : int64 array of shape (2,)
        How many there are of each.
    """

    free_pairs: NDArray[np.int64]
    free_slots: NDArray[np.int64]
    free_sizes: NDArray[np.int64]


def empty_pooled_trees(columns: int, classes: int, nodes: int, slots: int) -> State:
    """Return the arrays of a leaf, and of a pool to which nothing has been returned."""
    state = empty_tree(columns, classes, slots)
    for name in ("feature", "threshold", "child", "slot"):
        state[name] = np.resize(state[name], nodes)
    for name in ("weights", "classes", "evaluated", "correct"):
        state[name] = np.zeros((nodes, *state[name].shape[1:]), state[name].dtype)
    return {
        **state,
        "free_pairs": np.zeros(nodes // 2 + 1, dtype=np.int64),
        "free_slots": np.zeros(slots, dtype=np.int64),
        "free_sizes": np.zeros(2, dtype=np.int64),
    }


def pool_of(state: Mapping[str, NDArray[Any]]) -> Pool:
    """Return the pool of these arrays, ignoring others."""
    return Pool(**{name: state[name] for name in Pool._fields})


@nested
def splits_left(tree: Tree, pool: Pool) -> int:
    """Return for how many splits there is room, each a pair of nodes and a slot."""
    pairs = (tree.feature.shape[0] - tree.sizes[NODES]) // 2 + pool.free_sizes[PAIRS]
    slots = tree.counts.shape[0] - tree.sizes[SLOTS] + pool.free_sizes[FREE_SLOTS]
    return int(min(pairs, slots))


@nested
def slots_used(tree: Tree, pool: Pool) -> int:
    """Return the number of leaves of all trees."""
    return int(tree.sizes[SLOTS] - pool.free_sizes[FREE_SLOTS])


@nested
def take_pair(tree: Tree, pool: Pool) -> int:
    """Return the first of two nodes that no tree has; there must be room."""
    if pool.free_sizes[PAIRS] > 0:
        pool.free_sizes[PAIRS] -= 1
        return int(pool.free_pairs[pool.free_sizes[PAIRS]])
    tree.sizes[NODES] += 2
    return int(tree.sizes[NODES] - 2)


@nested
def take_slot(tree: Tree, pool: Pool) -> int:
    """Return a slot that no leaf has; there must be room."""
    if pool.free_sizes[FREE_SLOTS] > 0:
        pool.free_sizes[FREE_SLOTS] -= 1
        return int(pool.free_slots[pool.free_sizes[FREE_SLOTS]])
    tree.sizes[SLOTS] += 1
    return int(tree.sizes[SLOTS] - 1)


@nested
def _give_back(tree: Tree, pool: Pool, node: int) -> None:
    """Give back the slot of a leaf, or the children of a test but not what is below these."""
    if tree.feature[node] == LEAF:
        pool.free_slots[pool.free_sizes[FREE_SLOTS]] = tree.slot[node]
        pool.free_sizes[FREE_SLOTS] += 1
    elif tree.child[node] != NO_BRANCH:
        pool.free_pairs[pool.free_sizes[PAIRS]] = tree.child[node]
        pool.free_sizes[PAIRS] += 1


@nested
def give_back_tree(tree: Tree, pool: Pool, root: int) -> None:
    """Give back all nodes below `root`, and all slots of its leaves."""
    pair = pool.free_sizes[PAIRS]
    _give_back(tree, pool, root)
    # What was just given back is the queue of the nodes to visit.
    while pair < pool.free_sizes[PAIRS]:
        first = pool.free_pairs[pair]
        _give_back(tree, pool, first)
        _give_back(tree, pool, first + 1)
        pair += 1


@nested
def give_back_pair(tree: Tree, pool: Pool, first: int) -> None:
    """Give back two leaves and their slots."""
    _give_back(tree, pool, first)
    _give_back(tree, pool, first + 1)
    pool.free_pairs[pool.free_sizes[PAIRS]] = first
    pool.free_sizes[PAIRS] += 1


@nested
def begin_tree(tree: Tree, pool: Pool, root: int) -> None:
    """Make a leaf without rows of a tree."""
    give_back_tree(tree, pool, root)
    for c in range(tree.weights.shape[1]):
        tree.weights[root, c] = 0.0
    tree.classes[root] = 0
    # There is room: the tree has just given back a slot at least.
    begin_leaf(tree, root, take_slot(tree, pool))


@compiled
def _mark_trees(tree: Tree, pool: Pool, roots: Any, nodes: Any, slots: Any) -> bool:
    """Mark all nodes and slots that are used or free; return whether each is one of these, once."""
    # A node is put here once, as it is marked before.
    stack = np.empty(nodes.shape[0] + 1, dtype=np.int64)
    for root in roots:
        if not 0 <= root < tree.sizes[NODES] or nodes[root]:
            return False
        nodes[root] = True
        stack[0] = root
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            if tree.feature[node] == LEAF:
                slot = tree.slot[node]
                if not 0 <= slot < tree.sizes[SLOTS] or slots[slot]:
                    return False
                slots[slot] = True
                continue
            first = tree.child[node]
            if tree.feature[node] < LEAF and first == NO_BRANCH:
                continue
            if not 0 <= first < tree.sizes[NODES] - 1 or nodes[first]:
                return False
            if nodes[first + 1]:
                return False
            nodes[first] = True
            nodes[first + 1] = True
            stack[size] = first
            stack[size + 1] = first + 1
            size += 2
    for k in range(pool.free_sizes[PAIRS]):
        first = pool.free_pairs[k]
        if not 0 <= first < tree.sizes[NODES] - 1 or nodes[first] or nodes[first + 1]:
            return False
        nodes[first] = True
        nodes[first + 1] = True
    for k in range(pool.free_sizes[FREE_SLOTS]):
        slot = pool.free_slots[k]
        if not 0 <= slot < tree.sizes[SLOTS] or slots[slot]:
            return False
        slots[slot] = True
    return True


def are_trees(tree: Tree, pool: Pool, roots: NDArray[np.int64], columns: int) -> bool:
    """Return whether loops that follow the trees from `roots` stay within their arrays, and end."""
    nodes, slots = tree.sizes.tolist()
    room = len(tree.feature), len(tree.counts)
    pairs, free_slots = pool.free_sizes.tolist()
    classes = tree.classes
    if not (
        0 <= nodes <= room[NODES]
        and 0 <= slots <= room[SLOTS]
        and 0 <= pairs <= len(pool.free_pairs)
        and 0 <= free_slots <= len(pool.free_slots)
        and (classes >= 0).all()
        and (classes <= tree.counts.shape[1]).all()
    ):
        return False
    marks = np.zeros(room[NODES], dtype=np.bool_), np.zeros(room[SLOTS], dtype=np.bool_)
    return bool(
        are_value_counts(tree.values)
        and are_bins(tree.bins)
        and are_tests(tree.feature[:nodes], tree.values, columns)
        and _mark_trees(tree, pool, roots, *marks)
        and marks[NODES].sum() == nodes
        and marks[SLOTS].sum() == slots
    )
