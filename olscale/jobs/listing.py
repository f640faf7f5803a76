"""The history and the alarms of a job as text: tables, CSV, JSON, answers to queries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, Literal

from olscale.errors import StoreError
from olscale.jobs.change_points import MOST_NIGHTS
from olscale.jobs.history import history_nights, night_rows, read_history
from olscale.jobs.home import JobHome
from olscale.jobs.job_file import JobFile
from olscale.jobs.look_ahead import faults_ahead
from olscale.jobs.series import judge, read_series
from olscale.printable import csv_cells

Rows = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""A head and rows."""


def history_table(
    job: JobFile, home: JobHome, metric: str | None = None, brief: bool = False
) -> Rows:
    """Return a row for each night of each series; a `brief` one for people."""
    head = ("night", "value", "metric", "series", "machine", "code", "fingerprint", "loaded")
    rows = [
        (night, value, one.metric, one.name, one.machine, *made)
        for one in read_series(home, job.alarm.speed, metric)
        for night, value, *made in zip(
            one.nights, one.values, one.codes, one.fingerprints, one.loaded, strict=True
        )
    ]
    return (head[:4], [row[:4] for row in rows]) if brief else (head, rows)


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
        # Only the history is there to be read: no other files, no extensions.
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
        return (
            json.dumps(
                [dict(zip(head, line, strict=True)) for line in lines], indent=1, default=str
            )
            + "\n"
        )
    if form == "csv":
        sink = io.StringIO()
        csv.writer(sink, lineterminator="\n").writerows(map(csv_cells, [head, *lines]))
        return sink.getvalue()
    cells = [
        [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in line] for line in lines
    ]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in (list(head), *cells)
    )


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
    [last] = night_rows(home, [max(begins, key=lambda row: row["began"])["night"]])
    lines = [f"night {last['night']}: {last['state']}"]
    for what in ("failures", "alarms", "changed"):
        lines += [
            f"{what.removesuffix('s') if what != 'changed' else what}: {line}"
            for line in last[what] or ()
        ]
    verdicts = [
        judge(series, job.alarm) for series in read_series(home, job.alarm.speed, whole=False)
    ]
    unstable = [verdict.series.name for verdict in verdicts if verdict.verdict == "unstable"]
    few = sum(verdict.verdict == "not enough" for verdict in verdicts)
    lines += [f"unstable, and watched by nobody: {name}" for name in unstable]
    if few:
        lines.append(f"{few} of {len(verdicts)} series have not enough nights that count yet (8)")
    return last["state"], lines
