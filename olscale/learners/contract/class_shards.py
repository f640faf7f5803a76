"""Class shards: a part of the classes of a one-vs-all learner, as a learner of its own.

One-vs-all learners train each class by itself; what the classes share (prototypes, the number of rows) depends on the rows
alone. So a learner that is given only the classes ``[first, last)`` trains them to the same bits, and the shards of all
classes together are the learner: scores side by side, state joined along the class axes. `Learner.class_axes` says which
learners can be cut in this way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only
from olscale.compiled.decorator import compiled
from olscale.learners.contract.learner import FloatArray, Learner, State

__all__ = ["ClassShard", "count_update", "cut_ranges"]


@compiled
def count_update(updates: Any, row: int) -> None:
    """Count `row` of those being learned as one that changed the model; a learner that can be cut counts with this.

    Which rows they were is noted as well where there is room for it: a row that changed several shards is one update.
    """
    updates[0] += 1
    if updates.shape[0] > 1:
        updates[1 + row] = 1


def cut_ranges(classes: int, shards: int) -> list[range]:
    """Return `shards` consecutive ranges of `classes` classes, at most one a class, of nearly equal size.

    Examples
    --------
    >>> cut_ranges(249, 2)
    [range(0, 124), range(124, 249)]
    """
    shards = min(shards, classes)
    bounds = [classes * i // shards for i in range(shards + 1)]
    return [range(first, last) for first, last in pairwise(bounds)]


class ClassShard(Learner):
    """The classes `classes` of a one-vs-all learner.

    Parameters
    ----------
    learner : Learner
        The learner, not begun; the shard makes it its own.
    classes : range
        Consecutive classes.

    Attributes
    ----------
    moved : bool ndarray of shape (rows,)
        Which of the rows last learned from changed the shard.

    Examples
    --------
    >>> from olscale.learners.registry import make_learner
    >>> X, y = np.eye(3), np.array([0, 1, 2])
    >>> whole, shard = make_learner("lol", {}), ClassShard(make_learner("lol", {}), range(1, 3))
    >>> for learner in (whole, shard):
    ...     learner.begin(3, 3)
    >>> bool((whole.learn(X, y)[:, 1:] == shard.learn(X, y)).all())
    True
    """

    def __init__(self, learner: Learner, classes: range) -> None:
        self.name = learner.name  # type: ignore[misc]
        self.checks_rows = learner.checks_rows  # type: ignore[misc]
        self.learner, self.classes = learner, classes
        self.moved: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    @property
    def state_(self) -> State:  # type: ignore[override]
        """The state of the shard."""
        return self.learner.state_

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Begin the learner of all `classes`, a random start included, and keep those of the shard."""
        self.learner.begin_shard(columns, classes, self.classes, entropy)

    def norm_limits(self) -> tuple[float, float]:
        """Return those of the learner."""
        return self.learner.norm_limits()

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers are gone through for a row by the whole learner: all shards are cut alike."""
        return self.learner.row_numbers(columns, classes, values)

    def _allocate(self, columns: int, outputs: int) -> State:
        raise TypeError("a shard's arrays are allocated by its learner")

    def learn(self, X: Rows, y: NDArray[np.int64]) -> FloatArray:
        """Predict, then update, row by row; return the scores of the shard's classes before each update."""
        count = self.state_["updates"]
        noted = np.zeros(1 + len(y), dtype=np.int64)
        noted[0] = count[0]
        self.state_["updates"] = noted
        try:
            return self.learner.learn(X, self._targets(y))
        finally:
            self.state_["updates"] = noted[:1].copy()
            self.moved = noted[1:] > 0

    def _targets(self, y: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the codes of the rows as the learner of the shard's classes has them; -1 is none of them."""
        if len(self.classes) == 1:  # one score column: the class is the second of two
            return read_only((y == self.classes.start).astype(np.int64))
        inside = (y >= self.classes.start) & (y < self.classes.stop)
        return read_only(np.where(inside, y - self.classes.start, -1))

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of the shard's classes without learning from the rows."""
        return self.learner.scores(X)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a shard's `state`; call `begin` first."""
        self.learner.restore(state)
