"""An evaluation that keeps its models has the same runs and records as one that does not, and the models of those runs."""

from __future__ import annotations

from pathlib import Path

import joblib
import numpy as np
import pytest

import olscale
from olscale.data.dataset import Dataset
from olscale.data.generators import generate
from olscale.data.ingest.ingest import ingest
from olscale.errors import ParameterError
from olscale.evaluation.final_models import compute_model
from olscale.results.rows import run_bytes
from olscale.results.store import Store, model_file
from tests.cli.command import run
from tests.cluster import Cluster

AHEAD = ["standardize", "bias"]
AS_ROWS_COME = ["impute:mean", "running-standardize", "bias"]


def evaluated(
    dataset: Dataset,
    store: Path,
    keep: bool,
    transforms: list[str] = AHEAD,
    **options: object,
) -> Store:
    experiment = olscale.Experiment(
        datasets=[{"path": dataset.path}],
        learners=[{"name": "pa1", "params": {"C": [0.1, 1.0], "multiclass": "ova"}}],
        transforms=transforms,
        protocol={"order": "permuted", "permutations": 2, "keep_model": keep},
    )
    return olscale.evaluate(experiment, store, in_process=True, **options).store  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "transforms", [AHEAD, AS_ROWS_COME, ["ipca:components=3", "bias"]]
)
def test_kept_models_are_those_of_the_runs(
    tmp_path: Path, transforms: list[str]
) -> None:
    digits = ingest("sklearn:iris", tmp_path / "iris")
    plain, kept = (
        evaluated(digits, tmp_path / str(keep), keep, transforms)
        for keep in (False, True)
    )
    shards = evaluated(digits, tmp_path / "shards", True, transforms, class_shards=2)
    assert plain.model_ids() == set()
    assert kept.model_ids() == shards.model_ids() == kept.done() == plain.done()
    for id in kept.done():
        assert (
            run_bytes(kept.get(id))
            == run_bytes(plain.get(id))
            == run_bytes(shards.get(id))
        )
        compute_model(plain.get(id), digits.path).save(tmp_path / "again.olm")
        again = (tmp_path / "again.olm").read_bytes()
        assert (
            kept.files.read(model_file(id))
            == shards.files.read(model_file(id))
            == again
        )
    model = olscale.load_model(tmp_path / "again.olm")
    rows = np.concatenate([chunk.X for chunk in digits.chunks("train")])
    once, twice = (olscale.load_model(tmp_path / "again.olm") for _ in range(2))
    once.partial_fit(rows[:20], model.predict(rows[:20], encoded=True), encoded=True)
    for row in rows[:20]:
        twice.partial_fit(
            row[None], model.predict(row[None], encoded=True), encoded=True
        )
    for name, array in once.arrays().items():
        np.testing.assert_array_equal(array, twice.arrays()[name], err_msg=name)
    assert kept.forget(learners=["pa1"]) == 4
    assert kept.model_ids() == set()


