"""The time left, from what has been done and how long it took."""

from __future__ import annotations

import pytest

from olscale.results.pace import LONGEST_PAUSE, Pace


def paced(*steps: tuple[float, float]) -> Pace:
    pace = Pace()
    for share, now in steps:
        pace.step(share, now)
    return pace


def steady(seconds: float, share: float = 0.5, steps: int = 10) -> list[tuple[float, float]]:
    return [(share * i / steps, seconds * i) for i in range(steps + 1)]


def test_nothing_is_told_before_anything_is_known() -> None:
    assert Pace().seconds_left(1.0) != Pace().seconds_left(1.0)
    assert paced((0.5, 100.0)).seconds_left(200.0) != paced((0.5, 100.0)).seconds_left(200.0), (
        "of an earlier process"
    )
    assert paced((0.5, 100.0), (1.0, 110.0)).seconds_left(120.0) == 0.0


def test_what_an_earlier_process_did_took_no_time() -> None:
    assert paced((0.5, 100.0), (0.6, 110.0)).seconds_left(110.0) == pytest.approx(40.0)


@pytest.mark.parametrize("seconds", [0.2, 1.0, 30.0])
def test_a_steady_pace_is_told_as_it_is(seconds: float) -> None:
    """Also where steps are further apart than most pauses."""
    pace = paced(*steady(seconds))
    assert pace.seconds_left(10 * seconds) == pytest.approx(10 * seconds, rel=0.1)


def test_while_machine_code_is_made_the_time_left_does_not_grow_and_then_is_as_before() -> None:
    pace = paced(*steady(2.0))
    before = pace.seconds_left(20.0)
    after = 20.0 + 300.0
    assert pace.seconds_left(after) < 2.0 * before
    pace.step(0.55, after)
    pace.step(0.6, after + 2.0)
    assert pace.seconds_left(after + 2.0) == pytest.approx(
        16.0 * (20.0 + LONGEST_PAUSE) / 20.0, rel=0.2
    )


def test_a_machine_that_gets_other_work_to_do_is_followed() -> None:
    """Half as fast from the middle on: at nine tenths the mean of all tells 5.8 s, and 8 are left."""
    pace = paced(*steady(2.0), *((0.5 + i / 40, 20.0 + 2.0 * i) for i in range(1, 17)))
    assert pace.seconds_left(52.0) == pytest.approx(8.0, rel=0.2)


def test_what_is_lost_with_a_worker_is_done_again() -> None:
    pace = paced(*steady(1.0))
    pace.step(0.3, 10.0)
    assert pace.seconds_left(10.0) > 1.3 * paced(*steady(1.0)).seconds_left(10.0)
    paced((0.0, 0.0), (0.1, 1.0), (0.0, 2.0)).seconds_left(2.0)


def test_nothing_is_told_by_a_little_that_has_in_it_what_comes_before_the_first_row() -> None:
    pace = paced((0.0, 0.0), (0.001, 14.0))
    assert pace.seconds_left(14.0) != pace.seconds_left(14.0)
    pace.step(0.011, 15.0)
    assert pace.seconds_left(15.0) == pytest.approx(98.9)
    assert paced((0.0, 0.0), (0.5, 10.0)).seconds_left(10.0) == pytest.approx(10.0), (
        "half of a short one"
    )


def test_the_time_in_which_machine_code_is_made_is_no_work() -> None:
    """On one of two workers it is half of it."""
    pace = paced(*steady(2.0))
    before = pace.seconds_left(20.0)
    pace.compiling(1.0, 20.0)
    assert (pace.worked(320.0), pace.seconds_left(320.0)) == (20.0, before)
    pace.compiling(0.5, 320.0)
    pace.compiling(0.0, 324.0)
    assert pace.worked(324.0) == 22.0
    pace.step(0.55, 324.0)
    assert pace.seconds_left(324.0) == pytest.approx(18.0)


def test_what_is_expected_is_told_before_anything_has_moved_and_corrected_by_what_is_seen() -> None:
    pace = Pace(100.0)
    assert pace.seconds_left(0.0) == 100.0
    for i in range(11):
        pace.step(i / 20, 20.0 * i)  # four times as slow
        if i == 3:
            assert 85.0 < pace.seconds_left(60.0) < 340.0
    assert pace.seconds_left(200.0) == pytest.approx(200.0, rel=0.25)
