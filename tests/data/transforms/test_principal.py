"""Principal components as features are those of plain numpy: of the rows so far, or of all."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import to_csr
from olscale.data.transforms.pipeline import check_order, make_transform
from olscale.data.transforms.principal import IPCA, SVD
from olscale.errors import ParameterError


def rows(n: int = 60, d: int = 6) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.geomspace(3.0, 0.3, d) + rng.normal(size=d)
    return np.where(rng.random(X.shape) < 0.1, 0.0, X)


def oracle(X: np.ndarray, new: np.ndarray, components: int) -> np.ndarray:
    """Return the components of `new` rows, of 0 where there are no more."""
    _, s, V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    V = V[: min(components, np.count_nonzero(s > 1e-9 * s[0]))]
    z = (new - X.mean(axis=0)) @ (
        V.T * np.sign(V[np.arange(len(V)), np.abs(V).argmax(axis=1)])
    )
    return np.pad(z, [(0, 0), (0, components - z.shape[1])])


@pytest.mark.parametrize("block", [1, 8])
def test_ipca_is_that_of_the_blocks_so_far(block: int) -> None:
    X = rows()
    step = IPCA(components=6, block=block)
    step.begin(6)
    trains = np.random.default_rng(1).random(60) < 0.8
    z = step.learn(X, 6, trains)
    for t in range(60):
        learned = np.flatnonzero(trains[: t + 1])
        learned = learned[: len(learned) - len(learned) % block]
        expected = (
            oracle(X[learned], X[t : t + 1], 6)[0] if len(learned) > 1 else np.zeros(6)
        )
        np.testing.assert_allclose(z[t], expected, atol=1e-10, err_msg=f"row {t}")


def test_rows_with_missing_values_are_not_learned() -> None:
    X = rows()
    step = IPCA(components=3, block=4)
    X[7, 2] = np.nan
    step.begin(6)
    z = step.learn(X, 6, np.ones(60, dtype=bool))
    assert np.isnan(z[7]).all()
    assert np.isfinite(np.delete(z, 7, axis=0)).all()
    assert step.learned["rows"][0] == 56


@pytest.mark.parametrize("components", [2, 6, 9])
def test_svd_is_that_of_all_rows(components: int) -> None:
    X = rows(600)
    step = SVD(components=components)
    step.fit(lambda: iter([to_csr(X[:50]), X[50:]]), 6)
    np.testing.assert_allclose(step.apply(X, 6), oracle(X, X, components), atol=1e-10)


def test_few_components_of_many_are_near_those_of_all_rows() -> None:
    """More are kept on the way: of a spectrum that hardly falls they hold 99 % of what the best ones do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 200)) * np.linspace(1.0, 0.1, 200)
    step = SVD(components=5)
    step.fit(lambda: iter([X]), 200)
    held, best = ((z**2).sum() for z in (step.apply(X, 200), oracle(X, X, 5)))
    assert 0.99 * best < held <= best * (1.0 + 1e-12)


def test_too_many_directions_and_wrong_numbers_are_refused() -> None:
    with pytest.raises(
        ParameterError, match="components was 0, expected a whole number of at least 1"
    ):
        make_transform("svd:0")
    with pytest.raises(ParameterError, match=r"block was 1\.5"):
        make_transform("ipca:3,block=1.5")
    with pytest.raises(ParameterError, match=r"need .* take fewer components"):
        IPCA(components=10**6).begin(10**7)
    with pytest.raises(ParameterError, match="svd:2 is fitted on all training rows"):
        check_order(["ipca:3", "svd:2"])


def test_what_was_fitted_goes_into_another() -> None:
    X = rows()
    step = SVD(components=3)
    other = SVD(components=3)
    step.fit(lambda: iter([X]), 6)
    other.restore(step.state(), 6)
    np.testing.assert_array_equal(other.apply(X, 6), step.apply(X, 6))
    with pytest.raises(ValueError, match="transform svd has arrays"):
        SVD(components=2).restore(step.state(), 6)
