"""Distances of a few rows at once have the bits of sums feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olscale.compiled.decorator import compiled
from olscale.compiled.simd import distances
from olscale.compiled.simd.distances import TOGETHER, set_distances_together
from tests.compiled.slow import slow_versions


@compiled
def _set(X: Any, rows: Any, start: int, stop: int, squares: Any) -> None:
    set_distances_together(X, rows, start, stop, squares)


@pytest.mark.parametrize("features", [0, 1, 3, 4, 6, 9])
def test_bits(features: int) -> None:
    rng = np.random.default_rng(0)
    slow = slow_versions(distances)["set_distances_together"]
    X = rng.normal(size=(features, TOGETHER))
    rows = rng.normal(size=(features, 301))
    for start, stop in ((0, 8), (8, 32), (0, 296), (16, 264), (16, 16)):
        both = np.full((2, TOGETHER, 301), 7.0)
        slow(X, rows, start, stop, both[0])
        _set(X, rows, start, stop, both[1])
        assert both[0].tolist() == both[1].tolist()
