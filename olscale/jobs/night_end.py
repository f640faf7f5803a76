"""The end of a night: it is compared with earlier nights, and its history is written.

Alarms are results whose bytes differ from before, and speeds and errors that changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from olscale.addresses import redacted
from olscale.errors import OlscaleError
from olscale.jobs.change_points import MOST_NIGHTS
from olscale.jobs.error_alarms import SETTING, error_changes, error_texts
from olscale.jobs.home import JobHome, history_nights, read_history, write_night
from olscale.jobs.job_file import AlarmRules, JobFile
from olscale.jobs.made_by import unlike
from olscale.jobs.results import record_parts
from olscale.jobs.series import (
    NightSeries,
    SeriesVerdict,
    judge,
    series_of,
    series_rows,
)
from olscale.results.opening import open_store

_MOST_IDS = 5
_CHANCE = ("lost", "timeout", "oom")
"""Outcomes that time and the machine decide: such a run has no bytes to compare."""


@dataclass(frozen=True, slots=True)
class NightAlarm:
    """A change that a person should look at.

    Attributes
    ----------
    key : str
        The same on each night that has the same fault.
    text : str
        One line.
    ids : tuple of str
        Runs whose bytes differ.
    """

    key: str
    text: str
    ids: tuple[str, ...] = ()


class _First(NamedTuple):
    """The bytes of a run on the first night that had it."""

    digest: str
    night: str


def result_alarms(
    home: JobHome, rows: Sequence[dict[str, Any]], rules: AlarmRules, night: str
) -> list[NightAlarm]:
    """Return an alarm for each setting of `rows` with runs that differ from their first night.

    A learner whose version was raised has other run ids, and so has a dataset with other rows.
    """
    if rules.results == "ignore":
        return []
    settings = [row for row in rows if row["kind"] == "results"]
    earlier = read_history(
        home,
        ["night", "machine", "ids", "digests", "digest", "outcomes", "made_by"],
        ["results"],
    )
    # Held against the night before, a wrong bit would alarm twice, coming and going, and be the
    # norm in between; against the first night the alarm lasts until somebody accepts the change.
    first, makers = first_digests(earlier, night, rules.since)
    alarms = []
    for row in settings:
        if row["outcomes"] and any(name in _CHANCE for name, _ in row["outcomes"]):
            continue
        differing = [
            (id, first[id])
            for id, digest in zip(row["ids"], row["digests"], strict=True)
            if first.get(id, (digest,))[0] != digest
        ]
        if differing:
            alarms.append(_result_alarm(home, row, differing, makers, night))
    return alarms


def first_digests(
    history: pa.Table, night: str, since: str
) -> tuple[dict[str, _First], dict[str, dict[str, str]]]:
    """Return the digest of each run on its first night, and how those nights were made.

    Nights before `since` or from `night` on are left out.
    """
    first: dict[str, _First] = {}
    makers: dict[str, dict[str, str]] = {}
    known_digests = set()
    light = zip(
        history["night"].to_pylist(),
        history["digest"].to_pylist(),
        history["outcomes"].to_pylist(),
        strict=True,
    )
    for i, (name, digest, outcomes) in enumerate(light):
        # A night with the same code and data has the same digests: only what is new is looked at.
        if (
            digest in known_digests
            or name < since
            or name >= night
            or any(outcome in _CHANCE for outcome, _ in outcomes or ())
        ):
            continue
        known_digests.add(digest)
        for id, run_digest in zip(
            history["ids"][i].as_py(), history["digests"][i].as_py(), strict=True
        ):
            if id not in first:
                first[id] = _First(run_digest, name)
                if name not in makers:
                    makers[name] = dict(history["made_by"][i].as_py() or ())
    return first, makers


def _result_alarm(
    home: JobHome,
    row: Mapping[str, Any],
    differing: list[tuple[str, _First]],
    makers: Mapping[str, dict[str, str]],
    night: str,
) -> NightAlarm:
    ids = tuple(id for id, _ in differing)
    first = min(entry.night for _, entry in differing)
    shown = ", ".join(ids[:_MOST_IDS])
    if len(ids) > _MOST_IDS:
        shown += f" and {len(ids) - _MOST_IDS} more"
    what = f"{row['learner']} {row['params']} (version {row['version']}) on {row['dataset']}"
    how = first_difference(home, ids[0], dict(differing)[ids[0]].night, night)
    errors = _errors(home, row, ids[0], dict(differing)[ids[0]].night)
    changes = (
        unlike(makers.get(first, {}), dict(row["made_by"]))
        or "nothing that is recorded"
    )
    text = (
        f"results of {what} are other bytes than on {first}, though its version is the same: "
        f"{len(ids)} of {row['n']} runs: "
        f"{shown}{errors}{how}; what differs in how the two nights were made: {changes}"
    )
    of_setting = "|".join(
        str(row[name])
        for name in (
            "dataset",
            "fingerprint",
            "transforms",
            "learner",
            "version",
            "params",
        )
    )
    return NightAlarm(f"results|{of_setting}|{row['protocol']}", text, ids)


def _errors(home: JobHome, row: Mapping[str, Any], id: str, before: str) -> str:
    """Return the error of a setting then and now; empty if it is the same."""
    columns = ("ids", "error", "error_metric")
    for earlier in read_history(home, columns, ["results"], [before]).to_pylist():
        if id in earlier["ids"] and earlier["error_metric"] == row["error_metric"]:
            figures = (earlier["error"], row["error"])
            if None not in figures and figures[0] != figures[1]:
                return f"; {row['error_metric']} {error_texts(row['error_metric'], *figures)}"
    return ""


def first_difference(home: JobHome, id: str, before: str, night: str) -> str:
    """Return which column of a record differs between two nights; empty if a store is gone."""
    parts = []
    for name in (before, night):
        try:
            store = open_store(home.night(name) / "store")
            parts.append(record_parts(store).get(id, {}))
        except OlscaleError:
            # its store was pruned, or is damaged: the alarm stands without it
            return ""
    if not all(parts):
        return ""
    earlier, later = parts
    columns = [
        name
        for name in (*earlier, *(set(later) - set(earlier)))
        if earlier.get(name) != later.get(name)
    ]
    # Reasons and metrics say more than curves.
    name = next(iter(columns), "")
    shown = [_shown(name, record.get(name, b"")) for record in parts]
    if name:
        return f"; first difference of {id[:8]}: {name}{f' {shown[0]} -> {shown[1]}' * all(shown)}"
    return ""


def _shown(name: str, value: bytes) -> str:
    if name.startswith("metric "):
        if value:
            return repr(float.fromhex(value.decode()))
        return "none"
    if name in ("outcome", "reason"):
        return value.decode()
    return ""


def series_alarms(
    series: Iterable[NightSeries],
    rules: AlarmRules,
    night: str,
    explained: Collection[tuple[str, ...]] = (),
) -> tuple[list[NightAlarm], list[str], list[SeriesVerdict]]:
    """Return alarms, lines on what changed for the better, and the verdicts on all series.

    A series that ended before `night`, as that of a machine which is gone, raises none; nor does a
    change that began before ``since`` of the rules, nor an error of a setting that is `explained`
    by an alarm of its own.
    """
    alarms = []
    changed = []
    verdicts = []
    for quantity in series:
        verdict = judge(quantity, rules)
        verdicts.append(verdict)
        if (
            not quantity.nights
            or quantity.nights[-1] != night
            or not verdict.begins
            or verdict.begins[-1] < rules.since
        ):
            continue
        # An error that moves while the rows are the same is a matter of bytes or of versions.
        if quantity.metric == "error" and quantity.setting in explained:
            continue
        if verdict.verdict in ("slower", "higher"):
            alarms.append(
                NightAlarm(
                    f"{quantity.metric}|{quantity.name}|{quantity.machine}|{len(verdict.begins)}",
                    verdict.text,
                )
            )
        elif verdict.verdict in ("faster", "lower"):
            changed.append(verdict.text)
    return alarms, changed, verdicts


def _settings_of(
    alarms: Iterable[NightAlarm], rows: Iterable[Mapping[str, Any]]
) -> set[tuple[str, ...]]:
    """Return the settings whose bytes raise an alarm."""
    ids = {id for alarm in alarms for id in alarm.ids}
    return {
        tuple(row.get(name) or "" for name in SETTING)
        for row in rows
        if not ids.isdisjoint(row.get("ids") or ())
    }


def by_outcome(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return how the runs of a night ended: outcome -> runs."""
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        for outcome, count in row.get("outcomes") or ():
            counts[outcome] += count
    return dict(counts)


