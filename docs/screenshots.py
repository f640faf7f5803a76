"""Pictures of report, dashboard, run, nights and notebook: wide and as on a phone, light and dark.

``python -m docs.screenshots`` in the root of the repository writes those of the documentation to
``docs/pictures``. With a folder as argument it writes there, instead, those by which the design is
looked at: reports of 2, 12 and 40 learners on 1, 6 and 60 data sets, and dashboards of a store that
is running, done, failed and empty. Needs the packages of ``dev``, and Chromium; where that is not
installed, each picture is skipped by name.
"""

import asyncio
import io
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
from PIL import Image

import olscale
from olscale.jobs.calendar import calendar_html
from olscale.report.dashboard_server import serve
from olscale.report.html import page_html
from olscale.report.write import write_report
from olscale.results import Record, Series, Store, open_store, run_id
from olscale.results.live_reader import line_bytes
from tests.browser import CHROMIUM, browser

PICTURES = Path(__file__).parent / "pictures"
SIZES = {1400: 900, 390: 800}
COLOURS = 200

LEARNERS = ("perceptron", "pa1", "arow", "lol", "no-change")

_STYLE = """<meta name="viewport" content="width=device-width"><style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; }
img { max-width: 100%; } .out { overflow-x: auto; }
pre { background: light-dark(#f0f0f0, #222); padding: .6rem; overflow-x: auto; }</style>"""

LOOKS = """(() => {
  const said = new Set();
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) said.add(`${wide} pixels are beyond the right edge`);
  const light = (text) => {
    const most = text.startsWith("color") ? 1 : 255;
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((one) => one / most);
    const of = (one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * of(r) + 0.7152 * of(g) + 0.0722 * of(b);
  };
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const bare = isDark ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)";
  const isClear = (text) => text === "transparent" || / 0\\)$|\\/ 0\\)$/.test(text);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest("script, style, option, sup")) continue;
    const style = getComputedStyle(element);
    const words = walker.currentNode.textContent.trim().slice(0, 30);
    if (parseFloat(style.fontSize) < 12) said.add(`${style.fontSize}: ${words}`);
    if (element.closest("svg")) continue;
    let under = element;
    while (under && isClear(getComputedStyle(under).backgroundColor)) under = under.parentElement;
    const ground = under ? getComputedStyle(under).backgroundColor : bare;
    const [low, high] = [light(style.color), light(ground)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) said.add(`contrast ${contrast.toFixed(2)}: ${words}`);
  }
  return [...said].slice(0, 8);
})()"""
"""What is wrong with a page: too wide, small text, text of little contrast."""


def main() -> None:
    """Write all pictures."""
    out = PICTURES
    if sys.argv[1:]:
        out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if sys.argv[1:]:
            shown, stores = to_look_at(folder)
        else:
            shown, stores = of_documentation(folder)
        if CHROMIUM is None:
            for name in (*shown, *stores):
                print(f"skipped, since Chromium is not installed: {name}")
            return
        asyncio.run(pictures(out, shown, stores))


def of_documentation(folder: Path) -> tuple[dict[str, str], dict[str, Store]]:
    """Make what the documentation shows: pages by name, and stores of dashboards by name."""
    store = fill(folder)
    write_report(store, folder / "report")
    watched = open_store(folder / "watched", create=True)
    watched.put("live/20261122T101500-here-7-3fa9.0001.jsonl", journal())
    (folder / "notebook.html").write_text(notebook(folder), encoding="utf-8")
    report = (folder / "report" / "index.html").as_uri()
    shown = {
        "report": report,
        "report-curves": f"{report}#digits-curves",
        "notebook": (folder / "notebook.html").as_uri(),
    }
    return shown, {"dashboard": store}


