"""The runs of a store as a table that people filter, sort, turn over and choose from."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from olscale.analysis.names import Names
from olscale.measures import HEADLINES, distance_from_best, figure_of, measure_of
from olscale.report.html import macros
from olscale.report.labels import metric_text, value_text
from olscale.results import Store, canonical_json, read_plans
from olscale.results.live import LiveEvaluation
from olscale.results.settings import SettingKey, without_replicate

PER_PAGE = 100
"""Runs on one page of the table."""

_COLUMNS = (
    "data set",
    "learner",
    "parameters",
    "state",
    "error",
    "rows per CPU second",
    "reason",
)
_MOST_WORDS = 20

MOST_ADDED = 12
"""Columns that a reader may add."""

# Figures that have a column anyway.
_ALWAYS = ("rows_per_cpu_second",)


class ListedRun(NamedTuple):
    """A run as the table has it; an error or speed that is not known is NaN.

    Dataset and learner have their labels in the experiment; `name` is the learner's own. All
    figures of the run, measures and times, have their names in `measured`.
    """

    id: str
    dataset: str
    learner: str
    name: str
    params: str
    state: str
    metric: str
    error: float
    speed: float
    reason: str
    text: str
    measured: tuple[str, ...] = ()
    values: Sequence[float] = ()

    def value(self, metric: str) -> float:
        """Return a figure of the run, or NaN."""
        if metric not in self.measured:
            return math.nan
        return self.values[self.measured.index(metric)]

    def value_text(self, metric: str) -> str:
        """Return a figure of the run with the digits of tables."""
        value = self.value(metric)
        return "-" if math.isnan(value) else figure_of(metric, value)

    @property
    def error_text(self) -> str:
        """The error with the digits of tables."""
        return "-" if math.isnan(self.error) else figure_of(self.metric, self.error)

    @property
    def speed_text(self) -> str:
        """The speed, in rows per second of processor time."""
        return "-" if math.isnan(self.speed) else f"{self.speed:,.0f}"


@dataclass(frozen=True, slots=True)
class Query:
    """What a reader asks of the table.

    Parameters
    ----------
    words : str
        Each must occur in a run's line.
    state : str
        Only runs of this state; all when empty.
    sort : int
        Number of the column to sort by, from 1; from -1 downwards; 0 for the order of the store.
    page : int
        From 0.
    added : tuple of str
        Metrics that have a column in addition to those of every table; their numbers for
        sorting follow those of the latter.
    """

    words: str = ""
    state: str = ""
    sort: int = 0
    page: int = 0
    added: tuple[str, ...] = ()


class NamedSetting(NamedTuple):
    """What people call the dataset and the learner of a setting."""

    dataset: str
    learner: str


def name_of(key: SettingKey, names: Names) -> NamedSetting:
    """Return the labels that the experiments of a store give a setting, or else its own names."""
    dataset = names.dataset(key).text or key.dataset
    return NamedSetting(dataset, names.learner(key)[0].text or key.learner)


def list_runs(store: Store) -> list[ListedRun]:
    """Return the runs of a store, by data set, learner and parameters."""
    columns = [*SettingKey._fields, "id", "outcome", "reason", "metrics"]
    timings = {
        row["id"]: dict(row["timings"])
        for row in store.timings("skip", ("id", "timings")).to_pylist()
    }
    rows = store.read(columns, "skip").to_pylist()
    with store.adding_damage():
        names = Names(read_plans(store, "skip"))
    settings = [name_of(key_of_row(row), names) for row in rows]
    pairs = zip(settings, rows, strict=True)
    texts = _differing_params({(name.learner, row["params"]) for name, row in pairs})
    runs = []
    # Of many runs there are few sets of figures: each is kept once.
    measured: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, row in zip(settings, rows, strict=True):
        params = texts[name.learner, row["params"]]
        metrics = dict(row["metrics"])
        seconds = timings.get(row["id"], {})
        # A measure wins where a time has the same name.
        figures = seconds | metrics
        metric = next((name for name in HEADLINES if name in metrics), "")
        replicate = _replicate(row["protocol"])
        line = [
            *name,
            row["dataset"],
            row["learner"],
            params,
            replicate,
            row["outcome"],
        ]
        runs.append(
            ListedRun(
                id=row["id"],
                dataset=name.dataset,
                learner=name.learner,
                name=row["learner"],
                params=f"{params} {replicate}".strip(),
                state=row["outcome"],
                metric=metric,
                error=metrics.get(metric, math.nan),
                speed=seconds.get("rows_per_cpu_second", math.nan),
                reason=row["reason"],
                # Made once: a search then goes through one text per run.
                text=" ".join([*line, row["reason"], row["id"]]).lower(),
                measured=measured.setdefault(tuple(figures), tuple(figures)),
                # An array has 8 bytes a figure, a tuple of floats 32, and a store may
                # have a million runs.
                values=array("d", figures.values()),
            )
        )
    # Of many runs there are few names: each is taken apart once.
    natural = cache(natural_text)
    runs.sort(
        key=lambda run: (
            natural(run.dataset),
            natural(run.learner),
            natural(run.params),
            run.id,
        )
    )
    return runs


def runs_in_hand(evaluations: Iterable[LiveEvaluation]) -> list[ListedRun]:
    """Return the runs of running evaluations that have not ended."""
    runs = []
    for evaluation in evaluations:
        labels = {run.id: run.label or run.learner for run in evaluation.runs.values()}
        texts = _differing_params(
            {
                (labels[run.id], canonical_json(run.params))
                for run in evaluation.runs.values()
            }
        )
        # What an evaluation that was killed has left is neither running nor waiting.
        if evaluation.state() != "running":
            continue
        for run in evaluation.runs.values():
            if run.outcome:
                continue
            label = labels[run.id]
            params = texts[label, canonical_json(run.params)]
            state = "running" if run.rows else "waiting"
            text = " ".join([run.dataset, label, run.learner, params, state]).lower()
            runs.append(
                ListedRun(
                    "",
                    run.dataset,
                    label,
                    run.learner,
                    f"{params} {run.stream}".strip(),
                    state,
                    run.metric,
                    run.error,
                    math.nan,
                    "",
                    text,
                )
            )
    return runs


def key_of_row(row: Mapping[str, Any]) -> SettingKey:
    """Return the key of the setting of a row of a store."""
    values = {name: row[name] for name in SettingKey._fields}
    values["transforms"] = tuple(row["transforms"])
    values["protocol"] = without_replicate(row["protocol"])
    return SettingKey(**values)


def _differing_params(
    settings: Collection[tuple[str, str]],
) -> dict[tuple[str, str], str]:
    """Return the parameters that tell the settings under one label apart, by label and parameters.

    The page of a run has all of them.
    """
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    parsed = {setting: json.loads(setting[1] or "{}") for setting in settings}
    for (learner, _), params in parsed.items():
        for name, value in params.items():
            values[learner, name].add(value_text(value))
    texts = {}
    for setting, params in parsed.items():
        shown = [
            f"{name}={value_text(value)}"
            for name, value in params.items()
            if len(values[setting[0], name]) > 1
        ]
        texts[setting] = ", ".join(shown)
    return texts


def _replicate(text: str) -> str:
    """Return which permutation or fold a run is."""
    protocol = json.loads(text)
    names = ("permutation", "fold", "projection")
    return ", ".join(f"{name} {protocol[name]}" for name in names if name in protocol)


def table_of_runs(runs: Sequence[ListedRun], query: Query, number: int = 0) -> str:
    """Return one page of the runs of store `number` that a query selects, as HTML."""
    words = query.words.lower().split()[:_MOST_WORDS]
    selected = [
        run
        for run in runs
        if query.state in ("", run.state) and all(word in run.text for word in words)
    ]
    sets_of_figures = {run.measured for run in runs}
    # Of all runs, not of those selected: a menu must not change while a reader types.
    offered = sorted({metric for measured in sets_of_figures for metric in measured})
    added = [metric for metric in query.added if metric in offered][:MOST_ADDED]
    column = abs(query.sort) - 1
    if 0 <= column < len(_COLUMNS) + len(added):
        keyed = [(_sort_key(run, column, added), run) for run in selected]
        known = [pair for pair in keyed if not _is_unknown(pair[0])]
        # Runs without a figure come last in either direction: NaN has no place in an
        # order.
        known.sort(key=lambda pair: pair[0], reverse=query.sort < 0)
        unknown = [pair for pair in keyed if _is_unknown(pair[0])]
        selected = [run for _, run in known + unknown]
    pages = max(1, -(-len(selected) // PER_PAGE))
    # An address may ask for any page, and a filter makes fewer of them.
    page = min(max(query.page, 0), pages - 1)
    states: dict[str, int] = {}
    for run in runs:
        states[run.state] = states.get(run.state, 0) + 1
    return str(
        macros("runs.html").table(
            {
                "number": number,
                "columns": _headings(runs),
                "added": [(metric, metric_text(metric)) for metric in added],
                "offered": [
                    (metric, metric_text(metric))
                    for metric in offered
                    if metric not in _ALWAYS
                ],
                "runs": selected[page * PER_PAGE : (page + 1) * PER_PAGE],
                "count": len(selected),
                "total": len(runs),
                "states": states,
                "page": page,
                "pages": pages,
                "query": query,
            }
        )
    )


def _headings(runs: Sequence[ListedRun]) -> list[str]:
    """Return the heads of the columns; errors have a unit where all have the same."""
    units = {measure_of(run.metric).unit for run in runs if run.metric}
    unit = ""
    if units == {"percent"}:
        unit = " (%)"
    return [f"{name}{unit}" if name == "error" else name for name in _COLUMNS]


def _is_unknown(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def natural_text(text: str) -> list[tuple[bool, float, str]]:
    """Return a sort key by which 2 comes before 10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [
        # `split` with a group returns words at even places and numbers at odd ones.
        (i % 2 == 0, float(part) if i % 2 else 0.0, part)
        for i, part in enumerate(parts)
    ]


def _sort_key(run: ListedRun, column: int, added: Sequence[str]) -> Any:
    if column >= len(_COLUMNS):
        metric = added[column - len(_COLUMNS)]
        return distance_from_best(metric, run.value(metric))
    if column == 4:
        return distance_from_best(run.metric, run.error) if run.metric else math.nan
    if column == 5:
        return run.speed
    if column == 2:
        return natural_text(run.params)
    return (run.dataset, run.learner, "", run.state, "", "", run.reason)[column]
