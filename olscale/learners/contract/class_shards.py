"""Class shards: some of the classes of a one-vs-all learner, as a separate learner.

A one-vs-all learner learns each class independently, and what the classes share (prototypes, the
number of rows) depends on the rows alone. So a learner of the classes ``[first, last)`` alone
learns them to the same bits. All shards together are the learner: their scores are concatenated,
their states join along the class axes. `ShardsClasses` declares this.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only
from olscale.compiled.decorator import compiled
from olscale.learners.contract.class_axes import class_axes, cut_classes
from olscale.learners.contract.compilation import CompilesLoops
from olscale.learners.contract.cost import EstimatesCost, cost_of
from olscale.learners.contract.learner import FloatArray, Learner, State, learn_rows


@compiled
def count_update(updates: Any, row: int) -> None:
    """Count `row` of a chunk as one that changed the model.

    The loops of every `ShardsClasses` learner call this. A shard leaves room to mark the rows too,
    because a row that changes several shards is one update.
    """
    updates[0] += 1
    # Shards need the rows: a row that moves two of them is one update of the learner.
    if updates.shape[0] > 1:
        updates[1 + row] = 1


def cut_ranges(classes: int, shards: int) -> list[range]:
    """Return `shards` consecutive ranges of `classes` classes, of nearly equal size.

    There are at most as many ranges as classes.

    Examples
    --------
    >>> cut_ranges(249, 2)
    [range(0, 124), range(124, 249)]
    """
    shards = min(shards, classes)
    # Integer arithmetic: every worker cuts alike.
    bounds = [classes * i // shards for i in range(shards + 1)]
    return [range(first, last) for first, last in pairwise(bounds)]


class ClassShard(Learner, EstimatesCost, CompilesLoops):
    """The classes `classes` of a one-vs-all learner.

    Parameters
    ----------
    learner : Learner
        The learner before `begin`; from now on it belongs to the shard.
    classes : range
        Consecutive classes.

    Attributes
    ----------
    moved : bool ndarray of shape (rows,)
        Which of the last learned rows changed the shard.

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
        self.takes_weights = learner.takes_weights  # type: ignore[misc]
        self.learner = learner
        self.classes = classes
        self.moved: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    @property
    def state_(self) -> State:  # type: ignore[override]
        """The state of the shard."""
        return self.learner.state_

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Begin the learner of all `classes`, with its random start, and keep the shard's part.

        Raises
        ------
        TypeError
            If the learner has no class axes.
        """
        axes_of_all = class_axes(self.learner, classes)
        axes_of_part = class_axes(self.learner, len(self.classes))
        if axes_of_all is None or axes_of_part is None:
            raise TypeError(
                f"learner {self.name} cannot be cut into class shards: its class_axes() is None"
            )
        # All classes begin, and are cut: a random start is that of the full learner.
        self.learner.begin(columns, classes, entropy)
        state = cut_classes(
            self.learner.state_, axes_of_all, axes_of_part, self.classes
        )
        self.learner._start(columns, len(self.classes))
        self.learner.restore(state)

    def norm_limits(self) -> tuple[float, float]:
        return self.learner.norm_limits()

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return the numbers of a row of the full learner: all shards have the same chunks."""
        return cost_of(self.learner).row_numbers(columns, classes, values)

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return the numbers of a stream of the full learner."""
        return cost_of(self.learner).stream_numbers(columns, classes, values, rows)

    def score_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return the numbers of a predicted row of the full learner."""
        return cost_of(self.learner).score_numbers(columns, classes, values)

    def _allocate(self, columns: int, outputs: int) -> State:
        raise TypeError("a shard's arrays are allocated by its learner")

    def learn(
        self, X: Rows, y: NDArray[np.int64], weights: FloatArray | None = None
    ) -> FloatArray:
        """Predict, then update, row by row; return the scores of the shard's classes.

        The scores of a row are those before its update.
        """
        updates = np.zeros(1 + len(y), dtype=np.int64)  # the count, then a mark per row
        updates[0] = self.state_["updates"][0]
        # The loop writes its marks into the state; afterwards the count alone is kept.
        self.state_["updates"] = updates
        try:
            if weights is None:  # saves a call, which every shard makes
                return self.learner.learn(X, self._targets(y))
            return learn_rows(self.learner, X, self._targets(y), weights)
        finally:
            self.state_["updates"] = updates[:1].copy()
            self.moved = updates[1:] > 0

    def _targets(self, y: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the codes of the rows within the shard's classes; -1 for other classes."""
        if len(self.classes) == 1:  # one score column: its class is the second of two
            is_class = y == self.classes.start
            return read_only(is_class.astype(np.int64))
        first = self.classes.start
        # Rows of other classes are negative examples for all classes of the shard.
        inside = (y >= first) & (y < self.classes.stop)
        codes = np.where(inside, y - first, -1)
        return read_only(codes)

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of the shard's classes without learning from the rows."""
        return self.learner.scores(X)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.learner.restore(state)
