"""Leaderboards: learners by metrics, and what may be said about their differences."""

from __future__ import annotations

import json
import math

import pytest

import olscale
from olscale.analysis import Summary
from olscale.errors import UnknownNameError
from olscale.report.tables import tables, usual_metrics
from olscale.results import open_store
from tests.cli.command import run

ERRORS = {"pa1": 0.2, "arow": 0.1, "lol": 0.101}


def metrics_of(learner, shift, i):
    # lol's figures lie on both sides of arow's, pa1's always above.
    error = ERRORS[learner] + shift + 0.001 * (i % 4)
    if learner == "lol":
        error += 0.004 * (-1) ** i
    metrics = {"cumulative_error": error, "auc": 1 - error, "updates": 5.0}
    if learner == "pa1":
        del metrics["auc"]
    return metrics


@pytest.fixture(scope="module")
def fill(tmp_path_factory, make_record):
    def make(datasets=1, permutations=8, without=()):
        store = open_store(tmp_path_factory.mktemp("store") / "s", create=True)
        for number in range(datasets):
            for learner in ERRORS:
                if (learner, number) in without:
                    continue
                for i in range(permutations):
                    store.write(
                        make_record(
                            dataset=f"set-{number}",
                            fingerprint=f"{number:064x}",
                            learner=learner,
                            params={},
                            permutation=i,
                            metrics=metrics_of(learner, 0.01 * number, i + number),
                        )
                    )
        return store

    return make


@pytest.fixture(scope="module")
def one_dataset(fill):
    return fill()


def entry(table, row, column):
    return table.entries[table.rows.index(row)][table.columns.index(column)]


def test_learners_are_sorted_by_the_first_metric_and_the_best_of_each_is_marked(
    one_dataset,
):
    [table] = olscale.leaderboard(one_dataset, ["cumulative_error", "auc"]).tables()

    assert table.rows == ("arow", "lol", "pa1")
    assert table.columns == ("cumulative error %", "AUC")
    assert entry(table, "arow", "AUC").best
    assert entry(table, "arow", "cumulative error %").mean == "10.15"

    [by_auc] = olscale.leaderboard(one_dataset, ["auc", "cumulative_error"]).tables()
    assert by_auc.columns[0] == "AUC"
    assert by_auc.rows[-1] == "pa1"


def test_a_difference_that_a_test_cannot_tell_from_chance_is_marked(one_dataset):
    [table] = olscale.leaderboard(one_dataset, ["cumulative_error"]).tables()

    assert entry(table, "lol", "cumulative error %").alike
    assert not entry(table, "pa1", "cumulative error %").alike
    assert any(note.startswith("~ does not differ") for note in table.notes)


def test_so_few_runs_that_no_test_can_find_a_difference_mark_nothing(fill):
    [table] = olscale.leaderboard(fill(permutations=6), ["cumulative_error"]).tables()

    assert not any(cell.alike for line in table.entries for cell in line)
    assert (
        "Not tested: with 6 runs no difference between 3 learners reaches a corrected p of 0.05; "
        "at least 7 are needed."
    ) in table.notes


def test_a_metric_that_a_learner_lacks_is_said_where_it_stands(one_dataset):
    [table] = olscale.leaderboard(one_dataset, ["cumulative_error", "auc"]).tables()

    missing = entry(table, "pa1", "AUC")
    assert (missing.note, missing.marks[0].sign) == ("-", "m")
    assert "m has none of this metric in its records." in table.footnotes
    with pytest.raises(UnknownNameError, match="did you mean 'auc'"):
        olscale.leaderboard(one_dataset, ["acu"])


def test_means_are_over_data_sets_that_all_compared_learners_have(fill):
    store = fill(datasets=3, permutations=2, without={("lol", 2)})
    means, *of_datasets = olscale.leaderboard(
        store, ["cumulative_error", "updates"]
    ).tables()

    assert len(of_datasets) == 3
    assert means.columns == ("cumulative error %", "rank")
    assert means.rows == ("arow", "lol", "pa1")
    # The third data set lacks a learner: it would make means of others larger.
    assert "Means over 2 data sets (set-0, set-1)." in means.notes
    assert entry(means, "arow", "cumulative error %").mean == "10.60"
    assert entry(means, "arow", "rank").best
    assert any(
        note.startswith("Updates stands in the tables of single")
        for note in means.notes
    )


