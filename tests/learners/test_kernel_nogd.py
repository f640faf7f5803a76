"""NOGD against weights on explicit features in numpy, and against figures of other programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from olscale.compiled.csr import Rows, read_only, to_csr, to_dense
from olscale.errors import ParameterError
from olscale.learners.contract.learner import codes_of
from olscale.learners.kernel.nogd import NOGD
from olscale.testing import learner_checks
from tests.learners.exact import rows_of_file


class SmallNOGD(NOGD):
    """NOGD whose features come early in the small streams of the checks."""

    def __init__(
        self,
        B: int = 9,
        k: int = 4,
        gamma: float | str = "auto",
        sigma: float | None = None,
        p: float | None = None,
        multiclass: str = "max-score",
    ) -> None:
        super().__init__(B=B, k=k, gamma=gamma, sigma=sigma, p=p, multiclass=multiclass)


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=title) for title, check in learner_checks(SmallNOGD)],
)
def test_contract(check: Callable[[], None]) -> None:
    check()


def kernel_values(X: np.ndarray, S: np.ndarray, gamma: float) -> np.ndarray:
    return np.exp(-gamma * ((X[:, None] - S[None]) ** 2).sum(axis=2))


def signs_of(f: np.ndarray, label: int, multiclass: str) -> np.ndarray:
    """Return +1, -1 or 0: by how many steps the weights of each output move."""
    if len(f) == 1:
        sign = 2.0 * label - 1.0
        return np.array([sign * (sign * f[0] < 1.0)])
    if multiclass == "ova":
        signs = np.where(np.arange(len(f)) == label, 1.0, -1.0)
        return np.array(signs * (signs * f < 1.0))
    rival = max((c for c in range(len(f)) if c != label), key=lambda c: (f[c], -c))
    moved = np.zeros(len(f))
    if f[label] - f[rival] < 1.0:
        moved[label] = 1.0
        moved[rival] = -1.0
    return moved


def oracle(
    X: np.ndarray,
    y: np.ndarray,
    B: int,
    k: int,
    eta: float,
    gamma: float,
    multiclass: str,
    classes: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and final weights by lists of vectors, then ``w = alpha pinv(M)`` on ``z = M k(x)``."""
    outputs = 1 if classes == 2 else classes
    vectors: list[np.ndarray] = []
    alpha: list[np.ndarray] = []
    scores = []
    M = None
    w = np.zeros((outputs, 0))
    for x, label in zip(X, y, strict=True):
        values = (
            kernel_values(x[None], np.array(vectors), gamma)[0]
            if vectors
            else np.zeros(0)
        )
        f = (
            np.zeros(outputs)
            if not vectors
            else np.array(alpha).T @ values
            if M is None
            else w @ (M @ values)
        )
        scores.append(f)
        moved = signs_of(f, int(label), multiclass)
        if not moved.any():
            continue
        if M is None and len(vectors) < B:
            vectors.append(x)
            alpha.append(eta * moved)
            continue
        if M is None:
            size, V = np.linalg.eigh(
                kernel_values(np.array(vectors), np.array(vectors), gamma)
            )
            size = size[::-1][:k]
            V = V[:, ::-1][:, :k]
            V = V[:, size > 1e-10 * size[0]]
            size = size[size > 1e-10 * size[0]]
            M = np.diag(size**-0.5) @ V.T
            w = np.array(alpha).T @ np.linalg.pinv(M)
        w += eta * np.outer(moved, M @ values)
    return np.array(scores), w


