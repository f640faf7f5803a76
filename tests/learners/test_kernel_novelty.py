"""Novelty detectors with support vectors against plain numpy, figures of a derivation, and what they make of labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from olscale.compiled.csr import read_only, slice_rows, to_csr, to_dense
from olscale.errors import ParameterError
from olscale.learners.contract.learner import UNKNOWN
from olscale.learners.registry import make_learner
from tests.learners.exact import rows_of_file

GAMMA = 0.5


def stream(rows: int = 150) -> np.ndarray:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 3))
    X[rng.random(rows) < 0.1] += 3.0
    X[rng.random(rows) < 0.1] = X[0]
    return read_only(X)


def _plain(
    X: np.ndarray,
    update: Callable[[float, float], tuple[float, float, float]],
    rho: float,
) -> np.ndarray:
    """Return the scores: `update` takes f and rho to the factor of old coefficients, the new one and rho."""
    alpha = np.zeros(0)
    scores = []
    for i, x in enumerate(X):
        f = alpha @ np.exp(-GAMMA * ((X[:i] - x) ** 2).sum(axis=1))
        scores.append(f - rho)
        factor, new, rho = update(f, rho)
        alpha = np.append(alpha * factor, new)
    return np.array(scores)


def _olk(
    C: float, v: float, r: float, rule: str
) -> Callable[[float, float], tuple[float, float, float]]:
    def update(f: float, rho: float) -> tuple[float, float, float]:
        a = np.clip(1 + r - f, v, C)
        after = (f + a) / (1 + r)
        if rule == "68":
            rho = 1 + max(0, after - 1)
        elif v < a < C:  # of itself 0
            assert after - 1 < 1e-15
        return 1 / (1 + r), a / (1 + r), rho

    return update


def _norma(
    eta: float, lam: float, nu: float, power: float
) -> Callable[[float, float], tuple[float, float, float]]:
    t = iter(range(1, 10**6))

    def update(f: float, rho: float) -> tuple[float, float, float]:
        rate = eta / next(t) ** power
        hit = f < rho
        return 1 - rate * lam, rate * hit, rho + rate * (nu - hit)

    return update


SETTINGS: list[tuple[str, dict[str, Any], Any, float]] = [
    ("olk-n", {"C": 0.2, "v": 0.1, "r": 0.001, "rule": "69"}, _olk, 1.0),
    ("olk-n", {"C": 0.5, "v": 0.05, "r": 0.05, "rule": "68"}, _olk, 1.0),
    ("norma-n", {"eta": 0.1, "lam": 1.0, "nu": 0.1, "power": 0.0}, _norma, 0.0),
    ("norma-n", {"eta": 0.5, "lam": 0.2, "nu": 0.3, "power": 0.5}, _norma, 0.0),
]


@pytest.mark.parametrize(("name", "params", "update", "rho"), SETTINGS)
def test_scores_are_those_of_the_plain_update(
    name: str, params: dict[str, Any], update: Any, rho: float
) -> None:
    X = stream()
    learner = make_learner(name, {"gamma": GAMMA, **params})
    learner.begin(3, 2)
    scores = learner.learn(X, read_only(np.zeros(len(X), dtype=np.int64)))[:, 0]
    np.testing.assert_allclose(scores, _plain(X, update(**params), rho), atol=1e-12)


@pytest.mark.parametrize("name", ["olk-n", "norma-n"])
def test_labels_do_not_matter_nor_does_the_cut_or_the_layout(name: str) -> None:
    X = stream()
    rng = np.random.default_rng(2)

    def learned(
        rows: Any, y: np.ndarray, cut: int
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        learner = make_learner(name, {"gamma": GAMMA})
        learner.begin(3, 2)
        parts = [
            learner.learn(slice_rows(rows, i, i + cut), read_only(y[i : i + cut]))
            for i in range(0, 150, cut)
        ]
        return np.concatenate(parts), learner.state()

    scores, state = learned(X, np.zeros(150, dtype=np.int64), 150)
    for rows, cut in ((X, 11), (to_csr(X), 150), (to_csr(X), 7)):
        other, its = learned(rows, rng.integers(0, 2, 150), cut)
        np.testing.assert_array_equal(other, scores)
        for key in state:
            np.testing.assert_array_equal(its[key], state[key])
    hidden = np.arange(150) % 4 == 2
    learner = make_learner(name, {"gamma": GAMMA})
    learner.begin(3, 2)
    learner.learn(X, read_only(np.where(hidden, UNKNOWN, 0)))
    assert int(learner.state_["seen"][0]) == int((~hidden).sum())


@pytest.mark.parametrize(
    ("name", "params", "mistakes", "norm", "total"),
    [
        (
            "olk-n",
            {"r": 0.001, "C": 0.2, "v": 0.1},
            56,
            17.271033574298706,
            42.0221823305247,
        ),
        (
            "olk-n",
            {"r": 0.01, "C": 0.5, "v": 0.05},
            147,
            3.0656786411602814,
            9.00556162072033,
        ),
        (
            "norma-n",
            {"eta": 0.1, "lam": 0.1, "nu": 0.1},
            49,
            0.32961227574102436,
            0.937013520791714,
        ),
    ],
)
def test_exact(
    name: str, params: dict[str, float], mistakes: int, norm: float, total: float
) -> None:
    """Rows of exact.csv: the first 500 of svmguide1 in the order p7919, features from -1 to 1."""
    X = to_dense(rows_of_file("svmguide1", "p7919")[0], 4)
    X = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    learner = make_learner(name, {"p": 0.5, **params})
    learner.begin(4, 2)
    scores = learner.learn(read_only(X[:500]), read_only(np.zeros(500, dtype=np.int64)))
    assert int((scores < 0).sum()) == mistakes
    assert learner.measures()["norm_w"] == pytest.approx(norm, rel=1e-12)
    assert (learner.state_["alpha"] * learner.state_["scale"]).sum() == pytest.approx(
        total, rel=1e-12
    )


def test_a_threshold_bounds_the_vectors() -> None:
    learner = make_learner(
        "olk-n", {"gamma": GAMMA, "C": 0.2, "r": 0.05, "threshold": 0.05}
    )
    learner.begin(3, 2)
    learner.learn(stream(), read_only(np.zeros(150, dtype=np.int64)))
    assert (
        learner.measures()["support_vectors"] <= np.log(0.2 / 0.05) / np.log(1.05) + 1
    )


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"v was 0\.3, expected at most C = 0\.2"):
        make_learner("olk-n", {"v": 0.3, "C": 0.2})


def test_the_batch_reference_is_that_of_all_rows() -> None:
    X = stream()
    learner = make_learner("one-class-svm", {"nu": 0.2, "gamma": GAMMA})
    learner.begin(3, 2)
    scores = learner.learn(X, read_only(np.zeros(150, dtype=np.int64)))[:, 0]
    np.testing.assert_array_equal(scores[:64], 0.0)
    half = OneClassSVM(nu=0.2, gamma=GAMMA).fit(X[:64])
    np.testing.assert_allclose(
        scores[64:128], half.decision_function(X[64:128]), atol=1e-9
    )
    whole = OneClassSVM(nu=0.2, gamma=GAMMA).fit(X)
    np.testing.assert_allclose(
        learner.scores(X)[:, 0], whole.decision_function(X), atol=1e-9
    )
