"""Searches on the dashboard: each candidate is a line through its parameters to its error."""

from __future__ import annotations

import re
from pathlib import Path

from olscale.report.dashboard import Dashboard
from olscale.results import Store, open_store, run_id
from olscale.results.selections import Point, Selection, write_selection


def write(
    store: Store, points: list[Point], etas: tuple[float, ...] = (0.001, 0.1)
) -> None:
    definition = {
        "dataset": {"name": "<b>digits</b>", "fingerprint": "f"},
        "transforms": [],
        "learner": {"name": "fogd", "version": 1, "params": {}},
        "grid": {"eta": list(etas), "kernel": ["a", "b"]},
        "protocol": {"metric": "test_error", "split": "kfold", "folds": 2, "seed": 0},
    }
    write_selection(
        store,
        Selection(definition, run_id(definition), tuple(points), points[1].params),
    )


def test_a_candidate_is_a_line_and_the_chosen_one_comes_first(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    points = [
        Point({"eta": 0.001, "kernel": "a", "D": 50}, 0.4),
        Point({"eta": 0.1, "kernel": "b", "D": 50}, 0.1),
        Point({"eta": 0.01, "kernel": "a", "D": 50}, 0.25, share=0.5),
        Point({"eta": 0.01, "kernel": "b", "D": 50}, None, failed=2),
    ]
    write(store, points)
    page = Dashboard([store]).tuning(0)

    lines = re.findall(
        r'<polyline class="([a-z ]+)" data-candidate="(.)" points="(.*?)">', page
    )
    # A factor of a hundred is drawn by its logarithm; a failed candidate has no error to end at.
    assert sorted(lines, key=lambda line: line[1]) == [
        ("chosen", "0", "0.00,0.00 50.00,0.00 100.00,100.00"),
        ("near", "1", "0.00,100.00 50.00,100.00 100.00,0.00"),
        ("near early", "2", "0.00,50.00 50.00,100.00 100.00,50.00"),
        ("failed", "3", "0.00,50.00 50.00,0.00"),
    ]
    assert "<td>1</td><td>0.1</td><td>b</td>" in page
    assert ">D</th>" not in page
    assert "1 failed" in page
    assert "<b>digits" not in page


def test_parameters_are_named_by_what_they_explain_of_the_errors(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path / "store", create=True)
    # Small values of eta alone saw all of the stream, where errors are higher.
    points = [
        Point({"eta": eta, "kernel": kernel}, error, share=share)
        for eta, error, share in (
            (1, 0.4, 1.0),
            (2, 0.3, 1.0),
            (3, 0.1, 0.5),
            (4, 0.2, 0.5),
        )
        for kernel, error in (("a", error), ("b", error + 0.01))
    ]
    write(store, points, (1, 2, 3, 4))
    page = Dashboard([store]).tuning(0)

    found = re.findall(r"<li>(\w+) <span.*?</span></span> (\d+) %</li>", page)
    assert [name for name, _ in found] == ["eta", "kernel"]
    assert int(found[0][1]) > 80
    assert int(found[1][1]) == 0

    few = open_store(tmp_path / "few", create=True)
    write(few, points[:4], (1, 2))
    assert "Explained by" not in Dashboard([few]).tuning(0)


def test_without_a_search_the_page_says_so(tmp_path: Path) -> None:
    page = Dashboard([open_store(tmp_path / "store", create=True)])
    assert "No search has ended here" in page.tuning(0)
