"""What a report shows first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from docs.screenshots import made_up
from olscale.analysis import summarise
from olscale.report.comparison import compared
from olscale.report.first_screen import leaderboard_html
from olscale.report.papers.base import FigureSource
from olscale.results import open_store


def test_a_learner_far_above_the_others_does_not_flatten_their_sparklines(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path / "store", create=True)
    store.write_together(list(made_up(4, 2)))
    summaries = summarise(store)

    [one] = compared(store, summaries)
    html = leaderboard_html(FigureSource(store, summaries), one)

    heights = {
        name: [float(point.partition(",")[2]) for point in points.split()]
        for name, points in re.findall(
            r'error of (\S+) along the stream"><polyline points="(.*?)"', html
        )
    }
    assert heights.keys() == {"learner-1", "learner-2", "learner-3", "majority"}
    assert set(heights["majority"]) == {2.0}
    ends = [heights[f"learner-{i}"][-1] for i in (3, 2, 1)]
    assert ends[0] >= 11
    assert min(ends[1] - ends[0], ends[2] - ends[1]) > 2


@pytest.mark.parametrize(
    ("learners", "datasets", "verdict", "has_letters"),
    [
        (4, 2, "With fewer than 5 data sets nothing is tested.", False),
        (
            12,
            6,
            "No two learners differ significantly. With 6 data sets the least p of 66 tests is "
            "1.00: none can be significant.",
            False,
        ),
        (
            5,
            10,
            "Learners that share a letter do not differ significantly.",
            True,
        ),
        (3, 40, "Every two differ significantly.", False),
    ],
)
def test_a_leaderboard_says_what_its_tests_can_say(
    tmp_path: Path, learners: int, datasets: int, verdict: str, has_letters: bool
) -> None:
    store = open_store(tmp_path / "store", create=True)
    store.write_together(list(made_up(learners, datasets)))
    summaries = summarise(store)

    [one] = compared(store, summaries)
    html = leaderboard_html(FigureSource(store, summaries), one)

    assert verdict in html
    assert (">group</th>" in html) == has_letters


def test_equal_learners_are_both_the_best(tmp_path: Path, make_record: Any) -> None:
    store = open_store(tmp_path / "store", create=True)
    for number, best in enumerate(("pa1 arow", "arow")):
        for learner in ("pa1", "arow", "lol"):
            error = 0.1 if learner in best else 0.2
            record = make_record(
                dataset=f"set-{number}",
                fingerprint=f"{number:064x}",
                learner=learner,
                metrics={"test_error": error},
            )
            store.write(record)
    summaries = summarise(store)

    [one] = compared(store, summaries)
    html = leaderboard_html(FigureSource(store, summaries), one)

    assert re.findall(r"<td>(\d of \d)</td>", html) == ["2 of 2", "1 of 2", "0 of 2"]
