"""``olscale reproduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olscale.cli.command import Respelled
from olscale.cli.execution_options import cluster_options
from olscale.cli.say import say, show

if TYPE_CHECKING:
    from olscale.analysis.ledger import Cell
    from olscale.evaluation.experiment import Experiment
    from olscale.results import Store
    from olscale.results.settings import ExperimentSettings


@click.command(short_help="Run a paper's experiments and compare its tables with ours.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--store",
    metavar="STORE",
    required=True,
    help="Metrics store, created if it is missing.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A shorter form: coarser grids, fewer splits, no search for causes of differences.",
)
@click.option(
    "--no-run", is_flag=True, help="Run nothing; print the results in the store."
)
@click.option(
    "--out",
    "--markdown",
    "out",
    cls=Respelled,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Also write the tables to this file, as Markdown; in a page with the lines "
    "<!-- olscale reproduce NAME --> and <!-- end --> they go between these.",
)
@cluster_options
def reproduce(
    names: tuple[str, ...],
    store: str,
    quick: bool,
    no_run: bool,
    out: str | None,
    cluster: dict[str, Any],
) -> None:
    """Run the pipeline NAME as far as STORE does not have it; print the paper's tables and ours.

    Then come verdicts, one per cell: reproduced (within two joint standard deviations and within
    20 %), compatible in a wide band only (within two deviations, more than 20 % off), better, or
    not reproduced. For those not reproduced it names the alternative settings of the pipeline that
    would explain the difference. Running it again resumes.
    """
    from olscale.evaluation.pipelines import CAUSES, QUICK, has_pipeline, load_pipeline
    from olscale.evaluation.settings import settings
    from olscale.report.markdown import filled_in, page
    from olscale.results import open_store
    from olscale.results.selections import read_selections

    chosen = []
    # All are loaded before any runs: a mistyped second name must not show after hours.
    for name in names:
        main = load_pipeline(name, QUICK * quick)
        causes = None
        if has_pipeline(name, CAUSES):
            causes = load_pipeline(name, CAUSES)
        chosen.append((name, main, causes))
    if not no_run:
        for _, main, causes in chosen:
            _run(main, store, cluster)
            # Causes explain differences of the full form; the short one is for a first look.
            if causes is not None and not quick:
                _run(causes, store, cluster)
    # Read after all runs: what tuning chose makes up the settings of the tables.
    opened = open_store(store)
    selections = read_selections(opened)
    ledgers = []
    for name, main, causes in chosen:
        requested = settings(main, selections)
        alternatives = None
        if causes is not None:
            alternatives = settings(causes, selections)
        ledgers.append((requested, _ledger(opened, name, requested, alternatives)))
        _show(opened, *ledgers[-1])
    if out is not None:
        path = Path(out)
        # A page of prose keeps it: only what stands between the marks is written anew.
        text = filled_in(_text_of(path), opened, ledgers)
        if text is None:
            text = page(opened, ledgers, [*names, *["--quick"] * quick])
        _write(path, text)


def _run(experiment: Experiment, store: str, cluster: dict[str, Any]) -> None:
    from olscale.cli.progress import progress_for
    from olscale.execution.evaluate import evaluate

    with progress_for(sys.stderr) as progress:
        evaluation = evaluate(experiment, store, progress=progress, **cluster)
    say(
        f"{experiment.name}: {evaluation.computed} of {evaluation.runs} runs computed, "
        f"results in {store}",
        err=True,
    )
    if evaluation.failed:
        say(f"{evaluation.failed} runs failed; see `olscale status {store}`", err=True)


def _ledger(
    store: Store,
    name: str,
    asked: ExperimentSettings,
    causes: ExperimentSettings | None,
) -> list[Cell]:
    from olscale.analysis.ledger import make_ledger
    from olscale.analysis.published import read_published

    return make_ledger(
        store, asked, [cell for cell in read_published() if cell.source == name], causes
    )


def _show(store: Store, asked: ExperimentSettings, cells: list[Cell]) -> None:
    from olscale.report import plain, print_rich
    from olscale.report.reproduction import (
        counts,
        differences,
        measured_tables,
        published_tables,
        rank_tables,
    )

    tables = [*published_tables(cells), *rank_tables(cells)]
    if not cells:
        tables = measured_tables(store, asked)
    if sys.stdout.isatty():
        print_rich(tables)
    else:
        show(plain(tables) + "\n")
    if not cells:
        say(f"{asked.name}: its paper has no table to compare these figures with")
        return
    say(f"{asked.name}: {len(cells)} published cells: {counts(cells)}")
    for line, causes in differences(cells):
        say(line)
        for cause in causes:
            say(f"    {cause}")


def _text_of(path: Path) -> str:
    """Return what a file has already; nothing where it cannot be read, which writing will say."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _write(path: Path, text: str) -> None:
    from olscale.errors import OlscaleError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OlscaleError(
            f"{path} cannot be written: {error.strerror}; name another file"
        ) from None
