"""Errors along the stream against their definitions, row by row, in plain Python, whatever the chunks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation.metrics import (
    DriftAlarms,
    FadingError,
    HoldoutError,
    Metric,
    StreamShape,
    WindowError,
)
from olscale.evaluation.protocol import Scoring
from tests.evaluation.planned import plan

NONE = np.zeros((0, 1))
CUTS = st.lists(st.integers(0, 400), max_size=5)


def counted(metric: Metric, wrong: np.ndarray, cuts: list[int]) -> Metric:
    for start, stop in pairwise(
        [0, *sorted(min(cut, len(wrong)) for cut in cuts), len(wrong)]
    ):
        metric.see(
            np.zeros(stop - start, dtype=np.int64),
            wrong[start:stop].astype(np.int64),
            NONE,
        )
    return metric


def mistakes(rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(rows) < 0.3


@given(st.integers(1, 2500), st.integers(0, 99), st.integers(1, 600), CUTS)
@settings(max_examples=60)
def test_the_window_is_the_last_rows_whatever_the_chunks(
    rows: int, seed: int, window: int, cuts: list[int]
) -> None:
    wrong = mistakes(rows, seed)
    metric = counted(
        WindowError(StreamShape(rows, 2, scoring=Scoring(window=window))), wrong, cuts
    )

    def error(row: int) -> float:
        last = wrong[max(0, row - window) : row]
        return int(last.sum()) / len(last)

    [(name, at, values)] = metric.series()
    assert (name, values.tolist()) == (
        "window_error",
        [error(row) for row in at.tolist()],
    )
    assert metric.values() == {"window_error": error(rows)}
    assert len(metric.sums["last"]) <= window


@given(
    st.integers(1, 2500), st.integers(0, 99), st.sampled_from([0.5, 0.99, 0.9999]), CUTS
)
@settings(max_examples=60)
def test_fading_is_the_recursion_with_the_same_bits_whatever_the_chunks(
    rows: int, seed: int, alpha: float, cuts: list[int]
) -> None:
    wrong = mistakes(rows, seed)
    shape = StreamShape(rows, 2, scoring=Scoring(fading=alpha))
    metric = counted(FadingError(shape), wrong, cuts)
    whole = counted(FadingError(shape), wrong, [])
    mistaken = weight = 0.0
    errors = {}
    for i, one in enumerate(wrong, start=1):
        mistaken = one + alpha * mistaken
        weight = 1.0 + alpha * weight
        errors[i] = mistaken / weight
    [(name, at, values)] = metric.series()
    assert name == "fading_error"
    np.testing.assert_allclose(values, [errors[i] for i in at.tolist()], rtol=1e-12)
    assert metric.values() == whole.values() == {"fading_error": values[-1]}
    np.testing.assert_array_equal(values, whole.series()[0].values)


@given(
    st.integers(1, 600),
    st.integers(0, 99),
    st.integers(1, 80),
    st.integers(1, 40),
    CUTS,
)
@settings(max_examples=60)
def test_rows_held_out_are_the_next_ones_each_time(
    rows: int, seed: int, every: int, held: int, cuts: list[int]
) -> None:
    wrong = mistakes(rows, seed)
    scoring = Scoring(holdout_every=every, holdout_rows=held)
    [(_, at, values)] = counted(
        HoldoutError(StreamShape(rows, 2, scoring=scoring)), wrong, cuts
    ).series()
    expected = [
        (first, wrong[first : first + held].mean())
        for first in range(every, rows, every + held)
        if first + held <= rows
    ]
    assert list(zip(at.tolist(), values.tolist(), strict=True)) == expected


@pytest.mark.parametrize("name", ["adwin", "ddm", "page-hinkley"])
def test_alarms_are_the_detectors_also_after_a_restart(name: str) -> None:
    drift = pytest.importorskip("river.drift")
    rng = np.random.default_rng(0)
    wrong = rng.random(4000) < np.where(np.arange(4000) < 2500, 0.1, 0.6)
    detector = {
        "adwin": drift.ADWIN,
        "ddm": drift.binary.DDM,
        "page-hinkley": drift.PageHinkley,
    }[name]()
    expected = []
    for i, one in enumerate(wrong, start=1):
        detector.update(int(one))
        if detector.drift_detected:
            expected.append(i)
    assert any(2500 < row < 3200 for row in expected)
    shape = StreamShape(4000, 2, scoring=Scoring(drift=name))
    first = counted(DriftAlarms(shape), wrong[:2600], [64, 1000])
    second = DriftAlarms(shape)
    second.sums = {key: array.copy() for key, array in first.sums.items()}
    counted(second, wrong[2600:], [7])
    [(_, at, numbers)] = second.series()
    assert at.tolist() == expected
    assert numbers.tolist() == list(range(1, len(expected) + 1))
    assert second.values() == {"drift_alarms": len(expected)}


def test_a_detector_needs_river(monkeypatch: pytest.MonkeyPatch, shelf: Path) -> None:
    from importlib.metadata import PackageNotFoundError

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("olscale.evaluation.metrics.drift.version", absent)
    with pytest.raises(
        ExperimentError,
        match=r"needs River, which is not installed: pip install river",
    ):
        plan(shelf, drift="adwin")


def test_an_unknown_detector_is_named() -> None:
    from olscale.evaluation.metrics.drift import detector_version

    with pytest.raises(
        UnknownNameError, match="unknown drift detector 'adwim'; did you mean 'adwin'"
    ):
        detector_version("adwim")
