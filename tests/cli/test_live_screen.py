"""What a terminal shows of running evaluations: within its width and height, in colours, names as text."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from olscale.cli.live_screen import live_screen
from olscale.report.sparkline import sparkline
from olscale.results.live import LiveEvaluation, LiveGroup, LiveRun


def evaluation(settings: int) -> LiveEvaluation:
    one = LiveEvaluation(
        "id", "[red]tuning", "here", 7, total=settings, began=100.0, heard=4e9
    )
    one.groups = {
        "g": LiveGroup("g", 1000, 1.0, (), rows_done=400, worker="w1", heard=4e9)
    }
    for i in range(settings):
        run = LiveRun(f"r{i}", "[bold]digits", "pa", {"C": float(i)}, "permutation 0")
        run.rows = [10, 20, 30]
        run.errors = [0.5, 0.4, 0.1 + i / 1000]
        one.runs[run.id] = run
    one.runs["r1"].outcome = "diverged"
    one.runs["r1"].failed_row = 1200
    one.done = one.failed = 1
    return one


def drawn(one: LiveEvaluation, width: int, height: int) -> list[str]:
    out = io.StringIO()
    console = Console(
        file=out, width=width, height=height, force_terminal=True, no_color=False
    )
    console.print(live_screen([one], width, height))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(40, 12), (80, 24), (200, 60)])
def test_the_screen_fits_and_has_the_best_first(width: int, height: int) -> None:
    lines = drawn(evaluation(100), width, height)
    text = "\n".join(lines)

    assert len(lines) <= height
    assert "[red]tuning: " in text.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert "[bold]digits" in text
    assert text.index("pa C=0") < text.index("more settings")
    assert ("█" in text) == (width >= 60)
    assert "1 failed" in text
    assert "diverged" in text
    assert ("first after row 1,200" in text) == (width >= 80)


def test_nothing_is_said_where_nothing_goes_on() -> None:
    assert drawn_of_none() == ["no evaluation is running"]


def drawn_of_none() -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80).print(live_screen([], 80, 24))
    return out.getvalue().splitlines()


def test_a_sparkline_is_as_long_as_there_is_room_and_needs_two_values() -> None:
    assert sparkline([1.0, float("nan"), 1.0], 8) == "▁▁"
    assert len(sparkline([float(i) for i in range(200)], 24)) == 24
    assert sparkline([1.0], 8) == ""
