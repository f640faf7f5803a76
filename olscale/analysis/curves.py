"""Errors and alarms as the stream goes on: curves and segments of a store, the replicates of a run side by side."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from olscale.analysis.aggregate import groups_of
from olscale.analysis.replicates import ok_runs
from olscale.analysis.summary import Summary
from olscale.measures import FORMS, askable, base_name
from olscale.results import Store
from olscale.results.settings import SettingKey
from olscale.results.store import OnDamage

CONFUSIONS = ("confusion", "test_confusion")
"""Confusion matrices, which protocols ask for."""

ROCS = ("roc", "test_roc")
"""True positive rates by number of false positives, in place of rows, which protocols ask for."""

_MEASURES = [name for name in askable() if name not in (*CONFUSIONS, *ROCS, "latency")]

CURVES = (
    *("cumulative_error", "window_error", "fading_error", "holdout_error", "drift_alarms"),
    *(form + name for name in _MEASURES for form in ("", *FORMS) if form != "test_"),
)
"""What there are curves of: the first of every run that predicts labels, the others where the protocol asked for them."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A metric of one setting of a learner along the stream, for each of its replicates.

    Parameters
    ----------
    summary : Summary
        The metric over the whole stream; tells dataset, learner, parameters and protocol.
    rows : int64 array of shape (n_points,)
        Rows streamed.
    errors : float64 array of shape (n_replicates, n_points)
        The metric after so many rows: a fraction of rows predicted wrongly before their update, or
        a number of alarms.
    """

    summary: Summary
    rows: NDArray[np.int64]
    errors: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentErrors:
    """Error of one setting of a learner on each segment of the stream (a day of URL).

    Parameters
    ----------
    summary : Summary
        Cumulative error at the end of the stream.
    names : tuple of str
        Segments, in stream order, each once: the second ``Mon`` is ``Mon (2)``.
    errors : float64 array of shape (n_replicates, n_segments)
        Fraction of the segment's rows that was predicted wrongly.
    """

    summary: Summary
    names: tuple[str, ...]
    errors: NDArray[np.float64]


def has_curve(s: Summary) -> bool:
    """Return whether the runs of a summary have a curve of its metric, as far as their protocol says."""
    base = base_name(s.metric)
    return s.metric in CURVES and (
        base not in _MEASURES or base == "rmse" or base in s.protocol.get("measures", ())
    )


def curves(
    store: Store,
    summaries: list[Summary],
    points: int = 200,
    on_damage: OnDamage = "raise",
    metric: str = "cumulative_error",
) -> list[Curve]:
    """Return the curves of the runs behind `summaries` that ended ``ok``.

    Parameters
    ----------
    store : Store
    summaries : list of Summary
        From `summarise`; those of `metric`, for `ROCS` of `error_beside`, say which curves are
        wanted.
    points : int
        At most so many positions a curve, evenly spaced; the last row is always one.
    on_damage : {"raise", "skip"}
        What to do about damaged files.
    metric : str
        One of `CURVES` or `ROCS`. Alarms have a position wherever a replicate has one.

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
    found = []
    mistakes = metric == "cumulative_error"
    columns = ("curve_rows", "curve_mistakes", "series") if mistakes else ("series",)
    of = error_beside(metric) if metric in ROCS else metric
    for summary, runs in _replicates(store, summaries, columns, on_damage, of, metric):
        # Where rows count by their weights there is no number of mistakes, and the error is a
        # series as any other.
        counts = mistakes and not summary.protocol.get("weighted_measures")
        lines = [
            (run["curve_rows"], run["curve_mistakes"]) if counts else run["series"] for run in runs
        ]
        lines = [line for line in lines if len(line[0])]
        if not lines:
            continue
        rows = min((rows for rows, _ in lines), key=lambda rows: int(rows[-1]))
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, points).round().astype(int))]
        # Folds may differ in length, and then in the positions of their curves.
        values = np.array([np.interp(rows, *line) for line in lines])
        found.append(Curve(summary, rows, values / rows if counts else values))
    return found


def _alarms(store: Store, summaries: list[Summary], on_damage: OnDamage) -> list[Curve]:
    found = []
    for summary, runs in _replicates(store, summaries, ("series",), on_damage, "drift_alarms"):
        lines = [run["series"][0] for run in runs]
        rows = np.unique(np.concatenate(lines))
        counts = np.array(
            [np.searchsorted(line, rows, side="right") for line in lines], dtype=np.float64
        )
        found.append(Curve(summary, rows, counts))
    return found


