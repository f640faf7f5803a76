"""The log loss of models that give probabilities is scikit-learn's, whatever the form; others have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from olscale.data.ingest.ingest import ingest
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.learners.contract.foreign.probabilities import gives_probabilities
from olscale.results.record import Record

ROWS = 120
TEST = 40
CLOSE = {"rel": 1e-12, "abs": 0}


def dataset(path: Path, classes: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(classes)
    y = random.integers(0, classes, ROWS + TEST)
    X = random.normal(size=(ROWS + TEST, 3)) + y[:, np.newaxis]
    np.savez(path / "train.npz", X=X[:ROWS], y=y[:ROWS])
    np.savez(path / "test.npz", X=X[ROWS:], y=y[ROWS:])
    ingest(
        str(path / "train.npz"),
        path / "data",
        test=str(path / "test.npz"),
        chunk_rows=50,
    )
    return X, y


def record(path: Path, learner: str, **params: Any) -> Record:
    content = {
        "datasets": [{"path": str(path / "data")}],
        "learners": [{"name": learner, "params": params}],
        "protocol": {
            "order": "time",
            "measures": ["log_loss"],
            "window": 30,
            "fading": 0.9,
        },
    }
    plan = make_plan(parse_experiment(content))
    [group] = cut_groups(plan.runs, plan.sources, 1)
    going = GroupPass(group)
    while not going.ended:
        going.advance()
    [made] = going.finish()
    assert made.outcome == "ok", made.reason
    return made


def row_by_row(model: Any, X: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Return the probabilities before each update, and of the final model; where there are none all classes are alike."""
    found = [np.full(classes, 1 / classes)]
    for i in range(ROWS):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(classes))
        found += [*model.predict_proba(X[i + 1 : i + 2] if i < ROWS - 1 else X[ROWS:])]
    found = np.array(found)
    return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 1 / classes)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "model"),
    [
        (
            "sklearn.linear_model:SGDClassifier",
            SGDClassifier(loss="log_loss", random_state=0),
        ),
        ("sklearn.naive_bayes:GaussianNB", GaussianNB()),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_log_loss_is_that_of_scikit_learn(
    name: str, model: Any, classes: int, tmp_path: Path
) -> None:
    X, y = dataset(tmp_path, classes)
    params = {"loss": "log_loss", "random_state": 0} if "SGD" in name else {}
    found = record(tmp_path, name, **params)
    p = row_by_row(clone(model), X, y, classes)
    labels = range(classes)
    stream = slice(0, ROWS)
    weights = 0.9 ** np.arange(ROWS)[::-1]
    assert found.metrics["log_loss"] == pytest.approx(
        log_loss(y[stream], p[stream], labels=labels), **CLOSE
    )
    last = slice(ROWS - 30, ROWS)
    assert found.metrics["window_log_loss"] == pytest.approx(
        log_loss(y[last], p[last], labels=labels), **CLOSE
    )
    faded = log_loss(y[stream], p[stream], labels=labels, sample_weight=weights)
    assert found.metrics["fading_log_loss"] == pytest.approx(faded, **CLOSE)
    assert found.metrics["test_log_loss"] == pytest.approx(
        log_loss(y[ROWS:], p[ROWS:], labels=labels), **CLOSE
    )
    curve = next(each for each in found.series if each.name == "log_loss")
    assert curve.values[9] == pytest.approx(
        log_loss(y[:10], p[:10], labels=labels), **CLOSE
    )


def test_probabilities_of_river(tmp_path: Path) -> None:
    linear_model = pytest.importorskip("river.linear_model")
    X, y = dataset(tmp_path, 2)
    found = record(tmp_path, "river.linear_model:LogisticRegression")
    model = linear_model.LogisticRegression()
    p = []
    for x, code in zip(X[:ROWS].tolist(), y, strict=False):
        row = dict(enumerate(x))
        p.append(model.predict_proba_one(row)[True])
        model.learn_one(row, bool(code))
    assert found.metrics["log_loss"] == pytest.approx(log_loss(y[:ROWS], p), **CLOSE)


@pytest.mark.parametrize("learner", ["pa1", "sklearn.linear_model:SGDClassifier"])
def test_scores_of_learners_without_probabilities_are_calibrated(
    learner: str, tmp_path: Path
) -> None:
    dataset(tmp_path, 2)
    found = record(tmp_path, learner)
    assert found.metrics["log_loss"] < np.log(2)
    assert found.metrics["test_log_loss"] < np.log(2)
    assert found.metrics["cumulative_error"] < 0.5


def test_a_method_that_river_only_promises_gives_none() -> None:
    base = pytest.importorskip("river.base")

    class Labels(base.Classifier):  # type: ignore[misc,name-defined]
        def learn_one(self, x: Any, y: Any) -> None: ...

        def predict_one(self, x: Any) -> int:
            return 0

    assert not gives_probabilities(Labels())
