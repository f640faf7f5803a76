"""Measures of a summary over the whole stream, over a window, with fading, on rows held out and on the test split."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.metrics.holdout import HoldoutPlan
from olscale.evaluation.metrics.summary import Events, Summary
from olscale.measures import MEASURES
from olscale.results.record import Series

_NO_MARKS = np.empty(0, dtype=np.int64)


class Estimates(Metric):
    """What can be made of the sums of a `Summary`; a subclass says of which.

    Every run has the default measures of its task at the end of the stream, and on the test split with the prefix
    ``test_``. What the protocol names in `measures` has a curve as well, and with `window`, `fading` or `holdout_every` the
    forms ``window_``, ``fading_`` and ``holdout_`` as `WindowError`, `FadingError` and `HoldoutError` define them.

    Sums are added row by row, and a window is summed anew at each position of its curve: no chunk changes a bit.
    """

    always: tuple[str, ...] = ()
    """Measures with all forms in every run."""

    @abstractmethod
    def summary(self, shape: StreamShape) -> Summary:
        """Return the summary."""

    def __init__(self, shape: StreamShape) -> None:
        scoring = shape.scoring
        self._summary, self._points, self._alpha = self.summary(shape), shape.points(), scoring.fading or 1.0
        size, points = self._summary.size, len(self._points)
        known = list(self._summary.values(np.zeros(size)))
        self._names = [name for name in known if name in scoring.measures or name in self.always]
        self._ends = [name for name in known if name in self._names or shape.task in MEASURES[name].default]
        self._window, self._holdout = scoring.window or 0, HoldoutPlan(shape)
        width, none = len(self._names), np.zeros(0)
        nothing = self._summary.events(none, none, self._summary.base.copy())
        self.sums = {"stream": np.zeros(size), "base": self._summary.base.copy()}
        self.sums |= {"test": np.zeros(size), "test_base": self._summary.base.copy()}
        if not width:
            return
        self.sums["curve"] = np.full((points, width), np.nan)
        if self._window:
            self.sums["window_curve"] = np.full((points, width), np.nan)
            self.sums |= {f"last_{name}": part for name, part in nothing._asdict().items()}
        if scoring.fading is not None:
            self.sums |= {"fading": np.zeros(size), "fading_curve": np.full((points, width), np.nan)}
        if scoring.holdout_every is not None:
            self.sums["holdout_curve"] = np.full((len(self._holdout.at), width), np.nan)
            self.sums |= {"held": np.zeros(size), "held_base": self._summary.base.copy(), "held_at": np.array([-1])}

    def see(self, y: NDArray[Any], codes: NDArray[Any], scores: NDArray[np.float64]) -> None:
        """Add rows of the stream."""
        first = int(self.sums["stream"][0])
        events = self._summary.events(y, codes, self.sums["base"])
        if not self._names:
            self._summary.add(events, self.sums["stream"], 1.0, _NO_MARKS, np.empty((0, self._summary.size)))
            return
        reached = slice(*np.searchsorted(self._points, [first, first + len(y)], side="right"))
        marks = self._points[reached] - first
        self._along("stream", "curve", events, 1.0, marks, reached)
        if self._window:
            self._slide(events, marks, reached)
        if "fading" in self.sums:
            self._along("fading", "fading_curve", events, self._alpha, marks, reached)
        if "held" in self.sums:
            row = np.arange(first, first + len(y))
            for at in np.unique(numbers := self._holdout.numbers(row)):
                if at >= 0:
                    self._hold(int(at), Events(*(part[numbers == at] for part in events)))

    def _along(
        self, sums: str, curve: str, events: Events, alpha: float, marks: NDArray[np.int64], reached: slice
    ) -> None:
        found = np.empty((len(marks), self._summary.size))
        self._summary.add(events, self.sums[sums], alpha, marks, found)
        self.sums[curve][reached] = self._values(found)

    def _slide(self, events: Events, marks: NDArray[np.int64], reached: slice) -> None:
        """Sum the windows that end at `marks`."""
        last = Events(*(self.sums[f"last_{name}"] for name in Events._fields))
        rows, found = last.followed_by(events), np.zeros((len(marks), self._summary.size))
        for sums, stop in zip(found, (marks + len(last.y)).tolist(), strict=True):
            window = rows.rows(max(0, stop - self._window), stop)
            self._summary.add(window, sums, 1.0, _NO_MARKS, found[:0])
        self.sums["window_curve"][reached] = self._values(found)
        # Copies: else all rows so far would be kept.
        kept = rows.rows(max(0, len(rows.y) - self._window), len(rows.y))
        self.sums |= {f"last_{name}": part.copy() for name, part in kept._asdict().items()}

    def held_out(self, y: NDArray[Any], codes: NDArray[Any]) -> None:
        """Add rows that are held out of the test split."""
        if "held" in self.sums:
            at = self._holdout.last(int(self.sums["stream"][0]))
            if at != self.sums["held_at"][0]:
                self.sums["held_base"] = self.sums["base"].copy()
            self._hold(at, self._summary.events(y, codes, self.sums["held_base"], frozen=True))

    def _hold(self, at: int, events: Events) -> None:
        if at != self.sums["held_at"][0]:
            self.sums["held"], self.sums["held_at"] = np.zeros(self._summary.size), np.array([at])
        self._summary.add(events, self.sums["held"], 1.0, _NO_MARKS, np.empty((0, self._summary.size)))
        self.sums["holdout_curve"][at] = self._values(self.sums["held"])

    def test(self, y: NDArray[Any], codes: NDArray[Any], scores: NDArray[np.float64]) -> None:
        """Add rows of the test split: the dull learners know what they know from the stream."""
        if not self.sums["test"][0]:
            self.sums["test_base"] = self.sums["base"].copy()
        events = self._summary.events(y, codes, self.sums["test_base"], frozen=True)
        self._summary.add(events, self.sums["test"], 1.0, _NO_MARKS, np.empty((0, self._summary.size)))

    def _values(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the protocol asks for, shape (..., measures)."""
        found = self._summary.values(sums)
        return np.stack([found[name] for name in self._names], axis=-1)

    def values(self) -> dict[str, float]:
        """Return the measures; those that are not defined, as a quotient of zeros, are left out."""
        found: dict[str, float] = {}
        for form, sums in (("", "stream"), ("test_", "test")):
            values = self._summary.values(self.sums[sums])
            found |= {form + name: float(values[name]) for name in self._ends}
        reached = int(np.searchsorted(self._points, self.sums["stream"][0], side="right"))
        for form in ("window_", "fading_"):
            for name, curve in zip(self._names, self._curve(form), strict=False):
                if reached:
                    found[form + name] = float(curve[reached - 1])
        for name, curve in zip(self._names, self._curve("holdout_"), strict=False):
            if len(known := curve[np.isfinite(curve)]):
                found[f"holdout_{name}"] = float(known.mean())
        return {name: value for name, value in found.items() if np.isfinite(value)}

    def series(self) -> list[Series]:
        """Return the curves of what the protocol asks for, where they are defined."""
        found = []
        for form in ("", "window_", "fading_", "holdout_"):
            at = self._holdout.at if form == "holdout_" else self._points
            for name, values in zip(self._names, self._curve(form), strict=False):
                defined = np.isfinite(values)
                if defined.any():
                    found.append(Series(form + name, at[defined], values[defined]))
        return found

    def _curve(self, form: str) -> NDArray[np.float64]:
        """Return the curves of a form, one for each of the names; none where the form is not asked for."""
        return self.sums.get(f"{form}curve", np.empty((0, 0))).T
