"""Models of scikit-learn and River: in the format of skops where it fits, else pickles by permission."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Perceptron

import olscale
from olscale.data.ingest.ingest import ingest
from olscale.errors import ModelError, ParameterError
from olscale.evaluation.experiment import Experiment
from olscale.learners.registry import make_learner
from olscale.models.file import load_model, read_about
from olscale.models.final_model import FinalModel
from olscale.models.skops_format import SKOPS, to_skops
from olscale.storage.checked_arrays import read_arrays, write_arrays
from tests.cli.command import run

ROWS = 300
OF_SCIKIT_LEARN = (
    ("sklearn.linear_model:SGDClassifier", {"random_state": 0}),
    ("sklearn.naive_bayes:GaussianNB", {}),
    ("sklearn.neural_network:MLPClassifier", {"random_state": 0}),
)
OF_RIVER = "river.linear_model:LogisticRegression"


def _table(path: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    lines = ["size,weight,height,label"]
    for size, weight, height in rng.normal(size=(ROWS, 3)):
        label = "spam" if size + 0.3 * weight > 0 else "ham"
        lines.append(f"{size:.4f},{weight:.4f},{height:.4f},{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes, rows to learn from and rows to test on."""
    folder = tmp_path_factory.mktemp("mails")
    _table(folder / "next.csv", 1)
    ingest(
        _table(folder / "mails.csv", 0), folder / "mails", train_rows=200, chunk_rows=64
    )
    return folder / "mails"


def _experiment(
    mails: Path, learner: str, params: dict[str, Any], **protocol: Any
) -> Experiment:
    return olscale.Experiment(
        datasets=[{"path": str(mails)}],
        learners=[{"name": learner, "params": params}],
        protocol={"order": "time", "keep_model": True} | protocol,
    )


def _kept(store: Path) -> Path:
    [model] = store.glob("models/*")
    return model


@pytest.mark.parametrize(("learner", "params"), OF_SCIKIT_LEARN)
def test_estimators_of_scikit_learn_are_kept_unasked(
    mails: Path, tmp_path: Path, learner: str, params: dict[str, Any]
) -> None:
    experiment = _experiment(mails, learner, params, measures=["auc", "log_loss"])
    for name in ("one", "two"):
        olscale.evaluate(experiment, tmp_path / name, in_process=True)
    one = _kept(tmp_path / "one")
    assert one.read_bytes() == _kept(tmp_path / "two").read_bytes()
    about = read_about(one)
    assert (about.skops, about.pickled, about.format) == (True, False, 3)
    model = load_model(one)
    own = make_learner(learner, params)
    own.begin(3, 2)
    dataset = olscale.open_dataset(mails)
    for chunk in dataset.chunks("train"):
        own.learn(chunk.X, chunk.y)
    for chunk in dataset.chunks("test"):
        expected = own.scores(chunk.X)
        np.testing.assert_array_equal(model.scores(chunk.X)[:, :1], expected)
        np.testing.assert_array_equal(
            model.decision_function(chunk.X, encoded=True), expected[:, 0]
        )
        own.learn(chunk.X, chunk.y)
        model.partial_fit(chunk.X, model.classes_[chunk.y], encoded=True)
    for chunk in dataset.chunks("test"):
        np.testing.assert_array_equal(model.scores(chunk.X)[:, :1], own.scores(chunk.X))


@pytest.mark.parametrize("learner", [OF_SCIKIT_LEARN[0], (OF_RIVER, {})])
def test_models_have_the_probabilities_and_decisions_of_their_run(
    mails: Path, tmp_path: Path, learner: tuple[str, dict[str, Any]]
) -> None:
    options: dict[str, Any] = {"measures": ["auc", "log_loss"], "allow_pickle": True}
    olscale.evaluate(
        _experiment(mails, *learner, **options), tmp_path / "s", in_process=True
    )
    model = load_model(_kept(tmp_path / "s"), allow_pickle=True)
    rows = np.random.default_rng(2).normal(size=(50, 3))
    assert model.decision_function(rows, encoded=True).shape == (50,)
    probabilities = model.predict_proba(rows, encoded=True)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert len(np.unique(probabilities[:, 1])) == 50, (
        "a value for each row, not for each class"
    )
    agreement = (probabilities[:, 1] > 0.5) == (
        model.predict(rows, encoded=True) == "spam"
    )
    assert agreement.mean() > 0.9