def test_forms_for_papers_and_further_work(one_dataset):
    board = olscale.leaderboard(one_dataset, ["cumulative_error", "auc"])

    assert r"\toprule" in board.to_latex()
    assert board.to_markdown().startswith("### Leaderboard of set-0")
    assert board._repr_html_() == board.to_html()
    frame = board.to_pandas()
    assert list(frame["learner"]) == ["arow", "lol", "pa1"]
    assert frame["auc"].isna().tolist() == [False, False, True]
    # Without metrics: the errors and a speed.
    assert olscale.leaderboard(one_dataset).metrics[0] == "cumulative_error"


def test_comparisons_have_the_same_forms(one_dataset):
    comparison = olscale.compare(one_dataset, metric="cumulative_error")

    assert comparison.tables()[0].title.startswith("Ranks by cumulative error")
    assert r"\begin{table}" in comparison.to_latex()
    assert [(pair["a"], pair["b"]) for pair in comparison] == [
        ("arow", "lol"),
        ("arow", "pa1"),
        ("lol", "pa1"),
    ]
    printed = run(
        "compare", one_dataset.path, "--metric", "cumulative_error", "--format", "json"
    )
    assert comparison.to_json() == printed.stdout


def test_the_command_line_has_leaderboards_in_all_formats(one_dataset):
    several = ("--metrics", "cumulative_error,auc", "--metrics", "auc")
    text = run("results", one_dataset.path, *several).stdout
    assert "Leaderboard of set-0" in text
    assert "cumulative error %" in text

    objects = json.loads(
        run("results", one_dataset.path, *several, "--format", "json").stdout
    )
    assert {item["metric"] for item in objects} == {"cumulative_error", "auc"}
    latex = run("results", one_dataset.path, *several, "--format", "latex").stdout
    assert r"\label{tab:leaderboard-of-set-0" in latex

    # One metric: learners by data sets, under the older name of the option too.
    for option in ("--metrics", "--metric"):
        assert (
            "AUC, permuted order"
            in run("results", one_dataset.path, option, "auc").stdout
        )
    refused = run("results", one_dataset.path, "--metrics", "auc,,kappa")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_measures_that_an_experiment_asks_for_stand_in_its_tables():
    setting = {
        "dataset": "digits",
        "fingerprint": "f" * 64,
        "transforms": (),
        "learner": "pa1",
    }
    setting |= {
        "version": "1",
        "params": {},
        "protocol": {"order": "time", "measures": ["kappa"]},
    }
    figures = {"cumulative_error": 0.1, "kappa": 0.8, "macro_f1": 0.9}
    summaries = [
        Summary(metric=metric, mean=mean, std=0.0, n=1, **setting)
        for metric, mean in figures.items()
    ]

    titles = [table.title.split(",")[0] for table in tables(summaries)]
    assert titles == ["Cumulative error (%)", "Kappa"]
    assert usual_metrics(summaries) == ["cumulative_error", "kappa"]


def test_the_figure_is_of_the_data_sets_that_all_have(
    make_record, tmp_path, monkeypatch
):
    """A learner without the hard set has no lesser error for it, and no reference a point."""
    pareto = pytest.importorskip("olscale.report.figures.pareto")
    store = open_store(tmp_path / "store", create=True)
    errors = {"easy": 0.1, "harder": 0.2, "hard": 0.5}
    for learner, sets in (("pa1", 3), ("arow", 3), ("lol", 2), ("svm", 3)):
        for number, (dataset, error) in enumerate(list(errors.items())[:sets]):
            record = make_record(
                dataset=dataset,
                fingerprint=f"{number:064x}",
                learner=learner,
                metrics={"cumulative_error": error, "model_bytes": 10.0**number},
            )
            store.write(record)
    drawn = {}
    monkeypatch.setattr(
        pareto, "pareto_figure", lambda shown, *options: drawn.update(shown)
    )

    board = olscale.leaderboard(store, ["cumulative_error", "model_bytes"])
    board.figure("model_bytes")

    points = {point.label: point for point in drawn["model_bytes"]}
    assert set(points) == {"pa1", "arow", "lol"}
    for point in points.values():
        assert point.error == pytest.approx(15.0)
        assert point.cost == pytest.approx(10**0.5)


def test_rows_have_no_figure_where_the_table_has_none(make_record, tmp_path):
    store = open_store(tmp_path / "store", create=True)
    for learner in ("pa1", "svm"):
        metrics = {"cumulative_error": 0.2, "test_error": 0.1}
        store.write(make_record(learner=learner, metrics=metrics))

    rows = list(olscale.leaderboard(store, ["cumulative_error", "test_error"]))

    assert [row["test_error"] for row in rows] == [0.1, 0.1]
    along = {row["learner"]: row["cumulative_error"] for row in rows}
    assert along["pa1"] == 0.2
    assert math.isnan(along["svm"])
