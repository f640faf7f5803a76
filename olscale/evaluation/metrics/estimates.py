"""Sums over rows, and their measures over the stream, a window, with fading, and on test rows.

`RowSums` is the contract of summaries: measures as functions of sums. `Estimates` applies one to
the rows of each form of a measure.
"""

from abc import ABC, abstractmethod
from math import isfinite
from typing import ClassVar, NamedTuple

import numpy as np

from olscale.arrays import Array, BoolArray, FloatArray, IntArray
from olscale.evaluation.metrics.base import Metric, StreamShape, points_among
from olscale.evaluation.metrics.holdout import HoldoutPlan
from olscale.measures import ALONG_THE_STREAM, measure_of
from olscale.results.record import Series

NO_WEIGHTS = np.empty(0)
"""Weights of rows that all count alike."""


class Events(NamedTuple):
    """Rows to be summed: targets, predictions, and predictions of baselines, shape (rows, ...).

    `weights` has the weight of each row; it is empty if all count alike.
    """

    y: Array
    predicted: Array
    baseline: Array
    weights: FloatArray = NO_WEIGHTS

    def rows(self, index: slice | BoolArray) -> "Events":
        """Return some of the rows."""
        weights = self.weights[index] if len(self.weights) else self.weights
        return Events(
            self.y[index], self.predicted[index], self.baseline[index], weights
        )

    def followed_by(self, later: "Events") -> "Events":
        """Return these rows followed by `later` ones."""
        return Events(*map(np.concatenate, zip(self, later, strict=True)))


class RowSums(ABC):
    """Sums over rows; measures are functions of them, and `estimates` defines the rows.

    Parameters
    ----------
    shape : StreamShape

    Attributes
    ----------
    names : tuple of str
        Names of the measures.
    size : int
        Number of sums; the first one sums the weights of the rows.
    base : array
        What the baselines know before the first row.
    """

    names: ClassVar[tuple[str, ...]]
    size: int
    base: Array

    @abstractmethod
    def __init__(self, shape: StreamShape) -> None: ...

    @abstractmethod
    def events(self, y: Array, predicted: Array, baseline: bool) -> Events:
        """Return rows to be summed, with space for predictions of baselines if these are kept."""

    @abstractmethod
    def baseline_before(self, labels: Array, asked: IntArray, base: Array) -> Array:
        """Return the baselines' predictions before the events `asked`, as they learn `labels`."""

    @abstractmethod
    def follow(
        self,
        events: Events,
        base: Array,
        frozen: bool,
        sums: FloatArray,
        marks: IntArray,
        values: FloatArray,
    ) -> None:
        """Add new rows one by one; the baselines learn them unless they are `frozen`.

        The sums after `marks` rows are copied to the rows of `values`.
        """

    @abstractmethod
    def add(
        self,
        events: Events,
        sums: FloatArray,
        alpha: float,
        marks: IntArray,
        values: FloatArray,
    ) -> None:
        """Add rows that `follow` has processed, one by one, while sums fade by `alpha`."""

    @abstractmethod
    def values(self, sums: FloatArray) -> FloatArray:
        """Return the measures of rows of sums, shape (rows, names); NaN if undefined."""


_NO_MARKS = np.empty(0, dtype=np.int64)


