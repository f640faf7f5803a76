"""The detector: exact, quiet on noise and single nights, and awake to steps that last."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.jobs.change_points import find_parts, l1_parts

NIGHTS = 40
SERIES = 60


def noise(rng: np.random.Generator, kind: str, sd: float) -> NDArray[np.float64]:
    if kind == "normal":
        return rng.normal(0.0, sd, NIGHTS)
    if kind == "heavy":
        return sd * rng.standard_t(3, NIGHTS) / np.sqrt(3.0)
    drift = rng.normal(size=NIGHTS + 50)
    for i in range(1, len(drift)):
        drift[i] = 0.6 * drift[i - 1] + 0.8 * drift[i]
    return sd * drift[50:]


def planted(values: NDArray[np.float64], case: str) -> NDArray[np.float64]:
    match case:
        case "-15 %, 3 nights":
            values[-3:] *= 0.85
        case "-15 %, 5":
            values[-5:] *= 0.85
        case "-8 %, 5":
            values[-5:] *= 0.92
        case "spike":
            values[20] *= 0.7
        case "spike last night":
            values[-1] *= 0.7
    return values


def alarms(kind: str, sd: float, case: str) -> tuple[int, int]:
    """Return how many of 60 series have a step, and how many are set apart as unstable."""
    rng = np.random.default_rng(0)
    steps = 0
    unstable = 0
    for _ in range(SERIES):
        parts = find_parts(planted(1.0 + noise(rng, kind, sd), case), 0.05, 3)
        steps += len(parts.starts) > 1 and not parts.unstable
        unstable += parts.unstable
    return steps, unstable


@pytest.mark.parametrize(
    ("kind", "sd", "case", "least", "most"),
    [
        ("normal", 0.02, "none", 0, 0),
        ("normal", 0.02, "-15 %, 3 nights", 58, 60),
        ("normal", 0.02, "-15 %, 5", 58, 60),
        ("normal", 0.02, "-8 %, 5", 58, 60),
        ("normal", 0.02, "spike", 0, 0),
        ("normal", 0.02, "spike last night", 0, 0),
        ("normal", 0.05, "none", 0, 0),
        ("normal", 0.05, "-15 %, 3 nights", 10, 60),
        ("normal", 0.05, "-15 %, 5", 40, 60),
        ("normal", 0.05, "spike", 0, 0),
        ("normal", 0.05, "spike last night", 0, 0),
        ("heavy", 0.04, "none", 0, 0),
        ("heavy", 0.04, "spike", 0, 0),
        ("heavy", 0.04, "-15 %, 3 nights", 55, 60),
        ("heavy", 0.04, "-15 %, 5", 58, 60),
    ],
)
def test_how_many_of_sixty_series_raise_an_alarm(
    kind: str, sd: float, case: str, least: int, most: int
) -> None:
    assert least <= alarms(kind, sd, case)[0] <= most


def test_series_that_drift_are_set_apart() -> None:
    steps, unstable = alarms("drift", 0.02, "none")
    assert steps <= 2
    assert unstable >= 40


def cost(values: NDArray[np.float64], starts: tuple[int, ...], price: float) -> float:
    ends = (*starts[1:], len(values))
    parts = [values[a:b] for a, b in zip(starts, ends, strict=True)]
    return sum(
        float(np.abs(part - np.median(part)).sum()) for part in parts
    ) + price * (len(starts) - 1)


def test_the_cut_is_the_best_of_all_cuts() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(6, 13))
        values = rng.normal(size=n).round(int(rng.integers(0, 4)))
        price = float(rng.uniform(0.2, 3.0))
        every = [
            (0, *inner)
            for k in range(n // 3)
            for inner in combinations(range(3, n - 2), k)
        ]
        fitting = [cut for cut in every if all(b - a >= 3 for a, b in pairwise(cut))]
        best = min(cost(values, cut, price) for cut in fitting)
        assert cost(values, tuple(l1_parts(values, price)), price) == pytest.approx(
            best, abs=1e-12
        )


def test_the_cut_is_that_of_ruptures() -> None:
    ruptures = pytest.importorskip("ruptures", reason="pip install ruptures")
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(20, 60))
        values = rng.normal(size=n) + np.repeat(rng.normal(0.0, 4.0, 6), 10)[:n]
        starts = l1_parts(values, 2.0 * np.log(n))
        search = ruptures.Dynp(model="l1", min_size=3, jump=1).fit(values[:, None])
        assert search.predict(n_bkps=len(starts) - 1) == [*starts[1:], n]
        pruned = (
            ruptures.Pelt(model="l1", min_size=3, jump=1)
            .fit(values[:, None])
            .predict(pen=2.0 * np.log(n))
        )
        ours, theirs = (
            cost(values, cut, 2.0 * np.log(n))
            for cut in (tuple(starts), (0, *pruned[:-1]))
        )
        assert ours <= theirs + 1e-9
