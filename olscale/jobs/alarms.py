"""Alarms of a night: results whose bytes differ from before, speeds and errors that changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from olscale.errors import OlscaleError
from olscale.jobs.history import read_history
from olscale.jobs.home import JobHome
from olscale.jobs.job_file import AlarmRules
from olscale.jobs.made_by import unlike
from olscale.jobs.results import record_parts
from olscale.jobs.series import NightSeries, SeriesVerdict, judge
from olscale.results.store import open_store

_MOST_IDS = 5
_CHANCE = ("lost", "timeout", "oom")
"""Outcomes that time and the machine decide: such a run has no bytes to compare."""


@dataclass(frozen=True, slots=True)
class NightAlarm:
    """Something that somebody must look at.

    Attributes
    ----------
    key : str
        The same on each night that has the same fault.
    text : str
        One line.
    ids : tuple of str
        Runs whose bytes are others.
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
    mine = [row for row in rows if row["kind"] == "results"]
    earlier = read_history(
        home, ["night", "machine", "ids", "digests", "digest", "outcomes", "made_by"], ["results"]
    )
    first, makers = first_digests(earlier, night, rules.since)
    found = []
    for row in mine:
        if row["outcomes"] and any(name in _CHANCE for name, _ in row["outcomes"]):
            continue
        others = [
            (i, first[i])
            for i, digest in zip(row["ids"], row["digests"], strict=True)
            if first.get(i, (digest,))[0] != digest
        ]
        if others:
            found.append(_result_alarm(home, row, others, makers, night))
    return found


def first_digests(
    history: pa.Table, night: str, since: str
) -> tuple[dict[str, _First], dict[str, dict[str, str]]]:
    """Return the digest of each run on its first night, and how those nights were made.

    Nights before `since` or from `night` on are left out.
    """
    first: dict[str, _First] = {}
    makers: dict[str, dict[str, str]] = {}
    seen = set()
    light = zip(
        history["night"].to_pylist(),
        history["digest"].to_pylist(),
        history["outcomes"].to_pylist(),
        strict=True,
    )
    for i, (name, digest, outcomes) in enumerate(light):
        # A night with the same code and data has the same digests: only what is new is looked at.
        if (
            digest in seen
            or name < since
            or name >= night
            or any(outcome in _CHANCE for outcome, _ in outcomes or ())
        ):
            continue
        seen.add(digest)
        for id, one in zip(history["ids"][i].as_py(), history["digests"][i].as_py(), strict=True):
            if id not in first:
                first[id] = _First(one, name)
                if name not in makers:
                    makers[name] = dict(history["made_by"][i].as_py() or ())
    return first, makers


def _result_alarm(
    home: JobHome,
    row: Mapping[str, Any],
    others: list[tuple[str, _First]],
    makers: Mapping[str, dict[str, str]],
    night: str,
) -> NightAlarm:
    ids = tuple(id for id, _ in others)
    first = min(one.night for _, one in others)
    shown = ", ".join(ids[:_MOST_IDS]) + (
        f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    )
    what = f"{row['learner']} {row['params']} (version {row['version']}) on {row['dataset']}"
    how = first_difference(home, ids[0], dict(others)[ids[0]].night, night)
    made = unlike(makers.get(first, {}), dict(row["made_by"])) or "nothing that is recorded"
    text = (
        f"results of {what} are other bytes than on {first}, though its version is the same: "
        f"{len(ids)} of {row['n']} runs: "
        f"{shown}{how}; what differs in how the two nights were made: {made}"
    )
    of_setting = "|".join(
        str(row[name])
        for name in ("dataset", "fingerprint", "transforms", "learner", "version", "params")
    )
    return NightAlarm(f"results|{of_setting}|{row['protocol']}", text, ids)


def first_difference(home: JobHome, id: str, before: str, night: str) -> str:
    """Return which column of a record differs between two nights; empty if a store is gone."""
    parts = []
    for name in (before, night):
        try:
            parts.append(record_parts(open_store(home.night(name) / "store")).get(id, {}))
        except OlscaleError:
            return ""
    if not all(parts):
        return ""
    columns = [
        name
        for name in (*parts[0], *(set(parts[1]) - set(parts[0])))
        if parts[0].get(name) != parts[1].get(name)
    ]
    # Reasons and metrics say more than curves.
    name = next(iter(columns), "")
    shown = [_shown(name, one.get(name, b"")) for one in parts]
    return (
        f"; first difference of {id[:8]}: {name}{f' {shown[0]} -> {shown[1]}' * all(shown)}"
        if name
        else ""
    )


def _shown(name: str, value: bytes) -> str:
    if name.startswith("metric "):
        return repr(float.fromhex(value.decode())) if value else "none"
    return value.decode() if name in ("outcome", "reason") else ""


def series_alarms(
    series: Iterable[NightSeries], rules: AlarmRules, night: str
) -> tuple[list[NightAlarm], list[str], list[SeriesVerdict]]:
    """Return alarms, lines on what changed for the better, and the verdicts on all series.

    A series that ended before `night`, as that of a machine which is gone, raises none; nor does a
    change that began before ``since`` of the rules.
    """
    alarms = []
    changed = []
    verdicts = []
    for one in series:
        verdict = judge(one, rules)
        verdicts.append(verdict)
        if (
            not one.nights
            or one.nights[-1] != night
            or not verdict.begins
            or verdict.begins[-1] < rules.since
        ):
            continue
        # An error that moves while the rows are the same is a matter of bytes.
        if one.metric == "error" and len(set(one.fingerprints)) < 2:
            continue
        if verdict.verdict in ("slower", "higher"):
            alarms.append(
                NightAlarm(
                    f"{one.metric}|{one.name}|{one.machine}|{len(verdict.begins)}", verdict.text
                )
            )
        elif verdict.verdict in ("faster", "lower"):
            changed.append(verdict.text)
    return alarms, changed, verdicts


def by_outcome(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return how the runs of a night ended: outcome -> runs."""
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        for outcome, count in row.get("outcomes") or ():
            found[outcome] += count
    return dict(found)
