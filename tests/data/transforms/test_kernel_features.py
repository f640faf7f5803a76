"""Features for a Gaussian kernel: products near it, the same bits however they come, and widths that rows decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_approximation import Nystroem as PeerNystroem
from threadpoolctl import threadpool_limits

from olscale.compiled.csr import CSR, read_only, to_csr
from olscale.data.chunk import Chunk
from olscale.data.transforms.fourier import RandomFourier
from olscale.data.transforms.kernel_features import median_gamma
from olscale.data.transforms.nystroem import Nystroem
from olscale.data.transforms.pipeline import (
    canonical_transform,
    fit_transforms,
    make_transform,
    size_after,
)
from olscale.errors import ParameterError
from olscale.learners.kernel.fogd import FOGD
from olscale.learners.linear.arow import AROW


def cloud(rows: int = 80, columns: int = 4, seed: int = 0) -> np.ndarray:
    return read_only(np.random.default_rng(seed).normal(size=(rows, columns)))


def gram(X: np.ndarray, S: np.ndarray, gamma: float) -> np.ndarray:
    return np.exp(-gamma * ((X[:, None] - S[None]) ** 2).sum(axis=2))


def applied(text: str, X: Any, columns: int, projection: int = 0) -> np.ndarray:
    split = Chunk(
        X, np.zeros(len(X.indptr) - 1 if isinstance(X, CSR) else len(X)), columns
    )
    result = (
        fit_transforms([text], lambda: iter([split]), columns, projection)
        .apply(split)
        .X
    )
    assert not isinstance(result, CSR)
    return result


@given(seed=st.integers(0, 1000), gamma=st.sampled_from([0.01, 0.5, 3.0]))
@settings(max_examples=15)
def test_products_of_fourier_features_are_near_the_kernel(
    seed: int, gamma: float
) -> None:
    """Five standard deviations; rows have length 1."""
    X = cloud(20, seed=seed)
    z = applied(f"rff:2000,gamma={gamma}", X, 4, projection=seed)
    assert np.abs(z @ z.T - gram(X, X, gamma)).max() < 5.0 / np.sqrt(2.0 * 1000)
    np.testing.assert_allclose((z * z).sum(axis=1), 1.0, rtol=1e-12)


def test_fourier_features_are_those_of_the_learner() -> None:
    """The first row is learned with a step of 1 from weights of 0, so the weights are its features."""
    X = cloud()
    learner = FOGD(D=30, eta=1.0, gamma=0.7)
    learner.begin(4, 2)
    key = np.random.SeedSequence([5, 2]).generate_state(2).astype(np.int64)
    learner.restore({**learner.state(), "key": key})
    learner.learn(X[:1], read_only(np.array([1])))
    z = applied("rff:60,gamma=0.7,seed=5", X, 4, projection=2)
    np.testing.assert_array_equal(learner.state_["W"][0], z[0])


def test_nystrom_features_of_all_rows_have_the_kernel() -> None:
    X = cloud(30)
    z = applied("nystroem:30,gamma=0.3", X, 4)
    np.testing.assert_allclose(z @ z.T, gram(X, X, 0.3), atol=1e-6)


def test_nystrom_features_are_scikit_learns() -> None:
    """Up to a rotation: products are equal, for the rows that were drawn."""
    X = cloud()
    step = Nystroem(features=20, gamma=0.5)
    step.fit(lambda: iter([X[:20]]), 4)
    peer = PeerNystroem(gamma=0.5, n_components=20).fit(X[:20])
    ours = step.apply(X, 4)
    theirs = peer.transform(X)
    assert not isinstance(ours, CSR)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-7)


@pytest.mark.parametrize(
    "text", ["nystroem:7", "nystroem:7,gamma=median", "rff:6,gamma=median"]
)
def test_sparse_rows_and_cuts_decide_no_bit_of_the_fit(text: str) -> None:
    X = np.where(np.random.default_rng(1).random((80, 4)) < 0.5, 0.0, cloud())
    expected = applied(text, read_only(X), 4)
    sparse = to_csr(read_only(X))
    np.testing.assert_array_equal(applied(text, sparse, 4), expected)
    step = make_transform(text)

    def pieces() -> Iterator[Any]:
        for start in range(0, 80, 11):
            yield CSR(
                sparse.indptr[start : min(start + 11, 80) + 1],
                sparse.indices,
                sparse.data,
            )

    step.fit(pieces, 4)
    np.testing.assert_array_equal(step.apply(sparse, 4), expected)


def test_sparse_rows_of_millions_of_features_are_never_dense() -> None:
    rng = np.random.default_rng(0)
    columns = 3_200_000
    indices = np.concatenate(
        [np.sort(rng.choice(columns, 15, replace=False)) for _ in range(60)]
    ).astype(np.int32)
    X = CSR(np.arange(0, 901, 15), indices, rng.normal(size=900))
    for text in ("rff:20,gamma=median", "nystroem:20,gamma=median"):
        assert np.isfinite(applied(text, X, columns)).all()


def test_the_median_width_is_that_of_the_rows() -> None:
    X = cloud(300)
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))[
        np.triu_indices(300, 1)
    ]
    step = RandomFourier(features=4, gamma="median")
    step.fit(lambda: iter([X]), 4)
    assert step._gamma(4) == pytest.approx(1.0 / (2.0 * np.median(distances) ** 2))
    assert RandomFourier(features=4)._gamma(4) == 0.25


def test_threads_change_no_bit() -> None:
    X = cloud(400, 12)
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(applied("nystroem:200,gamma=median", X, 12))
    np.testing.assert_array_equal(found[0], found[1])


def test_rows_that_cannot_be_used_are_not_drawn() -> None:
    X = np.array(cloud())
    X[::2, 1] = np.nan
    X[1::4, 0] = 1e200
    for text in (
        "nystroem:10,gamma=median",
        "nystroem:64,gamma=median",
        "rff:10,gamma=median",
    ):
        z = applied(text, read_only(X), 4)
        assert np.isfinite(z[3::4]).all()
        assert np.isnan(z[::2]).all()


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_fewer_rows_than_features_leave_features_of_0(rows: int) -> None:
    step = Nystroem(features=5, gamma="median")
    step.fit(lambda: iter([cloud(rows)]), 4)
    z = step.apply(cloud(6, seed=2), 4)
    assert not isinstance(z, CSR)
    assert (z[:, rows:] == 0.0).all()
    assert np.isfinite(z).all()


def test_a_linear_learner_behind_them_learns_what_no_line_divides() -> None:
    X = cloud(3000, 2)
    y = read_only((np.hypot(X[:, 0], X[:, 1]) > 1.1).astype(np.int64))
    for text in ("rff:200,gamma=1", "nystroem:50,gamma=1"):
        z = applied(text, X, 2)
        assert AROW().fit(z[:2000], y[:2000]).score(z[2000:], y[2000:]) > 0.93


def test_texts() -> None:
    assert canonical_transform("rff:1000") == "rff:features=1000,gamma=auto,seed=0"
    assert (
        canonical_transform("nystroem:gamma=median,features=9")
        == "nystroem:features=9,gamma=median,seed=0"
    )
    assert size_after(["rff:8", "nystroem:5"], 100, 7.0) == (5, 5)
    for text, message in (
        ("rff:7", "transform rff: features was 7, expected an even number"),
        ("rff:0", "features was 0, expected a whole number of at least 2"),
        ("nystroem:0", "transform nystroem: features was 0"),
        ("rff:8,gamma=0", "gamma was 0, expected a number > 0"),
        (
            "rff:8,gamma=wide",
            "gamma was 'wide', expected a number > 0, or 'auto', or 'median'",
        ),
        ("nystroem:8,seed=-1", "seed was -1"),
        ("nystroem", "features is missing"),
    ):
        with pytest.raises(ParameterError, match=message):
            make_transform(text)


@pytest.mark.parametrize("layout", [read_only, to_csr], ids=["dense", "csr"])
@pytest.mark.parametrize("gamma", ["auto", "median"])
def test_a_large_offset_changes_neither_width_nor_features(
    layout: Any, gamma: str
) -> None:
    shift = np.array([0.0, 1e8, 0.0, 0.0])
    far = read_only(cloud(300) + shift)
    near = read_only(far - shift)  # what rounding has left of them
    np.testing.assert_allclose(median_gamma(layout(far)), median_gamma(near), rtol=1e-6)
    expected = applied(f"nystroem:20,gamma={gamma}", near, 4)
    features = applied(f"nystroem:20,gamma={gamma}", layout(far), 4)
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-6)


def test_the_width_of_rows_around_two_points_far_apart() -> None:
    """Most pairs are of one point, and the width is theirs."""
    X = cloud(300)
    far = X + np.where(np.arange(300) % 12, 1e8, -1e8)[:, None]
    squares = ((far[:, None] - far[None]) ** 2).sum(axis=2)[np.triu_indices(300, 1)]
    np.testing.assert_allclose(
        median_gamma(read_only(far)), 1.0 / (2.0 * np.median(squares)), rtol=1e-6
    )
