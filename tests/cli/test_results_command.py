"""``olscale results`` and ``olscale status``."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.cli import olscale as command
from olscale.results import Series, open_store, write_plan


@pytest.fixture
def store(tmp_path, make_record):
    store = open_store(tmp_path / "store", create=True)
    ids = []
    for learner, error in (("pa", 0.2), ("arow", 0.1)):
        for i in range(3):
            record = make_record(
                learner=learner,
                permutation=i,
                metrics={"test_error": error + i / 100, "cumulative_error": 0.3},
                timings={"fit_seconds": 1.0},
            )
            store.write(record)
            ids.append(record.id)
    store.write(make_record(learner="cw", outcome="diverged", reason="norm is inf"))
    write_plan(store, "demo", [*ids, "0" * 32])
    return store


def run(*args: str):
    return CliRunner().invoke(command, list(args))


def test_table_shows_both_errors_the_best_and_the_failure(store):
    result = run("results", store.path)

    assert result.exit_code == 0
    assert "Test error (%)" in result.stdout
    assert "Cumulative error (%)" in result.stdout
    assert "11.00 ± 1.00*" in result.stdout
    assert "diverged" in result.stdout


def test_json_is_a_list_with_every_metric(store):
    rows = json.loads(run("results", store.path, "--format", "json").stdout)

    assert {row["metric"] for row in rows} == {
        "test_error",
        "cumulative_error",
        "fit_seconds",
        "outcome",
    }
    [arow] = [
        row
        for row in rows
        if row["learner"] == "arow" and row["metric"] == "test_error"
    ]
    assert arow["mean"] == pytest.approx(0.11)
    assert arow["std"] == pytest.approx(0.01)
    assert (arow["n"], arow["protocol"]) == (3, {"order": "permuted", "seed": 0})


def test_filters(store):
    result = run(
        "results",
        store.path,
        "--format",
        "csv",
        "--metric",
        "test_error",
        "--learner",
        "pa",
    )

    assert [row["learner"] for row in csv.DictReader(io.StringIO(result.stdout))] == [
        "pa"
    ]


def test_a_learner_is_chosen_by_the_name_that_a_table_shows(tmp_path, make_record):
    store = open_store(tmp_path / "settings", create=True)
    for C, error in ((0.5, 0.2), (1.0, 0.1)):
        store.write(
            make_record(learner="pa1", params={"C": C}, metrics={"test_error": error})
        )
    assert "pa1 C=0.5" in run("results", store.path).stdout

    chosen = run("results", store.path, "--learner", "pa1 C=0.5", "--format", "json")
    assert {row["params"]["C"] for row in json.loads(chosen.stdout)} == {0.5}
    refused = run("results", store.path, "--learner", "pa1 C=0.6")
    assert "did you mean 'pa1 C=0.5'" in refused.stderr


def test_unknown_filter_is_exit_1_with_the_names(store):
    result = run("results", store.path, "--learner", "arw")

    assert result.exit_code == 1
    assert "did you mean 'arow'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_latex_is_printed(store):
    assert r"\bottomrule" in run("results", store.path, "--format", "latex").stdout


def test_empty_store_is_no_error(tmp_path):
    path = open_store(tmp_path / "empty", create=True).path

    table = run("results", path)
    listing = run("results", path, "--format", "json")
    status = run("status", path)

    assert (table.exit_code, table.stdout) == (0, "")
    assert "no finished runs yet" in table.stderr
    assert json.loads(listing.stdout) == []
    assert "last finished: never" in status.stdout


def test_damaged_file_is_one_line_or_left_out(store, tmp_path):
    bad = next((tmp_path / "store" / "runs").rglob("*.parquet"))
    bad.write_bytes(b"PAR1")

    stopped = run("results", store.path)
    skipped = run("results", store.path, "--skip-damaged")

    assert stopped.exit_code == 1
    assert bad.name in stopped.stderr
    assert skipped.exit_code == 0
    assert bad.name in skipped.stderr


def test_status_counts_and_shows_progress(store):
    result = run("status", store.path)

    assert result.exit_code == 0
    assert "7 (6 ok, 1 diverged)" in result.stdout
    assert "demo  6/7 runs done (85 %)" in result.stdout


def test_status_has_the_plans_of_a_name_in_the_order_in_which_they_were_evaluated(
    store,
):
    ids = store.read(["id"])["id"].to_pylist()
    for count in range(1, 6):
        write_plan(store, "edited", ids[:count])
    text = run("status", store.path).stdout
    numbers = [line.split()[1] for line in text.splitlines() if " edited #" in line]
    assert numbers == ["#1", "#2", "#3", "#4", "#5"]


def test_models_without_parameters_have_no_brackets(tmp_path, make_record):
    store = open_store(tmp_path / "plain", create=True)
    store.write(make_record(learner="majority", params={}, metrics={"test_error": 0.3}))
    assert ", majority, " in run("models", "list", store.path).stdout


@pytest.fixture
def watched(tmp_path, make_record):
    store = open_store(tmp_path / "watched", create=True)
    for learner, error in (("pa", 0.2), ("arow", 0.1)):
        for i in range(2):
            record = make_record(
                learner=learner,
                permutation=i,
                metrics={
                    "cumulative_error": error,
                    "window_error": error,
                    "drift_alarms": 1.0 - i,
                },
                segments=[("day 0", 40, 10), ("day 1", 60, 6 * i)],
                series=[
                    Series(
                        "window_error",
                        np.array([50, 100]),
                        np.array([0.5, error + i / 10]),
                    ),
                    Series("drift_alarms", np.array([70][i:]), np.array([1.0][i:])),
                ],
            )
            store.write(record)
    return store


def test_what_the_protocol_asked_for_has_tables_of_its_own(watched):
    text = run("results", watched.path).stdout

    assert [
        text.count(f"{name} (%), permuted")
        for name in ("Cumulative error", "Window error")
    ] == [1, 1]
    assert "Drift alarms, permuted order" in text


def test_a_curve_as_csv_json_and_table(watched):
    found = list(
        csv.DictReader(
            io.StringIO(
                run(
                    "results",
                    watched.path,
                    "--curve",
                    "window_error",
                    "--format",
                    "csv",
                ).stdout
            )
        )
    )
    last = [row for row in found if row["learner"] == "pa" and row["rows"] == "100"]
    assert len(found) == 4
    assert [(row["curve"], row["segment"], row["n"]) for row in last] == [
        ("window_error", "", "2")
    ]
    assert float(last[0]["mean"]) == pytest.approx(0.25)
    assert float(last[0]["std"]) == pytest.approx(0.1 / 2**0.5)

    objects = json.loads(
        run(
            "results", watched.path, "--curve", "window_error", "--format", "json"
        ).stdout
    )
    assert [(o["learner"], o["rows"], o["protocol"]) for o in objects] == [
        (learner, rows, {"order": "permuted", "seed": 0})
        for learner in ("arow", "pa")
        for rows in (50, 100)
    ]
    text = run("results", watched.path, "--curve", "window_error").stdout
    assert "Window error (%), digits" in text
    assert "50.00 ± 0.00  25.00 ± 7.07" in text


def test_segments_and_alarms_along_the_stream(watched):
    segments = json.loads(
        run(
            "results", watched.path, "--curve", "segment_error", "--format", "json"
        ).stdout
    )
    assert [(o["segment"], o["mean"]) for o in segments if o["learner"] == "pa"] == [
        ("day 0", 0.25),
        ("day 1", 0.05),
    ]
    assert "day 0" in run("results", watched.path, "--curve", "segment_error").stdout
    alarms = json.loads(
        run(
            "results", watched.path, "--curve", "drift_alarms", "--format", "json"
        ).stdout
    )
    assert [(o["rows"], o["mean"]) for o in alarms] == [(70, 0.5), (70, 0.5)]


@pytest.mark.parametrize("name", ["segment_error", "test_confusion"])
def test_columns_are_those_of_all_learners(tmp_path, make_record, name):
    """A learner's figures stand under their own segments and cells, also where another learner has others."""
    store = open_store(tmp_path / "store", create=True)
    for learner, cells in (("pa", {1: 7, 65537: 3}), ("arow", {0: 4, 1: 2, 65537: 4})):
        segments = [(f"day {cell}", 10, count) for cell, count in cells.items()]
        made = Series(
            "test_confusion",
            np.array(list(cells)),
            np.array(list(cells.values()), dtype=float),
        )
        # of runs that measure the test split alone
        error = "cumulative_error" if name == "segment_error" else "test_error"
        metrics = {error: len(cells) / 10}
        store.write(
            make_record(
                learner=learner, metrics=metrics, segments=segments, series=[made]
            )
        )

    shown = run("results", store.path, "--curve", name).stdout.splitlines()

    of = {
        line.split()[0]: line.split()[1:]
        for line in shown
        if line.startswith(("pa", "arow"))
    }
    if name == "segment_error":
        assert of == {
            "pa": ["-", "70.00", "30.00"],
            "arow": ["40.00", "20.00", "40.00"],
        }
    else:
        assert [
            [float(count) for count in of[learner]] for learner in ("pa", "arow")
        ] == [
            [0, 7, 3],
            [4, 2, 4],
        ]


