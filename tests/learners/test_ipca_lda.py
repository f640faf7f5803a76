"""Discriminants on incremental components, beside plain numpy that keeps all rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import IncrementalPCA

from olscale.compiled.csr import read_only, to_csr
from olscale.errors import ParameterError
from olscale.learners.contract.learner import UNKNOWN, codes_of
from olscale.learners.network.ipca_lda import IPCALDA


def stream(
    classes: int, n: int = 120, d: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return read_only(
        2.0 * rng.normal(size=(classes, d))[y] + rng.normal(size=(n, d)) + 3.0
    ), read_only(y)


def oracle(
    X: np.ndarray,
    y: np.ndarray,
    new: np.ndarray,
    basis: np.ndarray,
    variances: np.ndarray,
    eps: float,
) -> np.ndarray:
    """Return the scores of each class from all rows, for directions (a row each) and the variances along them."""
    mean = X.mean(axis=0)
    classes = range(y.max() + 1)
    M = np.array([basis @ (X[y == c].mean(axis=0) - mean) for c in classes])
    p = np.array([np.mean(y == c) for c in classes])
    S = np.diag(variances) - sum(p[c] * np.outer(M[c], M[c]) for c in classes)
    L = np.linalg.inv(S + eps * np.trace(S) / len(S) * np.eye(len(S))) @ M.T
    return (new - mean) @ basis.T @ L - np.diag(M @ L) / 2.0 + np.log(p)


@pytest.mark.parametrize("block", [1, 7, 16])
@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_those_of_the_rows_before_the_block(
    classes: int, block: int
) -> None:
    X, y = stream(classes)
    learner = IPCALDA(components=50, shrink=0.2, block=block)
    learner.begin(6, classes)
    scores = learner.learn(X, y)
    np.testing.assert_array_equal(scores[:block], 0.0)
    for t in (49, 112, 119, 120):
        known = t - t % block if t < 120 else 120
        basis = np.linalg.eigh(np.cov(X[:known].T, bias=True))
        expected = oracle(
            X[:known], y[:known], X[t % 120][None], basis[1].T, basis[0], 0.2
        )[0]
        got = scores[t] if t < 120 else learner.scores(X[:1])[0]
        np.testing.assert_allclose(
            got,
            expected if classes > 2 else expected[1:] - expected[:1],
            rtol=1e-8,
            atol=1e-9,
        )


def test_few_components_are_those_of_scikit_learns_incremental_pca() -> None:
    X, y = stream(3, n=128, d=40)
    learner = IPCALDA(components=10, block=16)
    learner.begin(40, 3)
    learner.learn(X, y)
    peer = IncrementalPCA(n_components=10)
    for start in range(0, 128, 16):
        peer.partial_fit(X[start : start + 16])
    expected = oracle(X, y, X, peer.components_, peer.singular_values_**2 / 128, 0.1)
    np.testing.assert_allclose(learner.scores(X), expected, rtol=1e-8, atol=1e-9)


def test_the_state_is_constant_and_small_for_sparse_rows() -> None:
    """d (K + classes + block) numbers of 20,000 features, whatever the rows."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((96, 20_000)) < 0.01, rng.random((96, 20_000)), 0.0)
    y = read_only(np.arange(96) % 2)
    X[np.arange(96), y] = 3.0
    learner = IPCALDA(components=8)
    learner.begin(20_000, 2)
    rows = to_csr(X)
    sizes = []
    for _ in range(3):
        learner.learn(rows, y)
        sizes.append(learner.measures()["model_bytes"])
    assert sizes[0] == sizes[2] <= learner.state_bytes(20_000, 2) + 8 * 20_000 + 1_000
    assert np.array_equal(codes_of(learner.scores(rows)), y)


def test_rows_that_wait_are_in_the_model_of_a_test() -> None:
    X, y = stream(3)
    whole = IPCALDA(block=16)
    part = IPCALDA(block=1_000)
    for learner in (whole, part):
        learner.begin(6, 3)
        learner.learn(X, y)
    assert part.state_["rows"][0] == 0
    np.testing.assert_allclose(part.scores(X), whole.scores(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("classes", "known"), [(2, 0), (2, 1), (4, 2)])
def test_classes_that_have_not_come_are_not_predicted(classes: int, known: int) -> None:
    X, _ = stream(2)
    learner = IPCALDA()
    learner.begin(6, classes)
    learner.learn(X, read_only(np.full(120, known)))
    assert set(codes_of(learner.scores(X)).tolist()) == {known}


def test_classes_that_do_not_vary_are_told_apart() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    y = read_only(np.tile(np.arange(3), 10))
    learner = IPCALDA(shrink=0.0)
    learner.begin(2, 3)
    learner.learn(read_only(np.tile(X, (10, 1))), y)
    assert codes_of(learner.scores(X)).tolist() == [0, 1, 2]


def test_a_state_that_cannot_be_is_refused() -> None:
    X, y = stream(2)
    learner = IPCALDA(components=3)
    learner.begin(6, 2)
    learner.learn(X, y)
    state = learner.state()
    wrong = {
        "s": state["s"][:2],
        "U": state["U"][:, :2],
        "seen": state["seen"] + 16,
        "rows": -state["rows"],
    }
    for name, array in wrong.items():
        with pytest.raises(ValueError, match="state does not fit learner ipca-lda"):
            learner.restore({**state, name: array})
    with pytest.raises(ValueError, match="components"):
        learner.restore({**state, "s": np.ones(5), "U": np.ones((6, 5))})
    learner.learn(X[:3], read_only(np.array([UNKNOWN, 0, UNKNOWN])))


def test_components_that_do_not_fit_the_memory_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"may need .* this machine has"):
        IPCALDA(components=10**6).begin(10**7, 2)
