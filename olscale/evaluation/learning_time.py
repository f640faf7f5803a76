"""The time that learning takes: on the clock, and on the processor by the thread that learns."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from time import perf_counter, thread_time

import numpy as np
from numpy.typing import NDArray

from olscale.measures import WAITED

_BUSY = 1.5
"""Wall time over processor time above which a thread has waited: for a core, a disk, or threads of its own."""


@dataclass(frozen=True, slots=True)
class LearningTime:
    """Seconds of learning, or a moment from which they are counted.

    Parameters
    ----------
    wall : float
    processor : float
        Of the thread that learns; NaN where it is not known, as in checkpoints of earlier versions.

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
        """Return this moment, for `elapsed`."""
        return cls(perf_counter(), thread_time())

    def elapsed(self) -> LearningTime:
        """Return the time since this moment; to be asked for by the same thread."""
        return LearningTime(perf_counter() - self.wall, thread_time() - self.processor)

    def __add__(self, other: LearningTime) -> LearningTime:
        return LearningTime(self.wall + other.wall, self.processor + other.processor)

    def __truediv__(self, runs: int) -> LearningTime:
        return LearningTime(self.wall / runs, self.processor / runs)

    def array(self) -> NDArray[np.float64]:
        """Return what `from_array` takes."""
        return np.array([self.wall, self.processor])

    @classmethod
    def from_array(cls, seconds: NDArray[np.float64]) -> LearningTime:
        """Return the time in an array of a checkpoint or shard; those of earlier versions have wall time alone."""
        wall, *processor = seconds.tolist()
        return cls(wall, *(processor or [nan]))

    def timings(self, rows: int) -> dict[str, float]:
        """Return what a run that has learned so many rows says of its speed."""
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
