"""The order of one-hot features: by column and value, whatever the order of the rows.

Values of the first rows get their features in this order, and later ones as they appear. Once all
are known, the features of each text column are sorted, so that two datasets of the same values have
the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.coding import OTHER, FirstValues
from olscale.data.formats.table_columns import value_of


def sorted_places(
    names: Sequence[str],
    numeric: int,
    categorical: Sequence[str],
    fixed: Set[str],
    bounded: Set[str] = frozenset(),
) -> NDArray[np.int64] | None:
    """Return the place of each feature once values are sorted; None if they are already.

    Parameters
    ----------
    names : sequence of str
        Features as they were numbered.
    numeric : int
        How many of them, the first, are columns of numbers.
    categorical : sequence of str
        The text columns, in their order.
    fixed : set of str
        Text columns whose features have an order of their own: they keep it, and come first.
    bounded : set of str
        Text columns with a feature for all further values, which comes last.

    Examples
    --------
    >>> sorted_places(["n", "b=y", "a=q", "b=x"], 1, ["a", "b"], set())
    array([0, 3, 1, 2])
    """
    order_of = {column: place for place, column in enumerate(categorical)}

    def order(place: int) -> tuple[int, int, bool, str, int]:
        if place < numeric:
            return (0, 0, False, "", place)
        name = names[place]
        column = value_of(name, order_of)[0]
        if column in fixed:
            return (1, 0, False, "", place)
        is_rest = column in bounded and name == f"{column}={OTHER}"
        return (2, order_of[column], is_rest, name, place)

    after = sorted(range(len(names)), key=order)
    if after == list(range(len(names))):
        return None
    places = np.empty(len(names), dtype=np.int64)
    places[after] = np.arange(len(names))
    return places


def has_order(coding: str) -> bool:
    """Return whether the features of a coding have an order of their own, as parts of a date."""
    return not coding.startswith(FirstValues.name)
