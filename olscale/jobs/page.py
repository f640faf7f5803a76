"""The page of a job: its nights, what changed and where, failures, machines."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from olscale.jobs.calendar import calendar_html
from olscale.jobs.home import JobHome, night_rows, read_json, write_file
from olscale.jobs.job_file import JobFile
from olscale.jobs.series import (
    METRICS,
    NightSeries,
    SeriesVerdict,
    judge,
    read_series,
)
from olscale.jobs.series_names import labels_of_night, short_names
from olscale.printable import printable
from olscale.report.html import chip_html, escape, page_html, paragraphs, rows_html
from olscale.system.sizes import duration_text

_MOST_NIGHTS = 30
_MOST_SERIES = 200
_METRICS = {
    "ratio": "ratios of benchmarks",
    "rows_per_cpu_second": "rows a processor second",
    "rows_per_second": "rows a second",
    "error": "errors",
}
_LEGEND = (
    "A point is a night; a hollow one began under load and does not count. An orange line is a "
    "level, a dotted one marks other code or data."
)
# Worst first: a page of two hundred series is read from its top.
_ORDER = ("slower", "higher", "faster", "lower", "steady", "unstable", "not enough")
_KINDS = {"good": "good", "alarm": "alarm", "failed": "failed"}
"""Colours of the states of nights; a stopped one has that of an alarm."""

_WIDTH = 580
_LEFT = 55
_TOP = 8
_HEIGHT = 84


def write_page(job: JobFile, home: JobHome, folder: Path) -> Path:
    """Write ``index.html`` into a folder, and return its path."""
    nights = night_rows(home)
    verdicts = sorted(
        (judge(series, job.alarm) for series in read_series(home, job.alarm.speed)),
        key=_place,
    )
    names = short_names([verdict.series for verdict in verdicts], labels_of_night(home))
    alarms: list[str] = []
    if nights:
        alarms = nights[-1]["alarms"] or []
    sections = [
        (
            "Alarms of the last night",
            _alarms(alarms, _without_alarm(job, nights, verdicts, names)),
        ),
        ("Changes", _changes(verdicts, names)),
        ("Nights", _nights(nights)),
        *_series_sections(verdicts, names, alarms),
        ("Failures", _failures(nights, home)),
        ("Code and machines", _machines(nights)),
    ]
    calendar = calendar_html(nights)
    # The dashboard shows the calendar by itself.
    write_file(folder / "calendar.html", calendar.encode())
    page = page_html(f"Nights of {job.name}", sections, lead=calendar)
    write_file(folder / "index.html", page.encode())
    return folder / "index.html"


def _alarms(alarms: list[str], worse: list[str]) -> list[str]:
    """Return the alarms; where there is none, what is worse than before and why it raises none."""
    if alarms or not worse:
        return _lines(alarms, "There is none.")
    lead = "No alarm is raised by what is worse than before:"
    return [paragraphs([lead], "note"), paragraphs(worse)]


def _without_alarm(
    job: JobFile,
    nights: list[dict[str, Any]],
    verdicts: Iterable[SeriesVerdict],
    names: dict[str, str],
) -> list[str]:
    """Return a line for each series that is worse than before."""
    lines = []
    for verdict in verdicts:
        if verdict.verdict in ("slower", "higher"):
            reason = "its change was accepted or is explained by an earlier alarm"
            if verdict.begins[-1] < job.alarm.since:
                reason = f"accepted by since = {job.alarm.since}"
            elif verdict.series.nights[-1] != nights[-1]["night"]:
                reason = "the last night did not measure it"
            metric = _METRICS[verdict.series.metric]
            name = names[verdict.series.name]
            lines.append(f"{name}, {metric}: {verdict.said} ({reason})")
    return lines


def _place(verdict: SeriesVerdict) -> tuple[int, int, str]:
    series = verdict.series
    return METRICS.index(series.metric), _ORDER.index(verdict.verdict), series.name


def _lines(lines: list[str] | None, otherwise: str) -> list[str]:
    if lines:
        return [paragraphs(lines)]
    return [paragraphs([otherwise], "note")]


def _nights(nights: list[dict[str, Any]]) -> list[str]:
    head = (
        "night",
        "state",
        "alarms",
        "failures",
        "time",
        "calls",
        "load a core",
        "code",
        "machine",
    )
    rows = [
        (
            row["night"],
            chip_html(row["state"], _KINDS.get(row["state"], "alarm")),
            str(len(row["alarms"] or ())),
            str(len(row["failures"] or ())),
            duration_text(row["seconds"]),
            str(row["calls"]),
            f"{row['load']:.2f}",
            row["made_by"].get("commit") or row["code"],
            row["machine"],
        )
        for row in reversed(nights[-_MOST_NIGHTS:])
    ]
    parts = [rows_html(head, rows, (0, 1, 7, 8))]
    if len(nights) > _MOST_NIGHTS:
        note = f"The last {_MOST_NIGHTS} of {len(nights):,} nights; olscale jobs history has all."
        parts.append(paragraphs([note], "note"))
    return parts


def _changes(verdicts: list[SeriesVerdict], names: dict[str, str]) -> list[str]:
    steps = []
    for verdict in verdicts:
        marks = dict(verdict.series.marks())
        for begin, (before, after) in zip(
            verdict.begins, pairwise(verdict.levels), strict=True
        ):
            if verdict.verdict != "unstable":
                # What changed that night is the first suspect.
                why = ""
                if begin in marks:
                    why = f"{marks[begin]} changed"
                name = names[verdict.series.name]
                metric = _METRICS[verdict.series.metric]
                steps.append(
                    (
                        begin,
                        name,
                        metric,
                        *map(verdict.series.text_of, (before, after)),
                        why,
                    )
                )
    if not steps:
        return _lines([], "No level has changed.")
    head = ("since", "series", "metric", "before", "after", "that night")
    return [rows_html(head, sorted(steps, reverse=True), (0, 1, 2, 5))]


def _series_sections(
    verdicts: list[SeriesVerdict], names: dict[str, str], alarms: list[str]
) -> list[tuple[str, list[str]]]:
    # A series with an alarm comes first, whatever its level says.
    verdicts = sorted(
        verdicts, key=lambda verdict: not _has_alarm(verdict.series, alarms)
    )
    sections: dict[str, list[str]] = {}
    for verdict in verdicts[:_MOST_SERIES]:
        aside = {"unstable": "Unstable series", "not enough": "Too few nights yet"}
        metric = _METRICS[verdict.series.metric]
        name = names[verdict.series.name]
        title = metric.capitalize()
        if verdict.verdict in aside:  # series of all metrics share such a section
            name = f"{name}: {metric}"
            title = aside[verdict.verdict]
        parts = sections.setdefault(title, [paragraphs([_LEGEND], "note")])
        has_alarm = _has_alarm(verdict.series, alarms)
        verdict_html = f'<span class="state">{escape(verdict.said)}</span>'
        if has_alarm:
            verdict_html = '<span class="state alarm">changed: see the alarms</span>'
        # A phone moves it sideways: made smaller, its words would be too small to read.
        drawing = f'<div class="scroll">{series_drawing(verdict, has_alarm)}</div>'
        parts.append(f"<h3>{escape(name)} {verdict_html}</h3>{drawing}")
    if len(verdicts) > _MOST_SERIES:
        sections["More series"] = [
            paragraphs(
                [
                    f"{len(verdicts) - _MOST_SERIES:,} more: olscale jobs history has them."
                ]
            )
        ]
    return list(sections.items())


@cache
def _template() -> Any:
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(loader=loader, autoescape=True).get_template("series.svg")


def _has_alarm(series: NightSeries, alarms: list[str]) -> bool:
    """Return whether an alarm of the last night is of the results that a series has."""
    if not series.setting:
        return False
    dataset, _, learner, *_ = series.setting
    return any(f" {learner} " in line and f" on {dataset} " in line for line in alarms)


def series_drawing(verdict: SeriesVerdict, has_alarm: bool = False) -> str:
    """Return the values of a series and its level as SVG."""
    series = verdict.series
    low = min(series.values)
    high = max(series.values)
    # A constant series gets a range of its own; no error is below 0, and so no edge of its drawing.
    if low == high == 0.0:
        high = 1.0
    elif low == high:
        low, high = sorted((0.9 * low, 1.1 * high))
    across = {
        night: _LEFT + i * _WIDTH / max(1, len(series.nights) - 1)
        for i, night in enumerate(series.nights)
    }

    def up(value: float) -> str:
        return f"{_TOP + _HEIGHT * (high - value) / (high - low):.1f}"

    counted = [series.nights[i] for i in series.counted()]
    edges = []
    if counted:
        edges = [counted[0], *verdict.begins, counted[-1]]
    levels = [
        (f"{across[a]:.1f}", f"{across[b]:.1f}", up(level))
        for (a, b), level in zip(pairwise(edges), verdict.levels, strict=False)
    ]
    points = [
        (f"{across[night]:.1f}", up(value), loaded)
        for night, value, loaded in zip(
            series.nights, series.values, series.loaded, strict=True
        )
    ]
    marks = [f"{across[night]:.1f}" for night, _ in series.marks()]
    changes = "; ".join(f"{what} changed on {night}" for night, what in series.marks())
    return str(
        _template().render(
            title=printable(f"{series.name}{f': {changes}' * bool(changes)}"),
            marks=marks,
            points=points,
            alarm=points[-1] if has_alarm else None,
            levels=levels,
            highest=series.text_of(high),
            lowest=series.text_of(low),
            first=printable(series.nights[0]),
            last=printable(series.nights[-1]),
        )
    )


def _failures(nights: list[dict[str, Any]], home: JobHome) -> list[str]:
    rows = []
    for row in reversed(nights):
        rows += [(row["night"], line) for line in row["failures"] or ()]
    last_message = read_json(home.path / "told.json")
    rows += [("message", line) for line in last_message.get("faults", ())]
    if rows:
        return [rows_html(("night", "what failed"), rows, (0, 1))]
    return _lines([], "There is none.")


def _machines(nights: list[dict[str, Any]]) -> list[str]:
    nights_by_machine: dict[tuple[str, ...], list[str]] = {}
    for row in nights:
        versions = row["made_by"]
        machine = (
            row["machine"],
            *(
                versions.get(name, "")
                for name in ("olscale", "commit", "python", "numpy", "numba", "pyarrow")
            ),
        )
        nights_by_machine.setdefault((*machine, row["code"]), []).append(row["night"])
    head = (
        "machine",
        "olscale",
        "commit",
        "Python",
        "NumPy",
        "Numba",
        "PyArrow",
        "code",
        "first night",
        "last night",
        "nights",
    )
    rows = [
        (*key, names[0], names[-1], str(len(names)))
        for key, names in nights_by_machine.items()
    ]
    if not rows:
        return []
    # only the last column is a figure
    return [rows_html(head, rows, range(len(head) - 1))]
