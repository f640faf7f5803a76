"""A model learned from rows with weights: files to predict may have the column or not, and it can learn on with weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.errors import ParameterError
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.final_models import compute_model
from olscale.execution.evaluate import evaluate
from olscale.learners.registry import make_learner
from olscale.models.file import load_model
from tests.cli.command import run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
W = RNG.exponential(size=200)
Y = (X[:, 0] + 0.3 * RNG.normal(size=200) > 0).astype(int)


def _saved(folder: Path, header: str, params: dict[str, object] | None = None) -> Path:
    """Return the file of a model that has learned with weights, of a table with or without names."""
    rows = [
        f"{a!r},{w!r},{b!r},{y}"
        for (a, b), w, y in zip(X.tolist(), W.tolist(), Y.tolist(), strict=True)
    ]
    (folder / "t.csv").write_text("\n".join([header, *rows] if header else rows) + "\n")
    weights = "w" if header else "1"
    made = ingest(
        folder / "t.csv",
        folder / "d",
        weights=weights,
        header=bool(header),
        label=None if header else 3,
    )
    content = {
        "datasets": [{"path": str(folder / "d")}],
        "learners": [{"name": "pa1", "params": params or {}}],
        "protocol": {"order": "time", "weights": made.weights},
    }
    done = evaluate(parse_experiment(content), folder / "store", in_process=True)
    [run_id] = done.ids
    compute_model(done.store.get(run_id), str(folder / "d")).save(folder / "m.olm")
    return folder / "m.olm"


@pytest.mark.parametrize("header", ["a,w,b,y", ""])
def test_the_column_of_weights_may_be_there_or_not(tmp_path: Path, header: str) -> None:
    model = _saved(tmp_path, header)
    with_weights = [header] * bool(header) + ["2,0,0.5,1", "-2,7,0.5,1"]
    without = ["a,b,y"] * bool(header) + ["2,0.5,1", "-2,0.5,1"]
    answers = set()
    for lines in (with_weights, without):
        (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
        form = () if header else ("--label", "-1", "--no-header")
        done = run("predict", model, tmp_path / "new.csv", "--labels", *form)
        assert done.returncode == 0, done.stderr
        assert "error 50.00 %" in done.stderr
        answers.add(done.stdout)
    assert len(answers) == 1


def test_the_column_of_weights_can_be_kept(tmp_path: Path) -> None:
    model = _saved(tmp_path, "a,w,b,y")
    (tmp_path / "new.csv").write_text("a,w,b\n2,0.5,0\n-2,?,0\n")
    assert (
        run("predict", model, tmp_path / "new.csv", "--keep", "w").stdout
        == "w,prediction\n0.5,1\n,0\n"
    )


def test_a_model_learns_on_with_weights(tmp_path: Path) -> None:
    model = load_model(
        _saved(tmp_path, "a,w,b,y", {"class_weight": {"1": 3.0, "0": 0.5}})
    )
    learner = make_learner("pa1", {"class_weight": {"1": 3.0, "0": 0.5}})
    learner.begin(2, 2)
    [chunk] = open_dataset(tmp_path / "d").chunks()
    learner.learn(chunk.X, chunk.y, chunk.weights)
    model.partial_fit(X[:50], Y[:50], sample_weight=W[:50], encoded=True)
    learner.learn(chunk.X[:50], chunk.y[:50], chunk.weights[:50])
    np.testing.assert_array_equal(
        model.decision_function(X, encoded=True), learner.scores(X)[:, 0]
    )
    with pytest.raises(ValueError, match="sample_weight of row 0 was -1"):
        model.partial_fit(X[:1], Y[:1], sample_weight=[-1.0], encoded=True)


def test_refused_weights_leave_the_model_as_it_was(tmp_path: Path) -> None:
    _saved(tmp_path, "a,w,b,y")
    content = {
        "datasets": [{"path": str(tmp_path / "d")}],
        "learners": [{"name": "pa"}, {"name": "pa1"}],
        "transforms": ["running-standardize"],
        "protocol": {"order": "time"},
    }
    done = evaluate(parse_experiment(content), tmp_path / "more", in_process=True)
    for run_id in done.ids:
        model = compute_model(done.store.get(run_id), str(tmp_path / "d"))
        before = model.decision_function(X, encoded=True)
        with pytest.raises(ValueError, match="sample_weight of row 0 was -1"):
            model.partial_fit(
                X[:50] + 9.0, Y[:50], sample_weight=-np.ones(50), encoded=True
            )
        np.testing.assert_array_equal(model.decision_function(X, encoded=True), before)
        if not model.learner.takes_weights:
            with pytest.raises(ParameterError, match="pa takes no weights of rows"):
                model.partial_fit(
                    X[:50] + 9.0, Y[:50], sample_weight=np.ones(50), encoded=True
                )
            np.testing.assert_array_equal(
                model.decision_function(X, encoded=True), before
            )