def test_a_table_of_many_segments_has_some_of_each_part_of_the_stream(
    tmp_path, make_record
):
    """The first and the last among them; JSON has all."""
    store = open_store(tmp_path / "store", create=True)
    segments = [(f"s{number}", 10, number % 10) for number in range(2000)]
    store.write(
        make_record(learner="pa", metrics={"cumulative_error": 0.5}, segments=segments)
    )
    shown = run("results", store.path, "--curve", "segment_error").stdout
    head = next(
        line for line in shown.splitlines() if line.startswith("learner")
    ).split()[1:]
    assert (len(head), head[0], head[1], head[-1]) == (30, "s0", "s69", "s1999")
    assert "30 segments, of 2,000; JSON and CSV have all of them." in shown
    assert (
        len(
            json.loads(
                run(
                    "results",
                    store.path,
                    "--curve",
                    "segment_error",
                    "--format",
                    "json",
                ).stdout
            )
        )
        == 2000
    )


def test_segments_of_one_name_stand_beside_each_other(tmp_path, make_record):
    """A weekday comes back: the table had the last Monday alone."""
    store = open_store(tmp_path / "store", create=True)
    segments = [("Mon", 10, 1), ("Tue", 10, 2), ("Mon", 10, 3)]
    store.write(
        make_record(learner="pa", metrics={"cumulative_error": 0.2}, segments=segments)
    )
    shown = run("results", store.path, "--curve", "segment_error").stdout.splitlines()
    assert any(
        line.split() == ["learner", "Mon", "Tue", "Mon", "(2)"] for line in shown
    )
    assert any(line.split() == ["pa", "10.00", "20.00", "30.00"] for line in shown)


