"""Principal components of blocks are those of all rows at once, and follow the rule for signs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import IncrementalPCA

from olscale.compiled.components import (
    Components,
    FloatArray,
    add_block,
    components_of,
    no_components,
)


def rows(n: int, d: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.geomspace(3.0, 0.1, d) + rng.normal(size=d)


def in_blocks(
    X: FloatArray, block: int, most: int | None = None, centred: bool = True
) -> tuple[Components, FloatArray]:
    """Return the components, and where all rows are along them."""
    found = no_components(X.shape[1])
    z = np.zeros((0, 0))
    for start in range(0, len(X), block):
        found, turn = add_block(found, X[start : start + block], most, centred)
        z = np.concatenate([z @ turn.matrix + turn.shift, turn.coordinates])
    return found, z


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(("n", "d"), [(30, 8), (20, 50)])
@pytest.mark.parametrize("block", [1, 7, 16])
def test_blocks_give_the_decomposition_of_all_rows(
    n: int, d: int, block: int, centred: bool
) -> None:
    X = rows(n, d)
    found, z = in_blocks(X, block, centred=centred)
    A = X - X.mean(axis=0) if centred else X
    _, s, V = np.linalg.svd(A, full_matrices=False)
    rank = min(n - centred, d)
    np.testing.assert_allclose(found.s, s[:rank], rtol=1e-12)
    U = V[:rank].T * np.sign(V[np.arange(rank), np.abs(V[:rank]).argmax(axis=1)])
    np.testing.assert_allclose(found.U, U, atol=1e-11)
    np.testing.assert_allclose(z, A @ U, atol=1e-11)
    whole, coordinates = components_of(X, centred=centred)
    np.testing.assert_allclose(whole.U, U, atol=1e-12)
    np.testing.assert_allclose(coordinates, z, atol=1e-11)


def test_truncated_components_are_those_of_scikit_learn() -> None:
    """Both keep so many after each block: other numbers than those of all rows, and the same approximation."""
    X = rows(160, 30)
    found, _ = in_blocks(X, 16, most=8)
    peer = IncrementalPCA(n_components=8)
    for start in range(0, 160, 16):
        peer.partial_fit(X[start : start + 16])
    np.testing.assert_allclose(found.s, peer.singular_values_, rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.U.T), np.abs(peer.components_), atol=1e-11)
    np.testing.assert_allclose(found.mean, peer.mean_, atol=1e-13)


def test_directions_stay_orthogonal_over_many_blocks() -> None:
    X = rows(5_000, 6)
    found, _ = in_blocks(X, 1, most=4)
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(4), atol=1e-11)


def test_rounding_does_not_choose_a_sign() -> None:
    """Two components that are alike but for rounding: the first decides."""
    for noise in (1e-12, -1e-12):
        X = np.outer([1.0, -1.0, 2.0, -2.0], [-1.0, 1.0 + noise])
        assert components_of(X)[0].U[0, 0] > 0.0
        assert in_blocks(X, 1)[0].U[0, 0] > 0.0


@pytest.mark.parametrize("block", [1, 3])
def test_rows_that_do_not_vary_have_no_components(block: int) -> None:
    found, z = in_blocks(np.full((9, 4), 0.1), block)
    assert found.s.shape == (0,)
    assert found.U.shape == (4, 0)
    assert z.shape == (9, 0)
