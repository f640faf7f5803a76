"""``olscale compare``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from olscale.cli.results import (
    advise_compaction,
    can_print,
    dataset_option,
    experiment_option,
    learner_option,
    name_damaged,
    skip_damaged_option,
)
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
    "--baseline",
    metavar="LEARNER",
    help="Compare only this learner with each other one.",
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
@dataset_option
@learner_option
@experiment_option
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
    experiments: tuple[str, ...],
    skip_damaged: bool,
) -> None:
    """Compare the learners in the metrics store STORE: ranks, significance tests, pairwise tables.

    Tests over datasets need at least five; with fewer, they are over the folds or permutations of
    each dataset. Only runs that all learners have are compared; the output names the others.
    Learners of several stores are compared in one that olscale store merge makes of them.
    """
    if baseline and test == "nemenyi":
        raise click.UsageError(
            "--baseline needs --test wilcoxon: Nemenyi's test compares all pairs"
        )
    from olscale.analysis import summarise
    from olscale.report import latex, plain, print_rich, select
    from olscale.report.learner_comparison import LearnerComparison
    from olscale.results import open_store
    from olscale.results.store_part import part_of

    on_damage: OnDamage = "skip" if skip_damaged else "raise"
    opened, plans = part_of(open_store(store), experiments, on_damage)
    names = {plan.experiment for plan in plans.values()}
    summaries = summarise(opened, on_damage=on_damage, experiments=names)
    name_damaged(opened)
    advise_compaction(opened)
    chosen = select(summaries, datasets=datasets, learners=learners)
    comparison = LearnerComparison(
        opened, chosen, metric, baseline, test, rope, on_damage, names
    )
    if format_ == "json":
        show(comparison.to_json())
        return
    tables = comparison.tables()
    if format_ == "latex":
        show(latex(tables))
    elif format_ == "markdown":
        from olscale.report.markdown import markdown

        show(markdown(tables))
    elif sys.stdout.isatty():
        print_rich(tables)
    else:
        show(plain(tables, ascii_only=not can_print("±")))
