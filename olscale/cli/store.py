"""``olscale store``."""

import click

from olscale.cli.command import Group
from olscale.cli.results import name_damaged
from olscale.cli.say import say


@click.group(cls=Group, short_help="Remove runs from a metrics store.")
def store() -> None:
    """Remove runs from a metrics store."""


@store.command(short_help="Remove runs, so that they are computed again.")
@click.argument("store")
@click.option(
    "--learner",
    "learners",
    metavar="NAME",
    multiple=True,
    help="Runs of this learner (may be repeated).",
)
@click.option(
    "--dataset",
    "datasets",
    metavar="NAME",
    multiple=True,
    help="Runs on this dataset (may be repeated).",
)
@click.option("--all", "everything", is_flag=True, help="All runs.")
def forget(
    store: str, learners: tuple[str, ...], datasets: tuple[str, ...], everything: bool
) -> None:
    """Remove runs from the metrics store STORE.

    Their timings, their checkpoints and what tuning chose for them go, too.

    With --learner and --dataset only runs of both kinds. The next olscale evaluate computes them
    again. Nothing is asked.
    """
    if not (learners or datasets or everything):
        raise click.UsageError(
            "name what is to be forgotten by --learner or --dataset, or all runs by --all"
        )
    if everything and (learners or datasets):
        raise click.UsageError("--all forgets every run; give it without --learner and --dataset")
    from olscale.results import open_store

    opened = open_store(store, writes=True)
    count = opened.forget(learners, datasets, everything)
    name_damaged(opened)
    remaining = len(opened.done() | opened.lost())
    say(f"{count:,} {'run' if count == 1 else 'runs'} forgotten, {remaining:,} left in {store}")
