"""What a report tells of classes and of what was run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from olscale.analysis import summarise
from olscale.analysis.curves import ConfusionMatrix
from olscale.analysis.summary import Summary
from olscale.data.dataset import open_dataset
from olscale.data.manifest import dataset_facts
from olscale.measures import NOT_REPRODUCIBLE
from olscale.report.classes import class_table
from olscale.report.facts import facts_section
from olscale.report.papers.base import FigureSource
from olscale.results import PlannedDataset, open_store, read_plans, write_plan
from olscale.results.plans import PlannedLearner
from olscale.results.rows import timing_bytes


def test_errors_by_class_are_shares_of_the_rows_of_the_class() -> None:
    true, predicted = np.array([[0, 0], [0, 1], [1, 1], [2, 0], [2, 2]]).T
    # of two replicates
    counts = np.array([[8.0, 2.0, 5.0, 3.0, 1.0], [6.0, 4.0, 5.0, 3.0, 1.0]])
    summary = Summary(
        "d", "f", (), "pa", "1", {}, {"order": "time"}, "cumulative_error", 0.3, 0.0, 2
    )
    by_chance = replace(summary, learner="lol", warned=(NOT_REPRODUCIBLE,))
    classes = np.arange(3)
    right = ConfusionMatrix(by_chance, classes, classes, np.array([[10.0, 5.0, 4.0]]))

    shown = {"pa": ConfusionMatrix(summary, true, predicted, counts), "lol": right}
    table = class_table("d", shown, ["a", "b", "c"])

    assert table.columns == ("a", "b", "c")
    assert [[entry.mean for entry in line] for line in table.entries] == [
        ["30.00", "0.00", "75.00"],
        ["0.00"] * 3,
    ]
    assert [entry.best for entry in table.entries[0]] == [False, True, False]
    assert ["".join(mark.sign for mark in line[0].marks) for line in table.entries] == [
        "",
        "?",
    ]


def test_what_was_run_is_told(tmp_path: Path, make_record: Callable[..., Any]) -> None:
    store = open_store(tmp_path / "store", create=True)
    record = make_record(
        params={"C": 0.5},
        metrics={"cumulative_error": 0.1, "model_bytes": 64.0},
        timings={"fit_seconds": 1.5, "rows_per_second": 1000.0},
        environment={"host": "<here>", "cpus": "2", "numpy": "2.4"},
    )
    store.write(record)
    facts = {
        "rows": {"train": 1000, "test": 20},
        "columns": 3,
        "nonzeros": 1530,
        "classes": ["no", "yes"],
    }
    planned = PlannedDataset(
        "digits", "f" * 64, (), "", facts | {"class_rows": [250, 750]}
    )
    write_plan(
        store,
        "demo",
        [record.id],
        (),
        [planned],
        [PlannedLearner("pa1", "1", {"C": 0.5}, (0,))],
    )

    page = "".join(facts_section(FigureSource(store, summarise(store))))

    assert read_plans(store)[0].datasets[0] == planned
    for told in (
        "1,000",
        "20",
        "50",
        "no: 25 %, yes: 75 %",
        "C=0.5",
        "&lt;here&gt;",
        "numpy 2.4",
        "64",
        "1.5",
    ):
        assert f">{told}<" in page or told in page
    assert "Protocol: permuted order, seed 0." in page


def test_older_plans_tell_nothing_of_data_sets(
    tmp_path: Path, make_record: Callable[..., Any]
) -> None:
    store = open_store(tmp_path / "store", create=True)
    store.write(make_record(metrics={"cumulative_error": 0.1}))

    assert "digits" in "".join(facts_section(FigureSource(store, summarise(store))))


def test_facts_are_those_of_the_manifest(shelf: Path) -> None:
    dataset = open_dataset(shelf / "dense")
    facts = dataset_facts(dataset.manifest)

    assert facts["rows"]["train"] == dataset.rows("train") == sum(facts["class_rows"])
    assert facts["columns"] == dataset.columns
    assert facts["classes"] == list(dataset.classes or ())


@pytest.mark.parametrize("field", ["rows_per_second", "model_bytes"])
def test_speed_and_memory_have_tables(
    tmp_path: Path, make_record: Callable[..., Any], field: str
) -> None:
    store = open_store(tmp_path / "store", create=True)
    metrics = {"cumulative_error": 0.1, "model_bytes": 64.0}
    timings = {"rows_per_second": 1000.0}
    store.write(make_record(metrics=metrics, timings=timings))

    page = "".join(facts_section(FigureSource(store, summarise(store))))

    assert field.replace("_", " ").capitalize() in page


def test_all_data_sets_are_those_of_the_store(
    tmp_path: Path, make_record: Callable[..., Any]
) -> None:
    """A learner that met two of three sets did not meet all, also where no learner did."""
    store = open_store(tmp_path / "store", create=True)
    for learner, datasets in (("pa", "ab"), ("lol", "bc")):
        for name in datasets:
            fingerprint = name * 64
            store.write(
                make_record(
                    name,
                    learner,
                    fingerprint=fingerprint,
                    metrics={"cumulative_error": 0.1},
                )
            )

    page = "".join(facts_section(FigureSource(store, summarise(store))))

    assert ">a, b<" in page
    assert ">b, c<" in page
    assert ">all<" not in page


@pytest.mark.parametrize("first", [0, 1])
def test_a_machine_with_runs_of_no_known_end_is_told(
    tmp_path: Path,
    make_record: Callable[..., Any],
    first: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No version has written such a file, but what a store says of its columns allows it."""
    store = open_store(tmp_path / "store", create=True)
    records = [
        make_record(permutation=i, metrics={"cumulative_error": 0.1}) for i in (0, 1)
    ]
    for record in records:
        store.write(record)
    without = sorted(records, key=lambda record: record.id)[first]
    file = next((tmp_path / "store" / "timings").rglob(f"{without.id}.parquet"))
    monkeypatch.setattr("olscale.results.rows.arrow_array", pa.array)
    file.write_bytes(timing_bytes(without, None))  # type: ignore[arg-type]

    page = "".join(facts_section(FigureSource(store, summarise(store))))

    assert f"{datetime.now(UTC):%Y-%m-}" in page


def test_speeds_are_by_processor_time_and_marked_where_a_run_waited(
    tmp_path: Path, make_record: Callable[..., Any]
) -> None:
    """Runs of earlier versions, which have wall time alone, stand among them with a mark of their own."""
    store = open_store(tmp_path / "store", create=True)
    quick = {"rows_per_second": 100.0, "rows_per_cpu_second": 4321.0}
    for learner, timings in (
        ("pa", quick),
        ("lol", quick | {"rows_per_cpu_second": 3210.0, "waited": 1.0}),
        ("ilol", {"rows_per_second": 2109.0}),
    ):
        store.write(
            make_record(
                learner=learner, metrics={"cumulative_error": 0.1}, timings=timings
            )
        )
    summaries = summarise(store)

    page = "".join(facts_section(FigureSource(store, summaries)))

    assert "Rows per processor second" in page
    assert "Rows per second" not in page
    assert [word in page for word in ("4,321", "3,210", "2,109")] == [True] * 3
    assert "w waited: wall time is above 1.5 times the processor time" in page
    assert "t by the clock: runs of an earlier version" in page
    assert [
        s.cautions
        for s in summaries
        if s.learner == "lol" and s.metric == "cumulative_error"
    ] == [[]]
    assert [
        s.cautions
        for s in summaries
        if s.learner == "lol" and s.metric == "rows_per_second"
    ] == [["waited"]]
