"""Runs on several targets: measures as scikit-learn's, the same bits however they go, and models that predict them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import (
    mean_absolute_error,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
)

import olscale
from olscale.cli import olscale as command
from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import ExperimentError, ParameterError
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.metrics import Residuals, StreamShape
from olscale.evaluation.metrics.each_target import make_metric
from olscale.evaluation.plan import make_plan
from olscale.evaluation.resolve import resolve
from olscale.evaluation.run_group import RunGroup
from olscale.models.about import About, ColumnsEntry, LearnerEntry
from olscale.models.file import load_model
from olscale.models.final_model import FinalModel

TRAIN = 150
TEST = 50
RNG = np.random.default_rng(0)
X = RNG.normal(size=(TRAIN + TEST, 3))
Y = X @ RNG.normal(size=(3, 2)) + [0.5, 3.0] + 0.2 * RNG.normal(size=(TRAIN + TEST, 2))
MEASURES = ["mae", "rmse", "r2", "medae"]
OF = (mean_absolute_error, root_mean_squared_error, r2_score, median_absolute_error)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("targets")
    lines = [
        "a,f,b,g,h",
        *(
            ",".join(map(repr, [y[0], x[0], y[1], x[1], x[2]]))
            for x, y in zip(X.tolist(), Y.tolist(), strict=True)
        ),
    ]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    ingest(
        folder / "t.csv",
        folder / "d",
        label="a,b",
        target="real",
        train_rows=TRAIN,
        chunk_rows=40,
    )
    return folder


def _group(
    shelf: Path, learner: str, params: dict[str, Any] | None = None, **protocol: Any
) -> RunGroup:
    content = {
        "name": "targets",
        "datasets": [{"path": str(shelf / "d")}],
        "learners": [{"name": learner, "params": params or {}}],
        "protocol": {"order": "time", "measures": MEASURES, **protocol},
    }
    plan = make_plan(Experiment.model_validate(content))
    return RunGroup(str(shelf / "d"), 0, plan.runs, chunk_rows=40)


def _finished(going: GroupPass) -> Any:
    while not going.ended:
        going.advance()
    [record] = going.finish()
    assert record.outcome == "ok", record.reason
    return record


def test_measures_are_scikit_learns_of_each_target_and_their_uniform_average(
    shelf: Path,
) -> None:
    record = _finished(
        GroupPass(_group(shelf, "rls", {"lam": 0.1}, window=30, holdout_every=50))
    )
    model = olscale.learners.RLS(lam=0.1)
    along = np.zeros((TRAIN, 2))
    for i in range(TRAIN):
        along[i] = model.predict(X[i : i + 1])[0] if i else 0.0
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
    at_end = model.predict(X[TRAIN:])
    for form, y, predicted in (
        ("", Y[:TRAIN], along),
        ("window_", Y[TRAIN - 30 : TRAIN], along[-30:]),
        ("test_", Y[TRAIN:], at_end),
    ):
        for name, measure in zip(MEASURES, OF, strict=True):
            mean = measure(y, predicted, multioutput="uniform_average")
            assert record.metrics[form + name] == pytest.approx(mean, rel=1e-12)
            for target, value in zip(
                "ab", measure(y, predicted, multioutput="raw_values"), strict=True
            ):
                assert record.metrics[f"{form}{name}:{target}"] == pytest.approx(
                    value, rel=1e-12
                )
    curve = next(series for series in record.series if series.name == "rmse")
    assert curve.values[-1] == record.metrics["rmse"]
    assert {series.name for series in record.series} >= {
        "mae",
        "window_rmse",
        "holdout_rmse",
        "window_medae",
    }


def test_squared_errors_of_one_target_that_overflow_are_told() -> None:
    shape = StreamShape(rows=1, classes=0, task="regression", targets=("a", "b"))
    metric = make_metric(Residuals, shape)
    metric.see(np.array([[0.0, 1e200]]), np.zeros((1, 2)), np.zeros((1, 2)))
    assert metric.overflows()


@pytest.mark.parametrize(
    "protocol",
    [{}, {"delay": 7}, {"window": 20, "fading": 0.99, "burn_in": 3}],
    ids=str,
)
def test_a_run_that_is_resumed_ends_with_the_same_record(
    shelf: Path, protocol: dict[str, Any]
) -> None:
    group = _group(shelf, "pa1-r", **protocol)
    expected = _finished(GroupPass(group))
    first = GroupPass(group)
    second = GroupPass(group)
    first.advance()
    first.advance()
    second.restore({name: array.copy() for name, array in first.state()})
    again = _finished(second)
    assert again.metrics == expected.metrics
    for one, other in zip(again.series, expected.series, strict=True):
        assert one.name == other.name
        np.testing.assert_array_equal(one.values, other.values)


def test_learners_of_one_target_are_refused_in_one_line(shelf: Path) -> None:
    with pytest.raises(
        ExperimentError,
        match=r"olk-r learns one target, but dataset .* has 2: a, b; ingest a dataset for",
    ):
        _group(shelf, "olk-r")
    with pytest.raises(ParameterError, match="form=diagonal learns one target, got 2"):
        _group(shelf, "rls", {"form": "diagonal"})
    with pytest.raises(
        ParameterError,
        match="learns one target, got 2; scikit-learn's MultiOutputRegressor",
    ):
        _group(shelf, "sklearn.linear_model:SGDRegressor")


def test_every_learner_is_every_one_that_learns_them(shelf: Path) -> None:
    content = {
        "name": "all",
        "datasets": [{"path": str(shelf / "d")}],
        "learners": [{"name": "*"}],
    }
    found = resolve(Experiment.model_validate(content), print).experiment
    names = {spec.name for spec in found.learners}
    assert "rls" in names
    assert "mean" in names
    assert not names & {"olk-r", "norma-r", "svr", "pa1"}


def test_a_model_of_scikit_learns_that_takes_several_targets_runs_beside_ours(
    shelf: Path,
) -> None:
    record = _finished(
        GroupPass(_group(shelf, "tests.learners.own_estimators:one_sgd_a_target"))
    )
    assert record.metrics["rmse"] == pytest.approx(
        (record.metrics["rmse:a"] + record.metrics["rmse:b"]) / 2
    )


def test_a_model_is_saved_and_predicts_all_targets(shelf: Path, tmp_path: Path) -> None:
    call = [
        "evaluate",
        "--dataset",
        str(shelf / "d"),
        "--learner",
        "rls",
        "--order",
        "time",
        "--transform",
        "bias",
    ]
    _invoke(*call, "--store", str(tmp_path / "s"), "--in-process")
    store = olscale.open_store(tmp_path / "s")
    [row] = [store.get(id) for id in store.done()]
    _invoke(
        "models",
        "save",
        str(tmp_path / "s"),
        row.id,
        str(tmp_path / "m"),
        "--dataset",
        str(shelf / "d"),
    )
    assert "none, 2 targets: a, b" in _invoke("models", "show", str(tmp_path / "m"))
    model: FinalModel = load_model(tmp_path / "m")
    predicted = model.predict(X[TRAIN:], encoded=True)
    rmse = root_mean_squared_error(Y[TRAIN:], predicted)
    assert row.metrics["test_rmse"] == pytest.approx(rmse, rel=1e-12)
    with_labels = _predictions(tmp_path / "m", shelf / "t.csv", "--labels")
    assert list(with_labels[0]) == [
        "prediction_a",
        "prediction_b",
        "label_a",
        "label_b",
    ]
    np.testing.assert_array_equal(
        [float(line["label_b"]) for line in with_labels], Y[:, 1]
    )
    np.testing.assert_array_equal(
        [float(line["prediction_b"]) for line in with_labels][TRAIN:], predicted[:, 1]
    )
    bare = tmp_path / "bare.csv"
    bare.write_text(
        "\n".join(
            ["h,g,f", *(",".join(map(repr, x[::-1])) for x in X[TRAIN:].tolist())]
        )
        + "\n"
    )
    np.testing.assert_array_equal(
        [float(line["prediction_a"]) for line in _predictions(tmp_path / "m", bare)],
        predicted[:, 0],
    )
    model.partial_fit(X[:2], Y[:2], encoded=True)
    with pytest.raises(ParameterError, match=r"y has shape \(2,\), expected \(2, 2\)"):
        model.partial_fit(X[:2], Y[:2, 0], encoded=True)


def test_a_model_of_several_targets_is_written_as_onnx(tmp_path: Path) -> None:
    reference = pytest.importorskip("onnx.reference", reason="onnx")
    from olscale.models.onnx import export_onnx

    learner = olscale.learners.RLS()
    learner.fit(X, Y)
    about = About(
        learner=LearnerEntry(
            name="rls", version=learner.version, params=learner.resolved_params()
        ),
        columns=ColumnsEntry(count=3, kind="dense", targets=("a", "b")),
    )
    model = FinalModel(about, learner, Pipeline((), 3, 3))
    export_onnx(model, tmp_path / "m.onnx")
    [scores] = reference.ReferenceEvaluator(str(tmp_path / "m.onnx")).run(
        None, {"X": X}
    )
    np.testing.assert_allclose(scores, model.predict(X), rtol=1e-12)


def _invoke(*call: str) -> str:
    done = CliRunner().invoke(command, call, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def _predictions(model: Path, source: Path, *options: str) -> Sequence[dict[str, str]]:
    out = model.with_name("out.csv")
    _invoke("predict", str(model), str(source), "--out", str(out), *options)
    return list(csv.DictReader(out.open()))
