"""``olscale reproduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olscale.cli.cluster_options import cluster_options
from olscale.cli.say import say, show

if TYPE_CHECKING:
    from olscale.analysis.ledger import Cell
    from olscale.evaluation.experiment import Experiment
    from olscale.results import Store
    from olscale.results.settings import ExperimentSettings


@click.command(short_help="Run a paper's experiments and set its tables beside ours.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--store", metavar="STORE", required=True, help="Metrics store, made if it is missing."
)
@click.option(
    "--quick",
    is_flag=True,
    help="A shorter form: coarser grids, fewer splits; its causes are not looked for.",
)
@click.option("--no-run", is_flag=True, help="Run nothing; print what the store has.")
@click.option(
    "--markdown",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Also write the tables to this page.",
)
@cluster_options
def reproduce(
    names: tuple[str, ...],
    store: str,
    quick: bool,
    no_run: bool,
    markdown: str | None,
    cluster: dict[str, Any],
) -> None:
    """Run what STORE does not have of the pipeline NAME, and print the paper's tables and ours.

    Then come the verdicts, a cell each: reproduced (within two joint standard deviations and within
    20 %), compatible in a wide band only (within two deviations, more than 20 % off), better, or
    not reproduced; and for those that are not, which of the settings that the pipeline tries
    besides would account for it. Running it again resumes.
    """
    from olscale.evaluation.pipelines import CAUSES, QUICK, has_pipeline, load_pipeline
    from olscale.evaluation.settings import settings
    from olscale.report.markdown import page
    from olscale.results import open_store
    from olscale.results.selections import read_selections

    chosen = []
    for name in names:
        main = load_pipeline(name, QUICK if quick else "")
        chosen.append(
            (name, main, load_pipeline(name, CAUSES) if has_pipeline(name, CAUSES) else None)
        )
    if not no_run:
        for _, main, causes in chosen:
            for experiment in [main] if quick or causes is None else [main, causes]:
                _run(experiment, store, cluster)
    opened = open_store(store)
    selections = read_selections(opened)
    ledgers = []
    for name, main, causes in chosen:
        requested = settings(main, selections)
        ledgers.append(
            (
                requested,
                _ledger(opened, name, requested, settings(causes, selections) if causes else None),
            )
        )
        _show(opened, *ledgers[-1])
    if markdown is not None:
        _write(Path(markdown), page(opened, ledgers, [*names, *(["--quick"] if quick else [])]))


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
        say(f"{evaluation.failed} runs failed; `olscale status {store}` says why", err=True)


def _ledger(
    store: Store, name: str, asked: ExperimentSettings, causes: ExperimentSettings | None
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

    tables = (
        [*published_tables(cells), *rank_tables(cells)] if cells else measured_tables(store, asked)
    )
    if sys.stdout.isatty():
        print_rich(tables)
    else:
        show(plain(tables) + "\n")
    if not cells:
        say(f"{asked.name}: its paper has no table to set beside these figures")
        return
    say(f"{asked.name}: {len(cells)} published cells: {counts(cells)}")
    for line, causes in differences(cells):
        say(line)
        for cause in causes:
            say(f"    {cause}")


def _write(path: Path, text: str) -> None:
    from olscale.errors import OlscaleError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OlscaleError(
            f"{path} cannot be written: {error.strerror}; name another file"
        ) from None
