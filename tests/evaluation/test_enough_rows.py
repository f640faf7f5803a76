"""Learners and transforms whose start predicts nothing: protocols in which they never get past it are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.data.ingest.ingest import ingest
from olscale.errors import ParameterError
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan

BOOST = {"name": "oselm", "params": {"nodes": 10, "start": "boost", "N0": 200}}
TIME = {"order": "time"}


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of streams of 400 rows: `untested`, and `late`, whose labels come 500 rows late as a column says."""
    folder = tmp_path_factory.mktemp("streams")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    np.savez(folder / "untested.npz", X=X, y=(X[:, 0] > 0).astype(int))
    ingest([str(folder / "untested.npz")], str(folder / "untested"), chunk_rows=150)
    lines = [f"{a:.6f},{b:.6f},500,{int(a > 0)}" for a, b in X[:, :2]]
    (folder / "late.csv").write_text("\n".join(["a,b,wait,label", *lines]))
    ingest([str(folder / "late.csv")], str(folder / "late"), label="label")
    return folder


def planned(
    path: Path, learner: dict[str, Any], protocol: dict[str, Any], *transforms: str
) -> int:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": [learner],
        "protocol": protocol,
    }
    return len(
        make_plan(parse_experiment(content | {"transforms": list(transforms)})).runs
    )


@pytest.mark.parametrize(
    ("learner", "protocol", "said"),
    [
        (
            BOOST,
            {"split": "prequential-split", "folds": 4, **TIME},
            "learned from before the last is predicted",
        ),
        (
            BOOST,
            {"split": "prequential-bootstrap", "folds": 2, "delay": 250, **TIME},
            "nothing is before 200; take",
        ),
        (BOOST, {"delay": 200, **TIME}, "oselm: 199 rows are learned from"),
        (
            BOOST,
            {"holdout_every": 40, "holdout_rows": 60, **TIME},
            "nothing is before 200",
        ),
        (
            BOOST | {"params": {**BOOST["params"], "N0": 400}},
            TIME,
            "oselm: 399 rows are learned from",
        ),
        (
            BOOST,
            {"split": "half", "folds": 1, "delay": 1, **TIME},
            "199 rows are learned from",
        ),
        (
            {"name": "svd-oselm", "params": {"start": "boost", "N0": 350}},
            {"delay": 100, **TIME},
            "svd-oselm: 299 rows",
        ),
        (
            {"name": "rff-rls", "params": {"block": 500}},
            TIME,
            "rff-rls: 399 rows .* 500; take a smaller block",
        ),
        (
            {"name": "ipca-lda", "params": {"block": 400}},
            TIME,
            "ipca-lda: 399 rows .* 400; take a smaller block",
        ),
        ({"name": "ospvm", "params": {"block": 400}}, TIME, "ospvm: 399 rows"),
    ],
    ids=lambda value: (
        value["name"]
        if "name" in value
        else None
        if isinstance(value, str)
        else "-".join(value)
    ),
)
def test_a_protocol_in_which_nothing_is_predicted_is_refused(
    streams: Path, learner: dict[str, Any], protocol: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        planned(streams / "untested", learner, protocol)


@pytest.mark.parametrize(
    ("learner", "protocol"),
    [
        (BOOST, {"split": "prequential-kfold", "folds": 4, **TIME}),
        (BOOST, {"delay": 199, **TIME}),
        (BOOST, {"split": "half", "folds": 1, **TIME}),
        (
            {"name": "ipca-lda", "params": {"block": 400}},
            {"split": "kfold", "folds": 2, **TIME},
        ),
        ({"name": "ipca-lda", "params": {"block": 400}}, {"delay": 5, **TIME}),
        ({"name": "pvm"}, TIME),
    ],
    ids=lambda value: value["name"] if "name" in value else "-".join(value),
)
def test_one_in_which_a_row_is_predicted_is_not(
    streams: Path, learner: dict[str, Any], protocol: dict[str, Any]
) -> None:
    assert planned(streams / "untested", learner, protocol)


def test_a_transform_that_never_fills_its_block_is_refused(streams: Path) -> None:
    with pytest.raises(
        ParameterError,
        match="ipca: 400 rows come to learn from, and features are 0 before 401; take a",
    ):
        planned(
            streams / "untested", {"name": "pa"}, TIME, "ipca:components=2,block=401"
        )
    assert planned(
        streams / "untested", {"name": "pa"}, TIME, "ipca:components=2,block=400"
    )


def test_labels_that_a_column_makes_too_late_end_the_run(
    streams: Path, tmp_path: Path
) -> None:
    content = {
        "datasets": [{"path": str(streams / "late")}],
        "learners": [BOOST, {"name": "pa"}],
    }
    experiment = parse_experiment(content | {"protocol": {"delay": "wait", **TIME}})
    olscale.evaluate(experiment, tmp_path / "store", in_process=True, progress=False)
    table = olscale.open_store(tmp_path / "store").read(["outcome", "reason"])
    found = {row["outcome"]: row["reason"] for row in table.to_pylist()}
    assert found.keys() == {"ok", "learner_error"}
    assert "oselm: 0 rows are learned from" in found["learner_error"]
