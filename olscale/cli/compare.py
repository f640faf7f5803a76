"""``olscale compare``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from olscale.cli.results import advise_compaction, can_print, name_damaged, skip_damaged_option
from olscale.cli.say import show

if TYPE_CHECKING:
    from olscale.analysis.compare import Test
    from olscale.results.store import OnDamage


@click.command()
@click.argument("store")
@click.option(
    "--metric",
    metavar="NAME",
    help="Compare by this metric (default: the test or the cumulative error, as most datasets "
    "have it).",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "latex", "markdown"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@click.option(
    "--baseline", metavar="LEARNER", help="Compare only this learner with each other one."
)
@click.option(
    "--test",
    type=click.Choice(["wilcoxon", "nemenyi"]),
    default="wilcoxon",
    show_default=True,
    help="Test of each pair over datasets.",
)
@click.option(
    "--rope",
    type=click.FloatRange(min=0.0),
    metavar="R",
    help="Treat differences up to R as equal in practice (default: 0.01 for errors, else 0).",
)
@click.option(
    "--dataset",
    "datasets",
    metavar="NAME",
    multiple=True,
    help="Only this dataset (may be repeated).",
)
@click.option(
    "--learner",
    "learners",
    metavar="NAME",
    multiple=True,
    help="Only this learner (may be repeated).",
)
@skip_damaged_option
def compare(
    store: str,
    metric: str | None,
    format_: str,
    baseline: str | None,
    test: Test,
    rope: float | None,
    datasets: tuple[str, ...],
    learners: tuple[str, ...],
    skip_damaged: bool,
) -> None:
    """Compare the learners in the metrics store STORE: ranks, significance tests, pairwise tables.

    Tests over datasets need at least five; with fewer, they are over the folds or permutations of
    each dataset. Only runs that all learners have are compared; the output names the others.
    """
    if baseline and test == "nemenyi":
        raise click.UsageError(
            "--baseline needs --test wilcoxon: Nemenyi's test compares all pairs"
        )
    from olscale.analysis import summarise, unfinished_experiments
    from olscale.errors import ReportError
    from olscale.report import latex, plain, print_rich, select
    from olscale.report.comparison import compared, learners_by_protocol, within_each
    from olscale.report.comparison_tables import comparison_json, comparison_tables
    from olscale.report.mcnemar import rows_compared, rows_objects, rows_table
    from olscale.report.notes import unfinished_notes
    from olscale.report.tables import with_notes
    from olscale.results import open_store

    opened = open_store(store)
    on_damage: OnDamage = "skip" if skip_damaged else "raise"
    summaries = summarise(opened, on_damage=on_damage)
    name_damaged(opened)
    advise_compaction(opened)
    chosen = select(summaries, None, datasets, learners)
    comparisons = compared(opened, chosen, metric, test, rope, baseline, on_damage=on_damage)
    if not comparisons:
        learners_text = learners_by_protocol(chosen) or "no finished runs"
        raise ReportError(
            f"nothing to compare in {store}: expected two learners or more with figures on a "
            "common data set, with the same "
            f"transforms and permutation or fold, got {learners_text}"
        )
    unfinished = unfinished_experiments(opened, on_damage)
    by_dataset = [
        [] if comparison.outcome.tested else within_each(comparison, opened, on_damage)
        for comparison in comparisons
    ]
    rows = [list(rows_compared(comparison, opened, on_damage)) for comparison in comparisons]
    if format_ == "json":
        show(
            comparison_json(
                [*zip(comparisons, by_dataset, map(rows_objects, rows), strict=True)], unfinished
            )
        )
        return
    tables = []
    for comparison, within, on_rows in zip(comparisons, by_dataset, rows, strict=True):
        tables += [*comparison_tables(comparison, within), *map(rows_table, on_rows)]
    tables = with_notes(tables, unfinished_notes(unfinished))
    if format_ == "latex":
        show(latex(tables))
    elif format_ == "markdown":
        from olscale.report.markdown import markdown

        show(markdown(tables))
    elif sys.stdout.isatty():
        print_rich(tables)
    else:
        show(plain(tables, ascii_only=not can_print("±")))
