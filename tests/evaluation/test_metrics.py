"""Metrics: sums over rows that do not depend on how the rows are cut into chunks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.evaluation.metrics import (
    CURVE_POINTS,
    FinalError,
    Prequential,
    StreamShape,
)

NONE = np.zeros((0, 1))


def passed(shape: StreamShape, wrong: np.ndarray, cuts: list[int]) -> Prequential:
    metric = Prequential(shape)
    for start, stop in pairwise([0, *cuts, len(wrong)]):
        codes = wrong[start:stop].astype(np.int64)
        metric.see(np.zeros(stop - start, dtype=np.int64), codes, NONE)
    return metric


@given(
    st.integers(1, 3500),
    st.integers(0, 2**31),
    st.lists(st.integers(0, 3500), max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_any_cut_gives_the_same_sums(rows: int, seed: int, cuts: list[int]) -> None:
    """Curve and segments are those of the definition, whatever the chunks, empty ones included."""
    wrong = np.random.default_rng(seed).random(rows) < 0.3
    segments = tuple((f"day {i}", i * rows // 3) for i in range(min(3, rows)))
    metric = passed(
        StreamShape(rows, 2, segments), wrong, sorted(min(cut, rows) for cut in cuts)
    )
    at, mistakes = metric.curve()
    np.testing.assert_array_equal(mistakes, np.cumsum(wrong)[at - 1])
    assert metric.values() == {
        "mistakes": wrong.sum(),
        "cumulative_error": wrong.mean(),
    }
    bounds = [*(start for _, start in segments), rows]
    expected = [
        (f"day {i}", b - a, wrong[a:b].sum())
        for i, (a, b) in enumerate(pairwise(bounds))
        if b > a
    ]
    assert metric.segments() == expected


@pytest.mark.parametrize("rows", [1, 2, 999, 1000, 1001, 1999, 123_457])
def test_curve_is_evenly_spaced_and_ends_at_the_last_row(rows: int) -> None:
    at, _ = passed(StreamShape(rows, 2), np.zeros(rows, dtype=bool), []).curve()
    assert len(at) == min(rows, CURVE_POINTS)
    assert at[-1] == rows
    gaps = np.diff(at, prepend=0)
    assert gaps.min() >= 1
    assert gaps.max() - gaps.min() <= 1


def test_nothing_seen_is_nothing_measured() -> None:
    assert Prequential(StreamShape(0, 2)).values() == {}
    assert FinalError(StreamShape(5, 2)).values() == {}


def test_test_error_is_a_fraction_of_the_test_rows() -> None:
    metric = FinalError(StreamShape(5, 2))
    metric.test(np.array([0, 1]), np.array([0, 0]), NONE)
    metric.test(np.array([1, 1]), np.array([1, 1]), NONE)
    assert metric.values() == {"test_error": 0.25}
