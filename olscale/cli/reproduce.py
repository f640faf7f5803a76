"""``olscale reproduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olscale.cli.say import say, show
from olscale.cli.where import where_options

if TYPE_CHECKING:
    from olscale.analysis.ledger import Cell
    from olscale.evaluation.experiment import Experiment
    from olscale.results import Store

__all__ = ["reproduce"]


@click.command(short_help="Run a paper's experiments and set its tables beside ours.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--store", metavar="STORE", required=True, help="Metrics store, made if it is missing.")
@click.option(
    "--quick", is_flag=True, help="A shorter form: coarser grids, fewer splits; its causes are not looked for."
)
@click.option("--no-run", is_flag=True, help="Run nothing; print what the store has.")
@click.option("--markdown", metavar="FILE", type=click.Path(dir_okay=False), help="Also write the tables to this page.")
@where_options
def reproduce(
    names: tuple[str, ...],
    store: str,
    quick: bool,
    no_run: bool,
    markdown: str | None,
    where: dict[str, Any],
) -> None:
    """Run what STORE does not have of the pipeline NAME, and print the paper's tables with ours beside them.

    Then come the verdicts, a cell each: reproduced (within two joint standard deviations, and within 20 % or with p above
    0.05 by Welch's test), compatible in a wide band only, better, or not reproduced; and for those that are not, which of
    the settings that the pipeline tries besides would account for it. Running it again resumes.
    """
    from olscale.evaluation.pipelines import CAUSES, QUICK, has_pipeline, load_pipeline
    from olscale.report.markdown import page
    from olscale.results import open_store

    chosen = []
    for name in names:
        main = load_pipeline(name, QUICK if quick else "")
        chosen.append((name, main, load_pipeline(name, CAUSES) if has_pipeline(name, CAUSES) else None))
    if not no_run:
        for _, main, causes in chosen:
            for experiment in [main] if quick or causes is None else [main, causes]:
                _run(experiment, store, where)
    opened = open_store(store)
    ledgers = [(main, _ledger(opened, name, main, causes)) for name, main, causes in chosen]
    for main, cells in ledgers:
        _show(opened, main, cells)
    if markdown is not None:
        _write(Path(markdown), page(opened, ledgers, [*names, *(["--quick"] if quick else [])]))


def _run(experiment: Experiment, store: str, where: dict[str, Any]) -> None:
    from olscale.cli.progress import progress_for
    from olscale.execution.evaluate import evaluate

    with progress_for(sys.stderr) as progress:
        done = evaluate(experiment, store, progress=progress, **where)
    say(f"{experiment.name}: {done.computed} of {done.runs} runs computed, results in {store}", err=True)
    if progress.failed:
        say(f"{progress.failed} runs failed; `olscale status {store}` says why", err=True)


def _ledger(store: Store, name: str, main: Experiment, causes: Experiment | None) -> list[Cell]:
    from olscale.analysis.ledger import make_ledger
    from olscale.analysis.published import read_published

    return make_ledger(store, main, [cell for cell in read_published() if cell.source == name], causes)


def _show(store: Store, main: Experiment, cells: list[Cell]) -> None:
    from olscale.report import plain, print_rich
    from olscale.report.reproduction import counts, differences, measured_tables, published_tables, rank_tables

    tables = [*published_tables(cells), *rank_tables(cells)] if cells else measured_tables(store, main)
    if sys.stdout.isatty():
        print_rich(tables)
    else:
        show(plain(tables) + "\n")
    if not cells:
        say(f"{main.name}: its paper has no table to set beside these figures")
        return
    say(f"{main.name}: {len(cells)} published cells: {counts(cells)}")
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
        raise OlscaleError(f"{path} cannot be written: {error.strerror}; name another file") from None
