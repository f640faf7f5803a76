"""Tuning: parameters are chosen on parts of the training split alone, recorded, and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.analysis import summarise
from olscale.errors import ExecutionError, ExperimentError, ParameterError, StoreError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import PlannedExperiment, make_plan
from olscale.evaluation.resolve import open_experiment
from olscale.execution.evaluate import evaluate
from olscale.report import as_json, tables
from olscale.results import Record, open_store, read_plans
from olscale.results.plans import read_selections
from tests.cluster import Cluster

GRID = [0.001, 0.1, 10.0]


def experiment(shelf: Path, **changes: Any) -> Experiment:
    content = {
        "name": "tuned",
        "datasets": [{"path": str(shelf / "dense")}, {"path": str(shelf / "sparse")}],
        "learners": [{"name": "pa1", "tune": {"C": GRID}}, {"name": "perceptron"}],
        "protocol": {"permutations": 2},
        "tuning": {"folds": 3},
    }
    return parse_experiment(content | changes)


def test_the_candidate_of_least_mean_error_on_the_held_out_rows_is_run(
    shelf: Path, tmp_path: Path
) -> None:
    done = evaluate(experiment(shelf), tmp_path / "s", in_process=True)
    assert done.runs == 2 * (3 * 3 + 2 + 2)
    selections = read_selections(done.store)
    assert [selection.definition["dataset"]["name"] for selection in selections] != []
    runs = done.store.read(["dataset", "learner", "params", "protocol", "metrics"]).to_pylist()
    for selection in selections:
        name = selection.definition["dataset"]["name"]
        errors = {
            C: np.mean(
                [
                    dict(run["metrics"])["test_error"]
                    for run in runs
                    if (run["dataset"], run["learner"]) == (name, "pa1")
                    and json.loads(run["params"])["C"] == C
                    and "fold" in json.loads(run["protocol"])
                ]
            )
            for C in GRID
        }
        assert [point.error for point in selection.points] == pytest.approx(
            list(errors.values()), abs=1e-15
        )
        assert selection.chosen["C"] == min(errors, key=errors.__getitem__)
        finals = [
            json.loads(run["params"])["C"]
            for run in runs
            if (run["dataset"], run["learner"]) == (name, "pa1")
            and "fold" not in json.loads(run["protocol"])
        ]
        assert finals == [selection.chosen["C"]] * 2


def test_tuning_never_reads_the_test_split(shelf: Path) -> None:
    for run in PlannedExperiment(open_experiment(experiment(shelf))).tuning.runs:
        assert run.stream.part is not None
        assert run.stream.part.kind == "half"


def test_tables_say_what_was_tuned_and_leave_the_comparison_out(
    shelf: Path, tmp_path: Path
) -> None:
    store = evaluate(experiment(shelf), tmp_path / "s", in_process=True).store
    shown = summarise(store)
    assert {"split" in summary.protocol for summary in shown} == {False}
    tuned = {summary.learner: summary.tuned for summary in shown}
    assert tuned["perceptron"] is None
    assert tuned["pa1"] == {
        "grid": {"C": GRID},
        "split": "half",
        "folds": 3,
        "seed": 0,
        "metric": "test_error",
    }
    assert {line["learner"]: line["tuned"] for line in json.loads(as_json(shown))} == tuned
    note = "Tuned on 3 random halves of the training split, by test error: pa1 (C)."
    assert all(note in table.notes for table in tables(shown))
    everything = summarise(store, tuning=True)
    assert {summary.params["C"] for summary in everything if summary.tuning} == set(GRID)
    assert [summary for summary in everything if not summary.tuning] == shown


def test_dask_and_a_second_run_give_the_same_bytes(
    shelf: Path, tmp_path: Path, cluster: Cluster
) -> None:
    here = evaluate(experiment(shelf), tmp_path / "here", in_process=True)
    dask = evaluate(experiment(shelf), tmp_path / "dask", scheduler=cluster.scheduler)
    for folder in ("runs", "selections", "plans"):
        for path in (tmp_path / "here" / folder).rglob("*.*"):
            assert (
                path.read_bytes()
                == (tmp_path / "dask" / path.relative_to(tmp_path / "here")).read_bytes()
            )
    assert dask.computed == here.computed == here.runs
    assert evaluate(experiment(shelf), tmp_path / "here", in_process=True).computed == 0
    assert {plan.experiment for plan in read_plans(here.store)} == {"tuned", "tuned: tuning"}


def test_a_finer_grid_runs_the_new_candidates_only(shelf: Path, tmp_path: Path) -> None:
    evaluate(experiment(shelf), tmp_path / "s", in_process=True)
    finer = [{"name": "pa1", "tune": {"C": [*GRID, 1e-4]}}]
    done = evaluate(experiment(shelf, learners=finer), tmp_path / "s", in_process=True)
    assert done.computed == 2 * 3 + 2 * 2 * (
        1e-4 in {s.chosen["C"] for s in read_selections(done.store)}
    )
    assert len(read_selections(done.store)) == 4


def test_a_candidate_that_fails_is_out(shelf: Path) -> None:
    (search, _) = PlannedExperiment(open_experiment(experiment(shelf))).tuning.searches
    errors: dict[str, float | None] = {
        run.id: 0.5 - i / 10 for i, runs in enumerate(search.runs) for run in runs
    }
    assert search.choose(errors).chosen["C"] == GRID[2]
    errors[search.runs[2][1].id] = None
    selection = search.choose(errors)
    assert selection.chosen["C"] == GRID[1]
    assert (selection.points[2].error, selection.points[2].failed) == (None, 1)
    assert search.choose(dict.fromkeys(errors)).chosen["C"] == GRID[0]
    assert search.choose(dict.fromkeys(errors, 0.25)).chosen["C"] == GRID[0]


def test_a_lost_candidate_is_no_reason_to_choose_another(shelf: Path, tmp_path: Path) -> None:
    from olscale.execution.phases import choose

    tuning = PlannedExperiment(open_experiment(experiment(shelf))).tuning
    store = open_store(str(tmp_path / "s"), create=True)
    for run in tuning.runs[1:]:
        store.write(Record(run.definition(), run.id, metrics={"test_error": 0.5}))
    store.write(Record(tuning.runs[0].definition(), tuning.runs[0].id, "lost", "its workers died"))
    with pytest.raises(ExecutionError, match="tuning of pa1 on dense lacks runs that were lost"):
        choose(store, tuning)
    assert read_selections(store) == []


def test_faults_show_before_anything_is_run(shelf: Path, tmp_path: Path) -> None:
    for learners, error, said in (
        ([{"name": "pa1", "tune": {"C": [0.1, -1]}}], ParameterError, "parameter C was -1"),
        (
            [{"name": "pa1", "tune": {"C": GRID}}, {"name": "pa2", "params": {"C": 0}}],
            ParameterError,
            "learner pa2",
        ),
    ):
        with pytest.raises(error, match=said):
            evaluate(experiment(shelf, learners=learners), tmp_path / "s", in_process=True)
    for changes, said in (
        ({"learners": [{"name": "pa1", "tune": {"C": []}}]}, "learners.0.tune.C"),
        (
            {"learners": [{"name": "pa1", "tune": {"C": [1]}, "params": {"C": 1}}]},
            "C is both in params and in tune",
        ),
        ({"tuning": {"split": "given"}}, "tuning.split"),
        ({"tuning": {"fold": 3}}, "did you mean 'folds'"),
    ):
        with pytest.raises(ExperimentError, match=said):
            experiment(shelf, **changes)
    assert not (tmp_path / "s").exists()


def test_a_damaged_selection_is_named(shelf: Path, tmp_path: Path) -> None:
    store = evaluate(experiment(shelf), tmp_path / "s", in_process=True).store
    (first, *_) = (tmp_path / "s" / "selections").iterdir()
    first.write_text("{")
    with pytest.raises(
        StoreError, match=f"damaged file selections/{first.name} .* evaluate its experiment again"
    ):
        summarise(store)


def test_a_learner_meets_the_datasets_it_is_for(shelf: Path) -> None:
    learners = [{"name": "pa1", "datasets": ["dense"]}, {"name": "pa2"}]
    met = {
        (run.stream.dataset, run.learner)
        for run in make_plan(experiment(shelf, learners=learners)).runs
    }
    assert met == {("dense", "pa1"), ("dense", "pa2"), ("sparse", "pa2")}


def test_passes_repeat_the_stream_and_are_part_of_the_run(shelf: Path, tmp_path: Path) -> None:
    """Two passes are a run of their own: the model of one pass goes over the same rows again."""
    from olscale.learners.registry import make_learner

    learners = [{"name": "pa1"}]
    protocol = {"order": "time", "passes": [1, 2]}
    datasets = [{"path": str(shelf / "dense")}]
    done = evaluate(
        experiment(shelf, learners=learners, protocol=protocol, datasets=datasets),
        tmp_path / "s",
        in_process=True,
    )
    found = {summary.protocol.get("passes", 1): summary.mean for summary in summarise(done.store)
             if summary.metric == "mistakes"}  # fmt: skip
    with np.load(shelf / "train.npz") as train:
        X = train["X"]
        y = train["y"]
    model = make_learner("pa1", {})
    model.begin(X.shape[1], 2)
    mistakes = []
    for _ in range(2):
        scores = model.learn(np.ascontiguousarray(X), y.astype(np.int64))
        mistakes.append(int(((scores[:, 0] >= 0) != y).sum()))
    assert found == {1: mistakes[0], 2: sum(mistakes)}
