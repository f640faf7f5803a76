"""Binary search trees of a feature's values, with sums of the targets: extended ones, E-BST.

A node has a value of the feature, and number, sum and sum of squares of the targets of the rows
that came to it with at most that value. Each node is a cut: by a walk in ascending order its sums
are those of all rows at most at its value. Nodes of all trees lie in one pool; those of a tree that
is dropped are used again.

References
----------
E. Ikonomovska, J. Gama, S. Dzeroski, Learning model trees from evolving data streams, Data Mining
and Knowledge Discovery 23, 2011, section 4.2 and algorithm 2.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.elementary import quotient
from olscale.learners.contract.learner import FloatArray, State

VALUE, ROWS, SUM, SQUARES = range(4)
"""What `SumTrees.cuts` has of a node."""

BELOW, ABOVE = range(2)
"""Children in `SumTrees.sides`."""

END, FIRST_FREE, FREE = range(3)
"""What `SumTrees.room` has: nodes that were ever used, the first that is free again, and how many
of these there are; a free node's child `BELOW` is the next."""

NO_NODE = 0
"""The first place of the pool is no node, so that zeros are empty trees."""

MOST_VALUES = (1 << 31) - 2
"""Nodes of the pool that 32 bits can number: children have half the size that way."""

LEAST_ROWS = 5.0
"""A split of fewer rows on one side has no merit."""

_VISITED = -1


class SumTrees(NamedTuple):
    """The pool of nodes.

    Parameters
    ----------
    cuts : float64 array of shape (nodes, 4)
    sides : int32 array of shape (nodes, 2)
    room : int64 array of shape (3,)
    """

    cuts: FloatArray
    sides: NDArray[np.int32]
    room: NDArray[np.int64]


BYTES_OF_NODE = 8 * 4 + 4 * 2


def empty_sum_trees(nodes: int) -> State:
    """Return the arrays of a pool with room for so many nodes, as `SumTrees` names them."""
    return {
        "cuts": np.zeros((nodes + 1, 4)),
        "sides": np.zeros((nodes + 1, 2), dtype=np.int32),
        "room": np.array([NO_NODE + 1, NO_NODE, 0], dtype=np.int64),
    }


def with_nodes(state: Mapping[str, NDArray[Any]], nodes: int) -> State:
    """Return the arrays with room for `nodes`."""
    larger = empty_sum_trees(nodes)
    for name in ("cuts", "sides"):
        larger[name][: len(state[name])] = state[name]
    larger["room"][:] = state["room"]
    return larger


def are_sum_trees(trees: SumTrees, roots: NDArray[np.int32]) -> bool:
    """Return whether loops that follow the trees with these roots end, and stay in the pool."""
    end, first_free, free = trees.room.tolist()
    if not NO_NODE < end <= len(trees.cuts) or not 0 <= free < end:
        return False
    references = np.concatenate(
        [roots.ravel(), trees.sides[:end].ravel(), np.array([first_free])]
    )
    if references.min() < 0 or references.max() >= end:
        return False
    # A node that is referred to once is on no circle that a way from a root can enter.
    times = np.bincount(references, minlength=end)
    return bool((times[NO_NODE + 1 :] <= 1).all())


@inlined
def free_nodes(trees: SumTrees) -> int:
    """Return how many nodes can be added."""
    return int(trees.cuts.shape[0] - trees.room[END] + trees.room[FREE])


@inlined
def _add_node(trees: SumTrees, value: float, target: float) -> int:
    room = trees.room
    node = room[FIRST_FREE]
    if room[FREE] > 0:
        room[FIRST_FREE] = trees.sides[node, BELOW]
        room[FREE] -= 1
    else:
        node = room[END]
        room[END] += 1
    cut = trees.cuts[node]
    cut[VALUE] = value
    cut[ROWS] = 1.0
    cut[SUM] = target
    cut[SQUARES] = target * target
    trees.sides[node, BELOW] = NO_NODE
    trees.sides[node, ABOVE] = NO_NODE
    return int(node)


