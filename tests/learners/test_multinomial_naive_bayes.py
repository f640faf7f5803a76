"""Multinomial naive Bayes: the probabilities of scikit-learn, row by row, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import MultinomialNB

from olscale.compiled.csr import CSR, read_only, slice_rows, to_csr
from olscale.errors import ParameterError
from olscale.learners import MultinomialNaiveBayes
from olscale.learners.contract.learner import UNKNOWN
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


@pytest.mark.parametrize("huge", [1.0, 1e60], ids=["usual", "huge"])
def test_two_classes_have_the_same_bits_in_all_layouts_and_chunks(huge: float) -> None:
    """Rows longer than a block, of all kinds of values, with stored zeros, some without labels."""
    rng = np.random.default_rng(5)
    X = rng.choice([1.0, 2.0, 3.0, 4.0, 0.3, 1e-70], (90, 900)) * huge
    X[rng.random(X.shape) < rng.random((90, 1))] = 0.0
    X[:40] *= np.where(np.isin(X[:40] / huge, [1, 2, 3]), 1 / huge, 0.0)
    y = rng.choice([UNKNOWN, 0, 1], 90)
    weights = read_only(rng.choice([0.0, 1.0, 0.5], 90))
    sparse = to_csr(X)
    places = np.tile(np.arange(900, dtype=np.int32), 90)
    stored = CSR(
        read_only(np.arange(91) * 900), read_only(places), read_only(X.ravel())
    )
    results = []
    for rows, step in ((read_only(X), 90), (sparse, 90), (sparse, 7), (stored, 90)):
        learner = MultinomialNaiveBayes(alpha=0.5)
        learner.begin(900, 2)
        scores = [
            learner.learn(
                slice_rows(rows, i, i + step),
                read_only(y[i : i + step]),
                read_only(weights[i : i + step]),
            )
            for i in range(0, 90, step)
        ]
        state = {name: values.tolist() for name, values in learner.state().items()}
        results.append((np.vstack(scores), learner.scores(rows), state))
    first_scores, first_later, first_state = results[0]
    assert np.isfinite(first_scores).all()
    for scores, later, state in results[1:]:
        np.testing.assert_array_equal(scores, first_scores)
        np.testing.assert_array_equal(later, first_later)
        assert state == first_state
    expected = MultinomialNB(alpha=0.5)
    known = y != UNKNOWN
    expected.partial_fit(X[known], y[known], [0, 1], sample_weight=weights[known])
    logs = expected.predict_joint_log_proba(X)
    np.testing.assert_allclose(
        first_later[:, 0], logs[:, 1] - logs[:, 0], rtol=1e-9, atol=1e-9
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
