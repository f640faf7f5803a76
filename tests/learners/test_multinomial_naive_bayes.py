"""Multinomial naive Bayes: the probabilities of scikit-learn, row by row, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import MultinomialNB

from olscale.compiled.csr import read_only, to_csr
from olscale.errors import ParameterError
from olscale.learners import MultinomialNaiveBayes
from olscale.learners.contract.usable_rows import diverged_at
from olscale.learners.registry import make_learner


def texts(classes: int, rows: int = 300, words: int = 40) -> tuple[np.ndarray, ...]:
    """Return counts of words, some of which are commoner in a class, and classes."""
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, rows)
    rates = rng.gamma(0.5, 1.0, (classes, words))
    return rng.poisson(rates[y]).astype(float), y


@pytest.mark.parametrize("alpha", [1.0, 0.03])
@pytest.mark.parametrize("classes", [2, 5])
def test_probabilities_are_those_of_scikit_learn_row_by_row(
    classes: int, alpha: float
) -> None:
    """Classes without rows have the probability 0 there, and e^-700 times the least here."""
    X, y = texts(classes)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    ours = MultinomialNaiveBayes(alpha=alpha)
    theirs = MultinomialNB(alpha=alpha)
    for i in range(len(y)):
        row = csr_matrix(X[i : i + 1])
        if i > 0:
            with np.errstate(divide="ignore"):
                expected = theirs.predict_proba(row)
                label = theirs.predict(row)
            np.testing.assert_allclose(
                ours.predict_proba(row), expected, rtol=1e-11, atol=1e-290
            )
            assert ours.predict(row) == label
        for model in (ours, theirs):
            with np.errstate(divide="ignore"):
                model.partial_fit(
                    row, y[i : i + 1], range(classes), sample_weight=weights[i : i + 1]
                )


@pytest.mark.parametrize("classes", [2, 3])
def test_more_features_than_fit_a_block_of_logarithms(classes: int) -> None:
    X, y = texts(classes, rows=30, words=700)
    ours = MultinomialNaiveBayes().fit(X, y)
    expected = MultinomialNB().fit(X, y).predict_log_proba(X)
    got = ours.decision_function(X)
    if classes == 2:
        np.testing.assert_allclose(got, expected[:, 1] - expected[:, 0], rtol=1e-9)
    else:
        centred = got - got.max(axis=1, keepdims=True)
        np.testing.assert_allclose(
            centred, expected - expected.max(axis=1, keepdims=True), atol=1e-9
        )


def test_runs_of_it_and_of_scikit_learn_have_the_same_probabilities() -> None:
    """An evaluation takes a learner's own, which are not calibrated."""
    X, y = texts(3)
    both = []
    for name in ("multinomial-naive-bayes", "sklearn.naive_bayes:MultinomialNB"):
        learner = make_learner(name)
        learner.begin(X.shape[1], 3)
        assert learner.show_probabilities()  # type: ignore[attr-defined]
        learner.learn(to_csr(X), read_only(y))
        both.append(learner.scores(to_csr(X))[:, -3:])
    np.testing.assert_allclose(*both, rtol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_value_below_zero_is_named(kind: str) -> None:
    X, y = texts(2)
    X[7, 3] = -0.5
    rows = csr_matrix(X) if kind == "csr" else X
    wanted = "feature 3 was -0.5, expected counts of 0 or more; leave out transforms"
    with pytest.raises(ParameterError, match=wanted):
        MultinomialNaiveBayes().fit(rows, y)
    learner = MultinomialNaiveBayes()
    learner.begin(X.shape[1], 2)
    chunk = to_csr(X) if kind == "csr" else read_only(X)
    scores = learner.learn(chunk, read_only(y))
    assert np.isfinite(scores[:7]).all()
    assert np.isnan(scores[7:]).all()
    assert learner.state()["seen"] == 7
    assert wanted in str(diverged_at(learner, chunk, 7, 7))


def test_counts_beyond_numbers_end_learning() -> None:
    """Ratios of counts would be infinite, and all later scores no numbers."""
    X, y = read_only(np.ones((3, 2))), read_only(np.array([0, 1, 0]))
    learner = MultinomialNaiveBayes()
    learner.begin(2, 2)
    scores = learner.learn(X, y, read_only(np.array([1.0, 1e300, 1.0])))
    assert np.isfinite(scores[0])
    assert np.isnan(scores[1:]).all()
    assert all(np.isfinite(array).all() for array in learner.state().values())
