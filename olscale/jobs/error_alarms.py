"""Errors across versions of the code: an edited learner, a raised version, a new library.

A run of another version has another id, so its bytes are held against nothing. Its setting
(dataset, transforms, learner, parameters, protocol) is the same, and so are the rows: what its
error was before the change of code is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olscale.jobs.change_points import MOST_NIGHTS
from olscale.jobs.home import JobHome, history_nights, night_rows, read_history
from olscale.jobs.job_file import AlarmRules
from olscale.jobs.made_by import unlike
from olscale.measures import measure_of

SETTING = ("dataset", "transforms", "learner", "params", "protocol")
"""Columns that say which setting a row of the history is of, in any version."""

_COLUMNS = (
    "night",
    "state",
    "fingerprint",
    "version",
    "error",
    "error_metric",
    *SETTING,
)
# Rows of an earlier fingerprint are other rows, whose errors prove nothing.
_SAME = (*SETTING, "fingerprint", "error_metric")


@dataclass(frozen=True, slots=True)
class ErrorChange:
    """The error of a setting before and after a change of code.

    Attributes
    ----------
    key : str
        The same on each night with this version of the code.
    setting : tuple of str
        Values of `SETTING`.
    is_worse : bool
        Whether the error is higher.
    is_new : bool
        Whether this night is the first with the new code.
    text : str
        One line: figures before and after, and what changed.
    """

    key: str
    setting: tuple[str, ...]
    is_worse: bool
    is_new: bool
    text: str


def error_changes(
    home: JobHome, rows: Sequence[Mapping[str, Any]], rules: AlarmRules, night: str
) -> list[ErrorChange]:
    """Return the settings of `rows` whose error differs from that of an earlier version.

    They are held against the last good night of another version, so a fault of several edits stays
    one. Nights before `rules.since` count no longer, which accepts a change.

    Parameters
    ----------
    home : JobHome
    rows : sequence of dict
        Rows of `night`, as the history has them.
    rules : AlarmRules
    night : str
    """
    nights = [name for name in history_nights(home) if rules.since <= name < night]
    earlier: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in read_history(
        home, _COLUMNS, ["results"], nights[-MOST_NIGHTS:]
    ).to_pylist():
        if row["state"] != "failed" and row["error"] is not None:
            earlier.setdefault(_values(row, _SAME), []).append(row)
    changes = []
    for row in rows:
        if row["kind"] == "results" and row["error"] is not None:
            before = earlier.get(_values(row, _SAME), [])
            # Several versions of a learner may be in one night: the first row counts.
            if change := _change(home, row, before, rules):
                changes.append(change)
    return changes


def _change(
    home: JobHome,
    row: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]],
    rules: AlarmRules,
) -> ErrorChange | None:
    """Compare a setting with its last good night of another version."""
    others = [
        before
        for before in earlier
        # Where bytes may differ, the error of the same version is held against that of before.
        if before["version"] != row["version"] or rules.results == "ignore"
    ]
    if not others:
        return None
    good = [before for before in others if before["state"] == "good"]
    reference = (good or others)[-1]
    before = float(reference["error"])
    after = float(row["error"])
    metric = str(row["error_metric"])
    step = abs(after - before)
    if measure_of(metric).unit != "percent" and before:
        # Errors in the unit of a target have no scale of their own.
        step /= abs(before)
    if not step >= rules.error.change:
        return None
    setting = _values(row, SETTING)
    word = "higher" if after > before else "lower"
    which = f"{row['learner']} {row['params']} on {row['dataset']}"
    return ErrorChange(
        "|".join(("version", *_values(row, _SAME), str(row["version"]))),
        setting,
        after > before,
        earlier[-1]["version"] != row["version"],
        f"{metric} of {which} is {word} than on {reference['night']}, of other code: "
        f"{error_texts(metric, before, after)}; {_what_changed(home, reference, row)}",
    )


def _values(row: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row.get(name) or "") for name in names)


def error_texts(metric: str, before: float, after: float) -> str:
    """Return an error before and after in words.

    Examples
    --------
    >>> error_texts("cumulative_error", 0.035, 0.921), error_texts("rmse", 1.25, 0.75)
    ('3.50 % -> 92.10 %', '1.25 -> 0.75')
    """
    if measure_of(metric).unit == "percent":
        return f"{100.0 * before:.2f} % -> {100.0 * after:.2f} %"
    return f"{before:.4g} -> {after:.4g}"


def _what_changed(
    home: JobHome, reference: Mapping[str, Any], row: Mapping[str, Any]
) -> str:
    """Name the versions of the learner, with its digest, and all that made the nights differ."""
    words = []
    if reference["version"] != row["version"]:
        words.append(f"version {reference['version']} -> {row['version']}")
    nights = night_rows(home, [str(reference["night"])])
    makers = dict(nights[0]["made_by"]) if nights else {}
    words += filter(None, [unlike(makers, dict(row["made_by"]))])
    return ", ".join(words) or "nothing that is recorded"