def stream(
    classes: int, rows: int = 200, columns: int = 5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return read_only(np.eye(columns)[y] + rng.normal(size=(rows, columns))), read_only(
        y
    )


def learned(
    X: Rows, y: np.ndarray, classes: int, **params: Any
) -> tuple[NOGD, np.ndarray]:
    learner = NOGD(**params)
    learner.begin(5, classes)
    return learner, learner.learn(X, y)


@pytest.mark.parametrize(
    ("classes", "multiclass"), [(2, "ova"), (4, "ova"), (4, "max-score")]
)
@pytest.mark.parametrize("k", [1, 6, 30])
def test_scores_are_those_of_numpy(classes: int, multiclass: str, k: int) -> None:
    X, y = stream(classes)
    learner, scores = learned(
        X, y, classes, B=30, k=k, eta=0.4, gamma=0.2, multiclass=multiclass
    )
    expected, w = oracle(X, y, 30, k, 0.4, 0.2, multiclass, classes)
    np.testing.assert_allclose(scores, expected, atol=1e-8)
    assert learner.state_["memory"][0, 0] == 2.0
    assert rkhs_norm(learner, X) == pytest.approx(float(np.linalg.norm(w)), rel=1e-8)


def rkhs_norm(learner: NOGD, X: np.ndarray) -> float:
    """Return the norm of the model by its vectors, which are read back from its arrays."""
    state = learner.state_
    count = int(learner.state_["counts"][0])
    places = np.flatnonzero(state["feature"] >= 0)
    S = np.zeros((count, X.shape[1]))
    slots = state["values"].transpose(0, 2, 1).reshape(-1, state["values"].shape[1])
    S[:, state["feature"][places]] = slots[:count, places]
    alpha = state["alpha"][:count]
    return float(
        np.sqrt(np.sum(alpha * (kernel_values(S, S, float(state["gamma"][0])) @ alpha)))
    )


@given(seed=st.integers(0, 1000), multiclass=st.sampled_from(["ova", "max-score"]))
@settings(max_examples=10)
def test_as_many_features_as_vectors_score_as_the_kernel_does(
    seed: int, multiclass: str
) -> None:
    """The turn then changes no score: with all eigenvectors, weights are worth the coefficients that they are made of."""
    X, y = stream(3, rows=300, seed=seed)
    learner, _ = learned(X, y, 3, B=12, k=12, gamma=0.5, multiclass=multiclass)
    assert learner.state_["memory"][0, 0] == 2.0
    kernel = NOGD(B=300, k=1, gamma=0.5, multiclass=multiclass)
    kernel.begin(5, 3)
    row = 0
    while kernel.state_["counts"][0] < 12:
        kernel.learn(X[row : row + 1], y[row : row + 1])
        row += 1
    slots = len(learner.state_["sizes"])
    np.testing.assert_allclose(
        learner.state_["matrix"][:12, slots:], kernel.state_["alpha"][:12], atol=1e-7
    )


@pytest.mark.parametrize(
    ("name", "columns", "gamma", "k", "mistakes", "norm", "total"),
    [
        ("a1a", 123, 0.01, 20, 348, 11.472799161734585, -1770.878744732),
        ("a1a", 123, 0.01, 100, 344, 12.043245532813268, -1770.921185264),
        ("svmguide1", 4, 0.001, 20, 134, 13.151875355153612, 1720.863149007),
        ("svmguide1", 4, 0.001, 100, 114, 13.31631088667754, 1500.396307428),
    ],
)
def test_exact(
    name: str,
    columns: int,
    gamma: float,
    k: int,
    mistakes: int,
    norm: float,
    total: float,
) -> None:
    """Rows of ``reference/exact.csv``: the MATLAB code of the paper, and a derivation of ours."""
    rows, y = rows_of_file(name, "p7919" if name == "svmguide1" else "time")
    learner = NOGD(B=100, k=k, eta=0.5, gamma=gamma)
    learner.begin(columns, 2)
    scores = learner.learn(rows, y)
    assert int((codes_of(scores) != y).sum()) == mistakes
    assert scores.sum() == pytest.approx(total, rel=1e-9)
    assert rkhs_norm(learner, to_dense(rows, columns)) == pytest.approx(norm, rel=1e-9)


def test_threads_change_no_bit() -> None:
    X, y = stream(4, rows=900)
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(learned(X, y, 4, B=300, k=60)[1])
    np.testing.assert_array_equal(found[0], found[1])


def test_vectors_that_say_nothing_new_give_no_features() -> None:
    """Rows that repeat, and rows of zeros under a linear kernel, make eigenvalues of 0, or none else."""
    X = np.repeat([[1.0, 2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0]], 10, axis=0)
    y = read_only(np.arange(20) % 2)
    learner, scores = learned(read_only(X), y, 2, B=6, k=6, eta=0.1)
    assert np.isfinite(scores).all()
    assert np.linalg.matrix_rank(learner.state_["matrix"][:6, :6]) == 1
    _, scores = learned(
        to_csr(read_only(np.zeros((20, 5)))), y, 2, B=6, k=6, kernel="linear"
    )
    np.testing.assert_array_equal(scores, 0.0)


def test_more_features_than_vectors_are_refused() -> None:
    with pytest.raises(
        ParameterError, match="learner nogd: k was 30, expected at most B, which was 10"
    ):
        NOGD(B=10, k=30).resolved_params()