def test_a_threshold_goes_with_the_model(mails: Path, tmp_path: Path) -> None:
    costs = [[0.0, 1.0], [50.0, 0.0]]  # to miss "spam" costs 50 times a false alarm
    for name, threshold in (("plain", None), ("costs", costs)):
        experiment = _experiment(
            mails, *OF_SCIKIT_LEARN[0], measures=["log_loss"], threshold=threshold
        )
        olscale.evaluate(experiment, tmp_path / name, in_process=True)
    rows = np.random.default_rng(2).normal(size=(200, 3))
    spam = {
        name: np.count_nonzero(
            load_model(_kept(tmp_path / name)).predict(rows, encoded=True) == "spam"
        )
        for name in ("plain", "costs")
    }
    assert spam["costs"] > spam["plain"]


def test_on_the_command_line(mails: Path, tmp_path: Path) -> None:
    evaluate = (
        "evaluate",
        "--dataset",
        mails,
        "--learner",
        "sklearn.naive_bayes:GaussianNB",
    )
    options = ("--order", "time", "--in-process", "--store")
    assert run(*evaluate, *options, tmp_path / "s", "--keep-model").returncode == 0
    kept = _kept(tmp_path / "s")
    model = tmp_path / "m.olm"
    saved = run("models", "save", tmp_path / "s", kept.name[:10], model)
    assert "copied from the store" in saved.stdout, saved.stderr
    assert model.read_bytes() == kept.read_bytes()
    kept.unlink()
    save = ("models", "save", tmp_path / "s", kept.name[:10], model)
    again = run(*save, "--dataset", mails)
    assert "trained again" in again.stdout, again.stderr
    assert "in the format of skops" in run("models", "show", model).stdout
    source = mails.parent / "next.csv"
    predicted = run("predict", model, source)
    assert len(predicted.stdout.split()) == ROWS + 1, predicted.stderr
    learned = run("models", "learn", model, source, "--out", model)
    assert learned.returncode == 0, learned.stderr
    about = read_about(model)
    assert about.skops
    assert [entry.rows for entry in about.history] == [ROWS]


def test_pickles_are_kept_saved_read_and_learned_where_allowed(
    mails: Path, tmp_path: Path
) -> None:
    evaluate = ("evaluate", "--dataset", mails, "--learner", OF_RIVER)
    options = ("--order", "time", "--in-process", "--store")
    plain = run(*evaluate, *options, tmp_path / "plain", "--keep-model")
    assert "saves it as a pickle, which runs code" in plain.stderr
    assert not list((tmp_path / "plain").glob("models/*"))
    store = tmp_path / "s"
    done = run(*evaluate, *options, store, "--keep-model", "--allow-pickle")
    assert done.returncode == 0, done.stderr
    model = tmp_path / "m.olm"
    save = ("models", "save", store, _kept(store).name[:10], model)
    assert "is a pickle" in run(*save).stderr
    assert run(*save, "--allow-pickle").returncode == 0
    assert "needs --allow-pickle" in run("models", "show", model).stdout
    source = mails.parent / "next.csv"
    refused = run("predict", model, source)
    assert refused.returncode == 1
    assert "is a pickle, which runs code" in refused.stderr
    predicted = run("predict", model, source, "--allow-pickle")
    assert predicted.returncode == 0, predicted.stderr
    with pytest.raises(ModelError, match="is a pickle"):
        load_model(str(model))
    loaded = load_model(str(model), allow_pickle=True)
    lines = source.read_text().splitlines()[1:]
    records = [
        dict(
            zip(
                ("size", "weight", "height"),
                map(float, line.split(",")[:3]),
                strict=True,
            )
        )
        for line in lines
    ]
    assert ["prediction", *loaded.predict(records)] == predicted.stdout.split()
    with pytest.raises(ModelError, match="no plain arrays"):
        loaded.save(str(tmp_path / "x.olm"))
    learned = run("models", "learn", model, source, "--out", model, "--allow-pickle")
    assert learned.returncode == 0, learned.stderr


