"""Looks at a model along the stream: its size, and the time that a single row takes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from olscale.arrays import Array
from olscale.data.chunk import Chunk
from olscale.evaluation.metrics.base import Metric, StreamShape, points_among
from olscale.learners.contract.learner import Learner
from olscale.results.record import Series
from olscale.task import TASKS, Task


class ModelWatch:
    """Rows that a learner gets one at a time so that metrics can look at it; empty without any.

    Parameters
    ----------
    metrics : sequence of Metric
    shape : StreamShape
        Shape of the whole stream.
    """

    def __init__(self, metrics: Sequence[Metric], shape: StreamShape) -> None:
        self._metrics = [metric for metric in metrics if metric.watches]
        # Sizes are only asked for on request: models of other libraries take long to measure.
        self._sized = "model_bytes" in shape.scoring.measures
        if self._metrics:
            self._points = shape.points()
        else:
            self._points = np.empty(0, dtype=np.int64)

    def __bool__(self) -> bool:
        return bool(self._metrics)

    def pieces(self, chunk: Chunk, first: int) -> list[Chunk]:
        """Return `chunk`, which begins at row `first`, cut so that each watched row is a piece."""
        if not self:
            return [chunk]
        ends = self._points[points_among(self._points, first, len(chunk))] - first
        # A watched row is the last one before its point, so a cut precedes and follows it.
        cuts = np.unique(np.concatenate([[0, len(chunk)], ends - 1, ends]))
        return [chunk[start:stop] for start, stop in pairwise(cuts.tolist())]

    def is_due(self, piece: Chunk, first: int) -> bool:
        """Return whether a piece is a watched row."""
        return len(piece) == 1 and bool(np.isin(first + 1, self._points))

    def look(self, rows: int, learner: Learner, seconds: tuple[float, float]) -> None:
        """Let the metrics look at a learner after `rows` rows.

        `seconds` holds the time to predict and the time to learn the last of them.
        """
        size = None
        if self._sized:
            size = learner.measures().get("model_bytes")
        for metric in self._metrics:
            metric.look(rows, size, seconds)


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
        self.sums: dict[str, Array] = {
            "rows": np.empty(0, dtype=np.int64),
            "bytes": np.empty(0),
        }

    def look(
        self, rows: int, model_bytes: float | None, seconds: tuple[float, float]
    ) -> None:
        """Note the size, if the learner reports it."""
        if model_bytes is not None:
            self.sums["rows"] = np.append(self.sums["rows"], rows)
            self.sums["bytes"] = np.append(self.sums["bytes"], model_bytes)

    def values(self) -> dict[str, float]:
        """Return nothing: the learner itself reports its size at the end."""
        return {}

    def series(self) -> list[Series]:
        """Return the curve."""
        if not len(self.sums["rows"]):
            return []
        return [Series("model_bytes", self.sums["rows"], self.sums["bytes"])]


_SHARES = {"p50": 50.0, "p99": 99.0}


# Rows are learned many to a call, where a row has no time of its own. Any cut of a stream gives
# the same bits, so rows that come alone change no result.
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

    def look(
        self, rows: int, model_bytes: float | None, seconds: tuple[float, float]
    ) -> None:
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
