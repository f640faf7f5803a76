"""Batch references of the study against scikit-learn, and the limits on what they train on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from olscale.compiled.csr import read_only
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import make_learner

ROWS = 300


def stream(classes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(ROWS, 5))
    y = (np.abs(X[:, :classes]) + 0.1 * X[:, :classes]).argmax(axis=1)
    return read_only(X), read_only(y)


def learned(name: str, params: dict[str, Any], classes: int) -> tuple[Learner, Any]:
    X, y = stream(classes)
    learner = make_learner(name, params)
    learner.begin(5, classes)
    return learner, learner.learn(X, y)


def unit(X: NDArray[np.float64]) -> float:
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return float(np.median(squares[np.triu_indices(len(X), 1)]))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_the_machine_is_svc_of_either_form_in_units_of_the_rows(
    classes: int, multiclass: str
) -> None:
    X, y = stream(classes)
    params = {"C": 3.0, "gamma": 2.0, "multiclass": multiclass}
    learner, _ = learned("batch-svm", params, classes)
    peer = SVC(C=3.0, gamma=2.0 / unit(X))
    if multiclass == "one-vs-rest":
        peer = OneVsRestClassifier(peer)
    expected = peer.fit(X, y).decision_function(X).reshape(ROWS, -1)
    np.testing.assert_allclose(learner.scores(X), expected, atol=1e-6)


def test_the_others_are_those_of_scikit_learn() -> None:
    X, y = stream(3)
    boosting = HistGradientBoostingClassifier(
        max_iter=20, learning_rate=0.2, max_leaf_nodes=7, early_stopping=False
    )
    params = {"trees": 20, "learning_rate": 0.2, "leaves": 7}
    peers = {
        "batch-boosting": (params, boosting),
        "batch-logistic": ({"C": 2.0}, LogisticRegression(C=2.0, max_iter=300)),
    }
    for name, (given, peer) in peers.items():
        learner, _ = learned(name, given, 3)
        expected = peer.fit(X, y).decision_function(X)
        np.testing.assert_allclose(learner.scores(X), expected, atol=1e-6)


def test_only_the_first_rows_train() -> None:
    X, y = stream(2)
    learner, _ = learned("batch-logistic", {"rows": 100}, 2)
    peer = LogisticRegression(max_iter=300).fit(X[:100], y[:100])
    expected = peer.decision_function(X)[:, None]
    np.testing.assert_allclose(learner.scores(X), expected, atol=1e-6)


def test_along_the_stream_the_last_machine_allowed_scores_all_further_rows() -> None:
    X, y = stream(2)
    _, scores = learned("batch-logistic", {"along": 64}, 2)
    peer = LogisticRegression(max_iter=300).fit(X[:64], y[:64])
    expected = peer.decision_function(X[64:])[:, None]
    np.testing.assert_allclose(scores[64:], expected, atol=1e-6)
    assert not scores[:64].any()


def test_many_classes_of_few_rows_are_no_warning() -> None:
    X, _ = stream(2)
    y = read_only(np.arange(ROWS) % 150)
    learner = make_learner("batch-svm", {})
    learner.begin(5, 150)
    learner.learn(X, y)
    assert learner.scores(X).shape == (ROWS, 150)
