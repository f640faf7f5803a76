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

    Their timings, checkpoints and tuning selections are removed, too.

    With --learner and --dataset, only runs that match both. The next olscale evaluate computes them
    again. There is no confirmation.
    """
    if not (learners or datasets or everything):
        raise click.UsageError(
            "expected --learner or --dataset to choose runs, or --all for all of them"
        )
    if everything and (learners or datasets):
        raise click.UsageError("--all cannot be combined with --learner or --dataset")
    from olscale.results import open_store

    opened = open_store(store, writes=True)
    count = opened.forget(learners, datasets, everything)
    name_damaged(opened)
    remaining = len(opened.done() | opened.lost())
    noun = "runs"
    if count == 1:
        noun = "run"
    say(f"{count:,} {noun} forgotten, {remaining:,} left in {store}")
