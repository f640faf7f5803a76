"""Saved models learn on: in Python, on the command line and as the beginning of streams."""

from __future__ import annotations

import csv
import io
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.errors import ModelError
from olscale.evaluation.learn_on import learn_on
from olscale.learners.registry import make_learner
from olscale.measures import askable
from olscale.models.file import load_model, read_about
from olscale.models.grow import GROWS_CLASSES, GROWS_FEATURES
from olscale.models.source import ModelSource
from tests.cli.command import run

WEEKS = 10
ROWS = 40


def _rows(seed: int = 0) -> list[list[Any]]:
    rng = random.Random(seed)
    rows = []
    for number in range(WEEKS * ROWS):
        size = rng.gauss(0, 1)
        color = rng.choice(["red", "blue", "green"])
        weight = "" if rng.random() < 0.1 else f"{rng.uniform(0, 5):.3f}"
        label = ("low", "middle", "high")[(size > 0) + (color == "red")]
        rows.append([number, f"{size:.4f}", weight, color, label])
    return rows


def _write(path: Path, rows: list[list[Any]]) -> Path:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [["id", "size", "weight", "color", "label"], *rows]
    )
    path.write_text(text.getvalue())
    return path


def _model(tmp_path: Path, rows: list[list[Any]], name: str, learner: str) -> Path:
    """Return the model of a stream of `rows`."""
    source = _write(tmp_path / f"{name}.csv", rows)
    dataset = tmp_path / name
    done = run("ingest", source, dataset, "--drop", "id", "--label", "label")
    assert done.returncode == 0, done.stderr
    evaluate = (
        "evaluate",
        "--dataset",
        dataset,
        "--learner",
        learner,
        "--order",
        "time",
    )
    transforms = ("--transform", "impute:mean,running-standardize,bias")
    store = tmp_path / f"{name}-store"
    done = run(*evaluate, *transforms, "--store", store, "--in-process", "--keep-model")
    assert done.returncode == 0, done.stderr
    [model] = store.glob("models/*")
    return model


def _state(file: Path) -> dict[str, np.ndarray]:
    return load_model(str(file)).arrays()


def _same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize("learner", ["pa1", "arow"])
def test_ten_weeks_one_by_one_are_one_stream(tmp_path: Path, learner: str) -> None:
    """Learner and transforms have the same bits, and the errors add up to those of the stream."""
    rows = _rows()
    whole = _model(tmp_path, rows, "whole", learner)
    model = tmp_path / "m.olm"
    model.write_bytes(_model(tmp_path, rows[:ROWS], "first", learner).read_bytes())
    for week in range(1, WEEKS):
        part = rows[week * ROWS : (week + 1) * ROWS]
        source = _write(tmp_path / f"week{week}.csv", part)
        # from a frame in Python, in pieces, with columns in another order
        if week == 3:
            loaded = load_model(str(model))
            names = ["label", "color", "id", "weight", "size"]
            at = [4, 3, 0, 2, 1]
            records = [
                dict(zip(names, [row[i] for i in at], strict=True)) for row in part
            ]
            for record in records[:5]:
                loaded.partial_fit(record)
            loaded.partial_fit(records[5:]).save(str(model))
            continue
        if week == 5:  # as a dataset
            source = tmp_path / "week5"
            like = ("--like", tmp_path / "first", "--drop", "id")
            assert run("ingest", tmp_path / "week5.csv", source, *like).returncode == 0
        done = run(
            "models",
            "learn",
            model,
            source,
            "--out",
            model,
            "--measures",
            "kappa,log_loss",
        )
        assert done.returncode == 0, done.stderr
        assert f"{ROWS} rows" in done.stdout
        assert "cumulative error" in done.stdout
        assert "kappa" in done.stdout
        assert "log loss" in done.stdout
    _same(_state(model), _state(whole))
    history = read_about(str(model)).history
    assert [entry.source for entry in history] == [
        *("week1.csv", "week2.csv", "week4.csv", "week5"),
        *("week6.csv", "week7.csv", "week8.csv", "week9.csv"),
    ]
    shown = run("models", "show", model).stdout
    assert "learned 8    week9.csv, 40 rows" in shown
    assert "cumulative error" in shown


