"""The time that a single row takes."""

from typing import ClassVar

import numpy as np

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.task import TASKS, Task

_SHARES = {"p50": 50.0, "p99": 99.0}


class Latency(Metric):
    """Percentiles of the time of calls with one row, such as `predict_p50_seconds`.

    The others are `predict_p99_seconds`, `learn_p50_seconds` and `learn_p99_seconds`. Requested by
    ``measures = ["latency"]``: at most 1,000 evenly spaced rows of the stream reach the learner one
    at a time, first to be predicted, then to be learned from (which predicts them, too). Times are
    measured from call to return, in Python.

    Examples
    --------
    >>> metric = Latency(StreamShape(rows=2, classes=2))
    >>> metric.look(rows=2, model_bytes=None, seconds=(2e-6, 3e-6))
    >>> metric.timings()["learn_p99_seconds"]
    3e-06
    """

    measure = "latency"
    tasks: ClassVar[tuple[Task, ...]] = TASKS
    watches = True

    def __init__(self, shape: StreamShape) -> None:
        self.sums = {"seconds": np.empty((0, 2))}

    def look(self, rows: int, model_bytes: float | None, seconds: tuple[float, float]) -> None:
        """Note both times."""
        self.sums["seconds"] = np.concatenate([self.sums["seconds"], [seconds]])

    def values(self) -> dict[str, float]:
        """Return nothing: measured times are not results."""
        return {}

    def timings(self) -> dict[str, float]:
        """Return medians and 99th percentiles."""
        if not len(seconds := self.sums["seconds"]):
            return {}
        percentiles = np.percentile(seconds, list(_SHARES.values()), axis=0).T
        return {
            f"{call}_{share}_seconds": float(value)
            for call, values in zip(("predict", "learn"), percentiles, strict=True)
            for share, value in zip(_SHARES, values, strict=True)
        }
