"""The batch reference is scikit-learn's machine: of all rows for a test, of half of them or more along the stream."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from olscale.compiled.csr import read_only, to_csr
from olscale.errors import ParameterError
from olscale.learners.contract.learner import codes_of
from olscale.learners.reference.batch_machine import trained_rows
from olscale.learners.reference.svm import SVM
from olscale.learners.registry import make_learner


def stream(classes: int, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, rows)
    return read_only(1.5 * np.eye(5)[y] + rng.normal(size=(rows, 5))), read_only(y)


@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_those_of_machines_of_the_rows_before(classes: int) -> None:
    X, y = stream(classes)
    learner = SVM(C=0.7, gamma=0.3)
    learner.begin(5, classes)
    scores = learner.learn(X, y)
    np.testing.assert_array_equal(scores[:64], 0.0)
    for first, last, trained in ((64, 128, 64), (128, 256, 128), (256, 300, 256)):
        assert trained_rows(first) == trained_rows(last - 1) == trained
        peer = SVC(C=0.7, gamma=0.3).fit(X[:trained], y[:trained])
        expected = peer.decision_function(X[first:last]).reshape(last - first, -1)
        np.testing.assert_allclose(scores[first:last], expected, atol=1e-9)
    peer = SVC(C=0.7, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(
        learner.scores(X), peer.decision_function(X).reshape(300, -1), atol=1e-9
    )
    assert learner.measures()["updates"] == 3


@pytest.mark.parametrize("name", ["svm", "svr", "one-class-svm", "ls-svm"])
def test_the_global_state_of_numpy_stays_as_it_is(name: str) -> None:
    X, y = stream(2)
    learner = make_learner(name, {})
    learner.begin(5, 0 if name == "svr" else 2)
    before = np.random.get_state()[1:]
    learner.learn(X, y)
    learner.scores(X)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert np.random.get_state()[2:] == before[1:]


def test_classes_that_have_not_come_are_not_predicted() -> None:
    X, y = stream(2)
    for known, late in ((y, 4), (read_only(np.full(300, 2)), 4)):
        learner = SVM()
        learner.begin(5, late)
        learner.learn(X, known)
        codes = codes_of(learner.scores(X))
        assert set(codes.tolist()) <= set(known.tolist())
        parts = [learner.scores(X[i : i + 7]) for i in range(0, 300, 7)]
        np.testing.assert_array_equal(np.concatenate(parts), learner.scores(X))


def test_one_class_alone_is_predicted() -> None:
    X, _ = stream(2)
    for label in (0, 1):
        learner = SVM()
        learner.begin(5, 2)
        learner.learn(to_csr(X), read_only(np.full(300, label)))
        assert set(codes_of(learner.scores(X)).tolist()) == {label}


def test_more_rows_than_the_capacity_are_refused() -> None:
    X, y = stream(2)
    with pytest.raises(
        ParameterError,
        match="keeps all rows, and 128 are more than its parameter capacity allows",
    ):
        SVM(capacity=100).fit(X, y)
