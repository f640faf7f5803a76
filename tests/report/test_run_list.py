"""The runs of a store on the dashboard: found, sorted, turned over, each with a page, names as text."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.analysis.status import store_status
from olscale.errors import StoreError
from olscale.jobs.calendar import calendar_html
from olscale.report.dashboard import Dashboard
from olscale.report.dashboard_server import serve
from olscale.report.overview import overview_html
from olscale.report.run_list import PER_PAGE, Query, list_runs, table_of_runs
from olscale.report.run_page import compare_runs, page_of_run
from olscale.results import Record, Store, open_store
from olscale.results.live_reader import LiveReader, line_bytes
from olscale.results.plans import PlannedDataset, PlannedLearner, write_plan
from tests.browser import CHROMIUM, browser

NAMED = "<b>lol</b>"


@pytest.fixture
def store(tmp_path: Path, make_record: Callable[..., Record]) -> Store:
    store = open_store(tmp_path / "store", create=True)
    for C in (0.5, 2.0, 10.0):
        for i in range(2):
            record = make_record(
                params={"C": C, "dtype": "float64"},
                permutation=i,
                metrics={"cumulative_error": C / 100 + i / 1000, "auc": 0.9 - C / 100},
                curve_rows=np.array([50, 100]),
                curve_mistakes=np.array([20, 30]),
                timings={"rows_per_cpu_second": 1000.0 * C},
            )
            store.write(record)
    store.write(make_record(learner=NAMED, outcome="diverged", reason="norm is <inf>"))
    return store


def lines(html: str) -> list[list[str]]:
    """Return the cells of a wide screen, where what a narrow one adds to a cell is not shown."""
    wide = re.sub(r'<small class="narrow">.*?</small>', "", html)
    rows = re.findall(r"<tr>(.*?)</tr>", wide, re.S)[1:]
    return [
        [
            re.sub("<[^>]*>", "", cell).strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row)
        ]
        for row in rows
    ]


def test_a_run_has_the_parameters_that_tell_it_from_others(store: Store) -> None:
    found = lines(table_of_runs(list_runs(store), Query()))

    assert found[0] == [
        "digits",
        "&lt;b&gt;lol&lt;/b&gt;",
        "permutation 0",
        "diverged",
        "-",
        "-",
        "norm is &lt;inf&gt;",
    ]
    assert [line[2] for line in found[1:3]] == [
        "C=0.5 permutation 0",
        "C=0.5 permutation 1",
    ]
    assert found[1][4:6] == ["0.50", "500"]


def test_a_reader_adds_columns_and_sorts_by_them(
    tmp_path: Path, make_record: Callable[..., Record]
) -> None:
    store = open_store(tmp_path / "measured", create=True)
    for i, auc in enumerate((0.7, 0.9, 0.8)):
        metrics = {"cumulative_error": 0.1, "auc": auc}
        store.write(
            make_record(
                permutation=i, metrics=metrics, timings={"fit_seconds": 2.0 + i}
            )
        )
    store.write(make_record(permutation=3, metrics={"cumulative_error": 0.1}))
    added = ("auc", "fit_seconds", "not there")

    table = table_of_runs(list_runs(store), Query(sort=8, added=added))

    heads = re.findall(r"<button type=\"button\">(.*?)</button></th>", table)
    assert heads[4:8] == ["error (%)", "AUC", "fit seconds", "rows per CPU second"]
    # The best comes first, and what has no such figure last.
    assert [line[5] for line in lines(table)] == ["0.9000", "0.8000", "0.7000", "-"]
    by_seconds = table_of_runs(list_runs(store), Query(sort=-9, added=added))
    assert [line[5] for line in lines(by_seconds)] == [
        "0.8000",
        "0.9000",
        "0.7000",
        "-",
    ]
    assert 'value="auc" checked' in table
    assert "not there" not in table


def test_words_and_a_state_select_and_heads_sort(store: Store) -> None:
    runs = list_runs(store)

    assert len(lines(table_of_runs(runs, Query("pa1 c=10")))) == 2
    assert [
        line[3] for line in lines(table_of_runs(runs, Query(state="diverged")))
    ] == ["diverged"]
    assert "No run has all of these words" in table_of_runs(runs, Query("nowhere"))
    by_error = [line[4] for line in lines(table_of_runs(runs, Query(sort=-5)))]
    assert by_error == ["10.10", "10.00", "2.10", "2.00", "0.60", "0.50", "-"]
    by_params = [line[2] for line in lines(table_of_runs(runs, Query("pa1", sort=3)))]
    assert by_params[0].startswith("C=0.5")
    assert by_params[-1].startswith("C=10")


def test_many_runs_are_turned_over(store: Store) -> None:
    runs = list_runs(store) * 30
    second = table_of_runs(runs, Query(page=1))

    assert len(lines(second)) == PER_PAGE
    assert "page 2 of 3" in second
    assert "page 3 of 3" in table_of_runs(runs, Query(page=10**6))


def test_a_run_has_a_page(store: Store) -> None:
    failed, first = (run.id for run in list_runs(store)[:2])

    page = page_of_run(store, first)
    assert "<polyline" in page
    assert "max-score" in page or "float64" in page
    assert f"olscale models save {store.path} {first}" in page
    assert NAMED not in page_of_run(store, failed)
    assert "norm is &lt;inf&gt;" in page_of_run(store, failed)


def test_a_label_stands_in_place_of_the_name_of_a_learner(store: Store) -> None:
    [run] = [run for run in list_runs(store) if run.params == "C=10 permutation 0"]
    record = store.get(run.id)
    params = record.run["learner"]["params"]
    fingerprint = record.run["dataset"]["fingerprint"]
    transforms = tuple(record.run["transforms"])
    dataset = PlannedDataset("digits", fingerprint, transforms, "Digits & more")
    learner = PlannedLearner(
        "pa1", str(record.run["learner"]["version"]), params, (0,), "bold"
    )
    write_plan(store, "one", [run.id], (), [dataset], [learner])

    found = lines(table_of_runs(list_runs(store), Query("bold")))
    assert [line[:3] for line in found] == [
        ["Digits &amp; more", "bold", f"permutation {i}"] for i in range(2)
    ]
    assert len(lines(table_of_runs(list_runs(store), Query("pa1")))) == 6
    assert "<h1>bold on Digits &amp; more" in page_of_run(store, run.id)


def test_runs_stand_side_by_side(store: Store) -> None:
    failed, first, _, other = [run.id for run in list_runs(store)[:4]]

    page = compare_runs(store, [first, other, failed])
    rows = dict(
        re.findall(
            r'<tr(?: class="same")?><th scope="row">(.*?)</th>(.*?)</tr>', page, re.S
        )
    )
    assert re.findall("<td.*?</td>", rows["Cumulative error (%)"])[:2] == [
        '<td class="best">0.50</td>',
        "<td>2.00</td>",
    ]
    assert "<td>0.5</td><td>2</td>" in rows["C"]
    assert page.count("<polyline") == 2
    assert NAMED not in page
    with pytest.raises(StoreError, match="two runs or more"):
        compare_runs(store, [first, first])


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"permutation": 1}, "permutation or fold"),
        ({"fingerprint": "e" * 64}, "rows"),
        ({"transforms": ("bias",)}, "transforms"),
        ({"permutation": None}, "protocol"),
    ],
)
def test_none_is_the_best_of_runs_that_may_not_be_compared(
    tmp_path: Path, make_record: Callable[..., Record], other: dict[str, Any], word: str
) -> None:
    store = open_store(tmp_path / "store", create=True)
    records = [
        make_record(metrics={"cumulative_error": 0.1}),
        make_record(learner="arow", metrics={"cumulative_error": 0.2}, **other),
    ]
    for record in records:
        store.write(record)
    page = compare_runs(store, [record.id for record in records])
    assert 'class="best"' not in page
    assert word in re.findall("These runs differ in (.*?):", page)[0]


def test_a_figure_that_counts_rows_before_it_could_predict_is_no_best(
    tmp_path: Path, make_record: Callable[..., Record]
) -> None:
    store = open_store(tmp_path / "store", create=True)
    values = {"pa1": 0.3, "arow": 0.2, "svm": 0.1, "lol": np.nan}
    records = [
        make_record(learner=name, metrics={"cumulative_error": value})
        for name, value in values.items()
    ]
    for record in records:
        store.write(record)
    page = compare_runs(store, [record.id for record in records])
    assert re.findall('<td class="best">(.*?)</td>', page) == ["20.00"]
    assert "These runs differ" not in page


def begin(**start: Any) -> bytes:
    now = time.time()
    journal = line_bytes(
        {"t": now, "begin": {"host": "here", "pid": 7, "version": "1"}}
    )
    content = {
        "name": "seen",
        "runs": 2,
        "done": 0,
        "groups": {"g": [100, 1.0, ["r1", "r2"]]},
        "settings": [["arow", {"r": 1.0}]],
        "of": {
            name: [0, "digits", "permutation 0", "cumulative_error"]
            for name in ("r1", "r2")
        },
    }
    journal += line_bytes({"t": now, "start": content | start})
    return journal + line_bytes(
        {"t": now, "at": {"g": [40, "w1", 3_000_000]}, "errors": {"r1": [20, 0.25]}}
    )


def test_runs_in_hand_stand_among_the_others_and_experiments_have_a_state(
    store: Store,
) -> None:
    store.put("live/20261122T101500-here-7-3fa9.0001.jsonl", begin())
    page = Dashboard([store])

    table = page.runs(0, Query("arow"))
    assert [line[3] for line in lines(table)] == ["running", "waiting"]
    assert lines(table)[0][4] == "25.00"
    overview = overview_html(store_status(store), LiveReader(store).read())
    assert '<span class="state running">running</span>' in overview
    assert ">40 %" in re.sub(r"\s+", " ", overview).replace("</span> 40", ">40")
    assert "not known yet" in overview
    assert "<b>lol" not in page.page()


def test_the_page_of_an_empty_store_waits(tmp_path: Path) -> None:
    page = Dashboard([open_store(tmp_path / "new", create=True)], names={0: "new"})

    assert "starts by itself: olscale evaluate ... --store new" in page.live(0)
    assert "No run has ended yet" in page.runs(0, Query())
    assert page.failures(0) == "<p>No run has failed.</p>"


def test_nights_are_a_calendar_with_a_sign_for_each_state() -> None:
    states = ("good", "alarm", "failed", "stopped")
    nights = [
        {"night": f"2026-01-0{i + 1}", "state": state, "alarms": [], "failures": None}
        for i, state in enumerate(states)
    ]
    calendar = calendar_html([*nights, {"night": "<b>", "state": "good"}])

    for state, kind in zip(states, ("good", "alarm", "failed", "other"), strict=True):
        assert re.search(
            rf'<td class="{kind}" data-night="2026-01-0\d" title="2026-01-0\d: {state}">',
            calendar,
        )
    assert "<b>" not in calendar
    assert calendar_html([]) == ""


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_reader_finds_a_run_and_goes_back_and_an_evaluation_appears(
    store: Store, tmp_path: Path
) -> None:
    async def read() -> None:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(serve([store], 0, ready=address.set_result))
        url = await address
        async with browser() as page:
            await page.open(url)
            shown = "[...document.querySelectorAll('[data-panel]:not([hidden])')].map((one) => one.className)"
            assert await page.run(shown) == ["olscale results scroll"]
            await page.run("document.querySelector('[data-tab=runs]').click()")
            rows = "document.querySelectorAll('.runs tbody tr').length"
            await page.until(f"{rows} === 7")
            search = "input = document.querySelector('.runs input')"
            event = "input.dispatchEvent(new Event('input', {bubbles: true}))"
            await page.run(f"{search}; input.focus(); input.value = 'C=10'; {event}")
            await page.until(f"{rows} === 2")
            assert await page.run("document.activeElement.value") == "C=10"
            await page.run(
                "document.querySelector('.runs th[data-sort=\"5\"]').click()"
            )
            await page.until(
                "document.querySelector('.runs [aria-sort=ascending]') !== null"
            )
            assert "sort0=5" in await page.run("location.hash")
            await page.run("history.back()")
            await page.until(
                "document.querySelector('.runs [aria-sort=ascending]') === null"
            )
            # A column that the reader adds stands in the address, and the menu stays open.
            heads = "[...document.querySelectorAll('.runs th button')].map((one) => one.innerText)"
            box = "document.querySelector('.runs input[name=column][value=auc]')"
            await page.run("document.querySelector('.runs summary').click()")
            await page.run(f"{box}.click()")
            await page.until(f"{heads}.includes('AUC')")
            assert await page.run("document.querySelector('.runs details').open")
            assert "columns0=auc" in await page.run("location.hash")
            await page.run(f"{box}.click()")
            await page.until(f"!{heads}.includes('AUC')")
            await page.run("document.querySelector('[data-tab=live]').click()")
            store.put("live/20261122T101500-here-7-3fa9.0001.jsonl", begin())
            await page.until(
                "document.querySelector('.live').innerText.includes('seen: running')"
            )
            assert await page.run("document.documentElement.scrollWidth <= innerWidth")
            assert page.said == []
            assert all(asked.startswith((url, "data:")) for asked in page.requests)
        server.cancel()

    asyncio.run(read())
