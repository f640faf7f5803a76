"""The size of the model along the stream."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.results.record import Series
from olscale.task import TASKS, Task


class ModelSize(Metric):
    """The curve of `model_bytes`: the size of the learner's arrays, which every run has at its end.

    Requested by ``measures = ["model_bytes"]``. Positions are rows of the stream, including a
    `burn_in`.

    Examples
    --------
    >>> metric = ModelSize(StreamShape(rows=2, classes=2))
    >>> metric.look(rows=2, model_bytes=48.0, seconds=(0.0, 0.0))
    >>> metric.series()
    [Series(name='model_bytes', rows=array([2]), values=array([48.]))]
    """

    measure = "model_bytes"
    tasks: ClassVar[tuple[Task, ...]] = TASKS
    watches = True

    def __init__(self, shape: StreamShape) -> None:
        self.sums: dict[str, NDArray[Any]] = {
            "rows": np.empty(0, dtype=np.int64),
            "bytes": np.empty(0),
        }

    def look(self, rows: int, model_bytes: float | None, seconds: tuple[float, float]) -> None:
        """Note the size, if the learner reports it."""
        if model_bytes is not None:
            self.sums["rows"] = np.append(self.sums["rows"], rows)
            self.sums["bytes"] = np.append(self.sums["bytes"], model_bytes)

    def values(self) -> dict[str, float]:
        """Return nothing: the learner itself reports its size at the end."""
        return {}

    def series(self) -> list[Series]:
        """Return the curve."""
        return (
            [Series("model_bytes", self.sums["rows"], self.sums["bytes"])]
            if len(self.sums["rows"])
            else []
        )
