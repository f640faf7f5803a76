"""Learners that get a stream in parts, and are written down and read back behind each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def alike_in_parts(
    begin: Callable[[], Any],
    X: np.ndarray,
    y: np.ndarray,
    rows_of_part: int,
    layout: Callable[[np.ndarray], Any] = lambda rows: rows,
) -> Any:
    """Assert that parts and checkpoints change no bit of scores and state; return the learner of all rows at once.

    Parts are in the given `layout`.
    """
    at_once = begin()
    scores = at_once.learn(X, y)
    in_parts = begin()
    parts = []
    for start in range(0, len(y), rows_of_part):
        rows = slice(start, start + rows_of_part)
        parts.append(in_parts.learn(layout(X[rows]), y[rows]))
        resumed = begin()
        resumed.restore(in_parts.state())
        in_parts = resumed
    np.testing.assert_array_equal(np.concatenate(parts), scores)
    state = at_once.state()
    for name, array in in_parts.state().items():
        np.testing.assert_array_equal(array, state[name], name)
    return at_once
