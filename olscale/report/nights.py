"""The nights of a job on the dashboard: their calendar, whose cells lead to reports."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from olscale.report.html import escape

_NIGHT = re.compile(r'(<td [^>]*data-night="([^"]*)"[^>]*>)([^<]*)</td>')


def stores_of_nights(page: Path) -> dict[str, Path]:
    """Return the stores of the nights whose page this is, by their names; old ones are pruned."""
    stores = page.parent.parent.glob("nights/*/store")
    return {store.parent.name: store for store in sorted(stores)}


def linked_calendar(number: int, page: Path) -> str:
    """Return the calendar that a job writes next to its page; nights lead to their reports."""
    calendar = page.parent / "calendar.html"
    if not calendar.is_file():
        return ""
    nights = {str(escape(name)): name for name in stores_of_nights(page)}

    def linked(cell: re.Match[str]) -> str:
        head, night, sign = cell.groups()
        if night not in nights:
            return cell[0]
        address = f"night/{number}/{quote(nights[night], safe='')}/"
        return (
            f'{head}<a href="{address}" aria-label="report of {night}">{sign}</a></td>'
        )

    return _NIGHT.sub(linked, calendar.read_text(encoding="utf-8"))
