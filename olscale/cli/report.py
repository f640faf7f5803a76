"""``olscale report``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from olscale.cli.results import (
    advise_compaction,
    experiment_option,
    name_damaged,
    skip_damaged_option,
)
from olscale.cli.say import say

if TYPE_CHECKING:
    from olscale.results.store import OnDamage


_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}


def _inches(
    context: click.Context, option: click.Parameter, text: str | None
) -> float | None:
    """Return a width in inches."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(in|cm|mm)", text)
    width = float(match[1]) * _INCHES[match[2]] if match else 0.0
    # Text that is no width counts as 0, which is refused as well.
    if not 1.0 <= width <= 40.0:
        raise click.BadParameter(
            f"{text!r} is no width from 1 to 40 inches, such as 3.5in or 89mm"
        )
    return width


@click.command()
@click.argument("store")
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    help="Folder for index.html and figures/, created if it is missing.",
)
@click.option(
    "--paper",
    "papers",
    metavar="NAME",
    multiple=True,
    help="Also draw the figures of this paper: lol-2016, pamo-2018, ollc, olk-2013, ospvm-2016; "
    "repeatable.",
)
@click.option(
    "--figures",
    metavar="FORMAT",
    type=click.Choice(["pdf", "svg", "png"]),
    multiple=True,
    help="Also write figures as pdf, svg or png, and one of the curves on all data sets; "
    "repeatable.",
)
@click.option("--also", type=click.Choice(["pdf", "png"]), multiple=True, hidden=True)
@click.option(
    "--size",
    metavar="WIDTH",
    callback=_inches,
    help="Width of the figures' files, e.g. 3.5in, 89mm or 8.9cm; text keeps its size.",
)
@click.option("--font", metavar="NAME", default="", help="Font of the figures' files.")
@click.option(
    "--static",
    is_flag=True,
    help="Write a page without scripts: figures are pictures, tables cannot be sorted.",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="Show and compare this metric instead of the errors that most datasets have, e.g. kappa.",
)
@click.option(
    "--learner",
    "learners",
    metavar="NAME",
    multiple=True,
    help="Only this learner; ranks and tests are among those named; repeatable.",
)
@experiment_option
@skip_damaged_option
def report(
    store: str,
    out: str,
    papers: tuple[str, ...],
    figures: tuple[str, ...],
    also: tuple[str, ...],
    size: float | None,
    font: str,
    static: bool,
    metric: str | None,
    learners: tuple[str, ...],
    experiments: tuple[str, ...],
    skip_damaged: bool,
) -> None:
    """Write a page with the tables and figures of the metrics store STORE into DIR.

    index.html is self-contained, with its scripts and pictures.
    figures/ has every figure as SVG. Needs matplotlib: pip install matplotlib.
    """
    from olscale.report.figures.style import FigureSize
    from olscale.report.write import ReportOptions, write_report
    from olscale.results import open_store

    opened = open_store(store)
    on_damage: OnDamage = "raise"
    if skip_damaged:
        on_damage = "skip"
    # A format that is named twice is no mistake worth an error.
    formats = tuple(dict.fromkeys((*figures, *also)))
    of_files = FigureSize(size, font)
    options = ReportOptions(
        papers, formats, static, metric, learners, experiments, of_files, on_damage
    )
    written = write_report(opened, out, options)
    name_damaged(opened)
    advise_compaction(opened)
    for line in written.absent:
        say(f"olscale: {line}", err=True)
    say(
        f"wrote {written.page} and {len({file.stem for file in written.figures})} figures"
    )
