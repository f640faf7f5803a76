"""Products in eight groups of features: the bits of the slow version, whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled import dot as module
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.dot import copy_square, dot, dot_both
from tests.compiled.slow import layouts, slow_versions


@compiled
def _sums(X: Rows, w: np.ndarray, sums: np.ndarray) -> None:
    row = np.empty_like(w)
    sums[0], sums[1] = dot_both(X, 0, w, 2 * w)
    sums[2] = dot(X, 0, w)
    sums[3] = copy_square(X, 0, row)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits(dtype: str) -> None:
    rng = np.random.default_rng(0)
    slow = slow_versions(module)["dot"]
    for features in (1, 3, 8, 21, 37):
        w = rng.normal(size=features).astype(dtype)
        both = layouts(rng, 1, features)
        x = np.asarray(both[0])[0]
        for X in both:
            sums = np.zeros(4)
            _sums(X, w, sums)
            assert sums.tolist() == [slow(x, w), slow(x, 2 * w), slow(x, w), slow(x, x)]
