"""How long a row takes by itself."""

from typing import ClassVar

import numpy as np

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.task import TASKS, Task

_SHARES = {"p50": 50.0, "p99": 99.0}


class Latency(Metric):
    """`predict_p50_seconds`, `predict_p99_seconds`, `learn_p50_seconds`, `learn_p99_seconds`: of calls with one row.

    Asked for by ``measures = ["latency"]``: at most 1,000 evenly spaced rows of the stream come to
    the learner alone, first to be predicted, then to be learned from (which predicts them, too).
    The clock runs from call to return, in Python.

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
        """Return nothing: what a clock says is no result."""
        return {}

    def timings(self) -> dict[str, float]:
        """Return medians and 99th percentiles."""
        if not len(seconds := self.sums["seconds"]):
            return {}
        found = np.percentile(seconds, list(_SHARES.values()), axis=0).T
        return {
            f"{call}_{share}_seconds": float(value)
            for call, values in zip(("predict", "learn"), found, strict=True)
            for share, value in zip(_SHARES, values, strict=True)
        }
