"""Put figures of `olscale bench --out` into docs/performance.md: ``python -m tests.performance FILE...``.

The page has a table between ``<!-- NAME -->`` and ``<!-- end -->`` for each benchmark; those that a
file has are replaced.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from olscale.bench.base import Figure
from olscale.bench.table import TITLES, cells

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def table(figures: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    """Return a benchmark's figures as Markdown, without columns that are empty, and what they were measured on."""
    rows = cells(
        [
            Figure(**{key: value for key, value in figure.items() if key != "met"})
            for figure in figures
        ]
    )
    kept = [
        n
        for n, title in enumerate(TITLES)
        if title == "what" or any(row[n] for row in rows)
    ]
    lines = [[TITLES[n] for n in kept], ["---"] * len(kept)]
    lines += [[row[n].replace("|", "\\|") for n in kept] for row in rows]
    head = (
        f"{machine['processor']}, {machine['cores']} cores, load {machine['load']} at the "
        "start.\n\n"
    )
    return head + "".join(
        "|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|\n"
        for line in lines
    )


def replace(page: str, name: str, text: str) -> str:
    """Return `page` with the table of benchmark `name` replaced.

    Raises
    ------
    ValueError
        If the page has no table of that name.
    """
    pattern = rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)"
    found, times = re.subn(
        pattern, lambda match: match[1] + text + match[2], page, flags=re.S
    )
    if not times:
        raise ValueError(
            f"the page has no table of {name}; add <!-- {name} --> and <!-- end -->"
        )
    return found


def main(files: list[str]) -> None:
    """Replace the tables that the files have figures for."""
    page = PAGE.read_text(encoding="utf-8")
    for file in files:
        written = json.loads(Path(file).read_text(encoding="utf-8"))
        for name, figures in written["benchmarks"].items():
            page = replace(page, name, table(figures, written["machine"]))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