def segment_errors(
    store: Store, summaries: list[Summary], on_damage: OnDamage = "raise"
) -> list[SegmentErrors]:
    """Return the errors by segment of the runs behind `summaries`; parameters and errors as in `curves`."""
    found = []
    for summary, runs in _replicates(store, summaries, ("segments",), on_damage):
        names = tuple(segment["name"] for segment in runs[0]["segments"])
        alike = [
            run["segments"] for run in runs if tuple(s["name"] for s in run["segments"]) == names
        ]
        if names:
            errors = [
                [s["mistakes"] / s["rows"] if s["rows"] else np.nan for s in segments]
                for segments in alike
            ]
            found.append(SegmentErrors(summary, tuple(apart(names)), np.array(errors)))
    return found


def apart(names: Sequence[str]) -> list[str]:
    """Return the names of segments, each once: a column may come back to a value, as a weekday does.

    Examples
    --------
    >>> apart(["Mon", "Tue", "Mon"])
    ['Mon', 'Tue', 'Mon (2)']
    """
    met: Counter[str] = Counter()
    found = []
    for name in names:
        met[name] += 1
        found.append(name if met[name] == 1 else f"{name} ({met[name]})")
    return found


def confusions(
    store: Store, summaries: list[Summary], name: str, on_damage: OnDamage = "raise"
) -> list[SegmentErrors]:
    """Return confusion matrices, their cells in place of segments and the counts in place of errors.

    Parameters
    ----------
    store, summaries, on_damage
        As in `curves`.
    name : str
        One of `CONFUSIONS`.

    Returns
    -------
    list of SegmentErrors
        Cells are called ``"2 as 0"``: a row of class 2 taken for class 0; classes by their position
        in the dataset's.
    """
    found = []
    for summary, runs in _replicates(
        store, summaries, ("series",), on_damage, error_beside(name), name
    ):
        lines = [run["series"] for run in runs if len(run["series"][0])]
        cells = np.unique(np.concatenate([cells for cells, _ in lines])) if lines else ()
        if len(cells):
            names = tuple(f"{cell // 65536} as {cell % 65536}" for cell in cells)
            counts = np.zeros((len(lines), len(cells)))
            for count, line in zip(counts, lines, strict=True):
                count[np.searchsorted(cells, line[0])] = line[1]
            found.append(SegmentErrors(summary, names, counts))
    return found


def error_beside(series: str) -> str:
    """Return the error of the rows that a series is of: runs that only measure the test split have no other."""
    return "test_error" if series.startswith("test_") else "cumulative_error"


def _replicates(
    store: Store,
    summaries: list[Summary],
    columns: tuple[str, ...],
    on_damage: OnDamage,
    metric: str = "cumulative_error",
    series: str | None = None,
) -> list[tuple[Summary, list[dict[str, Any]]]]:
    asked = {s.key for s in summaries if s.metric == metric}
    if not asked:
        return []
    runs = ok_runs(store, ("id",), on_damage)
    if not runs.num_rows:
        return []
    of_run, settings = groups_of(runs)
    is_asked = np.array([setting in asked for setting in settings])[of_run]
    ids, of_run = runs["id"].filter(is_asked).combine_chunks(), of_run[is_asked]
    table = store.read(("id", *columns), on_damage, ids=ids.to_pylist())
    of_row = of_run[pc.index_in(table["id"], ids).to_numpy()]
    # A list column of numbers stays an array: a Python object a number would take minutes in a
    # large store.
    read: dict[str, Callable[[Any], Any]] = {
        "segments": lambda cell: cell.as_py(),
        "series": partial(_series, series or metric),
    }
    data = {
        name: list(map(read.get(name, lambda cell: cell.values.to_numpy()), table[name]))
        for name in columns
    }
    groups: dict[SettingKey, list[dict[str, Any]]] = defaultdict(list)
    for i, group in enumerate(of_row.tolist()):
        groups[settings[group]].append({name: data[name][i] for name in columns})
    return [(s, groups[s.key]) for s in summaries if s.metric == metric and s.key in groups]


def _series(name: str, cell: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return positions and values of the series `name` of a run; none if it has no such series."""
    names = cell.values.field("name").to_pylist()
    if name not in names:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    rows, values = (
        cell.values.field(part)[names.index(name)].values.to_numpy() for part in ("rows", "values")
    )
    return rows, values
