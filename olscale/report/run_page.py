"""The page of one run, and that of several runs side by side."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from olscale.addresses import redacted
from olscale.analysis.live import LiveLearner
from olscale.analysis.names import Names
from olscale.errors import StoreError
from olscale.learners.foresight import is_counted_in_time
from olscale.measures import (
    HEADLINES,
    distance_from_best,
    figure_of,
    is_prequential,
    measure_of,
)
from olscale.report.html import macros, style
from olscale.report.labels import heading, protocol_parts, value_text
from olscale.report.live_html import curves_html
from olscale.report.palette import DASH_LENGTHS, series_look
from olscale.report.rerun_line import rerun_line
from olscale.report.run_list import NamedSetting, name_of
from olscale.results import Record, Store, canonical_json, read_plans
from olscale.results.settings import (
    REPLICATES,
    SettingKey,
    replicate_text,
    without_replicate,
)

MOST_COMPARED = 8
"""Runs side by side: the columns of more could not be told apart."""


_MATRICES = ("confusion", "roc")
"""Measures of hundreds of numbers each."""


def page_of_run(store: Store, id: str, back: str = "../../#tab=runs") -> str:
    """Return what a store has of one run, as HTML; `back` leads to what it is a part of.

    Raises
    ------
    StoreError
        If the store has no such run.
    """
    record = store.get(id)
    return run_html(record, names_of(store), redacted(store.path), back)


def names_of(store: Store) -> Names:
    """Return the names that the experiments of a store give; of damaged plans there are none."""
    with store.adding_damage():
        return Names(read_plans(store, "skip"))


def run_html(record: Record, names: Names, place: str, back: str) -> str:
    """Return the page of a run that was read before; `place` is what commands call its store."""
    run = record.run
    learner = run["learner"]
    protocol: Mapping[str, Any] = run["protocol"]
    name = name_of(_key(run), names)
    line = _line(record, name.learner)
    curve = ""
    if line is not None:
        curve = curves_html({"along the stream": [line]})
    metrics = [
        (heading(metric), figure_of(metric, value))
        for metric, value in sorted(record.metrics.items())
    ]
    version = str(learner.get("version", ""))
    setting = [("learner", learner["name"]), ("version", version)]
    return str(
        macros("runs.html").run(
            {
                "id": record.id,
                "back": back,
                "name": f"{name.learner} on {name.dataset}",
                "outcome": record.outcome,
                "reason": record.reason,
                "params": setting + _parameters(record),
                "dataset": str(run["dataset"].get("name", "")),
                "fingerprint": str(run["dataset"].get("fingerprint", "")),
                "transforms": list(map(str, run.get("transforms", ()))),
                "chips": protocol_parts(protocol),
                "metrics": metrics,
                "timings": [
                    (timing.replace("_", " "), _number_text(value))
                    for timing, value in record.timings.items()
                ],
                "environment": sorted(record.environment.items()),
                "chart": Markup(curve),
                "rerun": rerun_line(run),
                "command": shlex.join(
                    ["olscale", "models", "save", place, record.id, "model.olm"]
                ),
            },
            style(),
        )
    )


def compare_runs(store: Store, ids: Sequence[str], number: int = 0) -> str:
    """Return runs of store `number` side by side as HTML: curves, measures, what differs.

    Raises
    ------
    StoreError
        If the store lacks one of the runs, or if fewer than two are named.
    """
    # Twice the same run would be two labels with one curve.
    ids = list(dict.fromkeys(ids))[:MOST_COMPARED]
    if len(ids) < 2:
        raise StoreError(
            "two runs or more are needed to compare them; choose them in the table"
        )
    records = [store.get(id) for id in ids]
    names = names_of(store)
    keys = [_key(record.run) for record in records]
    settings = [name_of(key, names) for key in keys]
    unlike = _unlike(records, keys)
    labels = _labels(records, settings)
    looks = {label: series_look(number) for number, label in enumerate(labels)}
    lines = [
        _line(record, label) for record, label in zip(records, labels, strict=True)
    ]
    curves = curves_html({"along the stream": [line for line in lines if line]}, looks)
    heads = []
    for label, record in zip(labels, records, strict=True):
        dash = DASH_LENGTHS[looks[label]["linestyle"]]
        stroke = " ".join(map(str, dash)) if dash[1] else ""
        look = {"colour": looks[label]["color"], "dash": stroke}
        heads.append(
            {"id": record.id, "label": label, "outcome": record.outcome, "look": look}
        )
    return str(
        macros("runs.html").compared(
            {
                "number": number,
                "runs": heads,
                "chart": Markup(curves),
                "definitions": _differences(
                    [_definition(record) for record in records]
                ),
                "unlike": unlike,
                "metrics": _measures(records, marks_best=not unlike),
                "timings": _aligned([record.timings for record in records]),
                "environment": _differences(
                    [dict(record.environment) for record in records]
                ),
            },
            style(),
        )
    )


def _labels(records: Sequence[Record], named: Sequence[NamedSetting]) -> list[str]:
    """Return a label for each run: number, learner, and data set and replicate if they differ."""
    one_set = len({name.dataset for name in named}) == 1
    replicates = []
    for record in records:
        protocol = record.run["protocol"]
        of_run = [f"{part} {protocol[part]}" for part in REPLICATES if part in protocol]
        replicates.append(", ".join(of_run))
    labels = []
    for number, (name, replicate) in enumerate(
        zip(named, replicates, strict=True), start=1
    ):
        label = f"{number}. {name.learner}" + f" on {name.dataset}" * (not one_set)
        if len(set(replicates)) > 1 and replicate:
            label += f", {replicate}"
        labels.append(label)
    return labels


def _key(run: Mapping[str, Any]) -> SettingKey:
    """Return the key of the setting of a run's definition."""
    learner = run["learner"]
    return SettingKey(
        dataset=str(run["dataset"].get("name", "")),
        fingerprint=str(run["dataset"].get("fingerprint", "")),
        transforms=tuple(map(str, run.get("transforms", ()))),
        learner=str(learner["name"]),
        version=str(learner.get("version", "")),
        # As the store writes its columns: keys made here must equal those that are read
        # from it.
        params=canonical_json(dict(learner["params"])),
        protocol=without_replicate(canonical_json(dict(run["protocol"]))),
    )


