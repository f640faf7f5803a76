"""The nights of a job as a calendar: a column per week, a cell per day, in colours of states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from olscale.report.html import escape

_WEEKS = 26
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_SIGNS = {"good": "\N{BULLET}", "alarm": "!", "failed": "\N{MULTIPLICATION SIGN}"}
"""Signs of the states, for those who see no difference between their colours."""

_OTHER = "\N{HYPHEN}"


def calendar_html(nights: Sequence[Mapping[str, Any]]) -> str:
    """Return the last half-year of nights as an HTML table; empty without nights.

    Parameters
    ----------
    nights : sequence of mapping
        Rows of `olscale.jobs.home.night_rows`, whose ``night``, ``state``, ``alarms`` and
        ``failures`` are shown.

    Examples
    --------
    >>> night = {"night": "2026-01-24", "state": "alarm", "alarms": ["a"], "failures": []}
    >>> page = calendar_html([night])
    >>> page[page.index("<td class") :].partition("</td>")[0]
    '<td class="alarm" data-night="2026-01-24" title="2026-01-24: alarm, 1 alarm">!'
    """
    by_day = {}
    for night in nights:
        # The last night of a day stands for it; names that are no dates have no place here.
        if day := _day_of(str(night["night"])):
            by_day[day] = night
    if not by_day:
        return ""
    last = max(by_day)
    monday = last - timedelta(days=last.weekday())
    first = max(min(by_day), monday - timedelta(weeks=_WEEKS - 1))
    first -= timedelta(days=first.weekday())
    weeks = [first + timedelta(weeks=i) for i in range((monday - first).days // 7 + 1)]
    # A month is named above the week that begins with its first Monday.
    months = [f"{week:%b}" if week.day <= 7 else "" for week in weeks]
    lines = [f"<tr><th></th>{''.join(f'<th>{month}</th>' for month in months)}</tr>"]
    for weekday, name in enumerate(_DAYS):
        cells = [_cell(by_day.get(week + timedelta(days=weekday))) for week in weeks]
        lines.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
    legend = ", ".join(
        f'<span class="{state}">{sign} {state}</span>' for state, sign in _SIGNS.items()
    )
    table = f'<table class="calendar">{"".join(lines)}</table>'
    return f'<div class="scroll">{table}</div><p class="note">{legend}, {_OTHER} other.</p>'


def _day_of(night: str) -> date | None:
    try:
        return date.fromisoformat(night[:10])
    except ValueError:
        return None


def _cell(night: Mapping[str, Any] | None) -> str:
    if night is None:
        return "<td></td>"
    state = str(night["state"])
    words = [f"{night['night']}: {state}"]
    for what in ("alarm", "failure"):
        count = len(night[f"{what}s"] or ())
        if count:
            words.append(f"{count} {what}{'s' if count > 1 else ''}")
    kind = state if state in _SIGNS else "other"
    title = escape(", ".join(words))
    # The dashboard, which has the reports of nights, makes a link of the sign.
    name = escape(str(night["night"]))
    sign = _SIGNS.get(state, _OTHER)
    return f'<td class="{kind}" data-night="{name}" title="{title}">{sign}</td>'