def test_from_a_store_to_predictions(tmp_path: Path, cluster: Cluster) -> None:
    made = generate("rotating-xor", tmp_path / "xor", seed=0)
    learners = (
        "--learner",
        "lol:k=4",
        "--learner",
        "river.linear_model:LogisticRegression",
    )
    words = (
        "--order",
        "time",
        "--store",
        "runs",
        "--keep-model",
        "--scheduler",
        cluster.scheduler,
    )
    done = run(
        "evaluate", "--dataset", tmp_path / "xor", *learners, *words, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert (
        "models are not kept: learner river.linear_model:LogisticRegression"
        in done.stderr
    )
    listed = [
        line.split()
        for line in run("models", "list", "runs", cwd=tmp_path).stdout.splitlines()
    ]
    [own] = [line[0] for line in listed if line[-1] == "kept"]
    [other] = [line[0] for line in listed if line[-1] != "kept"]
    saved = run("models", "save", "runs", own, "lol.olm", cwd=tmp_path)
    assert "copied from the store" in saved.stdout, saved.stderr
    refused = run("models", "save", "runs", other, "other.olm", cwd=tmp_path)
    assert refused.returncode == 1
    assert "whose model is no plain arrays" in refused.stderr
    assert not (tmp_path / "other.olm").exists()
    shown = run("predict", "lol.olm", "xor", "--scores", "--labels", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    header, *rows = shown.stdout.splitlines()
    assert header == "prediction,label,score"
    assert len(rows) == made.rows("test" if "test" in made.splits else "train")
    assert "labelled rows)" in shown.stderr
    with_both = run(
        "predict", "lol.olm", "xor", "--scores", "--probabilities", cwd=tmp_path
    )
    header, *rows = with_both.stdout.splitlines()
    assert header == "prediction,score,probability_-1,probability_1"
    sums = [sum(map(float, row.split(",")[2:])) for row in rows]
    np.testing.assert_allclose(sums, 1.0)
    assert run("models", "show", "lol.olm", cwd=tmp_path).stdout.startswith(
        "learner      lol ("
    )


def test_models_of_regressions_are_listed_with_their_figures_and_learn_on(
    shelf: Path, tmp_path: Path
) -> None:
    experiment = olscale.Experiment(
        datasets=[{"path": str(shelf / "targets")}],
        learners=[{"name": "rls"}, {"name": "mean"}],
        transforms=["running-standardize", "bias"],
        protocol={"order": "time", "keep_model": True},
    )
    store = olscale.evaluate(experiment, tmp_path / "store", in_process=True).store
    listed = run("models", "list", store.path).stdout.splitlines()
    assert ["RMSE" in line and "%" not in line for line in listed] == [True, True]
    assert "rls" in listed[0], "the one with the least error comes first"
    [best] = [id for id in store.done() if listed[0].startswith(id[:12])]
    model = olscale.load_model(f"{store.path}/{model_file(best)}")
    rows = np.random.default_rng(0).normal(size=(5, model.n_features_in_))
    before = model.predict(rows, encoded=True)
    assert np.isfinite(before).all()
    assert (
        model.partial_fit(rows, before + 1.0, encoded=True).predict(rows, encoded=True)
        > before
    ).all()


def test_the_dataset_of_a_run_is_found_in_the_data_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it is said where it was looked for: a store here has nothing beside it in the root folder."""
    generate("rotating-xor", tmp_path / "home" / "xor", seed=0)
    run(
        "evaluate",
        "--dataset",
        "home/xor",
        "--learner",
        "pa1",
        "--order",
        "time",
        "--store",
        "runs",
        cwd=tmp_path,
    )
    monkeypatch.setenv("OLSCALE_DATASETS", str(tmp_path / "elsewhere"))
    start = run("models", "list", "runs", cwd=tmp_path).stdout.split()[0]
    missed = run("models", "save", "runs", start, "a.olm", cwd=tmp_path)
    assert (
        f"is not at xor, data/xor, {tmp_path}/elsewhere/xor; name it by --dataset"
        in missed.stderr
    )
    monkeypatch.setenv("OLSCALE_DATASETS", str(tmp_path / "home"))
    assert run("models", "save", "runs", start, "a.olm", cwd=tmp_path).returncode == 0


def test_a_model_that_joblib_maps_goes_on_and_keeps_its_classes(tmp_path: Path) -> None:
    iris = ingest("sklearn:iris", tmp_path / "iris")
    store = evaluated(iris, tmp_path / "store", keep=True, transforms=AS_ROWS_COME)
    model = compute_model(store.get(min(store.done())), iris.path)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    X = np.eye(4)[:3]
    y = model.classes_
    for one in (mapped, model):
        one.partial_fit(X, y, classes=y, encoded=True)
    np.testing.assert_array_equal(
        mapped.decision_function(X, encoded=True),
        model.decision_function(X, encoded=True),
    )
    with pytest.raises(
        ParameterError, match=r"classes was \[0, 1\], expected those of the model"
    ):
        mapped.partial_fit(X, y, classes=[0, 1], encoded=True)
