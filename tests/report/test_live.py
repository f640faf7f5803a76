"""What goes on as text, as HTML, in a notebook and on the served page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest

from olscale.execution.evaluate import evaluate
from olscale.report.dashboard_server import serve
from olscale.report.live_html import live_html
from olscale.report.live_text import live_text
from olscale.report.watch import watch
from olscale.results.live import LiveEvaluation, LiveGroup, LiveRun
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store
from tests.execution.test_journal import OFTEN, two_learners
from tests.record_bytes import record_bytes


def going() -> LiveEvaluation:
    one = LiveEvaluation("id", "<b>tuning</b>", "here", 7, total=4, done=1, began=100.0)
    one.groups = {"g": LiveGroup("g", 1000, 1.0, ("a", "b"))}
    one.runs = {
        name: LiveRun(
            name,
            "d&d",
            "pa",
            {"C": C},
            "time order",
            rows=[100, 200],
            errors=[0.5, error],
        )
        for name, C, error in (("a", 1.0, 0.25), ("b", 0.5, 0.125))
    }
    for rows, at in ((20, 101.0), (500, 111.0)):
        one.add(
            {
                "t": at,
                "at": {"g": [rows, "w1", 3_000_000]},
                "notes": ["a worker was lost"],
            }
        )
    return one


def test_text_says_how_far_how_long_and_who_is_best() -> None:
    text = live_text([going()], now=112.0)
    assert "1/4 runs, 50 rows/s, 0:10 left" in text
    assert "pa C=0.5   12.50  0/1" in text
    assert "worker w1: g, 50 %, 3.0 MB" in text
    assert "silent for 1:30" in live_text([going()], now=201.0)
    assert live_text([]) == "no evaluation is running\n"


def test_models_that_predict_held_out_rows_are_seen_to() -> None:
    one = going()
    group = one.groups["g"]
    group.rows_done = 1000
    group.held = 1000
    group.scored = 250
    group.to_score = 1000
    assert "worker w1: g, held-out rows 25 %, 3.0 MB" in live_text([one], now=112.0)
    assert "<td>held-out rows 25 %</td>" in live_html([one], now=112.0)
    assert one.share_done == 0.625
    group.scored = 1000
    assert "worker w1" not in live_text([one], now=112.0)


def test_while_machine_code_is_made_all_views_say_so() -> None:
    one = LiveEvaluation("id", "tuning", "here", 7, total=4, began=100.0)
    one.groups = {"g": LiveGroup("g", 1000, 1.0, ())}
    one.add({"t": 111.0, "at": {"g": [0, "w1", 3_000_000]}, "compiling": {"g": True}})
    for text in (live_text([one], now=112.0), live_html([one], now=112.0)):
        assert "runs, making machine code, time left not known yet" in text
        assert "rows/s" not in text
    assert "worker w1: g, making machine code, 3.0 MB" in live_text([one], now=112.0)
    assert "<td>making machine code</td>" in live_html([one], now=112.0)
    one.end = "stopped"
    assert "making" not in live_text([one], now=112.0)


def test_a_regression_shows_its_rmse() -> None:
    one = going()
    for run in one.runs.values():
        run.metric = "rmse"
    assert "d&d: RMSE so far, runs done" in live_text([one], now=112.0)
    assert "pa C=0.5  0.1250  0/1" in live_text([one], now=112.0)
    assert "<th>RMSE so far</th>" in live_html([one], now=112.0)


def test_of_many_data_sets_those_that_go_on_are_shown_with_their_curves() -> None:
    one = going()
    one.runs |= {
        f"r{i}": LiveRun(f"r{i}", f"set-{i}", "pa", {}, outcome="ok" * (i < 50))
        for i in range(60)
    }
    one.runs["r55"].rows, one.runs["r55"].errors = [100, 200], [0.5, 0.25]
    whole, rest = live_html([one], now=112.0).split("<h4>53 more data sets</h4>")
    assert whole.count("<h4>") == 1 + 8
    assert "<h4>d&amp;d</h4>" in whole
    assert "<h4>set-55</h4>" in whole
    assert (
        '<td class="text">set-49</td><td class="text">-</td><td>-</td><td>1/1</td>'
        in rest
    )


def test_what_has_ended_keeps_its_curves() -> None:
    one = going()
    one.end = "done"
    last = live_html([one], now=112.0)
    assert "tuning&lt;/b&gt;: done" in last
    assert "1 of 4 runs, 50 rows/s, ended 1970-01-01 00:01 UTC" in last
    assert "<polyline" in last
    for run in one.runs.values():
        run.rows, run.errors = run.rows[-1:], run.errors[-1:]
    assert "<polyline" not in live_html([one], now=112.0), "of one position each"
    one.heard = float("inf")
    assert "ended" not in live_html([one], now=112.0), "of a damaged journal"


def test_of_very_many_settings_those_are_listed_that_were_heard_of() -> None:
    one = LiveEvaluation("id", "tuning", "here", 7, total=30, began=100.0, heard=111.0)
    one.runs = {
        f"r{i}": LiveRun(f"r{i}", "d", "pa", {"C": float(i)}, "s") for i in range(30)
    }
    html = live_html([one], now=112.0)
    assert '<p class="small">30 settings</p>' in html
    assert "<table>" not in html
    one.runs["r7"].rows, one.runs["r7"].errors = [10], [0.25]
    html = live_html([one], now=112.0)
    assert html.count('<td class="text">') == 1
    assert '<p class="small">29 more settings</p>' in html


def test_html_shows_names_as_they_are_and_needs_nothing_from_elsewhere() -> None:
    html = live_html([going()], now=112.0)
    assert "&lt;b&gt;tuning&lt;/b&gt;" in html
    assert "d&amp;d" in html
    assert html.count("<polyline") == 2
    assert "http" not in html
    assert "<script" not in html


def test_who_is_watched_gets_the_same_bytes_as_who_is_not(
    shelf: Path, tmp_path: Path
) -> None:
    """By a notebook, which shows the evaluation until its end, and the served page, both from its journal."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    code = f"""
