"""``olscale bench``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olscale.bench import BENCHMARKS
from olscale.cli.command import Respelled
from olscale.cli.say import say

if TYPE_CHECKING:
    from olscale.bench import Figure


@click.command(epilog=f"Benchmarks: {', '.join(BENCHMARKS)}.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--out",
    "--json",
    "file",
    cls=Respelled,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Also write the figures to this file, as JSON.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1000),
    metavar="N",
    help="Length of the streams of linear, scale, memory, peers and tables.",
)
@click.option(
    "--python",
    metavar="PYTHON",
    help="Interpreter that has CapyMOA and what olscale needs, for peers.",
)
def bench(
    names: tuple[str, ...], file: str | None, rows: int | None, python: str | None
) -> None:
    """Run the speed benchmarks NAME.

    Without NAME all but costs, memory, peers, soft-local-wide, tables, two-workers and views run.

    Each figure is measured in alternation with its peers, on one thread, and printed as a ratio to
    them; above one is faster. scale measures ingest, layouts and a stream through many learners;
    --rows 2396130 is the size of the URL set. memory measures resident memory along a stream of ten
    million rows. tables measures ingest of text files of 500 MB, or the size of N rows with nine
    columns, and of 2, 36 and 360 MB in separate processes, if these are not larger.
    """
    from olscale.bench import run
    from olscale.bench.table import as_json, machine

    # Before the benchmarks, which are load themselves.
    host = machine()
    results = run(names, rows, python)
    say(f"{host['processor']}, {host['cores']} cores, load {host['load']} at the start")
    for name, figures in results.items():
        _print(name, figures)
    if file is not None:
        Path(file).write_text(as_json(results, host))


def _print(name: str, figures: list[Figure]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from olscale.bench.table import TITLES, cells

    table = Table(
        title=name,
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for title in TITLES:
        if title in ("value", "ratio"):
            table.add_column(title, justify="right")
        else:
            table.add_column(title)
    for row in cells(figures):
        table.add_row(*row)
    # In a file the table keeps its full width, because scripts read it.
    width: int | None = 240
    if sys.stdout.isatty():
        width = None
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)
