"""``olscale results``, ``olscale status`` and ``olscale compact``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import click

from olscale.cli.say import say, show

if TYPE_CHECKING:
    from olscale.results import Store
    from olscale.results.store import OnDamage

_MANY_LOOSE = 1000
"""Number of runs in separate files that take a second to read."""

skip_damaged_option = click.option(
    "--skip-damaged",
    is_flag=True,
    help="Leave damaged files out and name them on stderr.",
)

dataset_option = click.option(
    "--dataset",
    "datasets",
    metavar="NAME",
    multiple=True,
    help="Only this dataset; repeatable.",
)
learner_option = click.option(
    "--learner",
    "learners",
    metavar="NAME",
    multiple=True,
    help="Only this learner; repeatable.",
)
experiment_option = click.option(
    "--experiment",
    "experiments",
    metavar="NAME",
    multiple=True,
    help="Only the runs of this experiment, by a name that olscale status lists; repeatable.",
)


@click.command()
@click.argument("store")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "csv", "latex", "markdown"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@click.option(
    "--metrics",
    metavar="NAME,...",
    multiple=True,
    help="Show these metrics instead of the errors, e.g. cumulative_error,auc,rows_per_second: "
    "one as learners by datasets, several as a leaderboard sorted by the first; repeatable.",
)
@click.option(
    "--metric", metavar="NAME", hidden=True, help="An older spelling of --metrics."
)
@click.option(
    "--curve",
    metavar="NAME",
    help="Show a curve along the stream: cumulative_error, window_error, fading_error, "
    "holdout_error, drift_alarms, segment_error, or one that [protocol] measures asked for.",
)
@dataset_option
@learner_option
@experiment_option
@click.option(
    "--sort",
    type=click.Choice(["error", "rank", "name"]),
    help="Order of a table's rows: by their mean, their mean rank, or their name (default: that of "
    "the experiment).",
)
@click.option(
    "--tuning", is_flag=True, help="Also show the runs that tuned parameters."
)
@skip_damaged_option
def results(
    store: str,
    format_: str,
    metrics: tuple[str, ...],
    metric: str | None,
    curve: str | None,
    datasets: tuple[str, ...],
    learners: tuple[str, ...],
    experiments: tuple[str, ...],
    sort: Literal["error", "rank", "name"] | None,
    tuning: bool,
    skip_damaged: bool,
) -> None:
    """Print the results in the metrics store STORE.

    Tables have a row for each learner and a column for each dataset: the test error (in percent)
    where there is a test split, the cumulative error of the stream, and the measures that the
    experiment asks for. Several --metrics make a leaderboard: a row for each learner and a column
    for each metric, sorted by the first. json and csv have every metric, one object or line each;
    with --curve one for each position of the curve, or for each segment.
    """
    columns = _metric_names(metrics, metric)
    if columns and curve:
        raise click.UsageError("--metrics and --curve exclude each other")
    if sort and (curve or len(columns) > 1 or format_ in ("json", "csv")):
        raise click.UsageError(
            "--sort is for tables of one metric: a leaderboard of several is sorted by the first, "
            "and json, csv and curves have an order of their own"
        )
    from olscale.analysis import summarise, unfinished_experiments
    from olscale.report import as_csv, as_json, latex, plain, print_rich, select, tables
    from olscale.report.along import along, along_csv, along_json, along_tables
    from olscale.report.notes import unfinished_notes
    from olscale.report.tables import with_notes
    from olscale.results import open_store
    from olscale.results.plans import TUNING
    from olscale.results.store_part import part_of

    opened = open_store(store)
    on_damage: OnDamage = "skip" if skip_damaged else "raise"
    # Also tests and curves see the runs of these plans alone.
    opened, plans = part_of(opened, experiments, on_damage)
    if plans:
        # Who asks for a tuning experiment by its name wants its runs.
        tuning = tuning or all(name.endswith(TUNING) for name in plans)
    shown_names = {plan.experiment for plan in plans.values()}
    summaries = summarise(
        opened, on_damage=on_damage, tuning=tuning, experiments=shown_names
    )
    name_damaged(opened)
    advise_compaction(opened)
    chosen = (
        select(
            summaries,
            columns,
            datasets,
            learners,
            failed=format_ in ("table", "latex", "markdown"),
        )
        if summaries
        else []
    )
    lines = []
    if curve:
        lines = along(opened, chosen, curve, on_damage)
    unfinished = unfinished_notes(
        progress
        for progress in unfinished_experiments(opened, on_damage)
        if not plans or progress.experiment in plans
    )
    if format_ in ("json", "csv"):  # these formats have no place for it
        for note in unfinished:
            say(f"olscale: {note}", err=True)
    if format_ == "json":
        show(along_json(lines, curve) if curve else as_json(chosen))
    elif format_ == "csv":
        show(along_csv(lines, curve) if curve else as_csv(chosen))
    elif not chosen:
        say(f"the metrics store {store} holds no finished runs yet", err=True)
    elif curve and not lines:
        say(
            f"no run shown has {curve} along the stream; [protocol] of its experiment asks for it",
            err=True,
        )
    else:
        if curve:
            shown = along_tables(lines, curve)
        elif len(columns) > 1:
            from olscale.report.leaderboard import leaderboard_tables

            shown = leaderboard_tables(opened, chosen, columns, on_damage)
        else:
            shown = tables(chosen, *columns)
            if sort:
                from olscale.report.sorted_tables import sorted_tables

                shown = sorted_tables(shown, sort)
        shown = with_notes(shown, unfinished)
        if format_ == "latex":
            show(latex(shown))
        elif format_ == "markdown":
            from olscale.report.markdown import markdown

            show(markdown(shown))
        elif sys.stdout.isatty():
            print_rich(shown)
        else:
            show(plain(shown, ascii_only=not can_print("±")))


def _metric_names(metrics: tuple[str, ...], metric: str | None) -> list[str]:
    """Return the metrics asked for, each once, in the order of the command line."""
    lists = [*metrics, *([metric] if metric else [])]
    names = [name.strip() for text in lists for name in text.split(",")]
    if "" in names:
        raise click.UsageError(
            f"--metrics has an empty name in {', '.join(map(repr, lists))}; expected names with "
            "commas between them, e.g. cumulative_error,auc"
        )
    return list(dict.fromkeys(names))


@click.command()
@click.argument("store")
@click.option(
    "--watch",
    is_flag=True,
    help="Show what goes on now, again and again, until Ctrl-C or its end.",
)
@skip_damaged_option
def status(store: str, watch: bool, skip_damaged: bool) -> None:
    """Show what the metrics store STORE holds and how far its experiments are.

    With --watch what its evaluations are doing now, of whatever process and machine.
    """
    if watch:
        from olscale.cli.watch import watch_store

        watch_store(store)
        return
    from olscale.analysis import store_status
    from olscale.report import status_text
    from olscale.results import open_store

    opened = open_store(store)
    state = store_status(opened, on_damage="skip" if skip_damaged else "raise")
    name_damaged(opened)
    advise_compaction(opened)
    show(status_text(state))


@click.command()
@click.argument("store")
def compact(store: str) -> None:
    """Merge the files of the metrics store STORE, one per run, into a few large ones.

    Safe at any time: others may read, write and compact meanwhile, and nothing is lost if it is
    killed. Damaged files are moved to STORE/damaged, so that olscale evaluate computes their runs
    again.
    """
    from olscale.results import open_store
    from olscale.results.compact import compact

    compaction = compact(open_store(store))
    for name in compaction.damaged:
        say(f"olscale: set aside damaged file {name} in {store}/damaged", err=True)
    say(
        f"{compaction.runs:,} runs in {compaction.files:,} files, "
        f"{compaction.merged:,} of them merged now"
    )


def name_damaged(store: Store) -> None:
    """Name the damaged files of a store that were left out."""
    for name in store.damaged:
        left_out = f"olscale: left out damaged file {name} of {store.path}"
        if name in store.unreadable:
            left_out = (
                f"olscale: left out {name} of {store.path}, which cannot be read: "
                f"{store.unreadable[name]}"
            )
        say(left_out, err=True)


def advise_compaction(store: Store) -> None:
    """Advise to compact a store with many runs in separate files, for faster reading."""
    loose = store.run_files["runs"].single_count
    if loose >= _MANY_LOOSE:
        say(
            f"olscale: {loose:,} runs of {store.path} are in separate files, which are slow "
            f"to read; olscale compact {store.path} merges them",
            err=True,
        )


def can_print(text: str) -> bool:
    """Return whether standard output has the characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
