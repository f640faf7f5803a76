"""The site of the documentation in a browser, from a folder and without network."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlparse

import pytest

from docs.site.outside_names import ADDRESSES
from tests.browser import CHROMIUM, Page, browser
from tests.house import ROOT

PAGES = (
    "index.html",
    "experiments.html",
    "learners/lol.html",
    "reference/commands/evaluate.html",
    "reference/transforms.html",
    "api/results.html",
)
WIDER = "document.documentElement.scrollWidth - innerWidth"
RESULTS = "document.querySelectorAll('.md-search-result__item a').length"
AXE = """(async () => {
  const found = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa"] });
  const htmlOf = (one) => one.nodes.slice(0, 2).map((node) => node.html.slice(0, 150));
  return found.violations.map((one) => `${one.id}: ${htmlOf(one).join(" ")}`);
})()"""


def _names_without_a_link(site: Path) -> set[str]:
    """Return names of other libraries in the API that lead nowhere, and links that no page has."""
    text = "".join(
        page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html")
    )
    names = set(re.findall(r'<span[^>]*\btitle="([\w.]+)"', text))
    words = {"all"}  # a value, which happens to be the name of a function too
    unused = {
        name for name, address in ADDRESSES.items() if f'href="{address}"' not in text
    }
    return {name for name in names if not name.startswith("olscale.")} - words | unused


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.skipif(
    find_spec("axe_core_python") is None, reason="pip install axe-core-python"
)
def test_pages_fit_are_searched_and_ask_no_network(tmp_path: Path) -> None:
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    axe = (Path(spec.origin).parent / "axe.min.js").read_text()
    build = [sys.executable, "-m", "docs.site", str(tmp_path / "site")]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr

    assert not _names_without_a_link(tmp_path / "site")

    async def look() -> dict[str, list[str]]:
        faults: dict[str, list[str]] = {}
        async with browser() as page:
            for name in PAGES:
                address = (tmp_path / "site" / name).as_uri()
                faults[name] = await _faults(page, address, axe)
            await page.open((tmp_path / "site" / "index.html").as_uri())
            await page.until("document.querySelector('.md-search__input') !== null")
            await page.run("document.querySelector('.md-search__input').focus()")
            await page.send("Input.insertText", text="confidence")
            await page.until(f"{RESULTS} > 0", seconds=20.0)
            away = [
                url
                for url in page.requests
                if urlparse(url).scheme in ("http", "https")
            ]
            faults["network"] = away
        return faults

    faults = asyncio.run(look())
    said = [f"{name}: {fault}" for name, of_page in faults.items() for fault in of_page]
    assert not said, "\n".join(said)


async def _faults(page: Page, address: str, axe: str) -> list[str]:
    faults = []
    for width in (1400, 390):
        await page.open(address, width=width)
        wider = await page.run(WIDER)
        if wider > 0:
            faults.append(f"at {width} px it is {wider} px wider than the window")
    await page.run(f"{axe}; true")
    for dark in (False, True):
        await page.prefer(dark)
        faults += [f"{json.dumps(dark)} {fault}" for fault in await page.run(AXE)]
    return faults
