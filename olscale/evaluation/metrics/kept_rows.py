"""Measures that need all of their rows: no small number of sums suffices."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.evaluation.metrics.base import Metric, StreamShape, points_among
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series
from olscale.task import Task


class EveryRow(Metric):
    """One measure of kept rows: of the stream, of windows (with a curve) and of the test split.

    Requested by `measures`; it keeps 8 or 16 bytes per row.

    Attributes
    ----------
    name : str
        Name of the measure.
    width : int
        Numbers kept per row.
    """

    name: ClassVar[str]
    width: ClassVar[int]

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return cls.name in scoring.measures

    def __init__(self, shape: StreamShape) -> None:
        requested = self.name in shape.scoring.measures
        # the last one is the weight
        self._width = self.width + shape.scoring.weighted_measures
        self._points = shape.points()
        self._window = 0
        if requested:
            self._window = shape.scoring.window or 0
        self.sums = {"test": np.empty((0, self._width))}
        if requested:
            self.sums |= {
                "rows": np.zeros(1, dtype=np.int64),
                "stream": np.zeros((shape.rows, self._width)),
            }
        if self._window:
            self.sums["curve"] = np.full(len(self._points), np.nan)

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Keep rows of the stream, and measure the windows that end in them."""
        if "stream" not in self.sums:
            return
        first = int(self.sums["rows"][0])
        new_rows = self._weighed(self._kept(y, codes, scores))
        self._make_room(first + len(y))
        self.sums["stream"][first : first + len(y)] = new_rows
        self.sums["rows"] += len(y)
        if self._window:
            reached = points_among(self._points, first, len(y))
            for i in range(reached.start, reached.stop):
                stop = int(self._points[i])
                window = self.sums["stream"][max(0, stop - self._window) : stop]
                self.sums["curve"][i] = self._value(window)

    def _make_room(self, rows: int) -> None:
        """Let the stream be longer than declared: the rows of a source are not counted ahead."""
        kept = self.sums["stream"]
        if rows > len(kept):
            more = max(rows, 2 * len(kept)) - len(kept)
            self.sums["stream"] = np.concatenate([kept, np.zeros((more, self._width))])

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Keep rows of the test split."""
        new_rows = self._weighed(self._kept(y, codes, scores))
        self.sums["test"] = np.concatenate([self.sums["test"], new_rows])

    def _weighed(self, rows: FloatArray) -> FloatArray:
        """Return the kept numbers of rows, with their weights if these count."""
        if self._weights is None:
            return rows
        return np.column_stack([rows, self.weights_of(len(rows))])

    @abstractmethod
    def _kept(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        """Return the numbers to keep of rows, shape (rows, width)."""

    @abstractmethod
    def _value(self, rows: FloatArray) -> float:
        """Return the measure of one or more kept rows; NaN if it is undefined.

        The weights of rows, if they count, are an additional column.
        """

    def _seen(self) -> FloatArray:
        if "stream" in self.sums:
            return self.sums["stream"][: int(self.sums["rows"][0])]
        return np.empty((0, self._width))

    def values(self) -> dict[str, float]:
        """Return the measure of the stream, of its last window and of the test split."""
        stream_rows = self._seen()
        window = f"window_{self.name}"
        parts = {
            self.name: stream_rows,
            window: stream_rows[-self._window :] if self._window else stream_rows[:0],
        }
        parts[f"test_{self.name}"] = self.sums["test"]
        measures = {
            name: self._value(rows) for name, rows in parts.items() if len(rows)
        }
        return {name: value for name, value in measures.items() if np.isfinite(value)}

    def series(self) -> list[Series]:
        """Return the curve of the windows."""
        curve = self.sums.get("curve", np.empty(0))
        defined = np.isfinite(curve)
        if not defined.any():
            return []
        return [Series(f"window_{self.name}", self._points[defined], curve[defined])]


class MedianError(EveryRow):
    """`medae`: the median of ``|y - prediction|``."""

    name = "medae"
    width = 1
    tasks: ClassVar[tuple[Task, ...]] = ("regression",)

    def _kept(self, y: Array, codes: Array, scores: FloatArray) -> FloatArray:
        distance: FloatArray = np.abs(y - codes)
        return distance[:, np.newaxis]

    def _value(self, rows: FloatArray) -> float:
        return float(np.median(rows))