State = Literal["good", "failed", "alarm", "stopped", "done", "busy"]


@dataclass(frozen=True, slots=True)
class NightEnd:
    """How a call of `run_night` ended.

    Attributes
    ----------
    state : str
        ``"good"``, ``"failed"``, ``"alarm"``, ``"stopped"`` (call again), ``"done"`` (the night had
        ended before) or ``"busy"`` (another process is running it).
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
        Further lines on the night, kept with what changed.
    """
    host = begun["made_by"]
    common = {
        "night": night,
        "job": begun["job"],
        "code": host["code"],
        "machine": host["machine"],
        "began": datetime.fromtimestamp(begun["at"], UTC),
        "load": begun["load"],
        "made_by": sorted(host.items()),
    }
    full_rows = [common | row for row in rows]
    alarms: list[NightAlarm] = result_alarms(home, full_rows, job.alarm, night)
    changes = error_changes(home, full_rows, job.alarm, night)
    alarms += [
        NightAlarm(change.key, change.text) for change in changes if change.is_worse
    ]
    # A night that is ended anew, or under an earlier name, must not be judged by later ones.
    later = [name for name in history_nights(home) if name >= night]
    earlier = series_rows(home, [*history_nights(home)[:-MOST_NIGHTS], *later])
    tonight = [
        row | {"state": "good"}
        for row in full_rows
        if row["kind"] in ("results", "bench")
    ]
    of_series, better, _ = series_alarms(
        series_of([*earlier, *tonight], job.alarm.speed),
        job.alarm,
        night,
        {change.setting for change in changes} | _settings_of(alarms, full_rows),
    )
    better = [
        change.text for change in changes if change.is_new and not change.is_worse
    ] + better
    alarms += of_series
    state: State = "good"
    if alarms:
        state = "alarm"
    if failures:
        state = "failed"
    entry = common | {
        "kind": "night",
        "seconds": seconds,
        "calls": begun["calls"],
        "outcomes": sorted(by_outcome(full_rows).items()),
        "failures": [redacted(line) for line in failures],
        "alarms": [alarm.text for alarm in alarms],
        "changed": [*better, *remarks],
        "alarm_keys": [alarm.key for alarm in alarms],
    }
    write_night(home, night, [row | {"state": state} for row in (entry, *full_rows)])
    return NightEnd(
        state,
        night,
        (
            *entry["failures"],
            *entry["alarms"],
            *(f"changed: {line}" for line in entry["changed"]),
        ),
    )
