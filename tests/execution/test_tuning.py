"""Tuning: parameters are chosen on parts of the training split alone, recorded, and resumed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.analysis import summarise
from olscale.data.dataset import open_dataset
from olscale.data.stream import Part, Shuffle, open_streams
from olscale.errors import ExecutionError, ExperimentError, ParameterError, StoreError
from olscale.evaluation.candidates import candidates
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.experiment_sections import LearnerSpec, TuningSpec
from olscale.evaluation.plan import PlannedExperiment, make_plan
from olscale.evaluation.resolve import open_experiment
from olscale.execution.evaluate import evaluate
from olscale.report import as_json, tables
from olscale.results import Record, open_store, read_plans
from olscale.results.selections import read_selections
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
    runs = done.store.read(
        ["dataset", "learner", "params", "protocol", "metrics"]
    ).to_pylist()
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
    assert {
        line["learner"]: line["tuned"] for line in json.loads(as_json(shown))
    } == tuned
    note = "Tuned on 3 random halves of the training split, by test error: pa1 (C)."
    assert all(note in table.notes for table in tables(shown))
    everything = summarise(store, tuning=True)
    assert {summary.params["C"] for summary in everything if summary.tuning} == set(
        GRID
    )
    assert [summary for summary in everything if not summary.tuning] == shown


def test_dask_and_a_second_run_give_the_same_bytes(
    shelf: Path, tmp_path: Path, cluster: Cluster
) -> None:
    here = evaluate(experiment(shelf), tmp_path / "here", in_process=True)
    dask = evaluate(experiment(shelf), tmp_path / "dask", scheduler=cluster.scheduler)
    for folder in ("compacted/runs", "selections", "plans"):
        for path in (tmp_path / "here" / folder).rglob("*.*"):
            assert (
                path.read_bytes()
                == (
                    tmp_path / "dask" / path.relative_to(tmp_path / "here")
                ).read_bytes()
            )
    assert dask.computed == here.computed == here.runs
    assert evaluate(experiment(shelf), tmp_path / "here", in_process=True).computed == 0
    assert {plan.experiment for plan in read_plans(here.store)} == {
        "tuned",
        "tuned: tuning",
    }


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


RANGES = {
    "C": {"low": 1e-3, "high": 10.0, "log": True},
    "lam": {"low": 0.5, "high": 2.0},
    "k": {"low": 2, "high": 9},
}


def test_candidates_are_drawn_by_the_seed_from_lists_and_ranges() -> None:
    """All different, within their ranges, whole where both ends are; a small grid has all of them."""
    spec = LearnerSpec(name="lol", tune=RANGES | {"multiclass": ["ova", "max-score"]})
    random = TuningSpec(search="random", budget=40)
    drawn = candidates(spec, random, 0)
    assert drawn == candidates(spec, random, 0) != candidates(spec, random, 1)
    assert len({json.dumps(point) for point in drawn}) == 40
    for name, values in RANGES.items():
        assert all(values["low"] <= point[name] <= values["high"] for point in drawn)
    assert {type(point["k"]) for point in drawn} == {int}
    assert {point["k"] for point in drawn} == set(range(2, 10))
    # Uniform in the logarithm: as many below the middle of the exponents as above.
    assert 10 <= sum(point["C"] < 0.1 for point in drawn) <= 30
    listed = LearnerSpec(
        name="pa1", tune={"C": GRID, "multiclass": ["ova", "max-score"]}
    )
    assert candidates(listed, random, 0) == listed.points()
    few = candidates(listed, TuningSpec(search="random", budget=4), 0)
    assert len(few) == 4
    assert all(point in listed.points() for point in few)


def test_halving_gives_the_better_half_twice_the_rows(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rung learns a beginning of the same streams; the best of the last one is run."""
    monkeypatch.setattr("olscale.evaluation.candidates.LEAST_ROWS", 10)
    learners = [{"name": "lol", "tune": RANGES}]
    how = {"datasets": [{"path": str(shelf / "dense")}], "learners": learners}
    how |= {"tuning": {"search": "halving", "budget": 8, "folds": 2}}
    done = evaluate(experiment(shelf, **how), tmp_path / "s", in_process=True)
    [selection] = read_selections(done.store)
    assert Counter(point.share for point in selection.points) == {
        0.125: 4,
        0.25: 2,
        0.5: 1,
        1.0: 1,
    }
    assert done.computed == 2 * (8 + 4 + 2 + 1) + 2
    runs = done.store.read(["params", "protocol", "metrics", "curve_rows"]).to_pylist()
    length = open_dataset(shelf / "dense").rows("train") // 2
    errors: dict[tuple[float, str], list[float]] = defaultdict(list)
    for run in runs:
        protocol = json.loads(run["protocol"])
        if "split" in protocol:
            share = protocol.get("share", 1.0)
            assert run["curve_rows"][-1] == pytest.approx(share * length, abs=1)
            errors[share, run["params"]].append(dict(run["metrics"])["test_error"])
    for point in selection.points:
        [mean] = [
            np.mean(figures)
            for (share, params), figures in errors.items()
            if share == point.share and json.loads(params) == point.params
        ]
        assert point.error == pytest.approx(mean, abs=1e-15)
    for share in (0.125, 0.25, 0.5):
        rung = {
            p: np.mean(figures) for (of, p), figures in errors.items() if of == share
        }
        going_on = {p for of, p in errors if of == 2 * share}
        assert max(rung[p] for p in going_on) <= min(
            rung[p] for p in rung.keys() - going_on
        )
    [chosen] = [point for point in selection.points if point.share == 1.0]
    assert selection.chosen == chosen.params
    assert (
        evaluate(experiment(shelf, **how), tmp_path / "s", in_process=True).computed
        == 0
    )
    assert {summary.params["C"] for summary in summarise(done.store)} == {
        chosen.params["C"]
    }
    [note] = [
        n
        for table in tables(summarise(done.store))
        for n in table.notes
        if "Tuned" in n
    ][:1]
    assert note.startswith(
        "Tuned by successive halving of 8 candidates on 2 random halves"
    )