class Estimates(Metric):
    """The measures of a `RowSums`, which a subclass provides.

    Every run has the default measures of its task at the end of the stream, and on the test split
    with the prefix ``test_``. Measures that the protocol lists in `measures` also have a curve, and
    with `window`, `fading` or `holdout_every` the forms ``window_``, ``fading_`` and ``holdout_``,
    defined as in `WindowError`, `FadingError` and `HoldoutError`.

    Sums are added row by row, and each window of a curve is summed anew, so that chunks do not
    change a bit.
    """

    weighs_rows = True
    always: tuple[str, ...] = ()
    """Measures that have all forms in every run."""

    @abstractmethod
    def summary(self, shape: StreamShape) -> RowSums:
        """Return the summary."""

    def __init__(self, shape: StreamShape) -> None:
        scoring = shape.scoring
        self._summary = self.summary(shape)
        self._alpha = scoring.fading or 1.0
        size = self._summary.size
        measures = self._summary.names
        self._names = [
            name for name in measures if name in scoring.measures or name in self.always
        ]
        self._asked = [measures.index(name) for name in self._names]
        ends = [
            name in self._names or shape.task in measure_of(name).default
            for name in measures
        ]
        if scoring.test_only:
            ends = [
                end and name not in ALONG_THE_STREAM
                for end, name in zip(ends, measures, strict=True)
            ]
        self._ends = [(i, name) for i, name in enumerate(measures) if ends[i]]
        self._no_rows = np.empty((0, size))
        self._baseline: Array | None = None
        self._weighted = scoring.weighted_measures
        self.sums = {
            "stream": np.zeros(size),
            "base": self._summary.base.copy(),
            "test": np.zeros(size),
            "test_base": self._summary.base.copy(),
        }
        if self._weighted:  # otherwise the first sum is their number
            self.sums["rows"] = np.zeros(1, dtype=np.int64)
        if not self._names:
            return
        self._points = shape.points()
        self._window = scoring.window or 0
        self._holdout = HoldoutPlan(shape)
        points = len(self._points)
        width = len(self._names)
        self.sums["curve"] = np.full((points, width), np.nan)
        if self._window:
            self.sums["window_curve"] = np.full((points, width), np.nan)
            no_labels = self._no_rows[:, 0]
            self.sums |= self._kept(
                self._summary.events(no_labels, no_labels, baseline=True)
            )
        if scoring.fading is not None:
            self.sums |= {
                "fading": np.zeros(size),
                "fading_curve": np.full((points, width), np.nan),
            }
        if scoring.holdout_every is not None:
            self.sums["holdout_curve"] = np.full((len(self._holdout.at), width), np.nan)
            self.sums |= {
                "held": np.zeros(size),
                "held_base": self._summary.base.copy(),
                "held_at": np.array([-1]),
            }

    def arrive(self, labels: Array, asked: IntArray | None) -> None:
        """Let the baselines learn `labels`, and keep their predictions for the rows `asked`."""
        # Baselines learn all labels in order of arrival, even where no row is predicted.
        events = np.empty(0, dtype=np.int64) if asked is None else asked
        baseline = self._summary.baseline_before(labels, events, self.sums["base"])
        # Without rows to predict there is nothing to keep, and later labels come one by one.
        self._baseline = None
        if asked is not None:
            self._baseline = baseline

    def see(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the stream."""
        sums = self.sums
        first = self._rows_seen
        if self._weighted:
            sums["rows"] += len(y)
        if not self._names:
            self._follow(
                self._events(y, codes, baseline=False), _NO_MARKS, self._no_rows
            )
            return
        # Windows, fading and holdouts add rows again, and need what the baselines predicted of
        # them.
        needs_rows = any(name in sums for name in ("window_curve", "fading", "held"))
        events = self._events(y, codes, baseline=needs_rows)
        reached = points_among(self._points, first, len(y))
        marks = self._points[reached] - first
        sums_at_marks = np.empty((len(marks), self._summary.size))
        events = self._follow(events, marks, sums_at_marks)
        sums["curve"][reached] = self._values(sums_at_marks)
        if self._window:
            self._slide(events, marks, reached)
        if "fading" in sums:
            self._summary.add(events, sums["fading"], self._alpha, marks, sums_at_marks)
            sums["fading_curve"][reached] = self._values(sums_at_marks)
        if "held" in sums:
            numbers = self._holdout.numbers(np.arange(first, first + len(y)))
            for at in np.unique(numbers[numbers >= 0]).tolist():
                self._begin_holdout(at)
                self._summary.add(
                    events.rows(numbers == at),
                    sums["held"],
                    1.0,
                    _NO_MARKS,
                    self._no_rows,
                )
                sums["holdout_curve"][at] = self._values(sums["held"][np.newaxis])[0]

    @property
    def _rows_seen(self) -> int:
        """Number of counted rows of the stream."""
        if self._weighted:
            return int(self.sums["rows"][0])
        return int(self.sums["stream"][0])

    def _events(self, y: Array, codes: Array, baseline: bool) -> Events:
        """Return rows in the form in which they are summed, with their weights."""
        events = self._summary.events(y, codes, baseline)
        return events._replace(weights=self.weights_of(len(y)))

    def _kept(self, events: Events) -> dict[str, Array]:
        """Return the rows of a window as plain arrays."""
        names = [name for name in Events._fields if name != "weights" or self._weighted]
        return {f"last_{name}": getattr(events, name).copy() for name in names}

    def _follow(self, events: Events, marks: IntArray, values: FloatArray) -> Events:
        """Add rows to the sums of the stream; return them with the predictions of the baselines."""
        stream = self.sums["stream"]
        if self._baseline is None:
            self._summary.follow(
                events, self.sums["base"], False, stream, marks, values
            )
            return events
        events = events._replace(baseline=self._baseline)
        self._baseline = None
        self._summary.add(events, stream, 1.0, marks, values)
        return events

    def _slide(self, events: Events, marks: IntArray, reached: slice) -> None:
        """Sum the windows that end at `marks`."""
        last = Events(
            *(self.sums.get(f"last_{name}", NO_WEIGHTS) for name in Events._fields)
        )
        rows = last.followed_by(events)
        sums_at_marks = np.zeros((len(marks), self._summary.size))
        stops = (marks + len(last.y)).tolist()
        for sums, stop in zip(sums_at_marks, stops, strict=True):
            window = rows.rows(slice(max(0, stop - self._window), stop))
            self._summary.add(window, sums, 1.0, _NO_MARKS, self._no_rows)
        self.sums["window_curve"][reached] = self._values(sums_at_marks)
        # Slices would keep all earlier rows in memory: copy.
        oldest = max(0, len(rows.y) - self._window)
        self.sums |= self._kept(rows.rows(slice(oldest, None)))

    def held_out(self, y: Array, codes: Array) -> None:
        """Add held-out rows of the test split."""
        sums = self.sums
        if "held" in sums:
            at = self._holdout.last(self._rows_seen)
            # A new measurement starts from what the baselines know now.
            if at != sums["held_at"][0]:
                sums["held_base"] = sums["base"].copy()
            self._begin_holdout(at)
            self._predict(y, codes, "held", "held_base")
            sums["holdout_curve"][at] = self._values(sums["held"][np.newaxis])[0]

    def _begin_holdout(self, at: int) -> None:
        if at != self.sums["held_at"][0]:
            self.sums["held"] = np.zeros(self._summary.size)
            self.sums["held_at"] = np.array([at])

    def test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Add rows of the test split."""
        # Baselines predict the test split with what they knew at its first row.
        if not self.sums["test"][0]:
            self.sums["test_base"] = self.sums["base"].copy()
        self._predict(y, codes, "test", "test_base")

    def _predict(self, y: Array, codes: Array, sums: str, base: str) -> None:
        """Add rows that are only predicted: the baselines know what they learned before."""
        events = self._events(y, codes, baseline=False)
        self._summary.follow(
            events,
            self.sums[base],
            True,
            self.sums[sums],
            _NO_MARKS,
            self._no_rows,
        )

    def _values(self, sums: FloatArray) -> FloatArray:
        """Return the requested measures, shape (rows, measures)."""
        return self._summary.values(sums)[:, self._asked]

    def values(self) -> dict[str, float]:
        """Return the measures, without undefined ones such as a quotient of zeros."""
        measures: dict[str, float] = {}
        sums = np.stack([self.sums["stream"], self.sums["test"]])
        ends = self._summary.values(sums).tolist()
        for form, values in zip(("", "test_"), ends, strict=True):
            measures |= {form + name: values[i] for i, name in self._ends}
        if not self._names:
            return {name: value for name, value in measures.items() if isfinite(value)}
        reached = int(np.searchsorted(self._points, self._rows_seen, side="right"))
        for form in ("window_", "fading_"):
            for name, curve in zip(self._names, self._curve(form), strict=False):
                if reached:
                    measures[form + name] = float(curve[reached - 1])
        for name, curve in zip(self._names, self._curve("holdout_"), strict=False):
            if len(defined := curve[np.isfinite(curve)]):
                measures[f"holdout_{name}"] = float(defined.mean())
        return {name: value for name, value in measures.items() if isfinite(value)}

    def series(self) -> list[Series]:
        """Return the curves of the requested measures, where they are defined."""
        curves: list[Series] = []
        if not self._names:
            return curves
        for form in ("", "window_", "fading_", "holdout_"):
            at = self._holdout.at if form == "holdout_" else self._points
            for name, values in zip(self._names, self._curve(form), strict=False):
                defined = np.isfinite(values)
                if defined.any():
                    curves.append(Series(form + name, at[defined], values[defined]))
        return curves

    def _curve(self, form: str) -> FloatArray:
        """Return the curves of a form, one per name; empty if the form is not requested."""
        return self.sums.get(f"{form}curve", np.empty((0, 0))).T
