"""What a report shows first."""

from __future__ import annotations

import re
from pathlib import Path

from docs.screenshots import made_up
from olscale.analysis import summarise
from olscale.report.comparison import compared
from olscale.report.first_screen import leaderboard_html
from olscale.report.papers.base import FigureSource
from olscale.results import open_store


def test_a_learner_far_above_the_others_does_not_flatten_their_sparklines(tmp_path: Path) -> None:
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
