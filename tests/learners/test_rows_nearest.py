"""Primitives of prototypes: sums rounded as they say, dense rows as sparse ones, the few nearest in their order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from olscale.compiled.csr import Rows, read_only, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.dot import row_and_products, row_and_square, row_product
from olscale.compiled.mixture import add_mixed, mixed_scores
from olscale.compiled.prototypes import add_then_multiply, add_to_prototype, row_space
from olscale.compiled.simd.few_lowest import PICKED, few_lowest

FEATURES = (1, 3, 8, 21, 37)


@compiled
def _near(X: Rows, S: np.ndarray, column: int, near: np.ndarray) -> None:
    """Add row 0 to a prototype and multiply with row 1, then add row 1 twice."""
    rows = row_space(X, S)
    for i in range(2):
        row_and_square(X, i, rows[i])
    add_then_multiply(X, 0, rows[0], S.dtype.type(1.0), column, 1, rows[1], S, near)
    add_to_prototype(X, 1, rows[1], 2.0, S, 0)


@compiled
def _parts(X: Rows, w: np.ndarray, found: np.ndarray) -> None:
    row = np.empty_like(w)
    found[0], found[1] = row_and_products(X, 0, w, row)
    found[2] = row_product(X, 0, w)
    found[3] = row_and_square(X, 0, row)


@compiled
def _mixed(X: Rows, V: np.ndarray, picks: np.ndarray, gates: np.ndarray, f: np.ndarray) -> None:
    mixed_scores(X, 0, V, len(picks), picks, gates, f)
    add_mixed(X, 0, V, len(picks), picks, gates, 1, 0.3, -0.7)


@compiled
def _few(values: np.ndarray, picks: np.ndarray, low: np.ndarray) -> int:
    return few_lowest(values, picks, low)


def layouts(rng: np.random.Generator, rows: int, features: int) -> list[Rows]:
    X = rng.normal(size=(rows, features))
    X[:, 16:32] = 0.0
    X[rng.random(X.shape) < 0.3] = 0.0
    return [read_only(X), to_csr(X)]


@pytest.mark.parametrize("columns", [1, 2, 4, 8, 16, 32, 64, 80])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_are_rounded_with_their_sums_whatever_the_layout(dtype: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    for features in FEATURES:
        start, found = rng.normal(size=(features, columns)).astype(dtype), []
        pair = layouts(rng, 2, features)
        for X in pair:
            S, near = start.copy(), np.zeros(128)
            _near(X, S, columns - 1, near)
            found.append((S, near))
        for dense, sparse in zip(*found, strict=True):
            np.testing.assert_array_equal(dense, sparse)
        before, x = np.asarray(pair[0]).astype(dtype)
        start[:, -1] += before
        if dtype == "float64":
            for c in range(columns):
                total = 0.0
                for value, weight in zip(x, start[:, c], strict=True):
                    total = float(Fraction(value) * Fraction(weight) + Fraction(total))
                assert found[0][1][c] == total
        np.testing.assert_allclose(found[0][1][:columns], x @ start, rtol=1e-5, atol=1e-5)
        start[:, 0] += 2.0 * np.asarray(pair[0])[1].astype(dtype)
        np.testing.assert_allclose(found[0][0], start, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parts_of_sums_are_those_of_the_features_whatever_the_layout(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for features in FEATURES:
        w, found = rng.normal(size=features).astype(dtype), []
        pair = layouts(rng, 1, features)
        for X in pair:
            found.append(np.zeros(4))
            _parts(X, w, found[-1])
        np.testing.assert_array_equal(*found)
        x = np.asarray(pair[0])[0]
        np.testing.assert_allclose(found[0], [x @ x, x @ w, x @ w, x @ x], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_mixed_hyperplanes_whatever_the_layout(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for features in FEATURES:
        start, found = np.zeros((5, 3, -(-features // 4) * 4, 2), dtype), []
        start[:, :, :features] = rng.normal(size=(5, 3, features, 2))
        picks, gates = np.array([4, 0, 2]), rng.random(3)
        pair = layouts(rng, 1, features)
        for X in pair:
            V, f = start.copy(), np.zeros((3, 2))
            _mixed(X, V, picks, gates, f)
            found.append((f, V))
        for dense, sparse in zip(*found, strict=True):
            np.testing.assert_array_equal(dense, sparse)
        x, V = np.asarray(pair[0])[0], start[:, :, :features]
        np.testing.assert_allclose(found[0][0], np.einsum("n,ncjt,j->ct", gates, V[picks], x), rtol=1e-6, atol=1e-6)
        V[picks, 1] += np.einsum("n,j,t->njt", gates, x, [0.3, -0.7]).astype(dtype)
        np.testing.assert_allclose(found[0][1], start, rtol=1e-6, atol=1e-6)


def test_the_few_lowest_are_those_of_a_stable_sort() -> None:
    rng = np.random.default_rng(0)
    for turn in range(400):
        size = PICKED * int(rng.integers(1, 4))
        values = rng.normal(size=size) if turn % 2 else rng.integers(0, 30, size).astype(float)
        values[rng.random(size) < rng.random()] = np.inf
        low = np.zeros(rng.integers(1, 9))
        picks = np.zeros(len(low) + 1, dtype=np.int64)
        expected = np.argsort(values, kind="stable")[: len(low)]
        expected = expected[np.isfinite(values[expected])]
        count = _few(values.copy(), picks, low)
        assert picks[:count].tolist() == expected.tolist()
        assert low[:count].tolist() == values[expected].tolist()


def test_there_are_no_lowest_among_what_is_no_number() -> None:
    for absent in (np.inf, np.nan):
        assert _few(np.full(PICKED, absent), np.zeros(3, dtype=np.int64), np.zeros(2)) == 0
