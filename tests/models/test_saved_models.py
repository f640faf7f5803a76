"""A model that is saved and loaded predicts what the run predicted, bit for bit, and learns on as the run would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.compiled.csr import Rows
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Shuffle
from olscale.errors import ModelError
from olscale.evaluation.final_models import (
    compute_model,
    final_model,
    keep_probabilities,
)
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import RunGroup
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import learner_class, learner_names, make_learner
from olscale.models.final_model import FinalModel

PARAMS: dict[str, dict[str, Any]] = {"nogd": {"B": 20, "k": 5}, "fogd": {"D": 20}}
TRANSFORMS = {
    "none": (),
    "columns": ("missing-indicator@c", "standardize@a+b", "svd:components=2@b+c+d"),
    "standardize": ("standardize",),
    "minmax": ("minmax", "bias"),
    "unit-norm": ("unit-norm", "bias"),
    "project": ("project:features=5,kind=gaussian,seed=0", "standardize"),
    "rff": ("rff:features=8,gamma=median,seed=0",),
    "svd": ("standardize", "svd:components=3"),
    "nystroem": ("standardize", "nystroem:features=7,gamma=median,seed=0", "bias"),
}


@pytest.fixture(scope="module", params=["dense", "sparse"])
def dataset(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Dataset:
    """Three text classes, 300 rows to learn from and 100 to test on."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    lines = ["a,b,c,d,colour,kind"]
    for _ in range(400):
        x = rng.normal(size=4)
        colour = rng.choice(["red", "blue", "green"])
        kind = ["low", "mid", "top"][
            int(np.digitize(x[0] + x[1] * x[2] + (colour == "red"), [-0.5, 0.8]))
        ]
        cells = [
            *(f"{v:.4f}" for v in x),
            *([colour] if request.param == "sparse" else [f"{x.sum():.3f}"]),
            kind,
        ]
        lines.append(",".join(cells))
    file = folder / "rows.csv"
    file.write_text("\n".join(lines) + "\n")
    made = ingest(file, folder / request.param, train_rows=300, chunk_rows=64)
    assert made.kind == request.param
    return made


def run_through(
    dataset: Dataset, learner: str, transforms: tuple[str, ...]
) -> tuple[GroupPass, FinalModel]:
    made = make_learner(learner, PARAMS.get(learner, {}))
    projection = (
        1
        if any(text.startswith(("project", "rff", "nys")) for text in transforms)
        else None
    )
    key = StreamKey(
        dataset.name,
        dataset.fingerprint,
        transforms,
        Shuffle(0, 1),
        projection=projection,
    )
    run = Run(key, learner, made.version, made.resolved_params())
    going = GroupPass(RunGroup(dataset.path, 300, (run,), keeps_models=True))
    while not going.ended:
        going.advance()
    [record] = going.finish()
    assert record.outcome == "ok", record.reason
    [state] = going.states
    model = final_model(run, state.learner, dataset, going.pipeline(state))
    keep_probabilities(model, state.probabilities)
    return going, model


def raw_chunks(dataset: Dataset, split: str) -> list[tuple[Rows, Any]]:
    return [(chunk.X, chunk.y) for chunk in dataset.chunks(split)]


@pytest.mark.parametrize(
    ("learner", "transforms"),
    [
        *(
            (name, "standardize")
            for name in learner_names("classification")
            if learner_class(name).takes_negative
        ),
        *(("pa1", name) for name in TRANSFORMS),
    ],
)
def test_what_is_saved_predicts_and_learns_on_alike(
    dataset: Dataset, learner: str, transforms: str, tmp_path: Path
) -> None:
    going, model = run_through(dataset, learner, TRANSFORMS[transforms])
    model.save(tmp_path / "model.olm")
    loaded = olscale.load_model(tmp_path / "model.olm")
    own: Learner = going.states[0].learner
    assert going._test is not None
    tests = list(going._test.chunks())
    for (X, _), chunk in zip(raw_chunks(dataset, "test"), tests, strict=True):
        assert np.array_equal(loaded.scores(X), own.scores(chunk.X), equal_nan=True)
    (X, y), chunk = raw_chunks(dataset, "test")[0], tests[0]
    loaded.partial_fit(dense(X, dataset)[:10], loaded.classes_[y[:10]], encoded=True)
    own.learn(chunk[:10].X, chunk[:10].y)
    assert np.array_equal(loaded.scores(X), own.scores(chunk.X))
    ours = own.state()
    theirs = loaded.learner.state()
    assert ours.keys() == theirs.keys()
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)


def dense(X: Rows, dataset: Dataset) -> Any:
    """Return rows as people have them: an array, or a sparse matrix of SciPy's."""
    if isinstance(X, np.ndarray):
        return X
    from scipy.sparse import csr_matrix

    return csr_matrix(
        (X.data, X.indices, X.indptr), (len(X.indptr) - 1, dataset.columns)
    )


def test_a_model_is_computed_again_from_its_record(
    dataset: Dataset, tmp_path: Path
) -> None:
    experiment = olscale.Experiment(
        datasets=[{"path": dataset.path}],
        learners=[
            {"name": "pa1"},
            {"name": "fogd", "params": {"D": 20}},
            {"name": "lol"},
        ],
        transforms=["standardize", "project:4"],
        protocol={
            "order": "permuted",
            "permutations": 2,
            "window": 50,
            "split": "kfold",
            "folds": 2,
        },
    )
    done = olscale.evaluate(experiment, tmp_path / "store", in_process=True)
    for id in done.ids:
        record = done.store.get(id)
        model = compute_model(record, dataset.path)
        assert model.about.run == id
    wrong = dict(record.metrics) | {"mistakes": record.metrics["mistakes"] + 1}
    with pytest.raises(ModelError, match=r"recomputed run .* differs .*: mistakes is"):
        compute_model(
            type(record)(**{**as_fields(record), "metrics": wrong}), dataset.path
        )


def as_fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def test_the_test_error_is_that_of_the_run(dataset: Dataset, tmp_path: Path) -> None:
    going, model = run_through(dataset, "arow", TRANSFORMS["minmax"])
    [record] = going.finish()[:1]
    rows = [(X, y) for X, y in raw_chunks(open_dataset(dataset.path), "test")]
    wrong = sum(
        int((model.predict(dense(X, dataset), encoded=True) != model.classes_[y]).sum())
        for X, y in rows
    )
    model.save(tmp_path / "again.olm")
    assert olscale.load_model(tmp_path / "again.olm").about == model.about
    fresh, _ = run_through(dataset, "arow", TRANSFORMS["minmax"])
    assert (
        wrong / dataset.rows("test")
        == fresh.finish()[0].metrics["test_error"]
        == record.metrics["test_error"]
    )
