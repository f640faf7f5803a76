"""Names of the types of arrays that signatures have most often, and parts of named arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Of any type: labels are codes, numbers or text."""

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def part_of(arrays: Mapping[str, Array], mark: str) -> dict[str, Array]:
    """Return the arrays whose names begin with `mark`, under their names without it.

    Examples
    --------
    >>> part_of({"learner.w": np.zeros(1), "metric0.rows": np.ones(1)}, "learner.")
    {'w': array([0.])}
    """
    return {
        name.removeprefix(mark): array
        for name, array in arrays.items()
        if name.startswith(mark)
    }


def with_mark(arrays: Mapping[str, Array], mark: str) -> dict[str, Array]:
    """Return the arrays with `mark` before each name, as `part_of` takes them apart again.

    Examples
    --------
    >>> list(with_mark({"w": np.zeros(1)}, "learner."))
    ['learner.w']
    """
    return {mark + name: array for name, array in arrays.items()}