@nested
def add_value(trees: SumTrees, root: int, value: float, target: float) -> int:
    """Add a row's value and target to the tree at `root`; return its root."""
    if root == NO_NODE:
        return _add_node(trees, value, target)
    cuts = trees.cuts
    sides = trees.sides
    square = target * target
    node = np.uint64(root)
    while True:
        at = cuts[node, VALUE]
        above = value > at
        # Without a branch, which cannot be foreseen: a row above the value adds zeros.
        counts = 0.0 if above else 1.0
        cuts[node, ROWS] += counts
        cuts[node, SUM] += target if not above else 0.0
        cuts[node, SQUARES] += square if not above else 0.0
        if value == at:
            return root
        side = np.uint64(above)
        child = sides[node, side]
        if child == NO_NODE:
            sides[node, side] = _add_node(trees, value, target)
            return root
        node = np.uint64(child)


@nested
def free_tree(trees: SumTrees, root: int, stack: Any) -> None:
    """Make the nodes of a tree free; `stack` has room for as many as there are in the pool."""
    if root == NO_NODE:
        return
    room = trees.room
    stack[0] = root
    height = 1
    while height > 0:
        height -= 1
        node = stack[height]
        for side in range(2):
            child = trees.sides[node, side]
            if child != NO_NODE:
                stack[height] = child
                height += 1
        trees.sides[node, BELOW] = room[FIRST_FREE]
        # A reference that is left behind would count as a second one to that node.
        trees.sides[node, ABOVE] = NO_NODE
        room[FIRST_FREE] = node
        room[FREE] += 1


@inlined
def _variance(rows: float, total: float, squares: float) -> float:
    count = float(int(rows))
    return float(quotient(squares - quotient(total * total, count), count))


@compiled
def best_cut(
    trees: SumTrees,
    root: int,
    rows: float,
    total: float,
    squares: float,
    stack: Any,
) -> tuple[float, float]:
    """Return merit and value of the best cut: by how much it reduces the variance of the targets.

    `rows`, `total` and `squares` are the weight of all rows, and sum and sum of squares of their
    targets. `stack` has room for as many nodes as there are in the pool.
    """
    cuts = trees.cuts
    below_rows = 0.0
    below_sum = 0.0
    below_squares = 0.0
    best = -np.inf
    best_at = 0.0
    node = root
    height = 0
    while True:
        while node != NO_NODE:
            stack[height] = node
            height += 1
            node = trees.sides[node, BELOW]
        # Sums are taken back in the order of MOA, to the same bits: after what is above a node.
        while height > 0 and stack[height - 1] <= _VISITED:
            height -= 1
            cut = cuts[-stack[height]]
            below_sum -= cut[SUM]
            total += cut[SUM]
            below_squares -= cut[SQUARES]
            squares += cut[SQUARES]
            below_rows -= cut[ROWS]
            rows += cut[ROWS]
        if height == 0:
            return best, best_at
        node = stack[height - 1]
        stack[height - 1] = -node
        cut = cuts[node]
        below_sum += cut[SUM]
        total -= cut[SUM]
        below_squares += cut[SQUARES]
        squares -= cut[SQUARES]
        below_rows += cut[ROWS]
        rows -= cut[ROWS]
        # Cuts near an edge are candidates as well, of no merit.
        merit = 0.0
        if below_rows >= LEAST_ROWS and rows >= LEAST_ROWS:
            both = below_rows + rows
            merit = _variance(both, below_sum + total, below_squares + squares)
            merit -= quotient(below_rows, both) * _variance(
                below_rows, below_sum, below_squares
            )
            merit -= quotient(rows, both) * _variance(rows, total, squares)
        if merit > best:
            best = merit
            best_at = cut[VALUE]
        node = trees.sides[node, ABOVE]
