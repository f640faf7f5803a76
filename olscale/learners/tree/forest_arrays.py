"""The arrays of a forest whose trees are replaced where their stream drifts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import Windows, are_windows, empty_windows, windows_of
from olscale.compiled.decorator import inlined
from olscale.compiled.java_random import java_random
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.tree.leaf_features import are_features, empty_features
from olscale.learners.tree.tree_arrays import Tree, tree_of
from olscale.learners.tree.tree_pool import (
    NODES,
    SLOTS,
    Pool,
    are_trees,
    empty_pooled_trees,
    pool_of,
)
from olscale.learners.tree.value_counts import (
    NO_COLUMNS,
    empty_value_counts,
    with_room_of,
    with_slots,
)

TREE_SEED = 1
"""Seed of each tree's generator, also of one that begins anew."""


@inlined
def place_behind(front: Any, t: int) -> int:
    """Return the place behind tree `t`, where the one that may replace it grows."""
    trees = front.shape[0]
    place: int = (front[t] + trees) % (2 * trees)
    return place


class Forest(NamedTuple):
    """The state of the learner: trees in a pool, whose first nodes are roots.

    Each of n trees has two places, k and n + k: one for the tree that predicts, the other for the
    one that learns behind it after a warning. The root of place p is node p.

    Parameters
    ----------
    tree : Tree
        The nodes of all places. Leaves look at drawn features, and have moments of these.
    pool : Pool
    tree_bits : uint64 array of shape (2 trees,)
        The generator of each place.
    leaves : int64 array of shape (2 trees,)
        Leaves of each place.
    front : int64 array of shape (trees,)
        Place of the tree that predicts.
    has_other : int64 array of shape (trees,)
        Whether a tree learns behind it.
    hits : float64 array of shape (trees, 2)
        Weight of the rows that a tree has predicted correctly, and of all.
    windows : Windows
        Mistakes of each tree, to warn in the first n windows, and to replace it in the others.
    alarms : int64 array of shape (trees, 2)
        Warnings, and how often the tree was replaced.
    forest_bits : uint64 array of shape (1,)
        The generator of how often trees learn a row.
    """

    tree: Tree
    pool: Pool
    tree_bits: NDArray[np.uint64]
    leaves: NDArray[np.int64]
    front: NDArray[np.int64]
    has_other: NDArray[np.int64]
    hits: FloatArray
    windows: Windows
    alarms: NDArray[np.int64]
    forest_bits: NDArray[np.uint64]


def features_of_leaf(columns: int, share: float) -> int:
    """Return at how many features a leaf looks, rounded as in Java.

    Examples
    --------
    >>> features_of_leaf(columns=9, share=0.5), features_of_leaf(columns=9, share=0.01)
    (5, 1)
    """
    return min(columns, max(1, int(columns * share + 0.5)))


def empty_forest(
    trees: int,
    subspace: int,
    classes: int,
    seed: int,
    nominal: NDArray[np.int64] = NO_COLUMNS,
) -> State:
    """Return the arrays of a forest of empty trees, whose leaves look at `subspace` features.

    Examples
    --------
    >>> empty_forest(trees=10, subspace=5, classes=2, seed=1)["moments"].shape
    (40, 6, 10)
    """
    places = 2 * trees
    state = _empty_trees(2 * places, subspace, classes)
    state["slot"][:places] = np.arange(places)
    state["sizes"][:] = places
    front = np.arange(trees)
    return {
        **state,
        "tree_bits": np.repeat(java_random(TREE_SEED).bits, places),
        "leaves": np.ones(places, dtype=np.int64),
        "front": front,
        "has_other": np.zeros(trees, dtype=np.int64),
        "hits": np.zeros((trees, 2)),
        **empty_windows(places)._asdict(),
        "alarms": np.zeros((trees, 2), dtype=np.int64),
        "forest_bits": java_random(seed).bits,
        **empty_value_counts(nominal, classes, 2 * places),
    }


def _empty_trees(slots: int, subspace: int, classes: int) -> State:
    # Twice the slots, half of them roots from the beginning: an even number.
    state = empty_pooled_trees(subspace, classes, 2 * slots, slots)
    return {**state, **empty_features(slots, subspace)}


def forest_of(state: Mapping[str, NDArray[Any]]) -> Forest:
    """Return the forest of these arrays, ignoring others."""
    names = set(Forest._fields) - {"tree", "pool", "windows"}
    return Forest(
        tree=tree_of(state),
        pool=pool_of(state),
        windows=windows_of(state),
        **{name: state[name] for name in names},
    )


def grown_forest(state: Mapping[str, NDArray[Any]], slots: int) -> State:
    """Return the arrays of the trees with room for so many slots."""
    subspace = state["features"].shape[1]
    larger = _empty_trees(slots, subspace, state["counts"].shape[1])
    for name, array in larger.items():
        array[: len(state[name])] = state[name]
    return {**larger, **with_slots(state, slots)}


def allow_slots(state: State, other: Mapping[str, NDArray[Any]]) -> None:
    """Give `state` the room that the forest `other` needs, if that is one of the same columns."""
    counts = other.get("counts", state["counts"])
    if counts.shape[1:] == state["counts"].shape[1:] and len(counts) > len(
        state["counts"]
    ):
        state.update(grown_forest(state, len(counts)))
    state.update(with_room_of(state, other))


def is_forest(forest: Forest, columns: int) -> bool:
    """Return whether loops that follow the trees stay within their arrays, and end."""
    trees = len(forest.front)
    places = np.arange(2 * trees)
    return bool(
        are_trees(forest.tree, forest.pool, places, columns)
        and (forest.front % trees == np.arange(trees)).all()
        and (forest.front >= 0).all()
        and (forest.front < 2 * trees).all()
        and are_features(forest.tree.drawn, columns)
        and are_windows(forest.windows)
        and (forest.leaves >= 1).all()
        and forest.tree.sizes[NODES] >= 2 * trees
        and forest.tree.sizes[SLOTS] >= 2 * trees
    )
