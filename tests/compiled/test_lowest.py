"""The lowest of many numbers are those of the slow version, of equals the first."""

from __future__ import annotations

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.simd import lowest as module
from olscale.compiled.simd.lowest import AT_ONCE, few_lowest, lowest
from tests.compiled.slow import slow_versions


@compiled
def _few(values: np.ndarray, indices: np.ndarray, low: np.ndarray) -> int:
    return few_lowest(values, indices, low)


@compiled
def _lowest(offset: np.ndarray, slope: np.ndarray, f: np.ndarray) -> tuple[int, float]:
    return lowest(offset, slope, f)


def test_the_lowest_are_those_of_a_stable_sort() -> None:
    rng = np.random.default_rng(0)
    slow = slow_versions(module)["few_lowest"]
    for turn in range(400):
        size = AT_ONCE * int(rng.integers(1, 4))
        values = (
            rng.normal(size=size)
            if turn % 2
            else rng.integers(0, 30, size).astype(float)
        )
        values[rng.random(size) < rng.random()] = np.inf
        low = np.zeros(rng.integers(1, 9))
        indices = np.zeros(len(low) + 1, dtype=np.int64)
        expected = slow(values, len(low))
        count = _few(values.copy(), indices, low)
        assert indices[:count].tolist() == expected.tolist()
        assert low[:count].tolist() == values[expected].tolist()
        f = rng.integers(-3, 4, size).astype(float)
        moved = values + 2.0 * f
        place, value = _lowest(moved, np.full(size, 2.0), f)
        assert place == (expected[0] if len(expected) else 0)
        assert value == (moved - 2.0 * f).min()


def test_there_are_no_lowest_among_what_is_no_number() -> None:
    for absent in (np.inf, np.nan):
        values = np.full(AT_ONCE, absent)
        assert _few(values, np.zeros(3, dtype=np.int64), np.zeros(2)) == 0
        assert _lowest(values, np.ones(AT_ONCE), np.ones(AT_ONCE))[0] == 0
