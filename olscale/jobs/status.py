"""Whether a job runs as it should: the dead-man's switch, for a second timer or a health check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from olscale.jobs.history import night_rows
from olscale.jobs.home import JobHome
from olscale.jobs.job_file import JobFile
from olscale.jobs.notify import tell_late
from olscale.results.live_reader import LiveReader
from olscale.results.store import Store
from olscale.system.sizes import parse_duration, speed_text


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What is known of a job now.

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


def job_status(job: JobFile, home: JobHome, now: float, tell: bool = False) -> JobStatus:
    """Return what is known of a job, and notify of a late one, once, if asked to.

    Parameters
    ----------
    job : JobFile
    home : JobHome
    now : float
        Seconds since 1970.
    tell : bool
    """
    nights = sorted(night_rows(home), key=lambda row: row["began"])
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
        ahead = clock_line([good], now)
        late = age > limit or bool(ahead)
        if ahead:
            lines.append(ahead)
        else:
            lines.append(f"last night without failures: {good['night']}, ended {_hours(age)} ago")
            due = "overdue since" if late else "next due by"
            lines.append(f"{due} {ended + limit:%Y-%m-%d %H:%M} UTC (max_age {job.max_age})")
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
            lines.append("told of it")
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
    found = [
        one
        for store in stores
        for one in LiveReader(Store(str(store))).read()
        if one.state(now) == "running"
    ]
    return [
        f"{one.name}: {one.done} of {one.total} runs, {speed_text(one.rows_per_second)}"
        for one in found
    ]


def _hours(age: timedelta) -> str:
    return f"{age.total_seconds() / 3600:.1f} h"