def test_a_stream_that_ends_early_is_the_beginning_of_the_whole(shelf: Path) -> None:
    """In the same permutation, scaled alike, and tested on the same rows."""
    path = str(shelf / "dense")
    whole, short = (
        open_streams(path, ["standardize"], Shuffle(0, 1), Part("half", 0, 0, 2, share))
        for share in (1.0, 0.25)
    )
    assert short.train.rows == int(whole.train.rows * 0.25)
    assert np.array_equal(
        short.train.chunk(0).y, whole.train.chunk(0).y[: short.train.rows]
    )
    assert np.array_equal(
        short.train.chunk(0).X, whole.train.chunk(0).X[: short.train.rows]
    )
    assert short.test is not None
    assert whole.test is not None
    assert short.test.rows == whole.test.rows


def test_a_lost_candidate_is_no_reason_to_choose_another(
    shelf: Path, tmp_path: Path
) -> None:
    from olscale.execution.phases import choose

    tuning = PlannedExperiment(open_experiment(experiment(shelf))).tuning
    store = open_store(str(tmp_path / "s"), create=True)
    for run in tuning.runs[1:]:
        store.write(Record(run.definition(), run.id, metrics={"test_error": 0.5}))
    store.write(
        Record(
            tuning.runs[0].definition(), tuning.runs[0].id, "lost", "its workers died"
        )
    )
    with pytest.raises(
        ExecutionError, match="tuning of pa1 on dense lacks runs that were lost"
    ):
        choose(store, tuning)
    assert read_selections(store) == []


def test_faults_show_before_anything_is_run(shelf: Path, tmp_path: Path) -> None:
    for learners, error, said in (
        (
            [{"name": "pa1", "tune": {"C": [0.1, -1]}}],
            ParameterError,
            "parameter C was -1",
        ),
        (
            [{"name": "pa1", "tune": {"C": GRID}}, {"name": "pa2", "params": {"C": 0}}],
            ParameterError,
            "learner pa2",
        ),
    ):
        with pytest.raises(error, match=said):
            evaluate(
                experiment(shelf, learners=learners), tmp_path / "s", in_process=True
            )
    for changes, said in (
        ({"learners": [{"name": "pa1", "tune": {"C": []}}]}, "learners.0.tune.C"),
        (
            {"learners": [{"name": "pa1", "tune": {"C": [1]}, "params": {"C": 1}}]},
            "C is both in params and in tune",
        ),
        ({"tuning": {"split": "given"}}, "tuning.split"),
        ({"tuning": {"fold": 3}}, "did you mean 'folds'"),
        ({"tuning": {"search": "halvin"}}, "did you mean 'halving'"),
        ({"tuning": {"budget": 3}}, "a grid has all its candidates"),
        ({"learners": [{"name": "lol", "tune": RANGES}]}, "tune.C of lol is a range"),
        (
            {
                "learners": [
                    {"name": "pa1", "tune": {"C": {"low": 0, "high": 1, "log": True}}}
                ]
            },
            "expected 0 < low < high",
        ),
    ):
        with pytest.raises(ExperimentError, match=said):
            experiment(shelf, **changes)
    assert not (tmp_path / "s").exists()


def test_a_damaged_selection_is_named(shelf: Path, tmp_path: Path) -> None:
    store = evaluate(experiment(shelf), tmp_path / "s", in_process=True).store
    (first, *_) = (tmp_path / "s" / "selections").iterdir()
    first.write_text("{")
    with pytest.raises(
        StoreError,
        match=f"damaged file selections/{first.name} .* evaluate its experiment again",
    ):
        summarise(store)


def test_a_learner_meets_the_datasets_it_is_for(shelf: Path) -> None:
    learners = [{"name": "pa1", "datasets": ["dense"]}, {"name": "pa2"}]
    met = {
        (run.stream.dataset, run.learner)
        for run in make_plan(experiment(shelf, learners=learners)).runs
    }
    assert met == {("dense", "pa1"), ("dense", "pa2"), ("sparse", "pa2")}


def test_passes_repeat_the_stream_and_are_part_of_the_run(
    shelf: Path, tmp_path: Path
) -> None:
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
