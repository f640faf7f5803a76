"""Victims at random: which support vector makes room is drawn by the number of the row, so that any cut draws the same."""

from typing import Any, ClassVar

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.philox import philox
from olscale.learners.contract.learner import State
from olscale.learners.kernel.kernel_learner import KernelLearner


@compiled
def random_slot(model: Any, row: Any) -> Any:
    """Return a slot in use, each as likely as the others."""
    t, zero = np.uint64(row.t), np.uint64(0)
    key = model.memory[0]
    low, high = t & np.uint64(0xFFFFFFFF), t >> np.uint64(32)
    word = philox(low, high, zero, zero, np.uint64(key[0]), np.uint64(key[1]))[0]
    return np.int64((word * np.uint64(model.support.counts[0])) >> np.uint64(32))


class RandomVictims(KernelLearner):
    """Base of the learners that draw victims; `seed` and the run's entropy are their parameter and their state."""

    memory: ClassVar[int] = 2

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["memory"][0] = self._random().integers(0, 2**32, 2)
        return state
