"""Mixtures of hyperplanes: products and steps of the slow versions, the same bits whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled import mixture as module
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.mixture import Mixture, add_mixed, mixed_scores
from tests.compiled.slow import layouts, slow_versions


@compiled
def _mix(X: Rows, V: np.ndarray, mixture: Mixture, f: np.ndarray) -> None:
    mixed_scores(X, 0, V, mixture, len(mixture.gates), f)
    add_mixed(X, 0, V, mixture, len(mixture.gates), 1, 0.3, -0.7)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scores_and_steps(dtype: str) -> None:
    rng = np.random.default_rng(0)
    slow = slow_versions(module)
    for features in (1, 3, 8, 21, 37):
        start = np.zeros((5, 3, -(-features // 4) * 4, 2), dtype)
        start[:, :, :features] = rng.normal(size=(5, 3, features, 2))
        mixture = Mixture(np.array([4, 0, 2]), rng.random(3))
        both = layouts(rng, 1, features)
        results = []
        for X in both:
            V = start.copy()
            f = np.zeros((3, 2))
            _mix(X, V, mixture, f)
            results.append((f, V))
        for dense, sparse in zip(*results, strict=True):
            np.testing.assert_array_equal(dense, sparse)
        x = np.asarray(both[0])[0]
        np.testing.assert_allclose(
            results[0][0],
            slow["mixed_scores"](x, start, *mixture),
            rtol=1e-6,
            atol=1e-6,
        )
        slow["add_mixed"](x, start, *mixture, 1, 0.3, -0.7)
        np.testing.assert_allclose(results[0][1], start, rtol=1e-6, atol=1e-6)
