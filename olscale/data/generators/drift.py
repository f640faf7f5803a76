"""Which of several concepts each row of a drifting stream is of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential
from olscale.compiled.java_random import java_random, next_double

# exp(-4 t / width) of this many widths is below half a unit in the last place of 1.
_FAR = 10


@compiled
def _share(t: float, width: int) -> float:
    """Return the probability of the new concept `t` rows after the middle of a change."""
    return 1.0 / (1.0 + exponential(min(-4.0 * t / width, 708.0)))


@compiled
def _choose_once(random: Any, row: int, position: int, width: int, chosen: Any) -> None:
    for i in range(chosen.shape[0]):
        new = _share(float(row + i + 1 - position), width)
        chosen[i] = 0 if next_double(random) > new else 1


@compiled
def _choose_recurring(
    random: Any,
    row: int,
    period: int,
    width: int,
    concepts: int,
    chosen: Any,
) -> None:
    shares = np.empty(concepts)
    for i in range(chosen.shape[0]):
        t = row + i + 1
        shares[:] = 0.0
        # Terms of changes that are farther away are 0 or 1; whole rounds keep their order.
        first = max(0, (t - _FAR * width) // period // concepts * concepts - concepts)
        last = (t + _FAR * width) // period + 2
        for change in range(first, last):
            before = 1.0
            if change > 0:
                before = _share(float(t - change * period), width)
            after = _share(float(t - (change + 1) * period), width)
            shares[change % concepts] += before - after
        draw = next_double(random)
        total = 0.0
        chosen[i] = 0
        for concept in range(concepts - 1, 0, -1):
            total += shares[concept]
            if draw <= total:
                chosen[i] = concept
                break


class ConceptChange:
    """A change from concept 0 to concept 1, as MOA's ``ConceptDriftStream`` makes it.

    Row t, counted from 1, is of concept 1 where a uniform number of the seed is at most
    ``1 / (1 + exp(-4 (t - position) / width))``.

    Parameters
    ----------
    position, width : int
        Rows.
    seed : int
        Of the uniform numbers.
    """

    def __init__(self, position: int, width: int, seed: int) -> None:
        self._position = position
        self._width = width
        self._random = java_random(seed)
        self._row = 0

    def take(self, count: int) -> NDArray[np.int64]:
        """Return the concepts of the next `count` rows."""
        chosen = np.empty(count, dtype=np.int64)
        _choose_once(self._random, self._row, self._position, self._width, chosen)
        self._row += count
        return chosen


class RecurringConcepts:
    """Changes after every `period` rows, from the last concept to the first again.

    With two concepts the choice is that of MOA's ``RecurrentConceptDriftStream`` whose position,
    width of recurrence and stable period are all `period`.

    Parameters
    ----------
    concepts, period, width : int
        Number of concepts; rows.
    seed : int
        Of the uniform numbers.
    """

    def __init__(self, concepts: int, period: int, width: int, seed: int) -> None:
        self._concepts = concepts
        self._period = period
        self._width = width
        self._random = java_random(seed)
        self._row = 0

    def take(self, count: int) -> NDArray[np.int64]:
        """Return the concepts of the next `count` rows."""
        chosen = np.empty(count, dtype=np.int64)
        _choose_recurring(
            self._random, self._row, self._period, self._width, self._concepts, chosen
        )
        self._row += count
        return chosen
