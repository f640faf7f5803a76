"""The arrays of growing regression trees: made, enlarged, and checked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ParameterError
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.tree.target_sums import (
    BYTES_OF_NODE,
    END,
    FREE,
    MOST_VALUES,
    SumTrees,
    are_sum_trees,
    empty_sum_trees,
    with_nodes,
)

FIRST, SECOND, PARENT, ALTERNATE, ORIGINAL = range(5)
"""What `Trees.links` has of a node: its children, its parent, the alternate that may take its
place, and whose alternate it is."""

NONE = -1
"""In the place of a node that is not there."""

LEAF = -1
UNUSED = -2
"""In the place of a feature: of a leaf, and of a node that is free."""

(
    WEIGHT,
    TOTAL,
    SQUARES,
    ERRORS,
    EVALUATED,
    LEARNED,
    WEIGHT_BEFORE,
    TOTAL_BEFORE,
    SQUARES_BEFORE,
    DRIFT,
    LEAST_DRIFT,
    COMPARED_ROWS,
    LAST_COMPARED,
    LOSS,
    ALTERNATE_LOSS,
) = range(15)
"""What `Trees.numbers` has of a node: weight of its rows, sum and sum of squares of their targets,
and of their absolute errors; of a leaf its weight when splits were last evaluated, that from which
its model learned, and the first three before it began to keep values; of a test the statistic of
Page and Hinckley and its minimum, and rows, rows at the last decision and faded losses since it has
an alternate."""

WATCHES, STARTED = range(2)
"""What `Trees.flags` has: whether drift is looked for below a node, and whether the model of a
leaf has weights, or its features are drawn."""

LEAVES, ALTERNATES = range(2)
"""What `Trees.sizes` has of a tree, leaves of alternates included."""

NODES_END, FIRST_UNUSED, UNUSED_NODES = range(3)
"""What `Trees.nodes` has: nodes ever used, the first that is free again, and how many are."""


_ROWS_AT_ONCE = 256
_VALUES_AT_ONCE = 1 << 16


class Trees(NamedTuple):
    """The state of one or more regression trees.

    Parameters
    ----------
    feature : int64 array of shape (nodes,)
        Feature that a node tests, `LEAF` or `UNUSED`.
    threshold : float64 array of shape (nodes,)
        Rows whose feature is at most this go to the first child.
    links : int64 array of shape (nodes, 5)
    numbers : float64 array of shape (nodes, 15)
    flags : uint8 array of shape (nodes, 2)
    weights : float64 array of shape (nodes, columns + 1)
        The linear model of a leaf, the constant last; without columns where leaves have none.
    values : int32 array of shape (nodes, features of a leaf)
        The tree of each feature in the pool of `SumTrees`.
    rows : float64 array of shape (nodes, rows that wait, features of a leaf + 1)
        Rows that are not in these trees yet, each with its target.
    waiting : int64 array of shape (nodes,)
        How many there are.
    nodes : int64 array of shape (3,)
    roots : int64 array of shape (trees,)
    totals : float64 array of shape (trees, 3)
        Weight of all rows, sum and sum of squares of their targets.
    sizes : int64 array of shape (trees, 2)
    """

    feature: NDArray[np.int64]
    threshold: FloatArray
    links: NDArray[np.int64]
    numbers: FloatArray
    flags: NDArray[np.uint8]
    weights: FloatArray
    values: NDArray[np.int32]
    rows: FloatArray
    waiting: NDArray[np.int64]
    nodes: NDArray[np.int64]
    roots: NDArray[np.int64]
    totals: FloatArray
    sizes: NDArray[np.int64]


_OF_NODES = (
    "feature",
    "threshold",
    "links",
    "numbers",
    "flags",
    "weights",
    "values",
    "rows",
    "waiting",
)


def rows_at_once(grace: int, features: int) -> int:
    """Return how many rows of a leaf wait to be put into the trees of its features.

    Trees are reached once for all of them. Together these rows have few enough values that there is
    always room for each.
    """
    return max(1, min(grace, _ROWS_AT_ONCE, _VALUES_AT_ONCE // max(1, features)))


def bytes_of_trees(
    weights: int, features: int, waiting: int, nodes: int, values: int
) -> int:
    """Return the bytes of so many nodes and values; each node has weights, features and rows."""
    of_node = 8 * (3 + 5 + 15) + 2 + 8 * weights + 4 * features
    of_node += 8 * waiting * (features + 1)
    return nodes * of_node + (values + 1) * BYTES_OF_NODE


def _empty_nodes(nodes: int, weights: int, values: int, waiting: int) -> State:
    return {
        "feature": np.full(nodes, UNUSED, dtype=np.int64),
        "threshold": np.zeros(nodes),
        "links": np.full((nodes, 5), NONE, dtype=np.int64),
        "numbers": np.zeros((nodes, 15)),
        "flags": np.zeros((nodes, 2), dtype=np.uint8),
        "weights": np.zeros((nodes, weights)),
        "values": np.zeros((nodes, values), dtype=np.int32),
        "rows": np.zeros((nodes, waiting, values + 1)),
        "waiting": np.zeros(nodes, dtype=np.int64),
    }


def empty_trees(trees: int, weights: int, values: int, waiting: int) -> State:
    """Return the arrays of so many trees of one leaf each, and of their values.

    Examples
    --------
    >>> state = empty_trees(trees=1, weights=4, values=3, waiting=9)
    >>> state["weights"].shape, state["roots"].tolist()
    ((1, 4), [0])
    """
    state = _empty_nodes(trees, weights, values, waiting)
    state["feature"][:] = LEAF
    state["flags"][:, WATCHES] = True
    return {
        **state,
        "nodes": np.array([trees, NONE, 0], dtype=np.int64),
        "roots": np.arange(trees, dtype=np.int64),
        "totals": np.zeros((trees, 3)),
        "sizes": np.array([[1, 0]] * trees, dtype=np.int64),
        **empty_sum_trees(0),
    }


def trees_of(state: Mapping[str, NDArray[Any]]) -> Trees:
    """Return the trees of these arrays, ignoring others."""
    return Trees(**{name: state[name] for name in Trees._fields})


def sum_trees_of(state: Mapping[str, NDArray[Any]]) -> SumTrees:
    """Return the pool of values of these arrays, ignoring others."""
    return SumTrees(**{name: state[name] for name in SumTrees._fields})


def sizes_of(state: Mapping[str, NDArray[Any]]) -> tuple[int, int]:
    """Return for how many nodes and values there is room."""
    return len(state["feature"]), len(state["cuts"]) - 1


def sizes_with_room(
    state: Mapping[str, NDArray[Any]], nodes: int, values: int
) -> tuple[int, int]:
    """Return for how many nodes and values there must be room, so that these can be added.

    Raises
    ------
    ParameterError
        If these are more values than 32 bits can number.
    """
    all_nodes, all_values = sizes_of(state)
    used_nodes = int(state["nodes"][NODES_END] - state["nodes"][UNUSED_NODES])
    used_values = int(state["room"][END] - state["room"][FREE]) - 1
    # Twice as much each time, so that a number is copied about once.
    if used_nodes + nodes > all_nodes:
        all_nodes = max(2 * all_nodes, used_nodes + nodes)
    if used_values + values > MOST_VALUES:
        raise ParameterError(
            f"regression trees: room for {used_values + values:,} values of features is needed, "
            f"expected at most {MOST_VALUES:,}; take a smaller max_leaves, or fewer features, as "
            "by the transform project"
        )
    if used_values + values > all_values:
        all_values = min(max(2 * all_values, used_values + values), MOST_VALUES)
    return all_nodes, all_values


def grown(state: Mapping[str, NDArray[Any]], nodes: int, values: int) -> State:
    """Return the arrays with room for so many nodes and values."""
    weights = state["weights"].shape[1]
    _, waiting, columns = state["rows"].shape
    larger = _empty_nodes(nodes, weights, columns - 1, waiting)
    for name in _OF_NODES:
        larger[name][: len(state[name])] = state[name]
    return {**larger, **with_nodes(state, values)}


def allow_sizes(state: State, other: Mapping[str, NDArray[Any]]) -> None:
    """Give `state` the room that the trees `other` need, if there are such arrays."""
    if not {"feature", "cuts"} <= other.keys():
        return
    nodes, values = np.maximum(sizes_of(state), sizes_of(other)).tolist()
    if (nodes, values) != sizes_of(state) and len(other["cuts"]) > 0:
        state.update(grown(state, nodes, values))


def are_trees(trees: Trees, sums: SumTrees, columns: int) -> bool:
    """Return whether loops that follow the trees stay within their arrays, and end."""
    nodes = len(trees.feature)
    end, _, unused = trees.nodes.tolist()
    if not len(trees.roots) <= end <= nodes or not 0 <= unused <= end:
        return False
    feature = trees.feature[:end]
    links = trees.links[:end]
    if not ((feature >= UNUSED) & (feature < columns)).all():
        return False
    if not ((links >= NONE) & (links < end)).all():
        return False
    tests = links[feature >= 0]
    alternates = tests[:, ALTERNATE]
    free = trees.nodes[FIRST_UNUSED : FIRST_UNUSED + 1][:unused]
    followers = links[feature == UNUSED][:, FIRST]
    downwards = [trees.roots, tests[:, FIRST], tests[:, SECOND], free]
    references = np.concatenate(
        [*downwards, alternates[alternates != NONE], followers[followers != NONE]]
    )
    if len(references) and not (0 <= references.min() <= references.max() < end):
        return False
    # As with values: what is referred to once is on no circle.
    if (np.bincount(references, minlength=end) > 1).any():
        return False
    tops = np.concatenate([trees.roots, alternates[alternates != NONE]])
    in_use = np.concatenate([tops, tests[:, FIRST], tests[:, SECOND]])
    is_free = trees.feature == UNUSED
    return bool(
        not is_free[in_use].any()
        and unused == np.count_nonzero(is_free[:end])
        and (links[tops, PARENT] == NONE).all()
        and _are_parents(trees, np.flatnonzero(feature >= 0))
        # A leaf that splits keeps this link, which then counts.
        and (links[feature == LEAF][:, ALTERNATE] == NONE).all()
        # So much room is made for what a row brings.
        and (trees.sizes[:, ALTERNATES] >= _alternates_of(trees)).all()
        # Each is a node: many more would ask for more room than there is, or than can be counted.
        and (trees.sizes[:, ALTERNATES] <= end).all()
        and (trees.sizes >= 0).all()
        and (trees.waiting >= 0).all()
        and (trees.waiting < trees.rows.shape[1]).all()
        and are_sum_trees(sums, trees.values)
    )


def _are_parents(trees: Trees, tests: NDArray[np.int64]) -> bool:
    """Return whether the children of tests know no parent, or the right one.

    What replaces a node is put where its parent has it.
    """
    for side in (FIRST, SECOND):
        parents = trees.links[trees.links[tests, side], PARENT]
        if not ((parents == NONE) | (parents == tests)).all():
            return False
    return True


def _alternates_of(trees: Trees) -> NDArray[np.int64]:
    """Return how many alternates each tree has; no way from its root may lead in a circle."""
    count = len(trees.roots)
    alternates = np.zeros(count, dtype=np.int64)
    nodes = trees.roots
    owners = np.arange(count)
    while len(nodes):
        is_test = trees.feature[nodes] >= 0
        links = trees.links[nodes[is_test]]
        owners = owners[is_test]
        has_alternate = links[:, ALTERNATE] != NONE
        of_alternates = owners[has_alternate]
        alternates += np.bincount(of_alternates, minlength=count)
        below = links[has_alternate, ALTERNATE]
        nodes = np.concatenate([links[:, FIRST], links[:, SECOND], below])
        owners = np.concatenate([owners, owners, of_alternates])
    return alternates
