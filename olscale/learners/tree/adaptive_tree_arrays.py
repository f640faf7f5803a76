"""The arrays of a tree whose branches are replaced where their stream drifts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import Windows, are_windows, empty_windows, windows_of
from olscale.compiled.java_random import java_random
from olscale.learners.contract.learner import State
from olscale.learners.tree.bins import empty_bins_like
from olscale.learners.tree.tree_arrays import LEAF, Tree, tree_of
from olscale.learners.tree.tree_pool import (
    Pool,
    are_trees,
    empty_pooled_trees,
    pool_of,
)
from olscale.learners.tree.value_counts import with_slots

NONE = -1
"""In place of the alternate of a node that has none."""

NODE_SEED = 1
"""Seed of the generator of each leaf."""


class AdaptiveTree(NamedTuple):
    """The state of the learner; node 0 is the root.

    Parameters
    ----------
    tree : Tree
    pool : Pool
    alternate : int64 array of shape (nodes,)
        A leaf that learns alongside the branch of a test, `NONE` without one. The node after it
        is a leaf that nothing uses: nodes come in pairs.
    bits : uint64 array of shape (nodes,)
        The generator of how often a leaf learns a row.
    windows : Windows
        Mistakes at each node.
    replacements : int64 array of shape (3,)
        Alternates that were begun, that replaced their branch, and that were dropped.
    """

    tree: Tree
    pool: Pool
    alternate: NDArray[np.int64]
    bits: NDArray[np.uint64]
    windows: Windows
    replacements: NDArray[np.int64]


def empty_adaptive_tree(columns: int, classes: int, slots: int) -> State:
    """Return the arrays of a tree of one leaf, with room for so many slots of leaves.

    Examples
    --------
    >>> empty_adaptive_tree(columns=9, classes=2, slots=4)["moments"].shape
    (4, 6, 18)
    """
    # The root, and a pair for each slot: no more splits and alternates fit.
    nodes = 2 * slots + 1
    return {
        **empty_pooled_trees(columns, classes, nodes, slots),
        "alternate": np.full(nodes, NONE, dtype=np.int64),
        "bits": np.repeat(java_random(NODE_SEED).bits, nodes),
        **empty_windows(nodes)._asdict(),
        "replacements": np.zeros(3, dtype=np.int64),
    }


def adaptive_tree_of(state: Mapping[str, NDArray[Any]]) -> AdaptiveTree:
    """Return the tree of these arrays, ignoring others."""
    return AdaptiveTree(
        tree_of(state),
        pool_of(state),
        state["alternate"],
        state["bits"],
        windows_of(state),
        state["replacements"],
    )


def grown_adaptive_tree(state: Mapping[str, NDArray[Any]], slots: int) -> State:
    """Return the arrays with room for so many slots."""
    classes = state["counts"].shape[1]
    columns = state["moments"].shape[2] // classes
    larger = empty_adaptive_tree(columns, classes, slots)
    larger.update(empty_bins_like(state, slots))
    for name, array in larger.items():
        array[: len(state[name])] = state[name]
    return {**larger, **with_slots(state, slots)}


def is_adaptive_tree(adaptive: AdaptiveTree, columns: int) -> bool:
    """Return whether loops that follow the tree stay within its arrays, and end."""
    alternates = adaptive.alternate[adaptive.alternate != NONE]
    if ((alternates < 0) | (alternates + 1 >= len(adaptive.alternate))).any():
        return False
    # No test refers to alternates: each is the root of a tree of its own, and so is its neighbour.
    roots = np.concatenate([np.zeros(1, np.int64), alternates, alternates + 1])
    return bool(
        are_trees(adaptive.tree, adaptive.pool, roots, columns)
        and (adaptive.tree.feature[alternates] == LEAF).all()
        and are_windows(adaptive.windows)
    )
