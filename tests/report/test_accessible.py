"""Pages that anybody can read: checked by axe-core in a browser, on light and dark ground; and small."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from docs.screenshots import LOOKS, made_up
from olscale.analysis.curves import Curve
from olscale.analysis.summary import Summary
from olscale.report.charts.curves import curve_charts
from olscale.report.dashboard_server import serve
from olscale.report.html import SCRIPTS, TEMPLATES
from olscale.report.write import write_report
from olscale.results import Store, open_store, run_id
from olscale.results.selections import Point, Selection, write_selection
from tests.browser import CHROMIUM, browser

# A few marks of each group of a chart are enough: thousands of points that are alike take axe twenty
# seconds.
AXE = """(async (rules) => {
  document.querySelectorAll("svg g > :nth-child(n + 4)").forEach((one) => one.remove());
  const found = await axe.run(document, { runOnly: rules });
  const htmlOf = (one) => one.nodes.slice(0, 3).map((node) => node.html.slice(0, 150));
  return found.violations.map((one) => `${one.id}: ${htmlOf(one).join(" ")}`);
})"""
ALL = '["wcag2a", "wcag2aa"]'
COLOURS = '{ type: "rule", values: ["color-contrast", "link-in-text-block"] }'
"""What the reader's preference of light or dark can change."""

SHOWN = {
    "report": "document.querySelectorAll('.charts svg').length > 0",
    "runs": "document.querySelectorAll('.runs tbody tr').length > 1",
}
"""When a page is as its reader sees it; of others there is nothing to wait for."""


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.skipif(
    find_spec("axe_core_python") is None, reason="pip install axe-core-python"
)
def test_report_and_dashboard_have_nothing_that_axe_finds(tmp_path: Path) -> None:
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    axe = (Path(spec.origin).parent / "axe.min.js").read_text()
    store = open_store(tmp_path / "store", create=True)
    store.write_together(list(made_up(4, 5, outcome="diverged")))
    write_search(store)
    write_report(store, tmp_path / "out")

    async def look() -> dict[str, list[str]]:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(serve([store], 0, ready=address.set_result))
        url = await address
        pages = {"report": (tmp_path / "out" / "index.html").as_uri(), "dashboard": url}
        pages |= {
            tab: f"{url}#tab={tab}" for tab in ("runs", "live", "tuning", "failures")
        }
        some = sorted(store.done())[:3]
        pages["run"] = f"{url}run/0/{some[0]}"
        pages["compared"] = f"{url}compare/0?{'&'.join(f'run={id}' for id in some)}"
        found = {}
        async with browser() as page:
            for name, where in pages.items():
                await page.open("about:blank")
                await page.open(where)
                await page.run(f"{axe}; true")
                # Charts are drawn when their reader comes near.
                await page.run(
                    "document.querySelector('figure.charted')?.scrollIntoView()"
                )
                for dark, rules in ((False, ALL), (True, COLOURS)):
                    await page.prefer(dark)
                    await page.until(SHOWN.get(name, "true"))
                    faults = await page.run(f"{AXE}({rules})")
                    found[f"{name} {dark}"] = [*faults, *await page.run(LOOKS)]
        server.cancel()
        return found

    assert {
        name: faults for name, faults in asyncio.run(look()).items() if faults
    } == {}


def write_search(store: Store) -> None:
    """Write a search of three candidates, of which one has failed."""
    definition = {
        "dataset": {"name": "data-set-1", "fingerprint": f"{0:064x}"},
        "transforms": [],
        "learner": {"name": "learner-1", "version": 1, "params": {}},
        "grid": {"C": [0.1, 1.0, 10.0]},
        "protocol": {"metric": "test_error", "split": "kfold", "folds": 2, "seed": 0},
    }
    points = (
        Point({"C": 0.1}, 0.2),
        Point({"C": 1.0}, 0.1),
        Point({"C": 10.0}, None, failed=1),
    )
    write_selection(
        store, Selection(definition, run_id(definition), points, {"C": 1.0})
    )


@pytest.mark.parametrize(("learners", "runs"), [(12, 3), (8, 5)])
def test_fifty_figures_take_two_megabytes(learners: int, runs: int) -> None:
    random = np.random.default_rng(0)
    rows = np.arange(1, 201) * 137
    curves = {}
    for i in range(learners):
        summary = Summary(
            "d",
            "f",
            (),
            f"learner-{i}",
            "1",
            {},
            {"order": "time"},
            "cumulative_error",
            0.2,
            0.0,
            3,
        )
        curves[f"learner-{i}"] = Curve(summary, rows, random.random((runs, 200)))

    [chart] = curve_charts({"": curves})
    folder = TEMPLATES.parent / "scripts"
    scripts = sum((folder / name).stat().st_size for name in SCRIPTS)

    size = len(json.dumps(chart, separators=(",", ":")))
    assert scripts + 50 * (size + 2_000) <= 2_000_000, size