def test_a_source_is_learned_twice_only_where_it_is_said(tmp_path: Path) -> None:
    rows = _rows(1)
    kept = _model(tmp_path, rows[:ROWS], "first", "pa1")
    model = tmp_path / "m.olm"
    model.write_bytes(kept.read_bytes())
    source = _write(tmp_path / "next.csv", rows[ROWS : 2 * ROWS])
    learn = ("models", "learn", model)
    for origin in (tmp_path / "first", tmp_path / "first.csv"):
        refused = run(*learn, origin, "--out", tmp_path / "n.olm")
        assert refused.returncode == 1
        assert "has learned" in refused.stderr
        assert "dataset first; --again" in refused.stderr
    assert not (tmp_path / "n.olm").exists()
    assert run(*learn, source, "--out", model).returncode == 0
    before = model.read_bytes()
    refused = run(*learn, source, "--out", model)
    assert refused.returncode == 1
    assert "--again learns it once more" in refused.stderr
    assert model.read_bytes() == before
    assert run(*learn, source, "--out", model, "--again").returncode == 0
    history = json.loads(run("models", "show", model, "--json").stdout)["history"]
    assert len(history) == 2
    assert history[0]["digests"] == history[1]["digests"]


KILLED = """
import os, signal, sys
from olscale.cli import olscale
from olscale.models import final_model

def write_half(about, arrays, out):
    out.write(b"PK" * 500)
    out.flush()
    os.kill(os.getpid(), signal.SIGKILL)

final_model.write_model = write_half
olscale(sys.argv[1:])
"""


def test_a_kill_in_the_middle_of_writing_leaves_the_model_as_it_was(
    tmp_path: Path,
) -> None:
    rows = _rows(1)
    model = tmp_path / "m.olm"
    model.write_bytes(_model(tmp_path, rows[:ROWS], "first", "pa1").read_bytes())
    before = model.read_bytes()
    source = _write(tmp_path / "next.csv", rows[ROWS : 2 * ROWS])
    learn = ("models", "learn", str(model), str(source), "--out", str(model))
    killed = subprocess.run([sys.executable, "-c", KILLED, *learn], timeout=100)
    assert killed.returncode == -signal.SIGKILL
    assert model.read_bytes() == before
    assert run(*learn).returncode == 0
    assert len(read_about(str(model)).history) == 1


def test_streams_that_begin_with_a_model_go_on_as_it_does(tmp_path: Path) -> None:
    """The run has the digest of the model in its id, and its final model that of one stream."""
    rows = _rows(2)
    whole = _model(tmp_path, rows[: 3 * ROWS], "whole", "pa1")
    first = _model(tmp_path, rows[:ROWS], "first", "pa1")
    model = tmp_path / "m.olm"
    model.write_bytes(first.read_bytes())
    source = _write(tmp_path / "next.csv", rows[ROWS : 3 * ROWS])
    like = ("--like", tmp_path / "first", "--drop", "id")
    assert run("ingest", source, tmp_path / "next", *like).returncode == 0
    store = tmp_path / "store"
    evaluate = ("evaluate", "--from-model", model, "--dataset", tmp_path / "next")
    options = ("--order", "time", "--store", store, "--in-process", "--keep-model")
    done = run(*evaluate, *options)
    assert done.returncode == 0, done.stderr
    [kept] = store.glob("models/*")
    _same(_state(kept), _state(whole))
    [row] = olscale.open_store(store).read(["protocol", "metrics"]).to_pylist()
    protocol = dict(json.loads(row["protocol"]))
    [entry] = read_about(str(kept)).history
    assert protocol["from_model"] == entry.parent
    assert f"from model {entry.parent[:12]}\n" in run("results", store).stdout
    assert "the run is in" in run(*evaluate, *options).stdout
    # Another model is another run, and one that does not fit is refused.
    assert run("models", "learn", model, source, "--out", model).returncode == 0
    error = dict(row["metrics"])["cumulative_error"]
    [learned] = read_about(str(model)).history
    assert learned.measures == {"cumulative_error": error}
    assert "1 of 1 runs computed" in run(*evaluate, *options).stdout
    misfit = run(
        "evaluate",
        "--from-model",
        model,
        "--dataset",
        tmp_path / "next",
        "--learner",
        "pa2",
        *options,
        "--transform",
        "impute:mean,running-standardize,bias",
    )
    assert misfit.returncode == 1
    assert "is not that of the model" in misfit.stderr


