"""Gaussian naive Bayes: the densities of a plain implementation, and MOA's mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.data.generators import recipe
from olscale.learners import NaiveBayes
from olscale.learners.bayes.gaussian_loop import LEAST
from olscale.learners.contract.learner import codes_of

# A generator, its name in MOA 24.07, and what this prints:
# java -cp moa.jar tests/learners/MoaMistakes.java STREAM "bayes.NaiveBayes" 20000
MISTAKES_OF_MOA = [
    ("sea", "generators.SEAGenerator", 2_415),
    (
        "rbf:speed=0.001,classes=5",
        "generators.RandomRBFGeneratorDrift -s 0.001 -c 5",
        13_114,
    ),
    ("hyperplane", "generators.HyperplaneGenerator", 1_467),
    ("waveform", "generators.WaveformGenerator", 3_896),
    ("sine:function=3", "generators.SineGenerator -f 3", 3_246),
]


def learned(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    learner = NaiveBayes()
    learner.begin(X.shape[1], len(np.unique(y)))
    return learner.learn(read_only(X), read_only(y.astype(np.int64)))


@pytest.mark.parametrize(("text", "name", "mistakes"), MISTAKES_OF_MOA)
def test_mistakes_are_those_of_moa_but_for_the_first_rows(
    text: str, name: str, mistakes: int
):
    """MOA's densities of classes with a row or two are 0, and class 0 wins where all are."""
    module, arguments, _ = recipe(text, "batches", 1, 20_000, {})
    batches = list(module.batches(**arguments))
    X = np.concatenate([batch.X for batch in batches])
    y = np.concatenate([batch.target for batch in batches])
    assert abs(int((codes_of(learned(X, y)) != y).sum()) - mistakes) <= 1, name


def test_scores_are_log_densities_of_the_rows_before():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 4)) + y[:, None]
    scores = learned(X, y)
    for i in (50, 299):
        for c in range(3):
            of_class = X[:i][y[:i] == c]
            variance = of_class.var(axis=0, ddof=1)
            terms = (X[i] - of_class.mean(axis=0)) ** 2 / variance + np.log(
                2 * np.pi * variance
            )
            expected = np.log(len(of_class) / i) - 0.5 * terms.sum()
            assert scores[i, c] == pytest.approx(expected, rel=1e-12)


def test_two_classes_have_the_difference_of_three():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3)) + y[:, None]
    both = NaiveBayes()
    both.begin(3, 3)
    scores = both.learn(read_only(X), read_only(y))
    np.testing.assert_array_equal(learned(X, y)[:, 0], scores[:, 1] - scores[:, 0])


def test_a_value_that_all_rows_of_a_class_have_counts_as_certain():
    X = np.array([[1.0], [1.0], [2.0], [3.0], [1.0], [1.5]])
    y = np.array([0, 0, 1, 1, 1, 0])
    scores = learned(X, y)
    assert scores[4, 0] < 0.0 < scores[5, 0]
    assert scores[5, 0] > -0.5 * LEAST


def test_a_weight_of_two_is_the_row_twice_and_of_zero_none():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = rng.integers(0, 2, 60)
    weights = rng.integers(0, 3, 60)
    weighted = NaiveBayes().fit(X, y, sample_weight=weights.astype(float))
    repeated = NaiveBayes().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9
    )
