"""scikit-learn and River estimators beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.stream import open_streams
from olscale.errors import OlscaleError
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.base import codes_of
from olscale.learners.registry import make_learner

SGD = "sklearn.linear_model:SGDClassifier"


@pytest.mark.parametrize(
    ("name", "datasets"),
    [
        (SGD, ("digits", "sparse")),
        ("sklearn.linear_model:Perceptron", ("dense", "sparse")),
        ("sklearn.naive_bayes:GaussianNB", ("dense", "sparse")),
        ("river.tree:HoeffdingTreeClassifier", ("dense", "sparse")),
        ("river.linear_model:LogisticRegression", ("dense", "sparse")),
        ("river.linear_model:PAClassifier", ("dense", "sparse")),
    ],
)
def test_an_estimator_runs_end_to_end_and_gives_the_same_twice(
    shelf: Path, tmp_path: Path, name: str, datasets: tuple[str, ...]
) -> None:
    if name.startswith("river"):
        pytest.importorskip("river")
    content = {
        "datasets": [{"path": str(shelf / dataset)} for dataset in datasets],
        "learners": [{"name": name}],
        "protocol": {"order": "time"},
    }
    runs = []
    for place in "ab":
        store = evaluate(parse_experiment(content), tmp_path / place, in_process=True).store
        runs.append({path.name: path.read_bytes() for path in (tmp_path / place / "runs").rglob("*.parquet")})
        assert store.read()["outcome"].to_pylist() == ["ok"] * len(datasets), store.read()["reason"].to_pylist()
    assert runs[0] == runs[1]


@pytest.mark.parametrize(("theirs", "ours"), [("pa1", "pa1"), ("pa2", "pa2")])
def test_scikit_learns_passive_aggressive_makes_our_mistakes(shelf: Path, theirs: str, ours: str) -> None:
    """Fed row by row and asked before each update, so it is scored by the same protocol."""
    pytest.importorskip("sklearn", minversion="1.8")
    stream = open_streams(str(shelf / "dense"), ["standardize"]).train
    params = {"loss": "hinge", "penalty": None, "learning_rate": theirs, "eta0": 1.0, "fit_intercept": False}
    codes = []
    for learner in (make_learner(SGD, {**params, "shuffle": False}), make_learner(ours, {"C": 1.0})):
        learner.begin(stream.columns, 2)
        codes.append(np.concatenate([codes_of(learner.learn(chunk.X, chunk.y)) for chunk in stream.chunks()]))
    np.testing.assert_array_equal(codes[0][1:], codes[1][1:])  # before the first row there is nothing to ask


def test_prediction_comes_before_the_update(shelf: Path) -> None:
    chunk = open_streams(str(shelf / "digits")).train.chunk(0)
    y = chunk.y[:40].copy()
    codes = []
    for label in (y[-1], (y[-1] + 1) % 10):
        y[-1] = label
        learner = make_learner(SGD, {})
        learner.begin(chunk.columns, 10)
        codes.append(codes_of(learner.learn(chunk.X[:40], y))[-1])
    assert codes[0] == codes[1]


def test_a_seed_left_open_is_set_and_told() -> None:
    assert make_learner(SGD, {}).resolved_params() == {"random_state": 0}
    assert make_learner(SGD, {"random_state": 7}).resolved_params() == {"random_state": 7}
    assert make_learner("sklearn.naive_bayes:GaussianNB", {}).resolved_params() == {}


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("nowhere.at_all:Model", {}, "No module named 'nowhere'"),
        ("sklearn.linear_model:Nothing", {}, "no attribute 'Nothing'"),
        ("math:sin", {}, "math:sin is no class"),
        (":Model", {}, "Empty module name"),
        (SGD, {"alfa": 1}, "unexpected keyword argument 'alfa'"),
        (SGD, {"alpha": -1}, "'alpha' parameter of SGDClassifier must be"),
        ("sklearn.svm:SVC", {}, "neither partial_fit"),
    ],
)
def test_what_cannot_be_used_is_one_line(name: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(OlscaleError, match=said) as caught:
        make_learner(name, params)
    assert "\n" not in str(caught.value)


def test_a_binary_river_model_refuses_ten_classes() -> None:
    pytest.importorskip("river")
    with pytest.raises(OlscaleError, match="tells two classes apart, the dataset has 10"):
        make_learner("river.linear_model:PAClassifier", {}).begin(64, 10)
