"""The features at which a forest's leaves look: a few columns each, while a lone tree's see all."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.optional import only_with
from olscale.learners.contract.learner import State

NOT_DRAWN = -1
"""In place of the first feature of a leaf that has not drawn its features."""


class LeafFeatures(NamedTuple):
    """What leaves look at.

    Parameters
    ----------
    features : int64 array of shape (slots, features of a leaf)
        Columns that a leaf looks at, ascending; `NOT_DRAWN` before its first row.
    """

    features: NDArray[np.int64]


def empty_features(slots: int, subspace: int) -> State:
    """Return the array for leaves that have not drawn their features, so many each.

    Examples
    --------
    >>> empty_features(slots=4, subspace=2)["features"].tolist()
    [[-1, -1], [-1, -1], [-1, -1], [-1, -1]]
    """
    return {"features": np.full((slots, subspace), NOT_DRAWN, dtype=np.int64)}


def features_of(state: Mapping[str, NDArray[Any]]) -> Any:
    """Return the features of leaves among these arrays; nothing where leaves see all columns."""
    if "features" not in state:
        return ()
    return LeafFeatures(state["features"])


def are_features(drawn: LeafFeatures, columns: int) -> bool:
    """Return whether all leaves look at columns that there are."""
    # What other leaves have there is overwritten when they draw.
    features = drawn.features[drawn.features[:, 0] != NOT_DRAWN]
    return bool((features >= 0).all() and (features < columns).all())


def _own_column(drawn: Any, slot: int, place: int) -> int:
    return place


def _own_place(drawn: Any, slot: int, column: int, start: int) -> int:
    return column


@only_with(LeafFeatures, _own_column)
def column_at(drawn: LeafFeatures, slot: int, place: int) -> int:
    """Return the column at a place among the features of a leaf."""
    column: int = drawn.features[slot, place]
    return column


@only_with(LeafFeatures, _own_place)
def place_from(drawn: LeafFeatures, slot: int, column: int, start: int) -> int:
    """Return the first place from `start` on of `column` or one behind it, or the last."""
    place = start
    while place < drawn.features.shape[1] - 1 and drawn.features[slot, place] < column:
        place += 1
    return place


@only_with(LeafFeatures, True)
def is_at(drawn: LeafFeatures, slot: int, column: int, place: int) -> bool:
    """Return whether the features of a leaf have a column at this place."""
    has_column: bool = drawn.features[slot, place] == column
    return has_column


@only_with(LeafFeatures, None)
def forget_features(drawn: LeafFeatures, slot: int) -> None:
    """Let a leaf draw features again."""
    drawn.features[slot, 0] = NOT_DRAWN