def to_look_at(folder: Path) -> tuple[dict[str, str], dict[str, Store]]:
    """Make pages and stores of many sizes and states, out of made-up runs."""
    shown = {}
    for learners, datasets in ((2, 1), (12, 6), (40, 6), (12, 60)):
        name = f"{learners}-learners-{datasets}-sets"
        store = open_store(folder / name, create=True)
        store.write_together(list(made_up(learners, datasets)))
        write_report(store, folder / f"report-{name}")
        page = (folder / f"report-{name}" / "index.html").as_uri()
        shown[f"report-{name}"] = page
        shown[f"report-{name}-ranks"] = f"{page}#ranks"
        shown[f"report-{name}-set"] = f"{page}#set0"
        shown[f"report-{name}-facts"] = f"{page}#facts"
    (folder / "nights.html").write_text(nights(), encoding="utf-8")
    shown["nights"] = (folder / "nights.html").as_uri()
    running = open_store(folder / "running", create=True)
    running.put("live/20261122T101500-here-7-3fa9.0001.jsonl", journal())
    failed = open_store(folder / "failed", create=True)
    failed.write_together(list(made_up(3, 2, outcome="diverged")))
    stores = {
        "dashboard-running": running,
        "dashboard-done": open_store(folder / "12-learners-6-sets"),
        "dashboard-60-sets": open_store(folder / "12-learners-60-sets"),
        "dashboard-failed": failed,
        "dashboard-empty": open_store(folder / "empty", create=True),
    }
    return shown, stores


def made_up(learners: int, datasets: int, outcome: str = "ok") -> Iterator[Record]:
    """Yield runs whose errors fall along the stream, the same at every call."""
    random = np.random.default_rng(0)
    rows = np.arange(100, 10_001, 100)
    for i in range(datasets):
        for k in range(learners):
            name = f"learner-{k + 1}" if k + 1 < learners else "majority"
            for permutation in range(2):
                level = (
                    0.5
                    if name == "majority"
                    else 0.05 + 0.01 * (k + 3 * random.random())
                )
                errors = level + (0.5 - level) * np.exp(-rows / (500 + 100 * k))
                window = np.clip(
                    errors + 0.02 * random.standard_normal(len(rows)), 0.0, 1.0
                )
                protocol = {"order": "permuted", "seed": 0, "permutation": permutation}
                protocol |= {
                    "window": 500,
                    "drift": "adwin",
                    "drift_version": "river 0",
                }
                run = {
                    "dataset": {
                        "name": f"data-set-{i + 1}",
                        "fingerprint": f"{i:064x}",
                    },
                    "transforms": ["standardize"],
                    "learner": {"name": name, "version": 1, "params": {"C": 1.0}},
                    "protocol": protocol,
                }
                failed = outcome != "ok" and k == 1
                yield Record(
                    run=run,
                    id=run_id(run),
                    outcome=outcome if failed else "ok",
                    reason="the norm of w is inf after 1,200 rows" if failed else "",
                    metrics={}
                    if failed
                    else {
                        "cumulative_error": float(errors[-1]),
                        "window_error": float(window[-1]),
                        "drift_alarms": 2.0,
                        "model_bytes": 1000.0 * (k + 1),
                    },
                    curve_rows=rows,
                    curve_mistakes=np.round(rows * errors).astype(np.int64),
                    series=[
                        Series("window_error", rows, window),
                        Series(
                            "drift_alarms", np.array([2500, 6000]), np.array([1.0, 2.0])
                        ),
                    ],
                    timings={
                        "rows_per_second": 1e6 / (k + 1),
                        "rows_per_cpu_second": 1e6 / (k + 1),
                    },
                )


def journal() -> bytes:
    """Return the journal of an evaluation that is a third of the way on."""
    now = time.time()
    names = [f"learner-{k + 1}" for k in range(6)]
    start = {
        "name": "made up",
        "runs": 12,
        "done": 0,
        "groups": {
            f"g{i}": [60_000, 1.0, [f"r{i}-{name}" for name in names]] for i in range(2)
        },
        "settings": [[name, {"C": 1.0}] for name in names],
        "of": {
            f"r{i}-{name}": [
                k,
                f"data-set-{i + 1}",
                "permutation 0",
                "cumulative_error",
            ]
            for i in range(2)
            for k, name in enumerate(names)
        },
    }
    begin = {"t": now - 40, "begin": {"host": "here", "pid": 7, "version": "1"}}
    text = line_bytes(begin) + line_bytes({"t": now - 40, "start": start})
    for step in range(1, 31):
        row = 150 * step
        line = {
            "t": now - 40 + step,
            "at": {
                f"g{i}": [6 * row, f"worker-{i + 1}", 300_000_000] for i in range(2)
            },
            "errors": {
                f"r{i}-{name}": [
                    row,
                    0.1 + 0.03 * k + 0.4 * float(np.exp(-step / (4 + k))),
                ]
                for i in range(2)
                for k, name in enumerate(names)
            },
        }
        text += line_bytes(line)
    # The page keeps calling it running for a minute.
    return text + line_bytes(
        {"t": now + 600, "notes": ["worker-3 left; its runs go to others"]}
    )


