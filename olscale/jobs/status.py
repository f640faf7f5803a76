"""A job as text: whether it is late, its last night, its history as tables, CSV and JSON.

`job_status` is the dead-man's switch, for a second timer or a health check.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from olscale.data.catalogue.entries import find_entry
from olscale.data.dataset import open_dataset
from olscale.data.formats.coding import coding_texts, parse_codings
from olscale.data.ingest.sources import expand
from olscale.errors import OlscaleError, StoreError
from olscale.evaluation.candidates import candidates
from olscale.evaluation.experiment import Experiment, load_experiment
from olscale.evaluation.experiment_sections import EVERY, DatasetSpec, LearnerSpec
from olscale.jobs.change_points import MOST_NIGHTS
from olscale.jobs.home import JobHome, history_nights, night_rows, read_history
from olscale.jobs.job_file import EvaluateStep, JobFile
from olscale.jobs.notify import tell_late
from olscale.jobs.series import judge, read_series
from olscale.jobs.series_names import labels_of_night, short_names
from olscale.learners.registry import make_learner
from olscale.printable import csv_cells
from olscale.report.sparkline import sparkline
from olscale.results.live_reader import LiveReader
from olscale.results.store import Store
from olscale.system.sizes import parse_duration, speed_text

_SPARK = 24
"""Blocks of a sparkline."""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """Whether a job is late, and lines on its state.

    Attributes
    ----------
    late : bool
        Whether the last night without failures is older than the job's ``max_age``, or there is
        none.
    lines : tuple of str
        For people.
    """

    late: bool
    lines: tuple[str, ...]


def job_status(
    job: JobFile, home: JobHome, now: float, tell: bool = False
) -> JobStatus:
    """Return the state of a job; notify of a late one, once, if `tell`.

    Parameters
    ----------
    job : JobFile
    home : JobHome
    now : float
        Seconds since 1970.
    tell : bool
    """
    nights = sorted(night_rows(home), key=lambda row: row["began"])
    # An alarm is news of the code, not a fault of the job: such a night counts.
    good = next((row for row in reversed(nights) if row["state"] != "failed"), None)
    lines = []
    if nights:
        lines.append(f"last night: {nights[-1]['night']}, {nights[-1]['state']}")
    limit = timedelta(seconds=parse_duration(job.max_age))
    late = good is None
    if good is None:
        lines.append("no night has ended without failures yet")
    else:
        ended = good["began"] + timedelta(seconds=good["seconds"])
        age = datetime.fromtimestamp(now, UTC) - ended
        clock_fault = clock_line([good], now)
        # After a clock was set back, no night is due until it is there again: that is late now.
        late = age > limit or bool(clock_fault)
        if clock_fault:
            lines.append(clock_fault)
        else:
            lines.append(
                f"last night without failures: {good['night']}, ended {_hours(age)} ago"
            )
            due = "next due by"
            if late:
                due = "overdue since"
            lines.append(
                f"{due} {ended + limit:%Y-%m-%d %H:%M} UTC (max_age {job.max_age})"
            )
    holder = home.holder()
    if holder:
        since = datetime.fromtimestamp(float(holder.get("since", now)), UTC)
        lines.append(
            f"running now: process {holder.get('pid')} on {holder.get('host')}, since "
            f"{since:%Y-%m-%d %H:%M} UTC"
        )
        lines += _going_on(home, now)
    with home.written():
        if late and tell and tell_late(job, home, "; ".join(lines)):
            lines.append("notified")
    return JobStatus(late, tuple(lines))


def clock_line(nights: Iterable[Mapping[str, Any]], now: float) -> str:
    """Return a line if a night began after `now`, by more than clocks differ; else nothing."""
    last = max(nights, key=lambda row: row["began"], default=None)
    at = datetime.fromtimestamp(now, UTC)
    if last is None or last["began"] <= at + timedelta(hours=1):
        return ""
    return (
        f"night {last['night']} began at {last['began']:%Y-%m-%d %H:%M} UTC, and this clock says "
        f"{at:%Y-%m-%d %H:%M}: set "
        f"it right, or, if it was wrong then, remove history/{last['night']}.parquet"
    )


def _going_on(home: JobHome, now: float) -> list[str]:
    """Return a line for each running evaluation of the last night, from its live journal."""
    stores = [
        store
        for name in home.nights()[-1:]
        for store in sorted(home.night(name).iterdir())
        if store.is_dir()
    ]
    evaluations = [
        evaluation
        for store in stores
        for evaluation in LiveReader(Store(str(store))).read()
        if evaluation.state(now) == "running"
    ]
    return [
        f"{evaluation.name}: {evaluation.done} of {evaluation.total} runs, "
        f"{speed_text(evaluation.rows_per_second)}"
        for evaluation in evaluations
    ]


def _hours(age: timedelta) -> str:
    return f"{age.total_seconds() / 3600:.1f} h"


def faults_ahead(job: JobFile) -> list[str]:
    """Return a line for each source, experiment, dataset or learner that is missing or invalid."""
    faults: list[str] = []
    for step in job.ingest:
        faults += _fault(
            f"ingest of {step.dest}", partial(expand, [*step.sources, *step.tests])
        )
        codings = coding_texts(step.options.get("encode", ()))
        faults += _fault(f"ingest of {step.dest}", partial(parse_codings, codings))
    destinations = {step.dest for step in job.ingest}
    for evaluation in job.evaluate:
        faults += list(_faults_of(evaluation, destinations))
    return faults


def _faults_of(step: EvaluateStep, destinations: set[str]) -> Iterator[str]:
    try:
        experiment = load_experiment(step.experiment)
    except OlscaleError as fault:
        yield f"evaluate: {fault}"
        return
    # What an experiment calls optional it skips where it is missing.
    for dataset in experiment.datasets:
        if not dataset.optional:
            yield from _fault(
                str(step.experiment), partial(_look_for, dataset, destinations)
            )
    for learner in experiment.learners:
        if not learner.optional and learner.name != EVERY:
            yield from _fault(str(step.experiment), partial(_make, learner, experiment))


def _look_for(dataset: DatasetSpec, destinations: set[str]) -> None:
    if dataset.name is not None:
        find_entry(dataset.name)
    # What an ingest of the job makes is not there before the first night.
    if dataset.path is not None and str(Path(dataset.path)) not in destinations:
        open_dataset(dataset.path)


def _make(learner: LearnerSpec, experiment: Experiment) -> None:
    points = candidates(learner, experiment.tuning, experiment.seed)
    for settings in learner.settings():
        for point in points:
            make_learner(learner.name, settings | point)


def _fault(what: str, look: Callable[[], object]) -> Iterator[str]:
    try:
        look()
    except OlscaleError as fault:
        yield f"{what}: {fault}"


Rows = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""A head and rows."""


