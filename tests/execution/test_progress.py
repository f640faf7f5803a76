"""The time left: packs differ in what a row of them takes."""

from __future__ import annotations

import io
from unittest import mock

import pytest

from olscale.cli.progress import LineProgress
from olscale.execution.progress import Tally, Work


def test_the_time_left_is_told_from_costs() -> None:
    tally = Tally()
    packs = {"slow": Work(100, 90.0), "fast": Work(300, 10.0)}
    tally.start("plan", 4, 0, packs)
    assert tally.rows == 400
    assert tally.seconds_left != tally.seconds_left  # nothing is known yet
    with mock.patch("olscale.execution.progress.monotonic", return_value=0.0) as clock:
        tally.advance("fast", 0, 0.0)
        clock.return_value = 8.0
        tally.advance("slow", 50, 0.0)
        assert tally.share_done == pytest.approx(0.45)
        assert tally.seconds_left == pytest.approx(8.0 * 0.55 / 0.45)
        assert tally.rows_per_second == pytest.approx(50 / 8)
    tally.advance("fast", 300, 0.0)
    assert tally.share_done == pytest.approx(0.55)


def test_the_error_is_the_mean_of_the_streams_of_a_data_set_that_have_one() -> None:
    tally = Tally()
    a = "usps, a"
    b = "usps, b"
    c = "usps, c"
    other = "letter, a"
    tally.start("plan", 4, 0, {name: Work(10, 1.0) for name in (a, b, c, other)})
    assert tally.errors_so_far() == ""
    for pack, rows, error in (
        (a, 0, 0.9),
        (b, 5, 0.5),
        (c, 5, float("nan")),
        (b, 10, 0.25),
        (a, 10, 0.75),
    ):
        tally.advance(pack, rows, error)
    assert tally.errors == {"usps": pytest.approx(0.5)}
    assert tally.errors_so_far() == "50.00 %"
    tally.advance(other, 10, 0.125)
    assert tally.errors_so_far() == "usps 50.00 %, letter 12.50 %"
    tally.advance(a, 0, 0.0)
    assert (tally.errors, tally.rows_done) == ({"usps": pytest.approx(0.25), "letter": 0.125}, 25)
    for dataset in ("third", "fourth"):
        tally.advance(f"{dataset}, a", 1, 0.5)
    assert tally.errors_so_far() == ""


def test_what_is_not_known_counts_as_the_mean() -> None:
    """Half a pack whose workers died has a name of its own; no more than all can be done."""
    tally = Tally()
    tally.start("plan", 2, 0, {"a": Work(100, 10.0), "b": Work(100, 30.0)})
    tally.advance("half of b", 50, 0.0)
    assert tally.share_done == pytest.approx(0.25)
    for pack in ("a", "b"):
        tally.advance(pack, 100, 0.0)
    assert tally.share_done == 1.0
    assert tally.seconds_left == 0.0


def test_nothing_to_do_is_told_too() -> None:
    out = io.StringIO()
    progress = LineProgress(out)
    progress.start("plan", 2, 2, {})
    assert out.getvalue() == "plan: 2 runs, 2 in the store, 0 to do\n"
    assert progress.share_done == 1.0


def test_without_costs_rows_count() -> None:
    """Rows without values have none."""
    tally = Tally()
    tally.start("plan", 2, 0, {"a": Work(100, 0.0), "b": Work(300, 0.0)})
    tally.advance("a", 100, 0.0)
    assert tally.share_done == pytest.approx(0.25)
    tally.advance("a", 0, 0.0)  # its worker died
    assert (tally.share_done, tally.rows_done) == (0.0, 0)
