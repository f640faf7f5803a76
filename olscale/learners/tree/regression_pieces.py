"""A regression tree as a function: linear on each of the pieces into which its tests cut space."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.learner import FloatArray
from olscale.learners.tree.regression_arrays import (
    FIRST,
    LEAF,
    SECOND,
    TOTAL,
    WEIGHT,
    Trees,
)


class LinearPieces(NamedTuple):
    """The nodes of a tree, parents first and siblings together; node 0 is the root.

    Parameters
    ----------
    feature : int64 array of shape (nodes,)
        Feature that a node tests, -1 for a leaf.
    threshold : float64 array of shape (nodes,)
        Rows whose feature is at most this go to the first child.
    child : int64 array of shape (nodes,)
        First child; the second is the next node.
    slopes : float64 array of shape (nodes, columns)
        How much the prediction of a leaf grows with each feature.
    constants : float64 array of shape (nodes,)
        The prediction of a leaf for a row of zeros.
    depth : int
        Tests on the longest way.
    """

    feature: NDArray[np.int64]
    threshold: FloatArray
    child: NDArray[np.int64]
    slopes: FloatArray
    constants: FloatArray
    depth: int


def pieces_of(
    trees: Trees, tree: int, moments: FloatArray, has_models: bool
) -> LinearPieces:
    """Return the pieces of a tree; `moments` are sums of the features and of their squares."""
    order = [int(trees.roots[tree])]
    depths = [0]
    child = []
    # The list grows as it is gone through: children are behind their parents.
    for place, node in enumerate(order):
        child.append(len(order) if trees.feature[node] != LEAF else 0)
        if trees.feature[node] != LEAF:
            order.extend(trees.links[node, [FIRST, SECOND]].tolist())
            depths.extend([depths[place] + 1] * 2)
    nodes = np.array(order)
    slopes = np.zeros((len(nodes), moments.shape[1]))
    constants = np.zeros(len(nodes))
    rows, total, squares = trees.totals[tree].tolist()
    if has_models and rows > 1.0:
        means = moments[0] / rows
        sums = np.column_stack([moments, [total, squares]])
        variances = (sums[1] - sums[0] ** 2 / rows) / rows
        *spreads, spread = np.sqrt(np.maximum(variances, 0.0))
        scales = np.array(
            [spread / deviation if deviation > 0.0 else 0.0 for deviation in spreads]
        )
        slopes = trees.weights[nodes, :-1] * scales
        constants = 3.0 * spread * trees.weights[nodes, -1] + total / rows
        # The model sees distances from the means.
        constants -= slopes @ means
    elif not has_models:
        weight = trees.numbers[nodes, WEIGHT]
        np.divide(
            trees.numbers[nodes, TOTAL], weight, out=constants, where=weight > 0.0
        )
    return LinearPieces(
        trees.feature[nodes],
        trees.threshold[nodes],
        np.array(child),
        slopes,
        constants,
        max(depths),
    )


def joined(parts: Sequence[LinearPieces]) -> tuple[LinearPieces, NDArray[np.int64]]:
    """Return the nodes of several trees in one, and their roots."""
    sizes = [len(part.feature) for part in parts]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    # Leaves too, whose child is never needed.
    children = [part.child + root for part, root in zip(parts, roots, strict=True)]
    nodes = LinearPieces(
        np.concatenate([part.feature for part in parts]),
        np.concatenate([part.threshold for part in parts]),
        np.concatenate(children),
        np.concatenate([part.slopes for part in parts]),
        np.concatenate([part.constants for part in parts]),
        max(part.depth for part in parts),
    )
    return nodes, roots