def history_table(
    job: JobFile, home: JobHome, metric: str | None = None, brief: bool = False
) -> Rows:
    """Return a row for each night of each series; a `brief` one for people."""
    head = (
        "night",
        "value",
        "metric",
        "series",
        "machine",
        "code",
        "fingerprint",
        "loaded",
    )
    rows = [
        (night, value, quantity.metric, quantity.name, quantity.machine, *circumstances)
        for quantity in read_series(home, job.alarm.speed, metric)
        for night, value, *circumstances in zip(
            quantity.nights,
            quantity.values,
            quantity.codes,
            quantity.fingerprints,
            quantity.loaded,
            strict=True,
        )
    ]
    if brief:
        return (head[:4], [row[:4] for row in rows])
    return (head, rows)


def history_lines(
    job: JobFile, home: JobHome, metric: str | None, sparks: bool
) -> Rows:
    """Return a row for each series: how many nights, its last value, what changed, a sparkline."""
    quantities = read_series(home, job.alarm.speed, metric)
    names = short_names(quantities, labels_of_night(home))
    head = ["series", "metric", "nights", "last", "change"]
    rows = []
    for quantity in quantities:
        judged = judge(quantity, job.alarm)
        on = f" on {quantity.machine}" * bool(quantity.machine)
        row = [
            names[quantity.name],
            f"{quantity.metric}{on}",
            str(len(quantity.nights)),
        ]
        row += [quantity.text_of(quantity.values[-1]), judged.said]
        if sparks:
            row.append(sparkline(quantity.values[-MOST_NIGHTS:], _SPARK))
        rows.append(row)
    if sparks:
        head.append("nights, the last at the right")
    return (head, rows)


