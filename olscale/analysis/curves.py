"""What a store has along the stream: curves, alarms, segments, confusion matrices and ROC curves.

The replicates of a setting stand side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from olscale.analysis.aggregate import groups_of
from olscale.analysis.curve_positions import Line, shared_line
from olscale.analysis.replicates import ok_runs
from olscale.analysis.shared_segments import shared_segments
from olscale.analysis.summary import Summary, by_setting
from olscale.arrays import FloatArray, IntArray
from olscale.measures import FORMS, askable, base_name, label_of
from olscale.results import Store
from olscale.results.arrow_arrays import arrow_array, numbers_of, positions_of
from olscale.results.settings import SettingKey
from olscale.results.store import OnDamage

CONFUSIONS = ("confusion", "test_confusion")
"""Confusion matrices, which protocols ask for."""

ROCS = ("roc", "test_roc")
"""ROC curves, which protocols ask for; in records false positives stand in the place of rows."""

# A cell of a confusion matrix stands in a record as true class * 65536 + predicted class.
_CLASSES = 65536

# Positions of a complete series of a run: those that other series may lack some of.
_COMPLETE = "complete"

_NO_CURVES = (*CONFUSIONS, *ROCS, "latency")
_MEASURES = [name for name in askable() if name not in _NO_CURVES]

CURVES = (
    *(
        "cumulative_error",
        "window_error",
        "fading_error",
        "holdout_error",
        "drift_alarms",
    ),
    *(form + name for name in _MEASURES for form in ("", *FORMS) if form != "test_"),
)
"""What there are curves of.

