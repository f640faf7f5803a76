"""``olscale store``."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import click

from olscale.cli.command import Group
from olscale.cli.results import name_damaged
from olscale.cli.say import say, show

if TYPE_CHECKING:
    from olscale.results.difference import StoreDifference, StoredRun

_MOST_LINES = 20
"""Lines of each kind that a difference prints as text; JSON has all."""


@click.group(cls=Group, short_help="Compare, merge and clear metrics stores.")
def store() -> None:
    """Compare two metrics stores, merge them, or remove runs from one."""


@store.command(short_help="Remove runs, so that they are computed again.")
@click.argument("store")
@click.option(
    "--learner",
    "learners",
    metavar="NAME",
    multiple=True,
    help="Runs of this learner; repeatable.",
)
@click.option(
    "--dataset",
    "datasets",
    metavar="NAME",
    multiple=True,
    help="Runs on this dataset; repeatable.",
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
    # An --all that is narrowed down is a contradiction, and what it removes is gone.
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


@store.command(short_help="Show which runs of two stores differ, and by how much.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
@click.option(
    "--exit-code", is_flag=True, help="End with exit code 1 if the stores differ."
)
@click.pass_context
def diff(context: click.Context, a: str, b: str, format_: str, exit_code: bool) -> None:
    """Show which runs of the metrics stores A and B differ, and by how much.

    Results are compared, times are not. Runs of other versions of a learner, or on a dataset with
    other rows, are set against each other where only these differ.
    """
    from olscale.results import open_store
    from olscale.results.difference import store_difference

    difference = store_difference(open_store(a), open_store(b))
    if format_ == "json":
        show(json.dumps(_as_object(difference), indent=1) + "\n")
    else:
        for line in _difference_lines(difference, a, b):
            say(line)
    if exit_code and not difference.is_none:
        # As `diff` and `cmp` have it, but only where asked: by default 1 means that a
        # command failed.
        context.exit(1)


@store.command(short_help="Copy the runs of one store into another.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
def merge(a: str, b: str) -> None:
    """Copy the runs of the metrics store B that A does not have into A.

    Times, kept models, plans and what tuning chose are copied too. If A has other results of one of
    the runs, nothing is copied.
    """
    from olscale.results import open_store
    from olscale.results.merge import merge_stores

    merged = merge_stores(open_store(a, writes=True), open_store(b))
    say(
        f"{merged.copied:,} runs copied from {b} to {a}, which had {merged.present:,} of them"
    )


def _difference_lines(difference: StoreDifference, a: str, b: str) -> list[str]:
    """Return what differs as lines of text: the runs of either kind, the first of each."""
    lines = []
    for run in difference.differing[:_MOST_LINES]:
        versions = run.a.version
        if run.a.version != run.b.version:
            versions = f"{run.a.version} -> {run.b.version}"
        figure = run.figure
        change = f"{figure.name} {_text(figure.a)} -> {_text(figure.b)}"
        if figure.difference == figure.difference:  # NaN where there is no number
            change += f" ({figure.difference:+.6g})"
        more = f", {run.figures} metrics differ" if run.figures > 1 else ""
        lines.append(f"{run.a.id[:12]} {_name(run.a)} v{versions}: {change}{more}")
    lines += _rest(len(difference.differing))
    for store_name, runs in ((a, difference.only_a), (b, difference.only_b)):
        lines += [
            f"only in {store_name}: {run.id[:12]} {_name(run)}"
            for run in runs[:_MOST_LINES]
        ]
        lines += _rest(len(runs))
    return [
        *lines,
        f"{difference.equal:,} runs equal, {len(difference.differing):,} different, "
        f"{len(difference.only_a):,} only in {a}, {len(difference.only_b):,} only in {b}",
    ]


def _rest(count: int) -> list[str]:
    return [f"... and {count - _MOST_LINES:,} more"] if count > _MOST_LINES else []


def _name(run: StoredRun) -> str:
    from olscale.report.labels import protocol_text, value_text

    params = json.loads(run.params).items()
    setting = ",".join(f"{name}={value_text(value)}" for name, value in params)
    learner = f"{run.learner}:{setting}" if setting else run.learner
    return f"{learner} on {run.dataset}, {protocol_text(json.loads(run.protocol))}"


def _text(value: float | str | None) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else f"{value:.6g}"


def _as_object(difference: StoreDifference) -> dict[str, object]:
    """Return plain JSON values."""
    return {
        "equal": difference.equal,
        "differing": [
            {
                "a": _run_object(run.a),
                "b": _run_object(run.b),
                "figure": run.figure.name,
                "value_a": _finite(run.figure.a),
                "value_b": _finite(run.figure.b),
                "metrics": run.figures,
            }
            for run in difference.differing
        ],
        "only_a": [_run_object(run) for run in difference.only_a],
        "only_b": [_run_object(run) for run in difference.only_b],
    }


def _run_object(run: StoredRun) -> dict[str, object]:
    return {
        "id": run.id,
        "dataset": run.dataset,
        "transforms": list(run.transforms),
        "learner": run.learner,
        "version": run.version,
        "params": json.loads(run.params),
        "protocol": json.loads(run.protocol),
    }


# JSON has neither NaN nor infinities, and Python's writer would put words that other
# readers refuse.
def _finite(value: float | str | None) -> float | str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
