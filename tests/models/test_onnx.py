"""Linear models as ONNX predict what they predict here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import fit_transforms
from olscale.errors import ModelError
from olscale.learners.registry import make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry, TransformsEntry
from olscale.models.final_model import FinalModel


def trained(
    name: str, classes: tuple[object, ...], transforms: tuple[str, ...], dropped: int | None = None
) -> FinalModel:
    rng = np.random.default_rng(1)
    X = rng.normal(3.0, 2.0, (200, 4))
    y = rng.integers(0, len(classes), 200)
    X[:, 0] += y
    rows = Chunk(X, y, 4)
    learner = make_learner(name, {})
    pipeline = fit_transforms(transforms, lambda: iter([rows]), 4, dropped=dropped)
    learner.begin(pipeline.width, len(classes))
    learner.learn(pipeline.apply(rows).X, rows.y)
    about = About(
        learner=LearnerEntry(name=name, version=learner.version, params=learner.resolved_params()),
        transforms=TransformsEntry(names=transforms, dropped=dropped),
        columns=ColumnsEntry(count=4, kind="dense"),
        classes=classes,
    )
    return FinalModel(about, learner, pipeline)


def test_what_is_not_linear_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx")
    from olscale.models.onnx import export_onnx

    with pytest.raises(ModelError, match=r"learner lol is not linear"):
        export_onnx(trained("lol", (0, 1), ("bias",)), tmp_path / "a.onnx")
    with pytest.raises(ModelError, match="transform unit-norm is not linear"):
        export_onnx(trained("pa1", (0, 1), ("unit-norm",)), tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


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
    code = (
        "import sys; sys.modules['onnx'] = None; from olscale.models.onnx import _Nodes; _Nodes()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install olscale[onnx]" in done.stderr.splitlines()[-1]