The first is of every run that predicts labels, the others where the protocol asked for them.
"""


class AlongStream(Protocol):
    """Something of one setting of a learner that has a value at each of several places."""

    @property
    def summary(self) -> Summary:
        """A metric of the same rows; has dataset, learner, parameters and protocol."""

    @property
    def places(self) -> Sequence[str] | Sequence[int]:
        """Names of segments or cells; or numbers of rows, or of false positives."""

    @property
    def values(self) -> FloatArray:
        """The values, shape (n_replicates, n_places)."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A metric of one setting of a learner along the stream, for each of its replicates.

    Parameters
    ----------
    summary : Summary
        The metric over all of the stream; has dataset, learner, parameters and protocol.
    rows : int64 array of shape (n_points,)
        Rows streamed.
    errors : float64 array of shape (n_replicates, n_points)
        The metric after so many rows: a fraction of rows predicted wrongly before their update, or
        a number of alarms.
    """

    summary: Summary
    rows: IntArray
    errors: FloatArray

    @property
    def places(self) -> Sequence[int]:
        """The rows."""
        return [int(row) for row in self.rows]

    @property
    def values(self) -> FloatArray:
        """The errors."""
        return self.errors


@dataclass(frozen=True, slots=True, eq=False)
class SegmentErrors:
    """Error of one setting of a learner on each segment of the stream (a day of URL).

    Parameters
    ----------
    summary : Summary
        Cumulative error at the end of the stream.
    names : tuple of str
        Segments that all replicates have rows in, in stream order, each once: the second ``Mon`` is
        ``Mon (2)``.
    errors : float64 array of shape (n_replicates, n_segments)
        Fraction of the segment's rows that was predicted wrongly.
    """

    summary: Summary
    names: tuple[str, ...]
    errors: FloatArray

    @property
    def places(self) -> Sequence[str]:
        """The segments."""
        return self.names

    @property
    def values(self) -> FloatArray:
        """The errors."""
        return self.errors


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionMatrix:
    """How often one setting of a learner takes rows of a class for another.

    Classes are known by their position in the dataset's.

    Parameters
    ----------
    summary : Summary
        The error of the same rows.
    true, predicted : int64 array of shape (n_cells,)
        Class of the rows of a cell, and that which was predicted; cells without rows are left out.
    counts : float64 array of shape (n_replicates, n_cells)
        Rows of each cell, or what they weigh together.
    """

    summary: Summary
    true: IntArray
    predicted: IntArray
    counts: FloatArray

    @property
    def places(self) -> Sequence[str]:
        """Names of the cells: ``"2 as 0"`` is rows of class 2 that were taken for class 0."""
        pairs = zip(self.true.tolist(), self.predicted.tolist(), strict=True)
        return [f"{true} as {predicted}" for true, predicted in pairs]

    @property
    def values(self) -> FloatArray:
        """The counts."""
        return self.counts

    def mean(self) -> FloatArray:
        """Return means over replicates, shape (n_classes, n_classes): true by predicted classes."""
        largest = max(self.true.max(), self.predicted.max())
        size = 1 + int(largest)
        matrix = np.zeros((size, size))
        matrix[self.true, self.predicted] = self.counts.mean(axis=0)
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """True positives against false positives of one setting of a learner, by replicate.

    Parameters
    ----------
    summary : Summary
        The error of the same rows.
    false_positives : int64 array of shape (n_points,)
        From 0 to all rows that are not positive.
    rates : float64 array of shape (n_replicates, n_points)
        Share of the positive rows that are found with so many false positives.
    """

    summary: Summary
    false_positives: IntArray
    rates: FloatArray

    @property
    def places(self) -> Sequence[int]:
        """The numbers of false positives."""
        return [int(count) for count in self.false_positives]

    @property
    def values(self) -> FloatArray:
        """The rates."""
        return self.rates


def is_curve(metric: str) -> bool:
    """Return whether runs may have a curve of a metric: of `CURVES`, or that of one class.

    Examples
    --------
    >>> is_curve("window_recall:spam"), is_curve("test_recall:spam"), is_curve("rmse:price")
    (True, False, False)
    """
    return metric in CURVES or (
        bool(label_of(base_name(metric))) and metric.partition(":")[0] in CURVES
    )


def has_curve(s: Summary) -> bool:
    """Return whether the runs of a summary have a curve of its metric, by their protocol."""
    if not is_curve(s.metric):
        return False
    base = base_name(s.metric)
    if base == "rmse" or not (base in _MEASURES or label_of(base)):
        return True
    return base in s.protocol.get("measures", ())


def curves(
    store: Store,
    summaries: list[Summary],
    points: int = 200,
    on_damage: OnDamage = "raise",
    metric: str = "cumulative_error",
) -> list[Curve]:
    """Return the curves of the runs of `summaries` that ended ``ok``.

    Parameters
    ----------
    store : Store
    summaries : list of Summary
        From `summarise`; those of `metric` say which curves are wanted.
    points : int
        At most so many positions a curve, evenly spaced. The last row is one, unless the metric
        is undefined there for one of the runs.
    on_damage : {"raise", "skip"}
        What to do about damaged files.
    metric : str
        One of `CURVES`. Alarms have a position wherever a replicate has one.

    Returns
    -------
    list of Curve
        In the order of `summaries`.

    Raises
    ------
    StoreError
        If a file of the store is damaged.
    """
    if metric == "drift_alarms":
        return _alarms(store, summaries, on_damage)
    counts_mistakes = metric == "cumulative_error"
    columns: tuple[str, ...] = ("series", _COMPLETE)
    if not metric.startswith("holdout_"):
        columns = (*columns, "curve_rows")
    if counts_mistakes:
        columns = (*columns, "curve_mistakes")
    wanted = _with_curve(summaries, metric)
    drawn = []
    for summary, runs in _replicates(store, wanted, columns, on_damage, metric):
        # Where rows count by their weights there is no number of mistakes, and the error is a
        # series as any other.
        is_count = counts_mistakes and not summary.protocol.get("weighted_measures")
        lines = [run["series"] for run in runs]
        if is_count:
            lines = [(run["curve_rows"], run["curve_mistakes"]) for run in runs]
        grids = list(map(_grid, runs))
        line = shared_line(lines, grids, points, begins_at_zero=is_count)
        if line is not None:
            rows, values = line
            if is_count:
                values = values / rows
            drawn.append(Curve(summary, rows, values))
    return drawn


def _with_curve(summaries: Sequence[Summary], metric: str) -> list[Summary]:
    """Return a summary of the metric for each setting that may have a curve of it.

    A measure that is undefined at the end of a stream has a curve all the same.
    """
    wanted = []
    for group in by_setting(summaries):
        of_metric = [s for s in group if s.metric == metric]
        if not of_metric:
            other = group[0]
            asked = other.protocol.get("measures", ())
            if base_name(metric) in asked:
                absent = replace(other, metric=metric, mean=nan, std=nan, n=0)
                of_metric = [absent]
        wanted += of_metric
    return wanted


def _grid(run: Mapping[str, Any]) -> IntArray:
    """Return the positions at which the curves of a run may have values."""
    grid: IntArray = run.get("curve_rows", run[_COMPLETE])
    if not len(grid):
        grid = run[_COMPLETE]
    return grid


def roc_curves(
    store: Store,
    summaries: list[Summary],
    name: str,
    points: int = 200,
    on_damage: OnDamage = "raise",
) -> list[RocCurve]:
    """Return the ROC curves of runs; parameters and errors as in `curves`.

    Parameters
    ----------
    store, points, on_damage
        As in `curves`.
    summaries : list of Summary
        Those of `error_beside` of the name say which are wanted.
    name : str
        One of `ROCS`.
    """
    rocs = []
    error = error_beside(name)
    for summary, runs in _replicates(
        store, summaries, ("series",), on_damage, error, name
    ):
        lines = [run["series"] for run in runs]
        line = shared_line(lines, [positions for positions, _ in lines], points)
        if line is not None:
            rocs.append(RocCurve(summary, *line))
    return rocs


def _alarms(store: Store, summaries: list[Summary], on_damage: OnDamage) -> list[Curve]:
    counted = []
    for summary, runs in _replicates(
        store, summaries, ("series",), on_damage, "drift_alarms"
    ):
        alarms = [run["series"][0] for run in runs]
        # Replicates raise alarms at other rows: counts stand at the rows of all.
        rows = np.unique(np.concatenate(alarms))
        counts = [np.searchsorted(of_run, rows, side="right") for of_run in alarms]
        values = np.array(counts, dtype=np.float64)
        counted.append(Curve(summary, rows, values))
    return counted


def segment_errors(
    store: Store,
    summaries: list[Summary],
    on_damage: OnDamage = "raise",
) -> list[SegmentErrors]:
    """Return the errors by segment of runs; parameters and errors as in `curves`."""
    errors = []
    for summary, runs in _replicates(store, summaries, ("segments",), on_damage):
        names, places_of_runs = shared_segments(list(map(_segment_names, runs)))
        if names:
            shares = [
                _shares_wrong(run, places)
                for run, places in zip(runs, places_of_runs, strict=True)
                if places is not None
            ]
            errors.append(SegmentErrors(summary, tuple(names), np.array(shares)))
    return errors


def _segment_names(run: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(segment["name"] for segment in run["segments"])


def _shares_wrong(run: Mapping[str, Any], places: Sequence[int]) -> list[float]:
    segments = [run["segments"][place] for place in places]
    return [
        segment["mistakes"] / segment["rows"] if segment["rows"] else nan
        for segment in segments
    ]


def confusions(
    store: Store,
    summaries: list[Summary],
    name: str,
    on_damage: OnDamage = "raise",
) -> list[ConfusionMatrix]:
    """Return confusion matrices.

    Parameters
    ----------
    store, summaries, on_damage
        As in `roc_curves`.
    name : str
        One of `CONFUSIONS`.
    """
    matrices = []
    error = error_beside(name)
    for summary, runs in _replicates(
        store, summaries, ("series",), on_damage, error, name
    ):
        lines = [run["series"] for run in runs if len(run["series"][0])]
        if not lines:
            continue
        # A cell without rows is left out of a record; replicates have different ones.
        occurring = [cells_of_run for cells_of_run, _ in lines]
        cells = np.unique(np.concatenate(occurring))
        counts = np.zeros((len(lines), len(cells)))
        for i, (cells_of_run, rows) in enumerate(lines):
            counts[i, np.searchsorted(cells, cells_of_run)] = rows
        true, predicted = np.divmod(cells, _CLASSES)
        matrices.append(ConfusionMatrix(summary, true, predicted, counts))
    return matrices


def error_beside(series: str) -> str:
    """Return the error of the rows that a series is of: runs that only test have no other."""
    return "test_error" if series.startswith("test_") else "cumulative_error"


def _replicates(
    store: Store,
    summaries: list[Summary],
    columns: tuple[str, ...],
    on_damage: OnDamage,
    metric: str = "cumulative_error",
    series: str | None = None,
) -> list[tuple[Summary, list[dict[str, Any]]]]:
    """Return columns of the runs of the summaries of a metric; of series, those of a name."""
    # Only runs of settings that are asked for are read with their curves.
    keys = [(s, s.key) for s in summaries if s.metric == metric]
    if not keys:
        return []
    runs = ok_runs(store, ("id",), on_damage)
    if not runs.num_rows:
        return []
    group, settings = groups_of(runs)
    keys_asked = {key for _, key in keys}
    is_asked = np.array([setting in keys_asked for setting in settings])[group]
    ids = runs["id"].filter(arrow_array(is_asked, pa.bool_()))
    run_ids = ids.to_pylist()
    stored = [name for name in columns if name != _COMPLETE]
    table = store.read(("id", *stored), on_damage, ids=run_ids)
    group = group[is_asked][positions_of(table["id"], ids)]
    # A list column of numbers stays an array: a Python object a number would take minutes in a
    # large store.
    read: dict[str, Callable[[Any], Any]] = {
        "segments": lambda cell: cell.as_py(),
        "series": partial(_series, series or metric),
        _COMPLETE: partial(_complete_positions, metric),
    }
    cells = {}
    for name in columns:
        read_cell = read.get(name, lambda cell: numbers_of(cell.values))
        column = "series" if name == _COMPLETE else name
        cells[name] = list(map(read_cell, table[column]))
    of_setting: dict[SettingKey, list[dict[str, Any]]] = defaultdict(list)
    for i, number in enumerate(group.tolist()):
        of_run = {name: cells[name][i] for name in columns}
        of_setting[settings[number]].append(of_run)
    return [(s, of_setting[key]) for s, key in keys if key in of_setting]


def _complete_positions(metric: str, cell: Any) -> IntArray:
    """Return the positions of a series of a run that is undefined nowhere; none without one."""
    form = ""
    if metric.startswith("holdout_"):
        form = "holdout_"
    positions: IntArray = np.zeros(0, dtype=np.int64)
    for name in ("error", "cumulative_error", "rmse"):
        positions, _ = _series(f"{form}{name}", cell)
        if len(positions):
            break
    return positions


def _series(name: str, cell: Any) -> Line:
    """Return positions and values of the series `name` of a run; none if it has no such series."""
    names = cell.values.field("name").to_pylist()
    if name not in names:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    place = names.index(name)
    rows = numbers_of(cell.values.field("rows")[place].values)
    values = numbers_of(cell.values.field("values")[place].values)
    return rows, values
