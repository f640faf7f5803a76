"""Probabilities of estimators whose scores are a distribution of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score

from olscale.learners import KNNWindow, NaiveBayes
from olscale.learners.registry import make_learner
from olscale.testing.estimators import check_the_predicted_class_is_the_likeliest

SHARES = ("hoeffding-tree", "hoeffding-adaptive-tree", "arf", "knn-window")
ORDER = np.random.default_rng(3).permutation(150)
X, Y = (part[ORDER] for part in load_iris(return_X_y=True))


def fresh(name: str) -> Any:
    params = {"arf": {"trees": 5}, "pair-tiles": {"rate": 0.5}}
    return make_learner(name, params.get(name))


@pytest.mark.parametrize("name", [*SHARES, "naive-bayes", "pair-tiles"])
def test_tools_of_scikit_learn_take_the_probabilities(name: str) -> None:
    p = fresh(name).fit(X, Y).predict_proba(X)
    assert log_loss(Y, p) < 1.0
    assert roc_auc_score(Y, p, multi_class="ovr") > 0.8
    losses = cross_val_score(fresh(name), X, Y, cv=3, scoring="neg_log_loss")
    assert np.isfinite(losses).all()
    voters = [("one", fresh(name)), ("other", NaiveBayes())]
    voting = VotingClassifier(voters, voting="soft").fit(X, Y)
    both = 0.5 * (p + NaiveBayes().fit(X, Y).predict_proba(X))
    np.testing.assert_allclose(voting.predict_proba(X), both, rtol=1e-12)


def test_neighbours_have_their_shares_of_the_votes() -> None:
    rows = np.array([[0.0], [0.1], [0.2], [5.0]])
    two = KNNWindow(k=3).fit(rows, ["b", "a", "b", "a"])
    np.testing.assert_allclose(two.predict_proba([[0.0]]), [[1 / 3, 2 / 3]])
    three = KNNWindow(k=4).partial_fit(rows, [7, 9, 7, 7], classes=[7, 8, 9])
    np.testing.assert_allclose(three.predict_proba([[0.0]]), [[0.75, 0.0, 0.25]])


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("classes", [2, 3])
def test_without_rows_all_classes_are_equally_likely(name: str, classes: int) -> None:
    learner = fresh(name)
    learner.begin(4, classes)
    p = learner.probabilities_of(learner.scores(X[:2]))
    np.testing.assert_allclose(p, 1.0 / classes, rtol=1e-8)
    # The first of equally likely classes is predicted.
    assert p.argmax(axis=1).tolist() == [0, 0]


def test_the_least_difference_of_two_shares_decides() -> None:
    p = KNNWindow().fit([[0.0]], [1]).probabilities_of(np.ones((1, 1)))
    assert p.tolist() == [[1.0]]
    learner = KNNWindow()
    learner.begin(1, 2)
    p = learner.probabilities_of(np.array([[0.0], [1e-17], [-1e-9], [1.0]]))
    assert p.argmax(axis=1).tolist() == [1, 1, 0, 1]
    np.testing.assert_array_equal(p.sum(axis=1), 1.0)
    assert p[3].tolist() == [0.0, 1.0]


def test_densities_are_those_of_the_normal_distribution() -> None:
    rows = np.array([[0.0], [2.0], [5.0], [9.0]])
    learner = NaiveBayes().fit(rows, [0, 0, 1, 1])
    x = 4.0
    first = np.exp(-((x - 1.0) ** 2) / 4.0) / np.sqrt(2.0)
    second = np.exp(-((x - 7.0) ** 2) / 16.0) / np.sqrt(8.0)
    expected = first / (first + second)
    assert learner.predict_proba([[x]])[0, 0] == pytest.approx(expected, rel=1e-12)


def test_a_learner_without_rows_says_so() -> None:
    with pytest.raises(NotFittedError):
        KNNWindow().predict_proba([[0.0]])


def test_the_check_of_probabilities_can_fail() -> None:
    class Turned(KNNWindow):
        def probabilities_of(self, scores: Any) -> Any:
            return super().probabilities_of(scores)[:, ::-1]

    with pytest.raises(AssertionError):
        check_the_predicted_class_is_the_likeliest(Turned, {})
