"""The time that learning takes, by the clock and by the processor of the learning thread."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from time import perf_counter, thread_time

import numpy as np

from olscale.arrays import FloatArray
from olscale.measures import WAITED

_BUSY = 1.5
"""Wall time over processor time above which a thread waited: for a core, a disk or threads."""


@dataclass(frozen=True, slots=True)
class LearningTime:
    """Seconds of learning, or a start time for measuring them.

    Parameters
    ----------
    wall : float
    processor : float
        Processor time of the learning thread; NaN where unknown, as in old checkpoints.

    Examples
    --------
    >>> spent = LearningTime(2.0, 1.0) + LearningTime(2.0, 2.0) / 2
    >>> speeds = spent.timings(rows=600)
    >>> speeds["rows_per_second"], speeds["rows_per_cpu_second"], "waited" in speeds
    (200.0, 300.0, False)
    """

    wall: float = 0.0
    processor: float = 0.0

    @classmethod
    def now(cls) -> LearningTime:
        """Return the current time, for `elapsed`."""
        return cls(perf_counter(), thread_time())

    def elapsed(self) -> LearningTime:
        """Return the time since this one; call it in the same thread."""
        return LearningTime(perf_counter() - self.wall, thread_time() - self.processor)

    def __add__(self, other: LearningTime) -> LearningTime:
        return LearningTime(self.wall + other.wall, self.processor + other.processor)

    def __truediv__(self, runs: int) -> LearningTime:
        return LearningTime(self.wall / runs, self.processor / runs)

    def array(self) -> FloatArray:
        """Return the array that `from_array` reads."""
        return np.array([self.wall, self.processor])

    @classmethod
    def from_array(cls, seconds: FloatArray) -> LearningTime:
        """Return the time in an array of a checkpoint or shard; old ones have wall time alone."""
        wall, *processor = seconds.tolist()
        return cls(wall, *(processor or [nan]))

    def timings(self, rows: int) -> dict[str, float]:
        """Return the speed measures of a run that has learned so many rows."""
        speeds = {
            "fit_seconds": self.wall,
            "rows_per_second": rows / self.wall if self.wall > 0.0 else 0.0,
        }
        if self.processor > 0.0 and isfinite(self.processor):
            speeds |= {
                "fit_cpu_seconds": self.processor,
                "rows_per_cpu_second": rows / self.processor,
            }
            if self.wall > _BUSY * self.processor:
                speeds[WAITED] = 1.0
        return speeds
