"""What was run: data sets, learners, parameters, protocols, machines, versions, speed, memory."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from olscale.analysis.summary import Summary, one_of_each_setting
from olscale.measures import BY_CLOCK
from olscale.report.html import paragraphs, rows_html, table_html
from olscale.report.labels import column_labels, column_of, protocol_text, value_text
from olscale.report.papers.base import FigureSource
from olscale.report.tables import Table, tables
from olscale.results import Store, canonical_json, read_plans
from olscale.results.arrow_arrays import arrow_array, times_of
from olscale.results.store import OnDamage

_SETTINGS = 1000
"""Settings of learners that one table has."""

_CLASSES = 12
"""Most classes whose shares are listed."""


def facts_section(source: FigureSource) -> list[str]:
    """Return tables of what was run, as HTML."""
    planned = planned_facts(source.store, source.on_damage)
    summaries = source.summaries
    protocols = {canonical_json(s.protocol): s.protocol for s in summaries}
    texts = dict.fromkeys(map(protocol_text, protocols.values()))
    parts = [
        _datasets(summaries, planned),
        paragraphs([f"Protocol: {text}." for text in texts], "note"),
    ]
    parts += [_learners(summaries), _machines(source.store, source.on_damage)]
    parts += map(table_html, _speed_tables(summaries))
    parts += map(table_html, tables(_with(summaries, "model_bytes"), "model_bytes"))
    return parts


def _speed_tables(summaries: Sequence[Summary]) -> list[Table]:
    """Return rows per processor second, or per wall-clock second if no run recorded the former."""
    by_processor = _with(summaries, "rows_per_cpu_second")
    by_clock = _with(summaries, "rows_per_second")
    if not by_processor:
        return tables(by_clock, "rows_per_second")
    # A setting with both speeds appears once, by the processor.
    timed = {s.key for s in by_processor}
    earlier = [
        replace(s, metric="rows_per_cpu_second", warned=(*s.warned, BY_CLOCK))
        for s in by_clock
        if s.key not in timed
    ]
    return tables([*by_processor, *earlier], "rows_per_cpu_second")


def planned_facts(
    store: Store, on_damage: OnDamage = "raise"
) -> dict[str, Mapping[str, Any]]:
    """Return the facts that plans record on data sets, by fingerprint."""
    return {
        dataset.fingerprint: dataset.facts
        for plan in read_plans(store, on_damage)
        for dataset in plan.datasets
        if dataset.facts
    }


def class_names(facts: Mapping[str, Any]) -> list[str]:
    """Return the classes of a data set, in its order; none where they are not known."""
    return [value_text(name) for name in facts.get("classes") or ()]


def _with(summaries: Sequence[Summary], metric: str) -> list[Summary]:
    return [s for s in summaries if s.metric == metric]


def _datasets(
    summaries: Sequence[Summary], known: Mapping[str, Mapping[str, Any]]
) -> str:
    columns = sorted({column_of(s) for s in summaries})
    lines = []
    for column, label in zip(columns, column_labels(columns), strict=True):
        facts = known.get(column.fingerprint, {})
        rows = facts.get("rows", {})
        figures = [
            f"{value:,}" if value is not None else "-"
            for value in (rows.get("train"), rows.get("test"))
        ]
        wide = facts.get("columns")
        full = sum(rows.values()) * (wide or 0)
        share = f"{100 * facts['nonzeros'] / full:.3g}" if full else "-"
        transforms = ", ".join(column.transforms) or "none"
        lines.append(
            (
                label,
                *figures,
                f"{wide:,}" if wide else "-",
                share,
                _shares(facts),
                transforms,
                column.fingerprint[:12],
            )
        )
    head = (
        "data set",
        "rows",
        "test rows",
        "features",
        "nonzero (%)",
        "classes and their shares",
        "transforms",
    )
    return rows_html((*head, "fingerprint"), lines, text=(0, 5, 6, 7))


def _shares(facts: Mapping[str, Any]) -> str:
    names = class_names(facts)
    rows = facts.get("class_rows") or ()
    if not names:
        return "-"
    # Older datasets lack the rows of each class.
    if len(names) > _CLASSES or len(rows) != len(names) or not sum(rows):
        return f"{len(names):,} classes"
    return ", ".join(
        f"{name}: {100 * count / sum(rows):.3g} %"
        for name, count in zip(names, rows, strict=True)
    )


def _learners(summaries: Sequence[Summary]) -> str:
    lines: dict[tuple[str, ...], list[str]] = {}
    for s in one_of_each_setting(summaries):
        params = ", ".join(
            f"{name}={value_text(value)}" for name, value in s.params.items()
        )
        chosen = "by tuning" if s.tuned else ""
        if s.tuned and "metric" in s.tuned:
            chosen += f", {s.tuned['metric']}"
        names = lines.setdefault((s.label, str(s.version), params, chosen), [])
        if s.dataset_label not in names:
            names.append(s.dataset_label)
    # "all" instead of a list: most settings ran on every data set.
    every = len({s.dataset_label for s in summaries})
    rows: list[tuple[str, ...]] = [
        (*line, "all" if len(of) == every else ", ".join(of))
        for line, of in lines.items()
    ]
    head: tuple[str, ...] = ("learner", "version", "parameters", "chosen", "data sets")
    # The column is dropped if no parameter was tuned.
    if not any(line[3] for line in rows):
        head = head[:3] + head[4:]
        rows = [line[:3] + line[4:] for line in rows]
    notes = (
        [f"The first {_SETTINGS:,} of {len(rows):,} settings."]
        if len(rows) > _SETTINGS
        else []
    )
    return rows_html(head, rows[:_SETTINGS], text=(0, 1, 2, 3, 4)) + paragraphs(
        notes, "note"
    )


def _machines(store: Store, on_damage: OnDamage) -> str:
    timings = store.timings(on_damage, ("environment", "timings", "finished_at"))
    runs: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    last: dict[str, Any] = {}
    # Thousands of runs come from a few machines.
    text_of = cache(lambda items: canonical_json(dict(items)))
    [fit_seconds_key] = arrow_array(["fit_seconds"], pa.string())
    columns = (
        timings["environment"].to_pylist(),
        pc.map_lookup(timings["timings"], fit_seconds_key, "first").to_pylist(),
        times_of(timings["finished_at"]),
    )
    for environment, fit_seconds, finished in zip(*columns, strict=True):
        where = text_of(tuple(environment or ()))
        runs[where] += 1
        seconds[where] += fit_seconds or 0.0
        if finished:
            last[where] = max(last.get(where, finished), finished)
    lines = []
    for where in sorted(runs):
        of = json.loads(where)
        versions = ", ".join(
            f"{name} {text}"
            for name, text in of.items()
            # These have columns of their own.
            if name not in ("host", "cpus")
        )
        when = f"{last[where]:%Y-%m-%d %H:%M} UTC" if where in last else "-"
        cells = (
            of.get("host", "-"),
            of.get("cpus", "-"),
            f"{runs[where]:,}",
            f"{seconds[where]:,.1f}",
            when,
            versions,
        )
        lines.append(cells)
    head = (
        "machine",
        "cores",
        "runs",
        "seconds learning",
        "last run ended",
        "versions",
    )
    return rows_html(head, lines, text=(0, 4, 5)) if lines else ""
