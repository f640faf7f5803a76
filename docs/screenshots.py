"""Pictures of the report, the dashboard and a notebook, wide and as on a phone, light and dark, for the documentation.

``python -m docs.screenshots`` in the root of the repository writes them to ``docs/pictures``. Needs
the packages of ``dev``, and Chromium.
"""

import asyncio
import io
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from PIL import Image

import olscale
from olscale.report.dashboard import serve
from olscale.report.write import write_report
from tests.browser import browser

PICTURES = Path(__file__).parent / "pictures"
SIZES = {1400: 900, 390: 800}
COLOURS = 200
THERE = "document.getElementById('digits-curves')?.parentElement.scrollIntoView()"

LEARNERS = ("perceptron", "pa1", "arow", "lol", "no-change")

_STYLE = """<meta name="viewport" content="width=device-width"><style>:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; } img { max-width: 100%; }
pre { background: #8882; padding: .6rem; overflow-x: auto; } .out { overflow-x: auto; }</style>"""


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = fill(folder)
        write_report(store, folder / "report")
        (folder / "notebook.html").write_text(notebook(folder), encoding="utf-8")
        asyncio.run(pictures(folder, store))


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
    return olscale.evaluate(experiment, folder / "store", in_process=True, progress=False).store


def notebook(folder: Path) -> str:
    """Return a notebook that watches a store, after it was run, as a page."""
    cells = ["import olscale", f"view = olscale.watch({str(folder / 'store')!r})", "view.stop()"]
    cells += [f"olscale.Results({str(folder / 'store')!r})"]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(made, timeout=120).execute()
    parts = []
    for cell in made.cells:
        parts.append(f"<pre>{escape(cell.source.replace(str(folder) + '/', ''))}</pre>")
        shown = [one["data"].get("text/html", "") for one in cell.outputs if "data" in one]
        parts += [f'<div class="out">{html}</div>' for html in shown]
    return f"<!doctype html>{_STYLE}{''.join(parts)}"


async def pictures(folder: Path, store: Any) -> None:
    """Take the pictures."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve([store], 0, ready=address.set_result))
    shown = {
        "report": (folder / "report" / "index.html").as_uri(),
        "dashboard": await address,
        "notebook": (folder / "notebook.html").as_uri(),
    }
    async with browser() as page:
        for name, url in shown.items():
            for width, height in SIZES.items():
                for dark in (False, True):
                    await page.open("about:blank")
                    await page.open(url, width=width, height=height, dark=dark)
                    await page.run(THERE)
                    await asyncio.sleep(3)  # charts are drawn when they are near
                    await page.run(THERE)
                    await asyncio.sleep(1)
                    file = PICTURES / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                    file.write_bytes(small(await page.picture()))
    server.cancel()


def small(picture: bytes) -> bytes:
    """Return a picture with few colours, which screens of text and lines do not miss."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(out, "png", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main()
