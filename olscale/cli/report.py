"""``olscale report``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olscale.cli.results import advise_compaction, name_damaged, skip_damaged_option
from olscale.cli.say import say

if TYPE_CHECKING:
    from olscale.results.store import OnDamage


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
    "--also",
    metavar="FORMAT",
    type=click.Choice(["pdf", "png"]),
    multiple=True,
    help="Also write figures as pdf or png; repeatable.",
)
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
@skip_damaged_option
def report(
    store: str,
    out: str,
    papers: tuple[str, ...],
    also: tuple[str, ...],
    static: bool,
    metric: str | None,
    learners: tuple[str, ...],
    skip_damaged: bool,
) -> None:
    """Write a page with the tables and figures of the metrics store STORE into DIR.

    index.html is self-contained, with its scripts and pictures.
    figures/ has every figure as SVG. Needs matplotlib: pip install 'olscale[report]'.
    """
    from olscale.report.write import write_report
    from olscale.results import open_store

    opened = open_store(store)
    on_damage: OnDamage = "raise"
    if skip_damaged:
        on_damage = "skip"
    formats = tuple(dict.fromkeys(also))  # --also png --also png is no mistake worth an error
    written = write_report(opened, out, papers, on_damage, formats, static, metric, learners)
    name_damaged(opened)
    advise_compaction(opened)
    for line in written.absent:
        say(f"olscale: {line}", err=True)
    say(f"wrote {written.page} and {len({file.stem for file in written.figures})} figures")
