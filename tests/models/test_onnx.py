"""Models as ONNX predict what they predict here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import TRANSFORMS, fit_transforms
from olscale.errors import ModelError
from olscale.learners.registry import learner_names, make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry, TransformsEntry
from olscale.models.final_model import FinalModel


def trained(
    name: str,
    classes: tuple[object, ...],
    transforms: tuple[str, ...],
    dropped: int | None = None,
    params: dict[str, Any] | None = None,
    gaps: np.ndarray | None = None,
) -> FinalModel:
    rng = np.random.default_rng(1)
    X = rng.normal(3.0, 2.0, (200, 4))
    y = rng.integers(0, len(classes), 200)
    X[:, 0] += y
    if gaps is not None:
        X[(rng.random(X.shape) < 0.2) & gaps] = np.nan
    rows = Chunk(X, y, 4)
    learner = make_learner(name, params or {})
    pipeline = fit_transforms(transforms, lambda: iter([rows]), 4, dropped=dropped)
    streaming = pipeline.begin()
    learned = streaming.learn(pipeline.apply(rows), np.ones(len(rows), dtype=bool))
    learner.begin(pipeline.width, len(classes))
    if name in ("svd-oselm", "rff-rls"):
        learner.prepare(learned.X)
    learner.learn(learned.X, rows.y)
    pipeline = pipeline.after(streaming)
    about = About(
        learner=LearnerEntry(name=name, version=learner.version, params=learner.resolved_params()),
        transforms=TransformsEntry(names=transforms, dropped=dropped),
        columns=ColumnsEntry(count=4, kind="dense"),
        classes=classes,
    )
    return FinalModel(about, learner, pipeline)


WITHOUT_FORM = {
    *("soft-lol", "ollc", "pamo1", "pamo2", "nogd", "oselm", "svd-oselm", "rff-rls", "ipca-lda"),
    *("amm", "ospvm", "pvm", "svm", "majority", "no-change"),
}
"""Learners that are refused; all others of the registry are exported."""


@pytest.mark.parametrize("name", learner_names("classification"))
def test_every_learner_predicts_alike_or_says_that_it_has_no_form(
    name: str, tmp_path: Path
) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    model = trained(name, ("a", "b", "c"), ("standardize", "bias"))
    if name in WITHOUT_FORM:
        with pytest.raises(ModelError, match=f"learner {re.escape(name)} "):
            export_onnx(model, tmp_path / "model.onnx")
        assert not list(tmp_path.iterdir())
        return
    export_onnx(model, tmp_path / "model.onnx")
    _check_equal(runtime, model, tmp_path / "model.onnx", np.zeros(4, dtype=bool))


@pytest.mark.parametrize("params", [{"kernel": "polynomial"}, {"kernel": "linear"}])
def test_other_kernels(params: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    model = trained("bpas", ("a", "b"), ("standardize",), params=params)
    export_onnx(model, tmp_path / "model.onnx")
    _check_equal(runtime, model, tmp_path / "model.onnx", np.zeros(4, dtype=bool))
    with pytest.raises(ModelError, match="a Laplacian kernel"):
        export_onnx(
            trained("bpas", ("a", "b"), (), params={"kernel": "laplacian"}), tmp_path / "x.onnx"
        )


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
}
"""A pipeline with each transform of the registry that is not for chosen columns alone."""


def test_forms_are_of_all_transforms_but_those_of_chosen_columns() -> None:
    assert FORMS.keys() == {
        name for name in TRANSFORMS if not TRANSFORMS.load(name).takes_categories
    }


@pytest.mark.parametrize("name", list(FORMS))
def test_every_transform_is_as_at_the_end_of_the_stream(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    steps = (
        tuple(FORMS[name].split(","))
        if name in ("missing-indicator", "running-standardize")
        else (FORMS[name],)
    )
    gaps = np.array([0, 1, 0, 1]) > 0 if "impute" in FORMS[name] else np.zeros(4, dtype=bool)
    model = trained("pa1", ("a", "b"), steps, gaps=gaps)
    export_onnx(model, tmp_path / "model.onnx")
    _check_equal(runtime, model, tmp_path / "model.onnx", gaps)


def _check_equal(runtime: Any, model: FinalModel, file: Path, gaps: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(3.0, 2.0, (1000, 4))
    X[(rng.random(X.shape) < 0.2) & gaps] = np.nan
    label, scores = runtime.InferenceSession(str(file)).run(None, {"X": X})
    ours = model.decision_function(X, encoded=True)
    np.testing.assert_allclose(scores.reshape(ours.shape), ours, rtol=1e-6, atol=1e-6)
    assert len(np.unique(scores)) > 10
    ranked = np.sort(ours.reshape(len(X), -1), axis=1)
    apart = np.abs(ours) > 1e-6 if ours.ndim == 1 else ranked[:, -1] - ranked[:, -2] > 1e-6
    assert (label == model.predict(X, encoded=True))[apart].all()


@pytest.mark.parametrize("name", ["perceptron", "pa1", "ogd", "pegasos", "cw", "scw1", "arow"])
@pytest.mark.parametrize("classes", [("no", "yes"), (1, 2, 5), (0.5, 1.5)], ids=str)
def test_onnx_predicts_alike(name: str, classes: tuple[object, ...], tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime")
    from olscale.models.onnx import export_onnx

    for transforms, dropped in (((), None), (("standardize", "bias"), None), (("minmax",), 1)):
        model = trained(name, classes, transforms, dropped)
        export_onnx(model, tmp_path / "model.onnx")
        X = np.random.default_rng(2).normal(3.0, 2.0, (50, 4))
        label, scores = runtime.InferenceSession(str(tmp_path / "model.onnx")).run(None, {"X": X})
        ours = model.decision_function(X, encoded=True)
        assert np.allclose(scores.reshape(ours.shape), ours, rtol=1e-12, atol=1e-12)
        assert label.tolist() == model.predict(X, encoded=True).tolist()


def test_without_the_package_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['onnx'] = None; from olscale.models.onnx_graph import Graph; Graph()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install olscale[onnx]" in done.stderr.splitlines()[-1]
