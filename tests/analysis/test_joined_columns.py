"""Learners with transforms of their own stand in the columns of the others, and are compared."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import olscale
from olscale.analysis.joined_columns import joined_columns
from olscale.results import Plan, PlannedDataset, PlannedLearner
from tests.cli.command import run

SCALED = PlannedDataset("wine", "0f", ("standardize",))
RAW = PlannedDataset("wine", "0f")
ON_SCALED = (0,)
ON_RAW = (1,)


def _plan(*learners, datasets=(SCALED, RAW), experiment="study"):
    planned = [
        PlannedLearner(name, "1", {}, where, label) for name, where, label in learners
    ]
    return Plan(experiment, (), (), datasets, tuple(planned))


def _names(joined):
    return {learner: transforms for (_, (learner, _, _)), transforms in joined.items()}


MIXED = _plan(("pa1", ON_SCALED, ""), ("arow", ON_SCALED, ""), ("arf", ON_RAW, ""))


def test_a_learner_with_its_own_transforms_joins_the_others():
    assert _names(joined_columns([MIXED])) == {"arf": ("standardize",)}


def test_a_learner_with_several_transforms_keeps_their_columns():
    both = _plan(("pa1", ON_SCALED, ""), ("arow", ON_SCALED, ""), ("pa1", ON_RAW, ""))
    assert not joined_columns([both])


def test_labels_tell_learners_apart():
    labelled = _plan(
        ("pa1", ON_SCALED, ""), ("arow", ON_SCALED, ""), ("pa1", ON_RAW, "pa1, raw")
    )
    assert _names(joined_columns([labelled])) == {"pa1": ("standardize",)}


def test_data_sets_with_labels_of_their_own_stay_apart():
    raw = PlannedDataset("wine", "0f", (), "wine, raw")
    plan = _plan(("pa1", ON_SCALED, ""), ("arf", ON_RAW, ""), datasets=(SCALED, raw))
    assert not joined_columns([plan])


def test_a_setting_compared_on_its_own_rows_elsewhere_stays_there():
    trees = _plan(
        ("arf", ON_RAW, ""), ("hoeffding-tree", ON_RAW, ""), experiment="trees"
    )
    assert not joined_columns([MIXED, trees])
    alone = _plan(("arf", ON_RAW, ""), experiment="alone")
    assert joined_columns([MIXED, alone])
    candidates = _plan(
        ("arf", ON_RAW, ""), ("hoeffding-tree", ON_RAW, ""), experiment="study: tuning"
    )
    assert joined_columns([MIXED, candidates])


def test_learners_of_an_experiment_may_be_evaluated_one_after_another():
    scaled = _plan(("pa1", ON_SCALED, ""), ("arow", ON_SCALED, ""))
    trees = _plan(("arf", ON_RAW, ""), ("hoeffding-tree", ON_RAW, ""))
    assert set(_names(joined_columns([scaled, trees]))) == {"arf", "hoeffding-tree"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(0)
    for name in ("first", "second"):
        X = rng.standard_normal((90, 3)) * [1.0, 10.0, 100.0]
        np.savez(folder / f"{name}.npz", X=X, y=(X[:, 0] > 0).astype(int))
        olscale.ingest([str(folder / f"{name}.npz")], str(folder / name))
    experiment = olscale.Experiment.model_validate(
        {
            "name": "mixed",
            "transforms": ["running-standardize"],
            "datasets": [{"path": str(folder / name)} for name in ("first", "second")],
            "learners": [
                {"name": "pa1"},
                {"name": "arow"},
                {"name": "hoeffding-tree", "transforms": []},
            ],
            "protocol": {"permutations": 5, "mcnemar": True},
        }
    )
    olscale.evaluate(experiment, str(folder / "store"), in_process=True)
    return str(folder / "store")


def test_results_have_one_column_a_data_set(store):
    text = run("results", store).stdout
    assert text.count("first") == 1
    assert "Learners with their own transforms: none (hoeffding-tree)." in text
    assert "[raw]" not in text


def test_all_are_compared_and_the_page_says_on_what(store):
    compared = json.loads(olscale.compare(store).to_json())
    ranks = compared["comparisons"][0] if "comparisons" in compared else compared
    assert sorted(ranks["learners"]) == ["arow", "hoeffding-tree", "pa1"]
    assert ranks["left_out"] == []
    assert any("none (hoeffding-tree)" in note for note in ranks["notes"])
    assert ranks["own_transforms"] == {"hoeffding-tree": {"first": [], "second": []}}
    assert {len(within["pairs"]) for within in ranks["within"]} == {3}


def test_what_was_run_with_both_transforms_keeps_two_columns(store, tmp_path):
    both = tmp_path / "store"
    shutil.copytree(store, both)
    first = f"{Path(store).parent}/first"
    options = ["--learner", "hoeffding-tree", "--permutations", "5", "--in-process"]
    done = run(
        *("evaluate", "--dataset", first, *options),
        *("--transform", "running-standardize", "--store", both),
    )
    assert not done.returncode, done.stderr
    text = run("results", both).stdout
    assert "first [raw]" in text
    assert "first [running-standardize]" in text
    assert "second [" not in text


def test_tables_of_that_learner_alone_name_no_transforms_that_it_never_met(store):
    for options in ([], ["--metrics", "cumulative_error,kappa"]):
        text = run("results", store, "--learner", "hoeffding-tree", *options).stdout
        assert "Transforms: running-standardize" not in text
        assert "Learners with their own transforms: none (hoeffding-tree)." in text
