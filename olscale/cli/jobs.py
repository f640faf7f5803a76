"""``olscale jobs``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from olscale.cli.command import Group, find_modules_here
from olscale.cli.execution_options import stop_options, wait_options
from olscale.cli.say import can_show_blocks, say, show
from olscale.errors import ExecutionError

if TYPE_CHECKING:
    from olscale.jobs.home import JobHome
    from olscale.jobs.job_file import JobFile

Command = TypeVar("Command", bound=Callable[..., Any])

# Retrying helps after 1 and 75, not after 3: schedulers can tell an alarm from a failure.
_CODES = {"good": 0, "failed": 1, "alarm": 3, "stopped": 75, "done": 0, "busy": 0}


@click.group(cls=Group, short_help="Run nightly benchmark jobs and report regressions.")
def jobs() -> None:
    """Run nightly benchmark jobs, keep their history and report regressions.

    Your scheduler (systemd, cron, Kubernetes, SLURM) calls `olscale jobs run FILE`; `units` prints
    the files it needs.
    """


def _of_job(command: Command) -> Command:
    """Add the job file and the folder of its nights to a command."""
    home = click.option(
        "--home",
        metavar="DIR",
        help="Folder of nights and history, instead of that in the file.",
    )
    return click.argument("file", type=click.Path(dir_okay=False))(home(command))


def _open(file: str, home: str | None) -> tuple[JobFile, JobHome]:
    from olscale.jobs.home import JobHome
    from olscale.jobs.job_file import load_job

    job = load_job(file)
    return job, JobHome(Path(home or job.home).absolute())


@jobs.command(short_help="Run or resume a night.")
@_of_job
@click.option(
    "--night",
    metavar="NAME",
    help="Name of the night (default: the UTC date of its start).",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Address of a running Dask scheduler for all experiments, in place of their `where`.",
)
@wait_options
@stop_options
def run(
    file: str,
    home: str | None,
    night: str | None,
    scheduler: str | None,
    settings: Any,
    stop_at: float,
) -> None:
    """Run a night of the job FILE: ingest changed sources, evaluate, benchmark, compare, notify.

    The same command resumes an interrupted night; after one that ended it has nothing to do. While
    another process runs a night it returns at once. Exits with 0 if all is well, 1 if something
    failed, 3 on an alarm, 75 if it was stopped and has to be called again.
    """
    from olscale.cli.progress import progress_for
    from olscale.jobs.night import run_night

    job, where = _open(file, home)
    find_modules_here()  # learners of an experiment may be modules of this folder
    with progress_for(sys.stderr) as progress:
        end = run_night(
            job,
            where,
            night,
            progress=progress,
            stop_at=stop_at,
            scheduler=scheduler,
            settings=settings,
        )
    for line in end.lines:
        say(line)
    messages = {
        "done": f"nothing to do: night {end.night} has ended",
        "busy": "nothing to do",
        "stopped": "run the same command again",
    }
    page = where.path / "page" / "index.html"
    say(messages.get(end.state, f"night {end.night}: {end.state}; {page}"))
    sys.exit(_CODES[end.state])


@jobs.command(short_help="Print the history.")
@_of_job
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
)
@click.option(
    "--metric",
    type=click.Choice(["ratio", "rows_per_cpu_second", "rows_per_second", "error"]),
    help="Series to print: ratios of benchmarks, speeds or errors (default: all).",
)
@click.option("--sql", metavar="QUERY", help="Query the table `history` with DuckDB.")
@click.option(
    "--all", "every", is_flag=True, help="A line for every night of each series."
)
def history(
    file: str,
    home: str | None,
    form: str,
    metric: str | None,
    sql: str | None,
    every: bool,
) -> None:
    """Print the series of the job FILE, a line each with its last value, change and a sparkline.

    --format csv and json have a row for every night, as --all has.

    With --sql, query the table `history`: "select night, state, alarms from history where kind =
    'night'".
    """
    from olscale.jobs.status import (
        history_lines,
        history_table,
        query_history,
        text_of_table,
    )

    job, where = _open(file, home)
    if sql:
        show(text_of_table(query_history(where, sql), form))
        return
    if form == "table" and not every:
        show(text_of_table(history_lines(job, where, metric, can_show_blocks()), form))
        return
    # Eight columns do not fit a terminal; files get all of them.
    show(text_of_table(history_table(job, where, metric, brief=form == "table"), form))


@jobs.command(short_help="Print the alarms of the last night.")
@_of_job
def check(file: str, home: str | None) -> None:
    """Print the alarms of the last night of the job FILE.

    Exits with 3 if there are any, with 1 if the night failed.

    Before the first night it exits with 1 and lists the entries of FILE that would fail.
    """
    from olscale.jobs.status import check_lines, first_night_lines

    find_modules_here()
    job, where = _open(file, home)
    for line in first_night_lines(job, where):
        say(line)
    state, lines = check_lines(job, where)
    for line in lines:
        say(line)
    sys.exit(_CODES[state])


@jobs.command(short_help="Check that nights run on time.")
@_of_job
@click.option(
    "--tell",
    is_flag=True,
    help='Send a message if the job is late, once, by each [[notify]] with "late".',
)
def status(file: str, home: str | None, tell: bool) -> None:
    """Print when the job FILE last had a night without failures, and whether one is running.

    Exits with 1 if that night is too long ago.

    Call it from a second timer or a health check, which notices when the first timer stops.
    """
    from olscale.jobs.status import job_status

    state = job_status(*_open(file, home), time.time(), tell)
    for line in state.lines:
        say(line)
    # 1 and not 3: a health check knows good and bad only.
    sys.exit(int(state.late))


@jobs.command(short_help="Write the page.")
@_of_job
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    help="Folder for index.html, created if it is missing.",
)
def report(file: str, home: str | None, out: str) -> None:
    """Write the page of the job FILE into DIR: nights, series, changes, failures, machines."""
    from olscale.jobs.page import write_page

    try:
        say(f"wrote {write_page(*_open(file, home), Path(out))}")
    except OSError as fault:
        raise ExecutionError(
            f"cannot write to {out}: {fault.strerror}; name another folder by --out"
        ) from None


@jobs.command(short_help="Print files for a scheduler.")
@_of_job
@click.option(
    "--for",
    "scheduler",
    type=click.Choice(["systemd", "cron", "slurm", "kubernetes"]),
    required=True,
)
def units(file: str, home: str | None, scheduler: str) -> None:
    """Print the files with which a scheduler runs the job FILE every night; install nothing."""
    from olscale.jobs.units import unit_text

    job, where = _open(file, home)
    show(unit_text(job, Path(file), where.path, scheduler))


@jobs.command(short_help="Remove the stores of old nights.")
@_of_job
@click.option("--dry-run", is_flag=True, help="Only list them.")
def prune(file: str, home: str | None, dry_run: bool) -> None:
    """Remove the stores of nights of the job FILE that its `keep` does not ask for.

    Their history stays.

    The first night is kept, as are nights next to a change, nights with changed results, unfinished
    nights, and any with a file `tag`.
    """
    from olscale.jobs.upkeep import prune as remove

    job, where = _open(file, home)
    lock: AbstractContextManager[bool] = nullcontext(True)
    # A running night prunes when it ends; until then it may write to a folder that would go. A
    # home that does not exist is not created for its lock.
    if not dry_run and where.path.exists():
        lock = where.held(time.time())
    with lock as is_held:
        if not is_held:
            say("nothing removed: a night is running, and prunes when it ends")
            return
        gone = remove(job, where, dry_run)
    verb = "removed"
    if dry_run:
        verb = "would remove"
    say(f"{verb} {len(gone)} nights{': ' * bool(gone)}{', '.join(gone)}")
