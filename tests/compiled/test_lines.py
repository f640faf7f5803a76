"""Vector code for lines has the bits of its slow version, for any number of lines and columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.simd import lines
from olscale.compiled.simd.lines import (
    add_squares,
    combine_lines,
    combine_lines_twice,
    square_repeatedly,
)
from tests.compiled.slow import slow_versions

SLOW = slow_versions(lines)


@compiled
def _combine(A: Any, x: Any, f: Any) -> None:
    combine_lines(A, x, f)


@compiled
def _combine_twice(A: Any, x: Any, y: Any, f: Any, g: Any) -> None:
    combine_lines_twice(A, x, y, f, g)


@compiled
def _add_squares(A: Any, x: Any, f: Any) -> None:
    add_squares(A, x, f)


@compiled
def _square(x: Any, times: int, f: Any) -> None:
    square_repeatedly(x, times, f)


@pytest.mark.parametrize("shape", [(1, 8), (3, 16), (4, 8), (6, 24), (9, 136)])
def test_combinations(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=shape)
    factors = rng.normal(size=(2, shape[0]))
    slow = np.empty((2, shape[1]))
    for n in range(2):
        SLOW["combine_lines"](A, factors[n], slow[n])
    alone, one, other = np.full((3, shape[1]), np.nan)
    _combine(A, factors[0], alone)
    _combine_twice(A, *factors, one, other)
    assert [alone.tolist(), one.tolist()] == [slow[0].tolist()] * 2
    assert other.tolist() == slow[1].tolist()


@pytest.mark.parametrize("count", [1, 8, 13, 64, 71, 130])
def test_squares(count: int) -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 144))
    x = rng.normal(size=144)
    slow = rng.normal(size=144)
    fast = slow.copy()
    SLOW["add_squares"](A, x, slow[:count])
    _add_squares(A, x, fast[:count])
    assert fast[:count].tolist() == slow[:count].tolist()
    for dtype in ("f4", "f8"):
        numbers = x.astype(dtype)[:count]
        for times in range(4):
            SLOW["square_repeatedly"](numbers, times, slow)
            _square(numbers, times, fast)
            assert fast[:count].tolist() == slow[:count].tolist()


class Pair(NamedTuple):
    """Arrays at two depths, as those of a learner."""

    numbers: Any
    deeper: Any


@inlined
def _move(pair: Any, i: int) -> None:
    pair.numbers[i] += pair.deeper[0][i]
    if pair.numbers[i] > 3.0:
        pair.deeper[0][i] = 0.0


@compiled
def _move_all(pair: Any) -> Any:
    kept = pair
    pair = borrowed(pair)
    for i in range(pair.numbers.shape[0]):
        _move(pair, i)
    return kept.numbers


def test_borrowed_tuples() -> None:
    """Arrays in tuples are the caller's own, and outlive the loop as often as it wants."""
    numbers = np.array([1.0, 3.0])
    added = np.array([0.5, 0.5])
    for _ in range(3):
        assert _move_all(Pair(numbers, (added, 7))) is not None
    assert numbers.tolist() == [2.5, 3.5]
    assert added.tolist() == [0.5, 0.0]
