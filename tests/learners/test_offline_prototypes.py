"""Prototypes fitted before the stream: they are k-means's, stay where they are, and nothing but the rows decides them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from olscale.compiled.csr import CSR, to_csr
from olscale.errors import ParameterError
from olscale.learners.local.lol import ILOL, LOL
from olscale.learners.local.offline_prototypes import offline_prototypes
from olscale.testing import learner_checks


class OfflineLOL(LOL):
    """LOL with prototypes fitted beforehand by default, so that the contract's checks can make it."""

    name: ClassVar[str] = "offline-lol"

    def __init__(
        self, k: int = 20, prototypes: str = "offline", dtype: str = "float64"
    ) -> None:
        super().__init__(k=k, prototypes=prototypes, dtype=dtype)


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=title) for title, check in learner_checks(OfflineLOL)],
)
def test_contract(check: Callable[[], None]) -> None:
    check()


def clusters(rows: int = 600, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    which = rng.integers(0, 3, rows)
    return 10.0 * np.eye(3, d)[which] + rng.normal(size=(rows, d)), which


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_prototypes_are_the_means_of_the_clusters_and_stay(sparse: bool) -> None:
    X, which = clusters()
    learner = LOL(k=3, prototypes="offline")
    learner.begin(4, 2)
    learner.prepare(to_csr(X) if sparse else X)
    before = learner.prototypes_.copy()
    means = np.array([X[which == c].mean(axis=0) for c in range(3)])
    order = np.argsort(np.argmax(before, axis=1))
    np.testing.assert_allclose(before[order], means, atol=1e-9)
    learner.learn(to_csr(X) if sparse else X, (which == 0).astype(np.int64))
    np.testing.assert_array_equal(learner.prototypes_, before)
    assert learner.state_["seen"][0] == len(X)


def test_threads_change_no_bit() -> None:
    """Many small clusters in noise: partial sums of several threads, in any order, would show."""
    X = np.random.default_rng(1).normal(size=(5_000, 16))
    for rows in (X, to_csr(X)):
        found = []
        for threads in (1, 2, 4):
            with threadpool_limits(limits=threads):
                found.append(offline_prototypes(rows, 30, np.random.default_rng(0))[1])
        np.testing.assert_array_equal(found[1], found[0])
        np.testing.assert_array_equal(found[2], found[0])


def test_the_run_decides_the_start() -> None:
    """Another permutation starts elsewhere; the same one in the same place."""
    X = np.random.default_rng(1).normal(size=(500, 3))
    found = []
    for entropy in ((0, 0), (0, 0), (0, 1)):
        learner = LOL(k=7, prototypes="offline")
        learner.begin(3, 2, entropy)
        learner.prepare(X)
        found.append(learner.prototypes_.copy())
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_features_that_never_occur_cost_nothing() -> None:
    X = to_csr(np.array([[1.0, 0.0], [1.2, 0.0], [0.0, 3.0]]))
    wide = CSR(X.indptr, X.indices * 2_000_000_000, X.data)
    features, means = offline_prototypes(wide, 2, np.random.default_rng(0))
    assert features.tolist() == [0, 2_000_000_000]
    assert sorted(means.tolist()) == [[0.0, 3.0], [1.1, 0.0]]


@pytest.mark.parametrize(
    "X",
    [np.zeros((5, 3)), np.ones((5, 3)), to_csr(np.zeros((5, 3))), np.eye(3)[:1]],
    ids=["0", "1", "csr", "one row"],
)
def test_fewer_points_than_prototypes(X: np.ndarray | CSR) -> None:
    learner = ILOL(k=4, prototypes="offline")
    learner.begin(3, 2)
    learner.prepare(X)
    rows = np.eye(3)
    scores = learner.learn(rows, np.array([0, 1, 1]))
    assert np.isfinite(scores).all()
    assert np.isfinite(learner.scores(rows)).all()


@pytest.mark.parametrize("kind", [LOL, ILOL])
def test_as_an_estimator(kind: type[LOL] | type[ILOL]) -> None:
    """`fit` shows all rows first, `partial_fit` continues, and alone it is refused by name."""
    X, which = clusters()
    learner = kind(k=3, prototypes="offline").fit(X[:400], which[:400])
    assert learner.partial_fit(X[400:], which[400:]).score(X, which) > 0.95
    with pytest.raises(ParameterError, match=r"prototypes = 'offline'.*call fit"):
        kind(k=3, prototypes="offline").partial_fit(X, which)
    with pytest.raises(TypeError, match="one-pass"):
        kind(k=3).fit(X, which).prepare(X)
