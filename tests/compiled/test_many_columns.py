"""Products and updates of many columns: those of the slow versions, and fused they give the bits of the two apart."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled import many_columns as module
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.many_columns import move_multiply, multiply
from olscale.compiled.rows import add_row
from tests.compiled.slow import layouts, slow_versions

COLUMNS = (1, 2, 3, 7, 8, 16, 31, 64, 65, 127, 128, 223)


@compiled
def _fused(X: Rows, W: np.ndarray, a: np.ndarray, f: np.ndarray) -> float:
    return move_multiply(X, 0, a, 1, W, f)


@compiled
def _apart(X: Rows, W: np.ndarray, a: np.ndarray, f: np.ndarray) -> float:
    add_row(X, 0, W, a)
    return multiply(X, 1, W, f)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits(dtype: str) -> None:
    rng = np.random.default_rng(0)
    slow = slow_versions(module)
    for columns in COLUMNS:
        both = layouts(rng, 2, 37)
        before, x = np.asarray(both[0])
        start = rng.normal(size=(37, columns)).astype(dtype)
        a = rng.normal(size=columns)
        for X in both:
            results = []
            for way in (_fused, _apart):
                W = start.copy()
                f = np.zeros(256)
                results.append((way(X, W, a, f), W, f))
            for got, expected in zip(*results, strict=True):
                np.testing.assert_array_equal(got, expected)
            W = start.astype("float64")
            square, moved, f = results[0]
            sums, slow_square = slow["move_multiply"](W, before, a, x)
            np.testing.assert_allclose(moved, W, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(f[:columns], sums, rtol=1e-4, atol=1e-4)
            assert square == pytest.approx(slow_square, rel=1e-12)
            expected, _ = slow["multiply"](x, moved)
            np.testing.assert_array_equal(f[:columns], expected)
