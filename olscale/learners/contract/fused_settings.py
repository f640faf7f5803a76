"""Grids: settings of one learner that share a pass over the stream.

The weights of all settings lie side by side, ``[features, settings x outputs]``: a row is read once, and the weights of a
feature come in a few cache lines for all settings. Every setting gets the bits it would get alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, slice_rows
from olscale.learners.contract.learner import NO_LABELS, FloatArray, Learner

__all__ = ["Grid", "group_for_grids"]


class Grid(ABC):
    """Learners on their way through one stream together.

    Parameters
    ----------
    learners : sequence of Learner
        Begun learners of equal `Learner.grid_key`; they are out of date until `release`.
    """

    @abstractmethod
    def __init__(self, learners: Sequence[Learner]) -> None: ...

    @abstractmethod
    def learn(self, X: Rows, y: NDArray[np.int64]) -> list[FloatArray]:
        """Predict, then update, row by row; return each learner's scores before each update."""

    @abstractmethod
    def release(self) -> None:
        """Bring the learners up to date; the grid goes on from where it is."""

    def compile(self, X: Rows) -> None:
        """Have the compiled loops for rows like `X` ready."""
        self.learn(slice_rows(X, 0, 0), NO_LABELS)


def group_for_grids(learners: Sequence[Learner]) -> list[list[int]]:
    """Return the positions of `learners` in groups that can share a pass; most groups have one member.

    Examples
    --------
    >>> from olscale.learners.registry import make_learner
    >>> group_for_grids([make_learner("pa1", {"C": C}) for C in (0.5, 1.0)] + [make_learner("pa", {})])
    [[0, 1], [2]]
    """
    groups: dict[object, list[int]] = {}
    for i, learner in enumerate(learners):
        # A grid shows all rows to its learners.
        groups.setdefault((learner.checks_rows and learner.grid_key()) or i, []).append(i)
    return list(groups.values())
