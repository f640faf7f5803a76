"""Sweeps over one or two parameters."""

from __future__ import annotations

import math

import pytest

from olscale.analysis.summary import Summary
from olscale.analysis.sweeps import find_sweeps, sweep


def made(mean: float, n: int = 2, **params: object) -> Summary:
    return Summary(
        "d", "f", (), "lol", "1", params, {"order": "time"}, "test_error", mean, 0.01, n
    )


CROSS = [made(0.3 - k / 1000, k=k, lam=1.0) for k in (10, 20, 60, 100)] + [
    made(0.2 + lam / 100, k=60, lam=lam) for lam in (0.1, 10.0)
]


def test_each_parameter_of_a_cross_is_swept_along_its_arm():
    by_name = {found.names: found for found in find_sweeps(CROSS)}

    assert set(by_name) == {("k",), ("lam",)}  # not both: 6 of 12 cells
    assert by_name["k",].values == ((10.0, 20.0, 60.0, 100.0),)
    assert by_name["k",].summary.params == {"k": 100, "lam": 1.0}
    assert by_name["lam",].values == ((0.1, 1.0, 10.0),)
    assert by_name["lam",].mean.tolist() == pytest.approx([0.201, 0.24, 0.3])


def test_a_grid_with_a_hole():
    grid = [
        made(x * y, C=x, alpha=y)
        for x in (1.0, 2.0, 4.0)
        for y in (0.1, 0.5, 0.9)
        if (x, y) != (2.0, 0.5)
    ]

    found = sweep(grid, "alpha", "C")

    assert found is not None
    assert found.mean.shape == (3, 3)
    assert math.isnan(found.mean[1, 1])
    assert found.mean[2, 0] == pytest.approx(0.9)
    assert found.summary.params == {"C": 1.0, "alpha": 0.1}


@pytest.mark.parametrize(
    "few",
    [
        [made(0.1, C=1.0), made(0.2, C=2.0)],
        [made(0.1, C=value) for value in ("a", "b", "c")],
        [made(0.1, C=value, n=0) for value in (1.0, 2.0, 3.0)],
        [made(0.1, C=value, k=i) for i, value in enumerate((1.0, 2.0, 3.0))],
    ],
    ids=["two values", "no numbers", "all failed", "something else differs"],
)
def test_no_sweep_where_there_is_none(few):
    assert sweep(few, "C") is None


def test_of_several_sweeps_the_fullest_then_the_best():
    def some(k: int, values: tuple[float, ...], mean: float) -> list[Summary]:
        return [made(mean, k=k, C=value) for value in values]

    three = some(1, (1.0, 2.0, 4.0), 0.1)
    four = some(2, (1.0, 2.0, 4.0, 8.0), 0.3)
    best = some(3, (1, 2, 4, 8), 0.2)

    found = sweep([*three, *four, *best], "C")

    assert found is not None
    assert found.summary.params["k"] == 3