def _saved(mails: Path, tmp_path: Path) -> dict[str, np.ndarray]:
    experiment = _experiment(mails, *OF_SCIKIT_LEARN[1])
    olscale.evaluate(experiment, tmp_path / "s", in_process=True)
    return dict(read_arrays(io.BytesIO(_kept(tmp_path / "s").read_bytes())))


def _refusal(arrays: dict[str, np.ndarray], file: Path) -> str:
    with file.open("wb") as out:
        write_arrays(out, arrays.items())
    with pytest.raises(ModelError) as refused:
        load_model(file)
    return str(refused.value)


def test_files_that_mislead_are_refused(mails: Path, tmp_path: Path) -> None:
    arrays = _saved(mails, tmp_path)
    file = tmp_path / "m.olm"
    about = arrays["model.json"].tobytes()

    def named(name: bytes) -> np.ndarray:
        return np.frombuffer(
            about.replace(b"sklearn.naive_bayes:GaussianNB", name), dtype=np.uint8
        )

    of_others = named(b"subprocess:Popen")
    assert "is none of olscale's" in _refusal(arrays | {"model.json": of_others}, file)
    # A class that a module of scikit-learn merely imports.
    imported = named(b"sklearn.utils.fixes:platform.processor")
    assert "none of olscale's" in _refusal(arrays | {"model.json": imported}, file)
    other = make_learner("sklearn.linear_model:Perceptron")
    assert "of class Perceptron, expected GaussianNB" in _refusal(
        arrays | to_skops(other), file
    )
    without = {name: array for name, array in arrays.items() if name != SKOPS}
    assert "it has none" in _refusal(without, file)
    compressed = io.BytesIO()
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", " " * 10_000_000)
    large = np.frombuffer(compressed.getvalue(), dtype=np.uint8)
    assert "is compressed" in _refusal(arrays | {SKOPS: large}, file)


def test_types_that_skops_does_not_know_are_never_made(
    mails: Path, tmp_path: Path
) -> None:
    import skops.io

    arrays = _saved(mails, tmp_path)
    estimator = Perceptron()
    estimator.alpha = zipfile.ZipFile  # a type, as code of someone else's would be
    content = np.frombuffer(skops.io.dumps(estimator), dtype=np.uint8)
    assert "zipfile.ZipFile" in _refusal(arrays | {SKOPS: content}, tmp_path / "m.olm")


def test_what_an_estimator_raises_is_one_line(mails: Path, tmp_path: Path) -> None:
    _saved(mails, tmp_path)
    model = load_model(_kept(tmp_path / "s"))
    model.learner.estimator.classes_ = np.array([0, 7])
    rows = np.random.default_rng(2).normal(size=(50, 3))
    with pytest.raises(
        ParameterError, match="GaussianNB: predicting raised ValueError"
    ):
        model.predict(rows, encoded=True)


def test_without_skops_a_line_says_what_to_install(
    mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = _saved(mails, tmp_path)
    learner = make_learner("sklearn.naive_bayes:GaussianNB")
    learner.begin(3, 2)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert "pip install skops" in _refusal(arrays, tmp_path / "m.olm")
    model = FinalModel.__new__(FinalModel)
    model.learner = learner
    with pytest.raises(
        ModelError, match=r"skops, which .* is not installed.*; --allow-pickle"
    ):
        model.arrays()