import olscale
from olscale.execution.settings import ExecutionSettings
experiment = olscale.Experiment(
    name="seen", datasets=[{{"path": {str(shelf / "dense")!r}}}], learners=[{{"name": "perceptron"}}, {{"name": "pa1"}}],
    protocol={{"order": "time"}})
often = ExecutionSettings(report_seconds=0.0)
job = olscale.evaluate(experiment, {str(tmp_path / "store")!r}, in_process=True, background=True, settings=often)
"""
    cells = [nbformat.v4.new_code_cell(cell) for cell in (code, "job.wait().computed")]
    notebook = nbformat.v4.new_notebook(cells=cells)

    async def look() -> str:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        store = open_store(tmp_path / "store", create=True)
        server = asyncio.create_task(serve([store], 0, ready=address.set_result))
        url = await address
        client = AsyncHTTPClient()
        going = asyncio.create_task(
            nbclient.NotebookClient(notebook, timeout=120).async_execute()
        )
        while not going.done():
            for part in ("", "live/0", "results/0"):
                await client.fetch(url + part)
            await asyncio.sleep(0.2)
        await going
        last = (await client.fetch(url + "live/0")).body.decode()
        server.cancel()
        return last

    assert "seen: done" in asyncio.run(look())
    (shown,) = notebook.cells[0].outputs
    assert shown["data"]["text/plain"].startswith("seen: done")
    assert "2/2" in shown["data"]["text/plain"]
    assert "perceptron</td>" in shown["data"]["text/html"]
    assert not any("widget" in kind for kind in shown["data"])

    bare = tmp_path / "bare"
    open_store(bare, create=True)
    (bare / "live").write_text("in the way of a journal")
    evaluate(two_learners(shelf), bare, in_process=True, progress=False)
    assert record_bytes(tmp_path / "store") == record_bytes(bare) != {}


def test_the_page_is_for_this_machine_and_sends_what_has_changed(
    shelf: Path, tmp_path: Path
) -> None:
    evaluate(two_learners(shelf), tmp_path / "store", in_process=True, settings=OFTEN)
    store = open_store(tmp_path / "store")
    nights = tmp_path / "home" / "page" / "index.html"
    assert "experiment: done" in repr(watch(store))
    assert LiveReader(store).read()[0].done == 2

    async def codes() -> list[int]:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(
            serve(
                [store],
                0,
                "127.0.0.1",
                "/hub/",
                ("127.0.0.1",),
                address.set_result,
                [nights],
            )
        )
        url = await address
        client = AsyncHTTPClient()
        found = []
        page = (await client.fetch(url)).body.decode()
        assert "perceptron" in page
        assert "http" not in page
        assert '<a href="page/0/">home: nights' in page
        assert (
            "No night has ended" in (await client.fetch(url + "page/0/")).body.decode()
        )
        nights.parent.mkdir(parents=True)
        nights.write_text("Nights of small")
        assert (await client.fetch(url + "page/0/")).body == b"Nights of small"
        tag = (await client.fetch(url + "live/0")).headers["Etag"]
        asked = [
            (url + "live/0", {"If-None-Match": tag}),
            (url + "live/0", {"Host": "evil.example"}),
        ]
        asked += [
            (url + "results/7", {}),
            (url + "page/1/", {}),
            (url + "report/0/..%2f..%2fetc/passwd", {}),
            (url + "results/0", {}),
            (url.removesuffix("hub/") + "favicon.ico", {}),
        ]
        for where, headers in asked:
            try:
                found.append(
                    (
                        await client.fetch(
                            HTTPRequest(where, headers=headers, request_timeout=120)
                        )
                    ).code
                )
            except HTTPClientError as error:
                found.append(error.code)
        server.cancel()
        return found

    assert asyncio.run(codes()) == [304, 403, 404, 404, 404, 200, 204]