def test_every_measure_is_taken_or_refused(tmp_path: Path) -> None:
    model = load_model(str(_model(tmp_path, _rows(1)[:ROWS], "first", "pa1")))
    source = _write(tmp_path / "next.csv", _rows(5))
    for measure in askable("classification"):
        part = ModelSource(model.about.columns, str(source))
        if measure in ("precision", "recall", "f1", "average_precision"):
            with pytest.raises(ModelError, match=f"name it: {measure}:high"):
                learn_on(model, part, [measure])
            measure = f"{measure}:low"
            part = ModelSource(model.about.columns, str(source))
        if measure in ("model_bytes", "latency"):
            with pytest.raises(ModelError, match=f"{measure} observes a model"):
                learn_on(model, part, [measure])
            continue
        learned = learn_on(model, part, [measure])
        assert (measure in learned.undefined) != (measure in learned.measures)
        assert (measure in learned.undefined) == (
            measure in ("train_error", "cost", "confusion", "auc", "roc")
        )


def test_new_classes_and_values_come_where_the_model_may_grow(tmp_path: Path) -> None:
    rows = _rows(3)
    model = _model(tmp_path, rows[:ROWS], "first", "arow")
    new = [
        row[:3] + (["pink"] if i % 4 == 0 else [row[3]]) + [row[4]]
        for i, row in enumerate(rows[ROWS : 2 * ROWS])
    ]
    values = _write(tmp_path / "values.csv", new)
    out = tmp_path / "n.olm"
    learn = ("models", "learn", model)
    done = run(*learn, values, "--out", out)
    assert "10 values and indices that the model never met count as none" in done.stderr
    done = run(*learn, values, "--out", out, "--grow", "features")
    assert done.returncode == 0, done.stderr
    assert "1 features are new" in done.stderr
    grown = read_about(str(out)).columns
    assert grown.names is not None
    assert grown.names[-1] == "color=pink"
    for i in (0, 4, 8):
        new[i][4] = "huge"
    classes = _write(tmp_path / "classes.csv", new)
    refused = run(*learn, classes, "--out", tmp_path / "r.olm", "--grow", "features")
    assert refused.returncode == 1
    assert (
        "row 0 has the label 'huge', which is none of the model's classes"
        in refused.stderr
    )
    done = run(*learn, classes, "--out", out, "--grow", "all")
    assert done.returncode == 0, done.stderr
    assert "1 classes are new" in done.stderr
    about = read_about(str(out))
    assert about.classes == ("high", "huge", "low", "middle")
    assert run("predict", out, classes).returncode == 0


@pytest.mark.parametrize("name", sorted(GROWS_FEATURES))
@pytest.mark.parametrize(
    "transforms", ["", "bias", "impute:mean,running-standardize,bias"]
)
def test_a_model_that_got_features_is_one_that_had_them(
    name: str, transforms: str
) -> None:
    """Bit for bit, where its first rows have zeros in what is new."""
    from olscale.data.transforms.pipeline import Pipeline, make_transform
    from olscale.models.about import About, ColumnsEntry, LearnerEntry, TransformsEntry
    from olscale.models.final_model import FinalModel
    from olscale.models.grow import grow_features

    rng = np.random.default_rng(5)
    X = rng.normal(size=(24, 5))
    X[:12, 3:] = 0.0
    task = make_learner(name, {}).task
    y: Any = rng.integers(0, 3, 24) if task == "classification" else rng.normal(size=24)
    names = tuple(filter(None, transforms.split(",")))

    def model(columns: int) -> FinalModel:
        learner = make_learner(name, {})
        steps = []
        width = columns
        for text in names:
            step = make_transform(text)
            if step.streams:
                step.begin(width)  # type: ignore[attr-defined]
            steps.append(step)
            width = step.width(width)
        learner.begin(width, 3 if task == "classification" else 0)
        about = About(
            learner=LearnerEntry(
                name=name, version=learner.version, params=learner.resolved_params()
            ),
            transforms=TransformsEntry(names=names),
            columns=ColumnsEntry(count=columns, kind="sparse"),
            classes=(0, 1, 2) if task == "classification" else None,
        )
        return FinalModel(about, learner, Pipeline(tuple(steps), columns, width))

    grown = model(3)
    had = model(5)
    grown.partial_fit(X[:12, :3], y[:12])
    had.partial_fit(X[:12], y[:12])
    grow_features(grown, grown.about.columns.model_copy(update={"count": 5}))
    arrays = had.arrays()
    if "impute" in transforms or "running" in transforms:
        # What was never there has no count of its own, where zeros were counted.
        arrays = {
            name: array for name, array in arrays.items() if name.startswith("learner/")
        }
    for part, array in arrays.items():
        np.testing.assert_array_equal(grown.arrays()[part], array, err_msg=part)
    grown.partial_fit(X[12:], y[12:])
    assert np.isfinite(grown.decision_function(X)).all()


def test_only_known_learners_grow() -> None:
    assert GROWS_CLASSES <= GROWS_FEATURES