def test_a_table_of_a_large_confusion_matrix_has_the_cells_with_the_most_rows(
    tmp_path, make_record
):
    """Of all learners, in their order; JSON has every cell."""
    store = open_store(tmp_path / "store", create=True)
    rows = {"pa": np.arange(100.0), "arow": np.where(np.arange(100) == 3, 1000.0, 1.0)}
    for learner, counts in rows.items():
        made = Series("test_confusion", np.arange(100), counts)
        store.write(
            make_record(learner=learner, metrics={"test_error": 0.5}, series=[made])
        )

    shown = run("results", store.path, "--curve", "test_confusion").stdout

    of = {
        line.split()[0]: [float(word.replace(",", "")) for word in line.split()[1:]]
        for line in shown.splitlines()
        if line[:2] in ("pa", "ar")
    }
    assert of == {"pa": [3.0, *rows["pa"][41:]], "arow": [1000.0] + 59 * [1.0]}
    assert (
        "The 60 cells with the most rows, of 100; JSON and CSV have all of them."
        in shown
    )
    every = json.loads(
        run(
            "results", store.path, "--curve", "test_confusion", "--format", "json"
        ).stdout
    )
    assert len(every) == 200


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            ["--curve", "windw_error"],
            1,
            "unknown curve 'windw_error'; did you mean 'window_error'?",
        ),
        (
            ["--curve", "window_error", "--metric", "updates"],
            2,
            "--metrics and --curve exclude each other",
        ),
    ],
)
def test_a_curve_that_cannot_be_shown_is_one_line(watched, options, code, said):
    result = run("results", watched.path, *options)

    assert result.exit_code == code
    assert said in result.stderr


def test_a_curve_that_no_run_has_says_where_to_ask_for_it(store):
    result = run("results", store.path, "--curve", "fading_error")

    assert result.exit_code == 0
    assert "no run shown has fading_error along the stream" in result.stderr


def test_many_loose_runs_are_said_to_be_slow_to_read(
    tmp_path, monkeypatch, make_record
):
    """One line on stderr, also of `compare` and `status`; none once they are compacted."""
    store = open_store(tmp_path / "store", create=True)
    for learner in ("pa1", "lol"):
        for i in range(3):
            store.write(
                make_record(
                    learner=learner, permutation=i, metrics={"cumulative_error": 0.1}
                )
            )
    monkeypatch.setattr("olscale.cli.results._MANY_LOOSE", 6)
    slow = (
        f"olscale: 6 runs of {store.path} are in separate files, which are slow to read"
    )
    advice = f"{slow}; olscale compact {store.path} merges them"
    for word in ("results", "compare", "status"):
        done = run(word, store.path)
        assert (done.exit_code, done.stderr.splitlines()) == (0, [advice])
    assert run("compact", store.path).exit_code == 0
    assert run("results", store.path).stderr == ""
