"""The end of a night: its rows are compared with earlier nights and written to the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from olscale.addresses import redacted
from olscale.jobs.alarms import NightAlarm, by_outcome, result_alarms, series_alarms
from olscale.jobs.change_points import MOST_NIGHTS
from olscale.jobs.history import history_nights, write_night
from olscale.jobs.home import JobHome
from olscale.jobs.job_file import JobFile
from olscale.jobs.series import series_of, series_rows

State = Literal["good", "failed", "alarm", "stopped", "done", "busy"]


@dataclass(frozen=True, slots=True)
class NightEnd:
    """How a call of `run_night` ended.

    Attributes
    ----------
    state : str
        ``"good"``, ``"failed"``, ``"alarm"``, ``"stopped"`` (call again), ``"done"`` (the night had
        ended before) or ``"busy"`` (another process is at it).
    night : str
    lines : tuple of str
        What failed, what changed, what is to be done.
    """

    state: State
    night: str
    lines: tuple[str, ...] = ()


def end_night(
    job: JobFile,
    home: JobHome,
    night: str,
    begun: dict[str, Any],
    rows: Sequence[dict[str, Any]],
    failures: Sequence[str],
    seconds: float,
    remarks: Sequence[str] = (),
) -> NightEnd:
    """Compare a night with those before it and write its history, which ends it.

    Parameters
    ----------
    job : JobFile
    home : JobHome
    night : str
    begun : dict
        When and how it began, as its ``begun.json`` has it.
    rows : sequence of dict
        Of history: results, figures, ingests.
    failures : sequence of str
        What failed.
    seconds : float
        How long it took.
    remarks : sequence of str
        What is to be known of it besides, kept with what changed.
    """
    host = begun["made_by"]
    same = {
        "night": night,
        "job": begun["job"],
        "code": host["code"],
        "machine": host["machine"],
        "began": datetime.fromtimestamp(begun["at"], UTC),
        "load": begun["load"],
        "made_by": sorted(host.items()),
    }
    whole = [same | row for row in rows]
    alarms: list[NightAlarm] = result_alarms(home, whole, job.alarm, night)
    later = [name for name in history_nights(home) if name >= night]
    earlier = series_rows(home, [*history_nights(home)[:-MOST_NIGHTS], *later])
    now = [row | {"state": "good"} for row in whole if row["kind"] in ("results", "bench")]
    of_series, better, _ = series_alarms(
        series_of([*earlier, *now], job.alarm.speed), job.alarm, night
    )
    alarms += of_series
    state: State = "alarm" if alarms else "good"
    if failures:
        state = "failed"
    entry = same | {
        "kind": "night",
        "seconds": seconds,
        "calls": begun["calls"],
        "outcomes": sorted(by_outcome(whole).items()),
        "failures": [redacted(line) for line in failures],
        "alarms": [alarm.text for alarm in alarms],
        "changed": [*better, *remarks],
        "alarm_keys": [alarm.key for alarm in alarms],
    }
    write_night(home, night, [row | {"state": state} for row in (entry, *whole)])
    return NightEnd(
        state,
        night,
        (*entry["failures"], *entry["alarms"], *(f"changed: {line}" for line in entry["changed"])),
    )
