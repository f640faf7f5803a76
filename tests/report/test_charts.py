"""The interactive report: charts that validate, and a page that works in a browser without a network."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale.report
from olscale.report.write import write_report
from olscale.results import Series, open_store, run_id
from tests.browser import CHROMIUM, Page, browser

pytestmark = pytest.mark.long

SCRIPTS = Path(olscale.report.__file__).parent / "scripts"
# of the npm package, without descriptions
SCHEMA = Path(__file__).parent / "fixtures" / "vega-lite-6.4.3.schema.json.gz"
LEARNERS = ("pa", "pa1", "<b>lol</b>")
CELLS = np.array([0, 2, 65537, 131072, 131074])
"""Cells of a confusion matrix: 65536 times the class, plus what is predicted."""


@pytest.fixture(scope="module")
def pages(
    tmp_path_factory: pytest.TempPathFactory, make_record: Callable[..., Any]
) -> Path:
    """A report that has a chart of every kind."""
    folder = tmp_path_factory.mktemp("charts")
    store = open_store(folder / "store", create=True)
    rows = np.arange(10, 101, 10)
    for number, learner in enumerate(LEARNERS):
        for i in range(5):
            errors = 0.1 * number + 0.01 * i + 0.2 + 1 / rows
            record = make_record(
                learner=learner,
                permutation=i,
                metrics={
                    "cumulative_error": float(errors[-1]),
                    "drift_alarms": 1.0,
                    "model_bytes": 10.0 + number,
                },
                curve_rows=rows,
                curve_mistakes=(rows * errors).astype(np.int64),
                segments=[("Day0", 50, 20 + number), ("Day1", 50, 10)],
                series=[
                    Series("drift_alarms", np.array([42]), np.array([1.0])),
                    Series(
                        "wrong_rows",
                        np.zeros(1, np.int64),
                        np.array([2.0 ** (5 * number) - 1]),
                    ),
                    Series(
                        "confusion", CELLS, np.array([40.0, 10.0 - i, 25.0, 5.0, 20.0])
                    ),
                ],
                timings={"rows_per_second": 100.0 + number},
            )
            run = {
                **record.run,
                "protocol": {
                    **record.run["protocol"],
                    "measures": ["confusion"],
                    "mcnemar": True,
                    "drift": "adwin",
                    "drift_version": "river 0",
                },
            }
            store.write(replace(record, run=run, id=run_id(run)))
    for dataset in ("a", "b", "c", "d", "e"):
        for number, learner in enumerate(LEARNERS):
            for C in (0.25, 1.0, 4.0):
                for D in (1, 2, 3) if dataset == "a" else (1,):
                    error = 0.1 * number + 0.01 * C + 0.02 * D
                    params = {"C": C, "D": D}
                    store.write(
                        make_record(
                            dataset,
                            learner,
                            params,
                            metrics={"cumulative_error": error},
                        )
                    )
    write_report(store, folder / "out")
    return folder / "out"


def specs(pages: Path) -> list[dict[str, Any]]:
    texts = re.findall(
        r'<script type="application/json">(.*?)</script>',
        (pages / "index.html").read_text(),
        re.S,
    )
    return [one for text in texts for one in json.loads(text)]


def test_every_chart_is_in_the_language_of_vega_lite(pages: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="pip install 'olscale[dev]'")
    found = specs(pages)
    checker = jsonschema.Draft7Validator(
        json.loads(gzip.decompress(SCHEMA.read_bytes()))
    )

    for one in found:
        checker.validate(one)
    assert len(found) >= 9
    wrong = found[0] | {"marks": "line"}
    assert not checker.is_valid(wrong)


@pytest.mark.skipif(
    shutil.which("node") is None,
    reason="node compiles the charts, and is not installed",
)
def test_every_chart_compiles_without_a_word(pages: Path, tmp_path: Path) -> None:
    (tmp_path / "specs.json").write_text(json.dumps(specs(pages)))
    script = """
    globalThis.vega = require(process.argv[1] + "/vega.min.js");
    const load = require("module")._load;
    require("module")._load = (name, ...rest) => (name === "vega" ? globalThis.vega : load(name, ...rest));
    const lite = require(process.argv[1] + "/vega-lite.min.js");
    const said = [];
    const logger = { level: () => logger, error: (...a) => said.push(a), warn: (...a) => said.push(a), info() {} };
    for (const spec of JSON.parse(require("fs").readFileSync(process.argv[2]))) {
      vega.parse(lite.compile(spec, { logger }).spec);
    }
    console.log(JSON.stringify(said));
    """
    made = subprocess.run(
        ["node", "-e", script, str(SCRIPTS), str(tmp_path / "specs.json")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(made.stdout) == []


def test_bands_of_quantiles_are_those_of_the_runs(pages: Path) -> None:
    [chart] = [
        one
        for one in specs(pages)
        if "bands" in [param["name"] for param in one.get("params", ())]
    ]
    [line] = [line for line in chart["data"]["values"] if line["learner"] == "pa1"]
    rows = np.arange(10, 101, 10)
    mistakes = [(rows * (0.3 + 0.01 * i + 1 / rows)).astype(np.int64) for i in range(5)]
    low, high = np.quantile(100 * np.array(mistakes) / rows, [0.1, 0.9], axis=0)

    assert line["band"]["rows"] == rows.tolist()
    np.testing.assert_allclose(line["band"]["low"], low, rtol=5e-3)
    np.testing.assert_allclose(line["band"]["high"], high, rtol=5e-3)


def test_scripts_are_in_the_page_once_with_nothing_that_ends_them(pages: Path) -> None:
    page = (pages / "index.html").read_text()

    for name in ("vega", "vega-lite", "vega-embed"):
        script = (SCRIPTS / f"{name}.min.js").read_text()
        assert page.count(script) == 1
        assert "</script" not in script.lower()
        assert "Redistribution and use" in (SCRIPTS / f"{name}.LICENSE").read_text()
    assert "<b>lol" not in page
    assert "<h3>Cumulative error</h3>" in page
    assert re.search(r'@top-right { content: "\d{4}-\d\d-\d\d, " counter', page)
    assert not re.findall(r'(?:src|href)="https?:', page)


def test_settings_of_the_leaderboard_have_a_page_of_a_run(pages: Path) -> None:
    page = (pages / "index.html").read_text()
    links = re.findall(
        r'<td><a href="(runs/[0-9a-f]{32}\.html)">([^<]+)</a></td>', page
    )

    assert len(links) == len(set(links)) == len(LEARNERS)
    for file, error in links:
        of_run = (pages / file).read_text()
        assert LEARNERS[2] not in of_run
        for part in (error, "Environment", 'href="../index.html#facts"'):
            assert part in of_run
        assert re.search("olscale evaluate --dataset digits --learner", of_run)


async def drawn(page: Page, figure: str) -> None:
    await page.run(f"document.getElementById('{figure}').scrollIntoView()")
    ready = f"document.querySelector('#{figure} .charts svg.marks') !== null"
    for _ in range(100):
        if await page.run(ready):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{figure} is not drawn; the console has {page.said}")


SAVED = """(() => {
  let saved;
  const [make, click] = [URL.createObjectURL, HTMLAnchorElement.prototype.click];
  URL.createObjectURL = (blob) => ((saved = blob), "about:blank");
  HTMLAnchorElement.prototype.click = () => {};
  [...document.querySelectorAll("#digits-curves .controls button")].find((one) => one.textContent === "data").click();
  [URL.createObjectURL, HTMLAnchorElement.prototype.click] = [make, click];
  return saved.text();
})()"""
ENDS = """[...document.querySelectorAll("#digits-curves .mark-text text")]
  .filter((one) => one.getAttribute("text-anchor") === "start")
  .map((one) => `${one.textContent} ${one.transform.baseVal[0].matrix.f}`)"""
EDGES = "[...document.querySelectorAll('#digits-curves .mark-area path')].map((one) => one.getAttribute('d')).join()"
CHOOSE = """((figure, i, value) => {
  const menu = document.querySelectorAll(`${figure} select`)[i];
  menu.value = value;
  menu.dispatchEvent(new Event("change"));
})"""
CUT = """[...document.querySelectorAll(".wide")].filter((one) => one.checkVisibility()).map(
  (one) => `${one.scrollWidth > one.clientWidth} ${getComputedStyle(one).getPropertyValue("--cut")}`)"""
LINES = "document.querySelectorAll('#digits-curves .mark-line path').length"


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_answers_to_its_reader_without_a_network(pages: Path) -> None:
    async def read() -> None:
        async with browser() as page:
            await page.open((pages / "index.html").as_uri())
            figures = await page.run(
                "[...document.querySelectorAll('figure:has(.charts)')].map((one) => one.id)"
            )
            for figure in figures:
                await drawn(page, figure)
            assert await page.run(
                "document.querySelectorAll('.charts svg.marks').length"
            ) == len(specs(pages))

            await drawn(page, "digits-curves")
            assert await page.run(LINES) == 3
            # Lines are named at their ends, none over another, and bands are chosen.
            ends = [text.split() for text in await page.run(ENDS)]
            assert sorted(name for name, *_ in ends) == sorted(LEARNERS)
            heights = sorted(float(height) for *_, height in ends)
            assert min(np.diff(heights)) >= 12
            edges = await page.run(EDGES)
            await page.run(f"{CHOOSE}('#digits-curves', 1, 'quantiles')")
            await asyncio.sleep(0.5)
            assert await page.run(EDGES) not in (edges, "")
            await page.run(f"{CHOOSE}('#digits-curves', 1, '')")
            # A map of confusions is of the learner that is chosen.
            cells = "document.querySelector('#digits-confusion svg').textContent"
            before = await page.run(cells)
            assert "20" in before
            # A legend picks, here and in other figures, and the address keeps it.
            await page.run(
                "document.querySelector('#digits-curves .legend [value=pa1]').click()"
            )
            await asyncio.sleep(0.5)
            assert await page.run(LINES) == 1
            pick = "select = document.querySelector('#digits-curves select'); select.value = 'pa';"
            await page.run(f"{pick} select.dispatchEvent(new Event('change'))")
            assert "show=pa1" in await page.run("location.hash")
            assert "baseline-digits-curves=.pa" in await page.run("location.hash")
            # A tooltip tells of the point that is nearest.
            corners = "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
            x, y = await page.run(
                f"{corners}(document.querySelector('#digits-curves .charts "
                "svg.marks').getBoundingClientRect())"
            )
            await page.mouse(x, y)
            await page.mouse(x + 5, y)
            await asyncio.sleep(0.5)
            told = await page.run("document.querySelector('.tip').innerText")
            assert "row " in told
            assert "pa1" in told
            # Axes change their scale, and charts are drawn anew.
            log = "document.querySelector('#digits-curves .controls > label input')"
            await page.run(f"{log}.click()")
            await asyncio.sleep(0.5)
            assert "log-y-digits-curves=1" in await page.run("location.hash")
            assert await page.run(LINES) == 1
            # Its figures are saved as they are in the page.
            head, *lines = (await page.run(SAVED)).splitlines()
            assert set(head.split(",")) >= {
                "learner",
                "rows",
                "value",
                "std",
                "low",
                "high",
            }
            assert len(lines) % len(LEARNERS) == 0
            assert {
                line.split(",")[head.split(",").index("learner")] for line in lines
            } == {*LEARNERS}
            # Tables sort.
            first = "[...document.querySelectorAll('table')].find((one) => one.rows.length > 3)"
            await page.run(f"{first}.querySelectorAll('th button')[0].click()")
            column = (
                f"[...{first}.tBodies[0].rows].map((row) => row.cells[0].textContent)"
            )
            up = await page.run(column)
            await page.run(f"{first}.querySelectorAll('th button')[0].click()")
            assert await page.run(column) == up[::-1]

            # Two learners stand side by side, and a topic hides the figures of others.
            choose = "((menu, value) => { menu.value = value; menu.onchange() })"
            for name, learner in (("pin", "pa"), ("beside", "pa1")):
                await page.run(
                    f"{choose}(document.querySelector('[aria-label={name}]'), '{learner}')"
                )
            pinned = await page.run("document.querySelector('.pinned').innerText")
            assert "difference" in pinned
            assert re.search(r"only pa right\s+only pa1 right", pinned)
            assert re.search(r"digits, the stream\s+5\s+0\s+0\.12", pinned)
            await page.run(
                f"{choose}(document.querySelector('[aria-label=beside]'), '')"
            )
            figures_menu = "document.querySelector('[aria-label=measure]')"
            await page.run(f"{choose}({figures_menu}, 'segments')")
            assert (
                await page.run("document.getElementById('digits-curves').hidden")
                is True
            )
            await page.run(f"{choose}({figures_menu}, '')")
            sets = "document.querySelector('[aria-label=\"data sets to show\"]')"
            await page.run(f"{sets}.value = 'digits'; {sets}.oninput()")
            hidden = "document.querySelectorAll('section[data-set][hidden]').length"
            assert await page.run(hidden) >= 1
            await page.run(f"{sets}.value = ''; {sets}.oninput()")
            assert await page.run(hidden) == 0
            await page.run(
                "document.querySelector('#digits-curves .legend [value=pa1]').click()"
            )

            # A link brings it all back.
            link = await page.run("location.href")
            await page.open("about:blank")
            await page.open(link)
            await drawn(page, "digits-curves")
            assert await page.run(LINES) == 1
            assert (
                await page.run("document.querySelector('#digits-curves select').value")
                == "pa"
            )
            assert await page.run(column) == up[::-1]

            assert page.said == []
            assert {url.split(":")[0] for url in page.requests} <= {
                "file",
                "data",
                "about",
            }

    asyncio.run(read())


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_a_phone(pages: Path, dark: bool) -> None:
    async def look() -> None:
        async with browser() as page:
            await page.open((pages / "index.html").as_uri(), width=390, dark=dark)
            for figure in await page.run(
                "[...document.querySelectorAll('figure:has(.charts)')].map((one) => one.id)"
            ):
                await drawn(page, figure)
            assert await page.run("document.documentElement.scrollWidth") == 390
            wide = (
                "[...document.querySelectorAll('.charts svg.marks')].filter((one) => "
                "one.clientWidth > 390).length"
            )
            assert await page.run(wide) == 0
            # A table that is cut fades at its edge, until it is scrolled to its end.
            assert set(await page.run(CUT)) == {"true 36px", "false 0px"}
            await page.run(
                "document.querySelectorAll('.wide').forEach((e) => (e.scrollLeft = 9999))"
            )
            await asyncio.sleep(0.5)
            assert set(await page.run(CUT)) == {"true 0px", "false 0px"}

    asyncio.run(look())