def _line(record: Record, label: str) -> LiveLearner | None:
    """Return the error along the stream of a run; None where the record has none."""
    if not len(record.curve_rows):
        return None
    return LiveLearner(
        label=label,
        runs=1,
        done=1,
        failed=0,
        error=record.metrics.get("cumulative_error", math.nan),
        metric="cumulative_error",
        stream="",
        rows=record.curve_rows.tolist(),
        # The prequential error: mistakes so far over rows so far.
        errors=(record.curve_mistakes / record.curve_rows).tolist(),
        name=label,
    )


def _parameters(record: Record) -> list[tuple[str, str]]:
    params = record.run["learner"]["params"]
    return [(name, value_text(value)) for name, value in params.items()]


def _definition(record: Record) -> dict[str, str]:
    """Return what defines a run, by words."""
    run = record.run
    words = {
        "data set": str(run["dataset"].get("name", "")),
        "transforms": ", ".join(map(str, run.get("transforms", ()))) or "none",
        "learner": str(run["learner"]["name"]),
        "version": str(run["learner"].get("version", "")),
    }
    words |= dict(_parameters(record))
    protocol = dict(run["protocol"])
    replicate = {name: protocol.pop(name) for name in REPLICATES if name in protocol}
    words["protocol"] = ", ".join(protocol_parts(protocol))
    return words | {name: str(number) for name, number in replicate.items()}


def _differences(of_runs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return a row for each name, those on which the runs differ first."""
    rows = []
    for name in dict.fromkeys(name for facts in of_runs for name in facts):
        cells = [facts.get(name, "-") for facts in of_runs]
        rows.append({"name": name, "cells": cells, "differs": len(set(cells)) > 1})
    # A stable sort: within each half the order of a definition stays.
    rows.sort(key=lambda row: not row["differs"])
    return rows


def _unlike(records: Sequence[Record], keys: Sequence[SettingKey]) -> str:
    """Return what runs do not share that comparisons need; empty if they are of one block."""
    blocks: dict[str, list[Any]] = {
        "rows": [key.fingerprint for key in keys],
        "transforms": [key.transforms for key in keys],
        "protocol": [key.protocol for key in keys],
        "permutation or fold": [
            replicate_text(canonical_json(dict(record.run["protocol"])))
            for record in records
        ],
    }
    return ", ".join(name for name, values in blocks.items() if len(set(values)) > 1)


def _is_comparable(record: Record, metric: str) -> bool:
    """Return whether a measure of a run counts no rows that came before it could predict."""
    if not is_prequential(metric) or metric.startswith("holdout_"):
        return True
    return is_counted_in_time(record.run["learner"]["name"], record.run["protocol"])


def _measures(records: Sequence[Record], marks_best: bool) -> list[dict[str, Any]]:
    """Return a row for each measure, headlines first; the best is marked where runs compare."""
    names = {name for record in records for name in record.metrics}
    rows = []
    for name in sorted(names, key=lambda name: (name not in HEADLINES, name)):
        measure = measure_of(name)
        if measure.name in _MATRICES:
            continue
        values = [record.metrics.get(name, math.nan) for record in records]
        cells = [
            "-" if math.isnan(value) else figure_of(name, value) for value in values
        ]
        best = [False] * len(values)
        distances = [
            distance_from_best(name, value)
            if _is_comparable(record, name) and not math.isnan(value)
            else math.inf
            for record, value in zip(records, values, strict=True)
        ]
        compared = [distance for distance in distances if distance < math.inf]
        if (
            marks_best
            and measure.better
            and len(compared) > 1
            # Where all are equal none is the best.
            and len(set(compared)) > 1
        ):
            best = [distance == min(compared) for distance in distances]
        rows.append({"name": heading(name), "cells": cells, "best": best})
    return rows


def _aligned(of_runs: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    by_name: dict[str, list[str]] = defaultdict(lambda: ["-"] * len(of_runs))
    for number, facts in enumerate(of_runs):
        for name, value in facts.items():
            by_name[name.replace("_", " ")][number] = _number_text(value)
    return [{"name": name, "cells": cells} for name, cells in by_name.items()]


def _number_text(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