def nights() -> str:
    """Return the page of a job with all states of nights."""
    states = ("good",) * 9 + ("alarm", "good", "good", "failed", "good", "stopped")
    rows: list[Mapping[str, Any]] = [
        {
            "night": f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}",
            "state": states[i % len(states)],
            "alarms": ["a"] * (states[i % len(states)] == "alarm"),
            "failures": [],
        }
        for i in range(140)
    ]
    return page_html("Nights of made-up", [("Nights", [])], lead=calendar_html(rows))


def fill(folder: Path) -> Any:
    """Return a store of four data sets."""
    names = ("digits", "breast_cancer", "wine", "iris")
    for name in names:
        olscale.ingest(f"sklearn:{name}", folder / name)
    experiment = olscale.Experiment(
        name="permuted",
        transforms=["standardize", "bias"],
        protocol={"permutations": 5, "measures": ["confusion"]},
        datasets=[{"path": str(folder / name)} for name in names],
        learners=[{"name": name} for name in LEARNERS],
    )
    return olscale.evaluate(
        experiment, folder / "store", in_process=True, progress=False
    ).store


def notebook(folder: Path) -> str:
    """Return a notebook that watches a store, after it was run, as a page."""
    cells = [
        "import olscale",
        f"view = olscale.watch({str(folder / 'watched')!r})",
        "view.stop()",
    ]
    cells += [f"olscale.Results({str(folder / 'store')!r})"]
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    nbclient.NotebookClient(made, timeout=120).execute()
    parts = []
    for cell in made.cells:
        parts.append(f"<pre>{escape(cell.source.replace(str(folder) + '/', ''))}</pre>")
        shown = [
            one["data"].get("text/html", "") for one in cell.outputs if "data" in one
        ]
        parts += [f'<div class="out">{html}</div>' for html in shown]
    return f"<!doctype html>{_STYLE}{''.join(parts)}"


async def pictures(
    out: Path, shown: Mapping[str, str], stores: Mapping[str, Store]
) -> None:
    """Take the pictures, and print what is wrong with the pages."""
    servers = []
    addresses = dict(shown)
    for name, store in stores.items():
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        servers.append(asyncio.create_task(serve([store], 0, ready=address.set_result)))
        addresses[name] = await address
        if name in ("dashboard-done", "dashboard-running", "dashboard-failed"):
            addresses[f"{name}-runs"] = f"{addresses[name]}#tab=runs"
        if name == "dashboard-failed":
            addresses[f"{name}-why"] = f"{addresses[name]}#tab=failures"
    async with browser() as page:
        for name, url in addresses.items():
            for width, height in SIZES.items():
                for dark in (False, True):
                    await page.open("about:blank")
                    began = time.perf_counter()
                    await page.open(url, width=width, height=height, dark=dark)
                    seconds = time.perf_counter() - began
                    await asyncio.sleep(1.5)  # charts are drawn when they are near
                    # What is drawn above moves what an address leads to.
                    await page.run(
                        "document.getElementById(location.hash.slice(1))?.scrollIntoView()"
                    )
                    await asyncio.sleep(1.0)
                    kind = f"{name}-{width}-{'dark' if dark else 'light'}"
                    (out / f"{kind}.png").write_bytes(small(await page.picture()))
                    faults = [*await page.run(LOOKS), *page.said]
                    page.said.clear()
                    print(f"{kind}: {seconds:.1f} s {'; '.join(faults)}", flush=True)
    for server in servers:
        server.cancel()
        with suppress(asyncio.CancelledError):
            await server


def small(picture: bytes) -> bytes:
    """Return a picture with few colours, which screens of text and lines do not miss."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image = image.quantize(
        COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    image.save(out, "png", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main()
