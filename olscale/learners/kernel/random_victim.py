"""Random victims: the row's number decides which support vector makes room, for any split."""

from typing import Any, ClassVar

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.philox import philox
from olscale.learners.contract.learner import State
from olscale.learners.kernel.kernel_learner import KernelLearner


@compiled
def random_slot(model: Any, row: Any) -> Any:
    """Return a slot in use, each with equal probability."""
    t = np.uint64(row.t)
    zero = np.uint64(0)
    key = model.memory[0]
    low = t & np.uint64(0xFFFFFFFF)
    high = t >> np.uint64(32)
    word = philox(low, high, zero, zero, np.uint64(key[0]), np.uint64(key[1]))[0]
    return np.int64((word * np.uint64(model.support.counts[0])) >> np.uint64(32))


class RandomVictims(KernelLearner):
    """Base of the learners that draw victims, from the parameter `seed` and the run's entropy."""

    memory: ClassVar[int] = 2

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["memory"][0] = self._random().integers(0, 2**32, 2)
        return state
