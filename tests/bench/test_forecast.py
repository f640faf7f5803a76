"""The simulated cluster: what follows from costs that one can work out by hand, and laws that hold for all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.bench.worker_forecast import Costs, Load, forecast

FREE = Costs(*8 * [0.0])


@pytest.mark.parametrize(
    ("costs", "workers", "seconds", "bottleneck"),
    [
        (FREE, 1, 12.0, "workers"),
        (FREE, 3, 4.0, "workers"),
        (replace(FREE, start=0.5), 3, 6.0, "workers"),
        (replace(FREE, trip=0.5), 3, 6.0, "workers"),
        (replace(FREE, record=0.25), 1, 18.0, "workers"),  # two runs a pack
        # 24 files one after another, from the first second on
        (
            replace(FREE, file=1.0),
            12,
            25.0,
            "file system",
        ),
        (replace(FREE, scheduler=4.0), 12, 48.0, "scheduler"),
        (replace(FREE, driver_report=2.0), 12, 25.0, "driver"),  # a report a pack
    ],
)
def test_twelve_packs_of_a_second(
    costs: Costs, workers: int, seconds: float, bottleneck: str
) -> None:
    found = forecast(12 * [Load(1.0, runs=2, reports=1)], workers, costs)
    assert found.seconds == pytest.approx(seconds)
    assert found.bottleneck == bottleneck
    assert found.efficiency == pytest.approx(12.0 / (seconds * workers))


@given(
    packs=st.lists(
        st.builds(Load, st.floats(0.01, 10.0), st.integers(1, 5), st.integers(0, 9)),
        min_size=1,
        max_size=40,
    ),
    costs=st.builds(Costs, *8 * [st.floats(0.0, 0.5)]),
    workers=st.integers(1, 30),
)
def test_no_part_works_longer_than_the_whole_takes(
    packs: list[Load], costs: Costs, workers: int
) -> None:
    found = forecast(packs, workers, costs)
    assert all(0.0 <= share <= 1.0 + 1e-9 for share in found.busy.values())
    assert 0.0 < found.efficiency <= 1.0 + 1e-9
    assert found.seconds >= max(pack.seconds for pack in packs)
