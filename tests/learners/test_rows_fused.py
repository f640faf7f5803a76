"""The fused primitive gives the bits of its two parts, for every width and precision."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.add_then_sum import add_row_then_sums
from olscale.compiled.csr import Rows, read_only, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.rows import add_row, column_sums


@compiled
def _fused(X: Rows, W: np.ndarray, a: np.ndarray, f: np.ndarray) -> float:
    return add_row_then_sums(X, 0, a, 1, W, f)


@compiled
def _apart(X: Rows, W: np.ndarray, a: np.ndarray, f: np.ndarray) -> float:
    add_row(X, 0, W, a)
    return column_sums(X, 1, W, f)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits(dtype: str, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    for columns in (1, 2, 3, 7, 8, 16, 31, 64, 65, 127, 128, 223):
        X = rng.normal(size=(2, 37))
        X[rng.random(X.shape) < 0.2] = 0.0
        rows = to_csr(X) if sparse else read_only(X)
        start, a = rng.normal(size=(37, columns)).astype(dtype), rng.normal(size=columns)
        found = []
        for way in (_fused, _apart):
            W, f = start.copy(), np.zeros(256)
            found.append((way(rows, W, a, f), W, f))
        for got, expected in zip(*found, strict=True):
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_allclose(found[0][1], start + np.outer(X[0], a), rtol=1e-5, atol=1e-5)
