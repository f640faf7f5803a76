"""Experiment files and what lies in a metrics store."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np

from olscale.evaluation.experiment import load_experiment
from olscale.results.compact import compact
from olscale.results.compacted import (
    SCHEMAS,
    compacted_bytes,
    deduplicate,
    is_intact,
    salvage,
)
from olscale.results.opening import open_store
from olscale.results.plans import LeftOut, read_plans, write_plan
from olscale.results.record import Record, run_id
from olscale.results.rows import run_bytes, timing_bytes
from olscale.results.selections import (
    Point,
    Selection,
    read_selections,
    write_selection,
)
from tests.fuzz.json_values import JSON_WORDS, vary_json
from tests.fuzz.target import Broken, Files, Target, files_of, write

EXPERIMENT = (
    b'name = "letter"\nseed = 1\ntransforms = ["standardize", "bias"]\n[protocol]\norder = '
    b'"permuted"\npermutations = 10\n'
    b'passes = [1, 2]\n[[datasets]]\npath = "data/letter"\n[[datasets]]\nname = "usps"\noptional '
    b"= true\n"
    b'[[learners]]\nname = "pa1"\nparams = { C = [0.25, 1.0] }\n'
    b'[[learners]]\nname = "lol"\ntune = { C = [0.25, 1.0], k = [10] }\n[tuning]\nfolds = '
    b'3\nmetric = "test_error"\n',
    b'datasets = [{path = "a"}]\nlearners = [{name = "pa", label = "PA"}]\nprotocol = {order = '
    b'"time", split = "given"}\n',
)
EXPERIMENT_WORDS = (
    b"[", b"]", b"[[datasets]]\n", b"{", b"}", b"=", b'"', b'"""', b"'''", b"\\u0000", b"\\ud800", b"0x", b"inf", b"nan",
    b"1979-05-27T07:32:00Z", b"true", b"a.b.c = 1\n", b"[" * 3000, b"order", b"half", b"\\n", b"-1",
)  # fmt: skip


def read_experiment(folder: Path) -> None:
    experiment = load_experiment(folder / "experiment.toml")
    for learner in experiment.learners:
        learner.settings()
        learner.points()


RECORD = {
    "dataset": {"name": "digits", "fingerprint": "f" * 64},
    "transforms": ["bias"],
    "learner": {"name": "pa1", "version": 1, "params": {"C": 0.5}},
    "protocol": {"order": "permuted", "seed": 0, "permutation": 0},
}


@cache
def store() -> list[Files]:
    """Return the files of a store with runs, timings, plans and selections."""
    with tempfile.TemporaryDirectory() as folder:
        made = open_store(Path(folder, "store"), create=True)
        ids = []
        for permutation, outcome in enumerate(("ok", "lost")):
            run = {
                **RECORD,
                "protocol": {**RECORD["protocol"], "permutation": permutation},
            }  # type: ignore[dict-item]
            record = Record(
                run=run,
                id=run_id(run),
                outcome=outcome,
                reason="" if outcome == "ok" else "why",
                metrics={"mistakes": 7.0, "cumulative_error": 0.25},
                curve_rows=np.arange(4),
                curve_mistakes=np.arange(4),
                segments=[("Day0", 4, 2)],
                timings={"fit_seconds": 1.5},
                environment={"host": "h"},
            )
            kind = "lost" if outcome == "lost" else "runs"
            made.put(
                f"timings/{record.id[:2]}/{record.id}.parquet",
                timing_bytes(record, datetime(2026, 1, 1, tzinfo=UTC)),
            )
            made.put(f"{kind}/{record.id[:2]}/{record.id}.parquet", run_bytes(record))
            ids.append(record.id)
        write_plan(made, "letter", ids, [LeftOut("dataset", "usps", "absent")])
        definition = {
            "dataset": {"name": "d"},
            "grid": {"C": [0.5, 1.0]},
            "protocol": {"split": "half", "folds": 3},
        }
        points = (Point({"C": 0.5}, 0.25), Point({"C": 1.0}, None, 2))
        write_selection(
            made, Selection(definition, run_id(definition), points, {"C": 0.5})
        )
        return [files_of(Path(folder, "store"))]


@cache
def compacted() -> list[Files]:
    """Return the files of that store once it has been compacted."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in store()[0].items():
            write(Path(folder, name), data)
        compact(open_store(folder))
        return [files_of(Path(folder))]


def read_parts(folder: Path) -> None:
    """Read as `read_runs` does, and what compaction would save of each part."""
    opened = open_store(folder)
    for kind in SCHEMAS:
        for name, data in opened.files.read_many(opened.compacted_files(kind)):
            if isinstance(data, bytes) and not is_intact(name, data):
                compacted_bytes(deduplicate(salvage(kind, data), kind))
        opened.compacted_ids(kind)
    opened.read(
        ["id", "dataset", "learner", "params", "metrics"],
        on_damage="skip",
        dictionaries=True,
    )
    read_runs(folder)


def read_runs(folder: Path) -> None:
    """Read all runs at once and one by one, as tables and reports do."""
    opened = open_store(folder)
    opened.read(on_damage="skip").to_pylist()
    opened.timings(on_damage="skip").to_pylist()
    for id in sorted(opened.done() | opened.lost()):
        opened.get(id)


def read_plan_files(folder: Path) -> None:
    for plan in read_plans(open_store(folder)):
        json.dumps([plan.experiment, plan.runs])
        for part in plan.left_out:
            str(part).encode("utf-8", "backslashreplace")


def read_selection_files(folder: Path) -> None:
    for selection in read_selections(open_store(folder)):
        json.dumps([selection.summary(), selection.chosen])
        if selection.chosen not in [point.params for point in selection.points]:
            raise Broken(f"{selection.chosen} was chosen from {selection.points}")
        for point in selection.points:
            dict(point.params)
            if point.error is not None:
                float(point.error)


TARGETS = (
    Target(
        "experiment",
        lambda: [{"experiment.toml": text} for text in EXPERIMENT],
        read_experiment,
        EXPERIMENT_WORDS,
    ),
    Target(
        "runs", store, read_runs, changed=("runs/", "timings/", "lost/", "store.json")
    ),
    Target("parts", compacted, read_parts, changed=("compacted/",)),
    Target(
        "plans",
        store,
        read_plan_files,
        JSON_WORDS,
        vary_json("plans/", checked=True),
        ("plans/",),
    ),
    Target(
        "selections",
        store,
        read_selection_files,
        JSON_WORDS,
        vary_json("selections/", checked=True),
        ("selections/",),
    ),
)
