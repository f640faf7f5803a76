"""The runs of a store as a table that people filter, sort and turn over, and the page of one run."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from olscale.analysis.live import LiveLearner
from olscale.measures import HEADLINES, distance_from_best, figure_of
from olscale.report.html import macros, style
from olscale.report.labels import heading, protocol_parts, value_text
from olscale.report.live_html import curves_html
from olscale.results import Store, canonical_json
from olscale.results.live import LiveEvaluation

PER_PAGE = 100
"""Runs on one page of the table."""

_COLUMNS = ("data set", "learner", "parameters", "state", "error", "rows per second", "reason")
_MOST_WORDS = 20


class ListedRun(NamedTuple):
    """A run as the table has it; an error or speed that is not known is NaN."""

    id: str
    dataset: str
    learner: str
    params: str
    state: str
    metric: str
    error: float
    speed: float
    reason: str
    text: str

    @property
    def error_text(self) -> str:
        """The error with the digits of tables."""
        return "-" if math.isnan(self.error) else figure_of(self.metric, self.error)

    @property
    def speed_text(self) -> str:
        """The speed, in rows per second."""
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
    """

    words: str = ""
    state: str = ""
    sort: int = 0
    page: int = 0


def list_runs(store: Store) -> list[ListedRun]:
    """Return the runs of a store, by data set, learner and parameters."""
    columns = ["id", "dataset", "learner", "params", "outcome", "reason", "metrics", "protocol"]
    speeds = {
        row["id"]: dict(row["timings"]).get("rows_per_second", math.nan)
        for row in store.timings("skip", ("id", "timings")).to_pylist()
    }
    rows = store.read(columns, "skip").to_pylist()
    texts = _differing_params({(row["learner"], row["params"]) for row in rows})
    runs = []
    for row in rows:
        params = texts[row["learner"], row["params"]]
        metrics = dict(row["metrics"])
        metric = next((name for name in HEADLINES if name in metrics), "")
        replicate = _replicate(row["protocol"])
        line = [row["dataset"], row["learner"], params, replicate, row["outcome"], row["reason"]]
        runs.append(
            ListedRun(
                id=row["id"],
                dataset=row["dataset"],
                learner=row["learner"],
                params=f"{params} {replicate}".strip(),
                state=row["outcome"],
                metric=metric,
                error=metrics.get(metric, math.nan),
                speed=speeds.get(row["id"], math.nan),
                reason=row["reason"],
                text=" ".join([*line, row["id"]]).lower(),
            )
        )
    runs.sort(key=lambda run: (run.dataset, run.learner, _natural(run.params), run.id))
    return runs


def runs_in_hand(evaluations: Iterable[LiveEvaluation]) -> list[ListedRun]:
    """Return the runs of running evaluations that have not ended."""
    runs = []
    for evaluation in evaluations:
        settings = {(run.learner, canonical_json(run.params)) for run in evaluation.runs.values()}
        texts = _differing_params(settings)
        if evaluation.state() != "running":
            continue
        for run in evaluation.runs.values():
            if run.outcome:
                continue
            params = texts[run.learner, canonical_json(run.params)]
            state = "running" if run.rows else "waiting"
            text = " ".join([run.dataset, run.learner, params, state]).lower()
            runs.append(
                ListedRun(
                    "",
                    run.dataset,
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


def _differing_params(settings: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the parameters that tell the settings of a learner apart, by learner and parameters.

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
    """Return one page of the runs that a query selects, as HTML, of store `number` of the dashboard."""
    words = query.words.lower().split()[:_MOST_WORDS]
    selected = [
        run
        for run in runs
        if query.state in ("", run.state) and all(word in run.text for word in words)
    ]
    column = abs(query.sort) - 1
    if 0 <= column < len(_COLUMNS):
        known = [run for run in selected if not _is_unknown(run, column)]
        known.sort(key=lambda run: _sort_key(run, column), reverse=query.sort < 0)
        selected = known + [run for run in selected if _is_unknown(run, column)]
    pages = max(1, -(-len(selected) // PER_PAGE))
    page = min(max(query.page, 0), pages - 1)
    states: dict[str, int] = {}
    for run in runs:
        states[run.state] = states.get(run.state, 0) + 1
    return str(
        macros("runs.html").table(
            {
                "number": number,
                "columns": _COLUMNS,
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


def _is_unknown(run: ListedRun, column: int) -> bool:
    value = _sort_key(run, column)
    return isinstance(value, float) and math.isnan(value)


def _number_text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _natural(text: str) -> list[tuple[bool, float, str]]:
    """Return a sort key by which 2 comes before 10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(i % 2 == 0, float(part) if i % 2 else 0.0, part) for i, part in enumerate(parts)]


def _sort_key(run: ListedRun, column: int) -> Any:
    if column == 4:
        return distance_from_best(run.metric, run.error) if run.metric else math.nan
    if column == 5:
        return run.speed
    if column == 2:
        return _natural(run.params)
    return (run.dataset, run.learner, "", run.state, "", "", run.reason)[column]


def page_of_run(store: Store, id: str) -> str:
    """Return what a store has of one run, as HTML.

    Raises
    ------
    StoreError
        If the store has no such run.
    """
    record = store.get(id)
    run = record.run
    learner = run["learner"]
    protocol: Mapping[str, Any] = run["protocol"]
    curve = ""
    if len(record.curve_rows):
        line = LiveLearner(
            label=learner["name"],
            runs=1,
            done=1,
            failed=0,
            error=record.metrics.get("cumulative_error", math.nan),
            metric="cumulative_error",
            stream="",
            rows=record.curve_rows.tolist(),
            errors=(record.curve_mistakes / record.curve_rows).tolist(),
            name=learner["name"],
        )
        curve = curves_html({"along the stream": [line]})
    metrics = [
        (heading(name), figure_of(name, value), name)
        for name, value in sorted(record.metrics.items())
    ]
    return str(
        macros("runs.html").run(
            {
                "id": id,
                "name": f"{learner['name']} on {run['dataset'].get('name', '')}",
                "outcome": record.outcome,
                "reason": record.reason,
                "params": [(name, value_text(value)) for name, value in learner["params"].items()],
                "version": str(learner.get("version", "")),
                "fingerprint": str(run["dataset"].get("fingerprint", "")),
                "transforms": list(map(str, run.get("transforms", ()))),
                "chips": protocol_parts(protocol),
                "metrics": metrics,
                "timings": [
                    (name.replace("_", " "), _number_text(value))
                    for name, value in record.timings.items()
                ],
                "environment": sorted(record.environment.items()),
                "chart": Markup(curve),
                "command": f"olscale models save {shlex.quote(store.path)} {id} model.olscale",
            },
            style(),
        )
    )
