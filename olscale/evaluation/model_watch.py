"""Observations of a model along the stream: its size, and the time that a single row takes."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from olscale.data.chunk import Chunk
from olscale.evaluation.metrics import Metric, StreamShape
from olscale.learners.contract.learner import Learner


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
        self._points = shape.points() if self._metrics else np.empty(0, dtype=np.int64)

    def __bool__(self) -> bool:
        return bool(self._metrics)

    def pieces(self, chunk: Chunk, first: int) -> list[Chunk]:
        """Return `chunk`, which begins at row `first`, cut so that each watched row is a piece."""
        if not self:
            return [chunk]
        low, high = np.searchsorted(self._points, [first, first + len(chunk)], side="right")
        ends = self._points[low:high] - first
        cuts = np.unique(np.concatenate([[0, len(chunk)], ends - 1, ends])).tolist()
        return [chunk[start:stop] for start, stop in pairwise(cuts)]

    def is_due(self, piece: Chunk, first: int) -> bool:
        """Return whether a piece is a watched row."""
        return len(piece) == 1 and bool(np.isin(first + 1, self._points))

    def look(self, rows: int, learner: Learner, seconds: tuple[float, float]) -> None:
        """Let the metrics look at a learner after `rows` rows.

        `seconds` holds the time to predict and the time to learn the last of them.
        """
        size = learner.measures().get("model_bytes") if self._sized else None
        for metric in self._metrics:
            metric.look(rows, size, seconds)
