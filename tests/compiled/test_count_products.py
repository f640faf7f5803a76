"""Products of the counts of a row have the bits of the slow version."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.decorator import compiled
from olscale.compiled.simd import count_products as module
from olscale.compiled.simd.count_products import move_counts, multiply_counts
from tests.compiled.slow import slow_versions


@compiled
def _multiply(features, values, start, stop, counts, unit, products, space, owners):
    return multiply_counts(
        features,
        values,
        start,
        stop,
        counts,
        0.5,
        unit,
        products,
        space[0],
        space[1],
        space[2],
        owners,
        4,
        1,
    )


@compiled
def _move(features, values, start, stop, counts, unit, products, space, owners):
    return move_counts(
        features,
        values,
        start,
        stop,
        counts,
        0.5,
        unit,
        products,
        space[0],
        space[1],
        space[2],
        owners,
        4,
        1,
        0.0,
        1.5,
    )


@pytest.mark.parametrize("unit", [1.0, np.nan])
@pytest.mark.parametrize("moves", [False, True])
def test_products_are_those_of_the_slow_version(unit: float, moves: bool) -> None:
    slow = slow_versions(module)
    for size in (0, 1, 7, 8, 9, 40):
        rng = np.random.default_rng(size)
        features = rng.permutation(60)[: size + 2].astype(np.int32)
        values = rng.choice([1.0, 2.0, 3.0, 4.0, 0.3, 0.0], size + 2)
        results = []
        for is_slow in (False, True):
            counts = np.random.default_rng(1).integers(0, 9, (60, 2)) * 1e30
            products, space = np.zeros((3, 8)), np.zeros((3, 9, 8))
            owners = np.zeros(9, dtype=np.int64)
            row = (features, values, 1, 1 + size)
            if is_slow:
                others = (0.5, unit, products, *space, owners, 4, 1)
                steps = (0.0, 1.5) if moves else ()
                name = "move_counts" if moves else "multiply_counts"
                kept = slow[name](*row, counts, *others, *steps)
            else:
                loop = _move if moves else _multiply
                arrays = (products.ravel(), space.reshape(3, 72), owners)
                kept = loop(*row, counts.ravel(), unit, *arrays)
            state = (counts, products, space[:, :kept], owners[:kept])
            results.append((kept, *(array.tolist() for array in state)))
        assert results[0] == results[1]