def query_history(home: JobHome, query: str) -> Rows:
    """Return what DuckDB answers to a query of the table ``history``.

    Raises
    ------
    StoreError
        If the query is at fault.
    """
    import duckdb

    with duckdb.connect() as database:
        database.register("history", read_history(home))
        # A query from a dashboard or a script must reach no other file, and no extension.
        database.execute("set enable_external_access = false")
        try:
            answer = database.execute(query)
        except duckdb.Error as fault:
            raise StoreError(f"the query cannot be answered: {fault}") from None
        return [column[0] for column in answer.description or ()], answer.fetchall()


def text_of_table(rows: Rows, form: str) -> str:
    r"""Return rows as ``"table"``, ``"csv"`` or ``"json"``.

    Examples
    --------
    >>> text_of_table((["night", "value"], [["1", 2.5]]), "csv")
    'night,value\n1,2.5\n'
    """
    head, lines = rows
    if form == "json":
        objects = [dict(zip(head, line, strict=True)) for line in lines]
        return json.dumps(objects, indent=1, default=str) + "\n"
    if form == "csv":
        sink = io.StringIO()
        csv.writer(sink, lineterminator="\n").writerows(map(csv_cells, [head, *lines]))
        return sink.getvalue()
    cells = [list(map(_cell, line)) for line in lines]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    text = ""
    for line in (list(head), *cells):
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        text += "  ".join(padded).rstrip() + "\n"
    return text


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def first_night_lines(job: JobFile, home: JobHome) -> list[str]:
    """Return a line for each entry of the file that would fail, as long as no night has ended."""
    if history_nights(home):
        return []
    faults = faults_ahead(job)
    return [f"would fail: {fault}" for fault in faults] or [
        "nothing is missing for the first night"
    ]


def check_lines(
    job: JobFile, home: JobHome
) -> tuple[Literal["good", "failed", "alarm"], list[str]]:
    """Return how the last night ended, and lines on its failures, alarms, changes and series.

    Raises
    ------
    StoreError
        If no night has ended yet.
    """
    nights = history_nights(home)[-MOST_NIGHTS:]
    if not nights:
        raise StoreError(
            f"there is no history in {home.path} yet; run a night first: olscale jobs run FILE"
        )
    begins = read_history(home, ["night", "began"], ["night"], nights).to_pylist()
    # By its begin, not its name: a night called `zero` would come behind all dates for ever.
    newest = max(begins, key=lambda row: row["began"])
    [last] = night_rows(home, [newest["night"]])
    lines = [f"night {last['night']}: {last['state']}"]
    for word, column in (
        ("failure", "failures"),
        ("alarm", "alarms"),
        ("changed", "changed"),
    ):
        lines += [f"{word}: {line}" for line in last[column] or ()]
    verdicts = [
        judge(series, job.alarm)
        for series in read_series(home, job.alarm.speed, whole=False)
    ]
    unstable = [
        verdict.series.name for verdict in verdicts if verdict.verdict == "unstable"
    ]
    few = sum(verdict.verdict == "not enough" for verdict in verdicts)
    lines += [f"unstable, not watched: {name}" for name in unstable]
    # One line: of a new job it is true of every series.
    if few:
        lines.append(
            f"{few} of {len(verdicts)} series have not enough nights that count yet (8)"
        )
    return last["state"], lines
