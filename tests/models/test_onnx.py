"""Models as ONNX predict what they predict here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only, read_only_rows
from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import (
    TRANSFORMS,
    fit_transforms,
    split_transforms,
)
from olscale.data.transforms.streaming import StreamLabels
from olscale.errors import ModelError
from olscale.learners.calibrator import Calibrator
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.decision import CostMatrix, Decision, F1Threshold
from olscale.learners.registry import learner_class, learner_names, make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry, TransformsEntry
from olscale.models.final_model import FinalModel

ROWS = 200
COLUMNS: Any = SimpleNamespace(
    feature_names=("a", "b", "c=x", "c=y"),
    columns=4,
    table=SimpleNamespace(numeric=2, categorical=("c",), coded={}),
    splits={},
    classes=("a", "b"),
    targets=None,
    task="classification",
)
"""What a manifest says of two columns of numbers and one of text."""


def trained(
    name: str,
    classes: tuple[object, ...] | None,
    transforms: tuple[str, ...],
    dropped: int | None = None,
    params: dict[str, Any] | None = None,
    gaps: np.ndarray | None = None,
    decision: Decision | None = None,
    rounded: bool = False,
    row_count: int = ROWS,
) -> FinalModel:
    rng = np.random.default_rng(1)
    learner = make_learner(name, params or {})
    X = rng.normal(3.0, 2.0, (row_count, 4))
    y = rng.integers(0, len(classes or "a"), row_count)
    X[:, 0] += y
    if rounded:
        X = np.round(X / 3.0)
    if not learner.takes_negative:
        X = np.abs(X)
    if learner.task == "regression":
        y = X[:, 0] - 0.5 * X[:, 1]
    if gaps is not None:
        X[(rng.random(X.shape) < 0.2) & gaps] = np.nan
    rows = Chunk(read_only(X), read_only(y), 4)
    pipeline = fit_transforms(
        transforms, lambda: iter([rows]), 4, dropped=dropped, manifest=COLUMNS
    )
    streaming = pipeline.begin()
    labels = StreamLabels(rows.y, np.zeros(len(rows), dtype=np.int64))
    learned = streaming.learn(
        pipeline.apply(rows), np.ones(len(rows), dtype=bool), labels
    )
    learner.begin(
        pipeline.width, 2 if learner.task == "novelty" else len(classes or ())
    )
    # Rows of a run are read-only, too: for others all loops would be compiled once more.
    learned_rows = read_only_rows(learned.X)
    if looks_ahead(learner):
        learner.prepare(learned_rows)
    scores = learner.learn(learned_rows, rows.y)
    pipeline = pipeline.after(streaming)
    about = About(
        learner=LearnerEntry(
            name=name, version=learner.version, params=learner.resolved_params()
        ),
        transforms=TransformsEntry(names=transforms, dropped=dropped),
        columns=ColumnsEntry(count=4, kind="dense"),
        classes=classes,
    )
    model = FinalModel(about, learner, pipeline)
    if learner.task == "classification":
        model.probabilities = ClassProbabilities(
            Calibrator(len(classes or ())), decision
        )
        model.probabilities.follow(scores, y)
    return model


WITHOUT_FORM = {
    *("svm", "svr", "one-class-svm", "ls-svm"),
    *("batch-svm", "batch-boosting", "batch-logistic"),
}
"""Learners that are refused; all others of the registry are exported."""


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_predicts_alike_or_says_that_it_has_no_form(
    name: str, tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    task = learner_class(name).task
    classes = ("a", "b", "c") if task == "classification" else None
    scaling = "standardize" if learner_class(name).takes_negative else "unit-norm"
    model = trained(name, classes, (scaling, "bias"))
    if name in WITHOUT_FORM:
        with pytest.raises(
            ModelError, match=f"learner {re.escape(name)} keeps all rows"
        ):
            export_onnx(model, tmp_path / "model.onnx")
        assert not list(tmp_path.iterdir())
        return
    export_onnx(model, tmp_path / "model.onnx")
    _check_equal(runtime, model, tmp_path / "model.onnx", np.zeros(4, dtype=bool))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lol", {}),
        ("amm", {}),
        ("pamo1", {}),
        ("soft-lol", {"averaging": "adaptive"}),
        ("ollc", {}),
        ("knn-window", {"k": 4, "window": 50}),
        ("knn-window", {"weights": "distance", "scaling": "range"}),
        ("knn-window", {"adwin": 0.5, "scaling": "range"}),
        ("naive-bayes", {}),
        ("hoeffding-tree", {"grace": 5, "confidence": 0.5, "tie": 0.5}),
        ("hoeffding-tree", {"grace": 5, "confidence": 0.5, "tie": 0.5, "leaf": "mc"}),
        ("hoeffding-tree", {"grace": 5, "tie": 9.0, "splits": "histogram"}),
        ("arf", {"trees": 7}),
        ("hoeffding-adaptive-tree", {"grace": 5, "confidence": 0.5, "tie": 0.5}),
        ("oselm", {"activation": "rbf"}),
        ("oselm", {"start": "boost", "nodes": 150}),
        ("rff-rls", {"features": 10, "linear": True}),
        ("ipca-lda", {}),
        ("nogd", {"B": 10, "k": 4}),
        ("bpas", {"kernel": "polynomial"}),
        ("bpas", {"kernel": "linear"}),
        ("bpas", {"kernel": "laplacian"}),
    ],
)
def test_two_classes_and_other_settings(
    name: str, params: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    model = trained(name, ("a", "b"), ("standardize",), params=params)
    export_onnx(model, tmp_path / "model.onnx")
    is_constant = params.get("start") == "boost"
    _check_equal(
        runtime, model, tmp_path / "model.onnx", np.zeros(4, dtype=bool), is_constant
    )


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")], ids=len)
@pytest.mark.parametrize("known", [0, 1, 2])
def test_counts_of_classes_some_of_which_have_no_rows(
    classes: tuple[str, ...], known: int, tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    name = "multinomial-naive-bayes"
    model = trained(name, classes, (), row_count=2)
    chunk = read_only(np.abs(np.random.default_rng(3).normal(size=(60, 4))))
    model.learner.begin(4, len(classes))
    if known:
        model.learner.learn(chunk, read_only(np.arange(60) % known))
    export_onnx(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    scores = session.run(["scores"], {"X": chunk})[0]
    ours = model.decision_function(chunk, encoded=True)
    np.testing.assert_allclose(scores.reshape(ours.shape), ours, rtol=1e-9)


@pytest.mark.parametrize("leaf", ["model", "mean"])
def test_regression_trees_of_several_leaves(leaf: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    params = {"grace": 20, "confidence": 0.5, "tie": 0.5, "leaf": leaf}
    model = trained("fimt-dd", None, ("standardize",), params=params)
    assert model.learner.measures()["leaves"] > 4
    export_onnx(model, tmp_path / "model.onnx")
    _check_equal(runtime, model, tmp_path / "model.onnx", np.zeros(4, dtype=bool))


@pytest.mark.parametrize("name", ["replay-svm", "drift-ensemble"])
@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")], ids=len)
def test_machines_that_have_opened(
    name: str, classes: tuple[str, ...], tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    model = trained(name, classes, ("standardize",), params={"B": 100}, row_count=800)
    export_onnx(model, tmp_path / "model.onnx")
    _check_equal(runtime, model, tmp_path / "model.onnx", np.zeros(4, dtype=bool))


def test_sums_in_single_precision_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx")
    from olscale.models.onnx import export_onnx

    with pytest.raises(ModelError, match="dtype=float32"):
        export_onnx(
            trained("lol", ("a", "b"), (), params={"dtype": "float32"}), tmp_path / "x"
        )


@pytest.mark.parametrize(
    "decision",
    [F1Threshold(1), CostMatrix(np.array([[0.0, 1.0], [3.0, 0.0]]))],
    ids=type,
)
def test_decisions_by_probabilities(decision: Decision, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    model = trained("pa1", ("a", "b"), ("standardize",), decision=decision)
    export_onnx(model, tmp_path / "model.onnx")
    X = np.random.default_rng(2).normal(3.0, 2.0, (1000, 4))
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    labels, scores, _ = session.run(None, {"X": X})
    assert labels.tolist() == model.predict(X, encoded=True).tolist()
    no_row = session.run(None, {"X": np.full((1, 4), np.nan)})
    assert no_row[2].tolist() == [[0.5, 0.5]]
    by_scores = np.where(scores[:, 0] >= 0.0, "b", "a")
    assert (labels != by_scores).any()


FORMS = {
    "standardize": "standardize",
    "minmax": "minmax",
    "unit-norm": "unit-norm",
    "bias": "bias",
    "impute": "impute:mean",
    "missing-indicator": "missing-indicator,impute:median",
    "running-standardize": "impute:zero,running-standardize",
    "project": "project:features=3",
    "rff": "rff:features=10,gamma=median",
    "nystroem": "nystroem:features=12,gamma=0.1",
    "svd": "svd:components=2",
    "ipca": "ipca:components=2",
    "frequency-encode": "frequency-encode@a+c",
    "ordinal-encode": "ordinal-encode@a+c",
    "target-encode": "target-encode@a+c",
    "chosen columns": "running-standardize@a+c,missing-indicator@b,impute:mean@b+c,"
    "project:features=2@c",
}
"""A pipeline with each transform of the registry."""


@pytest.mark.parametrize("name", [*TRANSFORMS, "chosen columns"])
def test_every_transform_is_as_at_the_end_of_the_stream(
    name: str, tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    steps = tuple(split_transforms(FORMS[name]))
    gaps = (
        np.array([0, 1, 0, 1]) > 0
        if "impute" in FORMS[name]
        else np.zeros(4, dtype=bool)
    )
    rounded = "encode" in name
    model = trained("pa1", ("a", "b"), steps, gaps=gaps, rounded=rounded)
    export_onnx(model, tmp_path / "model.onnx")
    _check_equal(runtime, model, tmp_path / "model.onnx", gaps, rounded=rounded)


def _check_equal(
    runtime: Any,
    model: FinalModel,
    file: Path,
    gaps: np.ndarray,
    is_constant: bool = False,
    rounded: bool = False,
) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(3.0, 2.0, (1000, 4))
    if rounded:
        X = np.round(X / 2.5)
    if not model.learner.takes_negative:
        X = np.abs(X)
    X[(rng.random(X.shape) < 0.2) & gaps] = np.nan
    session = runtime.InferenceSession(str(file))
    names = [output.name for output in session.get_outputs()]
    answers = dict(zip(names, session.run(None, {"X": X}), strict=True))
    close = {"rtol": 1e-6, "atol": 1e-6}
    if model.about.classes is None:
        assert names == ["scores"]
        ours = model.scores(X)
        np.testing.assert_allclose(answers["scores"].reshape(ours.shape), ours, **close)
        return
    ours = model.decision_function(X, encoded=True)
    np.testing.assert_allclose(answers["scores"].reshape(ours.shape), ours, **close)
    is_constant |= model.learner.baseline
    # Votes of few neighbours have few values.
    assert (len(np.unique(answers["scores"])) > 4) != is_constant
    ranked = np.sort(ours.reshape(len(X), -1), axis=1)
    apart = (
        np.abs(ours) > 1e-6 if ours.ndim == 1 else ranked[:, -1] - ranked[:, -2] > 1e-6
    )
    assert (answers["label"] == model.predict(X, encoded=True))[apart].all()
    if "probabilities" in answers:
        of_classes = model.predict_proba(X, encoded=True)
        np.testing.assert_allclose(
            answers["probabilities"][apart], of_classes[apart], **close
        )
    else:
        assert is_constant


@pytest.mark.parametrize(
    "name",
    [
        *("perceptron", "pa1", "ogd", "pegasos", "cw", "scw1", "arow"),
        *("logistic", "adagrad", "ftrl"),
    ],
)
@pytest.mark.parametrize("classes", [("no", "yes"), (1, 2, 5), (0.5, 1.5)], ids=str)
def test_onnx_predicts_alike(
    name: str, classes: tuple[object, ...], tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    for transforms, dropped in (
        ((), None),
        (("standardize", "bias"), None),
        (("minmax",), 1),
    ):
        model = trained(name, classes, transforms, dropped)
        export_onnx(model, tmp_path / "model.onnx")
        X = np.random.default_rng(2).normal(3.0, 2.0, (50, 4))
        session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
        label, scores, _ = session.run(None, {"X": X})
        ours = model.decision_function(X, encoded=True)
        assert np.allclose(scores.reshape(ours.shape), ours, rtol=1e-12, atol=1e-12)
        assert label.tolist() == model.predict(X, encoded=True).tolist()


def test_without_the_package_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['onnx'] = None; from olscale.models.onnx_graph import Graph; Graph()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "pip install onnx" in done.stderr.splitlines()[-1]
