"""What an open page shows is what its stores hold now, whatever has happened to their files since it was opened."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from olscale.jobs.calendar import calendar_html
from olscale.jobs.home import JobHome
from olscale.report import dashboard
from olscale.report.dashboard import Dashboard
from olscale.results import Record, Store, open_store
from olscale.results.compact import compact, set_damaged_aside
from olscale.results.live_reader import LiveReader, line_bytes
from olscale.results.plans import PlannedDataset, PlannedLearner, write_plan
from olscale.results.rows import run_bytes
from olscale.results.run_files import file_of

MakeRecord = Callable[..., Record]


@pytest.fixture(params=["{}/store", "memory://open-page/{}"])
def store(request: Any, tmp_path: Path) -> Store:
    return open_store(request.param.format(tmp_path), create=True)


def shown(page: Dashboard, store: Store) -> str:
    """Return what an open page shows, which a page that is opened now shows too."""
    assert page.results(0) == Dashboard([store]).results(0)
    return page.results(0)


def replace(store: Store, record: Record) -> None:
    """Put another result of a run in the place of what is there, as evaluating it again does."""
    store.put(file_of("runs", record.id), run_bytes(record))


def damage(store: Store, name: str) -> None:
    """Change a bit of a file of a store, which has as many bytes as before."""
    data = bytearray(store.files.read(name))
    data[-1] ^= 1
    store.files.write(name, bytes(data))


def test_a_run_that_is_replaced_damaged_and_healed_changes_the_open_page(
    store: Store, make_record: MakeRecord
) -> None:
    page = Dashboard([store])
    assert "No finished runs yet" in shown(page, store)
    store.write(make_record(outcome="learner_error", reason="broke"))
    assert '<a href="#tab=failures">failed</a>' in shown(page, store)

    good = make_record(outcome="ok", metrics={"cumulative_error": 0.6274})
    replace(store, good)
    assert "62.74" in shown(page, store)
    replace(store, make_record(outcome="ok", metrics={"cumulative_error": 0.5}))
    assert "50.00" in shown(page, store)

    damage(store, file_of("runs", good.id))
    assert "50.00" not in shown(page, store)
    assert f"Left out as damaged: {file_of('runs', good.id)}." in shown(page, store)
    set_damaged_aside(store, [good.id])
    assert "Left out" not in shown(page, store)
    store.write(good)
    assert "62.74" in shown(page, store)


def test_a_damaged_compacted_file_and_a_plan_with_other_labels_change_the_open_page(
    store: Store, make_record: MakeRecord
) -> None:
    good = make_record(outcome="ok", metrics={"cumulative_error": 0.6274})
    store.write(good)
    page = Dashboard([store])
    assert "quick" not in shown(page, store)
    learner = PlannedLearner("pa1", "1", {}, (0,), "quick")
    write_plan(
        store, "one", [good.id], (), [PlannedDataset("digits", "f" * 64)], [learner]
    )
    assert "quick" in shown(page, store)
    compact(store)
    assert "62.74" in shown(page, store)
    assert store.done() == {good.id}
    [name] = store.compacted_files("runs")
    damage(store, name)
    assert "62.74" not in shown(page, store)
    assert store.done() == open_store(store.path).done()


def test_a_report_is_written_anew_and_the_one_before_removed(
    tmp_path: Path, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path / "store", create=True)
    written = []

    def write(of: Store, folder: Path, options: object) -> None:
        written.append(of.get(record.id).outcome)
        if written[-1] == "timeout":
            raise OSError("the disk is full")
        (folder / "index.html").write_text(written[-1])

    monkeypatch.setattr(dashboard, "write_report", write)
    record = make_record(outcome="learner_error")
    store.write(record)
    page = Dashboard([store])
    first = page.report(0)
    assert page.report(0) == first
    replace(store, make_record(outcome="ok"))
    assert (page.report(0) / "index.html").read_text() == "ok"
    replace(store, make_record(outcome="timeout"))
    with pytest.raises(OSError, match="full"):
        page.report(0)
    assert written == ["learner_error", "ok", "timeout"]
    assert len(list(first.parent.iterdir())) == 1


def test_an_open_page_shows_the_night_that_has_come_and_the_one_before_where_that_is_gone(
    tmp_path: Path, make_record: MakeRecord
) -> None:
    home = JobHome(tmp_path / "nights-of-small")

    def night(name: str, error: float) -> Store:
        store = open_store(home.night(name) / "store", create=True)
        store.write(make_record(outcome="ok", metrics={"cumulative_error": error}))
        return store

    def latest() -> Store:
        return open_store(home.latest_store() or "")

    assert home.latest_store() is None
    page = Dashboard([night("one", 0.25)], latest={0: latest})
    assert "25.00" in page.results(0)
    second = night("two", 0.75)
    second.put(
        "live/20261122T101500-here-7-3fa9.0001.jsonl",
        line_bytes(
            {"t": time.time(), "begin": {"host": "here", "pid": 7, "version": "1"}}
        ),
    )
    (home.night("zero-stores-yet")).mkdir()
    assert "75.00" in page.results(0)
    assert page.live(0) == Dashboard([second]).live(0)
    assert "75.00" in page.page()
    shutil.rmtree(home.night("two"))
    assert "25.00" in page.results(0)


def test_nights_of_the_calendar_lead_to_their_reports_of_which_few_are_kept(
    tmp_path: Path, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(of: Store, folder: Path, options: object) -> None:
        (folder / "index.html").write_text(of.path)

    monkeypatch.setattr(dashboard, "write_report", write)
    home = JobHome(tmp_path / "nights-of-small")
    nights = [
        {"night": f"2026-01-{day:02d}", "state": "good", "alarms": [], "failures": []}
        for day in range(1, 13)
    ]
    for night in nights[1:]:
        store = open_store(home.night(str(night["night"])) / "store", create=True)
        store.write(make_record(outcome="ok"))
    page = home.path / "page" / "index.html"
    page.parent.mkdir()
    (page.parent / "calendar.html").write_text(calendar_html(nights))
    opened = Dashboard([], [page])

    links = re.findall(r'href="(night/0/[^"]*)"', opened.page())
    assert links == [
        f"night/0/2026-01-{day:02d}/" for day in sorted(range(2, 13), key=by_weekday)
    ]
    for night in nights[1:]:
        report = opened.night(0, str(night["night"])) / "index.html"
        assert report.read_text().endswith(f"{night['night']}/store")
    assert len(list(report.parent.parent.iterdir())) == 8
    for absent in ("2026-01-01", "..", "2026-01-02/../2026-01-03"):
        with pytest.raises(IndexError):
            opened.night(0, absent)


def by_weekday(day: int) -> tuple[int, int]:
    """Sort days of January 2026 as a calendar has them: a line for each day of the week."""
    return date(2026, 1, day).weekday(), day


def test_a_journal_that_was_away_for_a_moment_is_shown_again(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    begin = {"t": time.time(), "begin": {"host": "here", "pid": 7, "version": "1"}}
    store.put("live/20261122T101500-here-7-3fa9.0001.jsonl", line_bytes(begin))
    reader = LiveReader(store)
    assert len(reader.read()) == 1
    (tmp_path / "store" / "live").rename(tmp_path / "away")
    assert reader.read() == []
    (tmp_path / "away").rename(tmp_path / "store" / "live")
    assert len(reader.read()) == 1


def test_a_line_of_a_journal_with_any_bit_changed_is_passed_over_and_one_of_an_earlier_version_is_not(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path / "store", create=True)
    begin = line_bytes({"t": 1.0, "begin": {"host": "here", "pid": 7, "version": "1"}})
    note = line_bytes({"t": 2.0, "notes": ["10 runs"]})
    for position in range(len(note) - 1):
        damaged = note[:position] + bytes([note[position] ^ 1]) + note[position + 1 :]
        store.put(
            "live/20261122T101500-here-7-3fa9.0001.jsonl",
            begin + damaged + b'{"t":3.0,"end":"done"}\n',
        )
        [live] = LiveReader(store).read()
        assert (live.notes, live.heard, live.end) in (
            ([], 3.0, "done"),
            (["10 runs"], 3.0, "done"),
        )
