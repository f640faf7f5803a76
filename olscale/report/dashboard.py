"""The page that shows stores while they fill: a small, read-only web server.

Addresses on the page are relative, so that it works behind a proxy under any path. What has not
changed since a browser last asked is not sent again.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from olscale.addresses import redacted_name
from olscale.analysis import store_status, summarise
from olscale.analysis.status import Status
from olscale.printable import printable
from olscale.report.comparison import compared
from olscale.report.first_screen import (
    curves_by_dataset,
    leaderboard_html,
    looks_of_comparison,
)
from olscale.report.html import escape, paragraphs, style, table_html
from olscale.report.live_html import curves_html, live_html
from olscale.report.notes import damage_notes
from olscale.report.overview import overview_html
from olscale.report.papers.base import FigureSource
from olscale.report.run_list import (
    Query,
    list_runs,
    runs_in_hand,
    table_of_runs,
)
from olscale.report.run_page import compare_runs, page_of_run
from olscale.report.sections import failures
from olscale.report.tables import tables
from olscale.report.tuning_view import tuning_html
from olscale.report.write import ReportOptions, write_report
from olscale.results.live import LiveEvaluation, going_on
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store
from olscale.results.record import is_run_id
from olscale.results.store import Store

SCRIPTS = Path(__file__).parent / "scripts"
_MOST_LINES = 12
_MOST_SETS = 9
_MOST_REPORTS = 8
"""Most reports of nights that are kept: visitors may ask for those of a year."""

_Stamps = tuple[str, dict[str, Hashable]]

_NIGHT = re.compile(r'(<td [^>]*data-night="([^"]*)"[^>]*>)([^<]*)</td>')
"""A night's cell in the calendar of a job."""


class Dashboard:
    """What the page shows of some stores.

    Parameters
    ----------
    stores : sequence of Store
    pages : sequence of Path
        Pages by other writers, such as those of benchmark jobs, to which it links.
    latest : mapping of int to callable
        By their numbers, the stores that others take the place of, such as those of nights, and
        what returns the latest.
    names : mapping of int to str
        By their numbers, what stores are called that do not exist yet; by default their path.
    """

    def __init__(
        self,
        stores: Sequence[Store],
        pages: Sequence[Path] = (),
        latest: Mapping[int, Callable[[], Store]] | None = None,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self._names = names or {}
        self._stores = list(stores)
        self.pages = list(pages)
        self._latest = latest or {}
        self._readers = [LiveReader(store) for store in stores]
        self._made: dict[tuple[str, int], tuple[_Stamps, Any]] = {}
        self._reports: dict[int | tuple[int, str], tuple[_Stamps, Path]] = {}
        # One per store: a large store that is being summed up must not keep visitors of
        # a small one waiting.
        self._making = [Lock() for _ in stores]
        self._making_nights = Lock()
        self._reading = Lock()
        self._scratch = tempfile.TemporaryDirectory(prefix="olscale-dashboard-")

    def _store(self, number: int) -> Store:
        """Return a store: the latest one if others replace it."""
        if number in self._latest:
            store = self._latest[number]()
            # The reader keeps a place in each journal, which is none in those of
            # another store.
            if store.path != self._stores[number].path:
                self._stores[number] = store
                self._readers[number] = LiveReader(store)
        return self._stores[number]

    def _name(self, number: int, store: Store) -> str:
        return self._names.get(number) or redacted_name(store.path) or store.path

    def live(self, number: int) -> str:
        """Return the running evaluations of a store as HTML."""
        store = self._store(number)
        evaluations = going_on(self._read(number))
        if not evaluations:
            if store.done():
                return paragraphs(["No evaluation is running."])
            name = self._name(number, store)
            command = f"olscale evaluate ... --store {name}"
            return paragraphs(
                [f"No evaluation yet. This page starts by itself: {command}"]
            )
        return live_html(evaluations)

    def results(self, number: int) -> str:
        """Return the tables of a store as HTML, rebuilt if its files have changed."""
        # While runs end every second, tables are enough: the leaderboard reads all curves.
        if any(evaluation.state() == "running" for evaluation in self._read(number)):
            return str(self._of_files(number, "tables", _tables))
        return str(self._of_files(number, "results", _results))

    def overview(self, number: int) -> str:
        """Return what stands out of a store and its experiments with their state, as HTML."""
        status = self._of_files(number, "status", _status)
        return overview_html(status, self._read(number))

    def failures(self, number: int) -> str:
        """Return the failed runs of a store with their reasons, as HTML."""
        status = self._of_files(number, "status", _status)
        if not status.failures:
            return paragraphs(["No run has failed."])
        return failures(status)

    def tuning(self, number: int) -> str:
        """Return the searches of a store with their candidates, as HTML."""
        return str(self._of_files(number, "tuning", tuning_html))

    def runs(self, number: int, query: Query) -> str:
        """Return one page of the runs of a store, those in hand first, as HTML."""
        ended = self._of_files(number, "runs", list_runs)
        return table_of_runs([*runs_in_hand(self._read(number)), *ended], query, number)

    def run(self, number: int, id: str) -> str:
        """Return the page of a run."""
        if not is_run_id(id):
            # IndexError is what the server answers with 404.
            raise IndexError(id)
        return page_of_run(self._store(number), id)

    def compare(self, number: int, ids: tuple[str, ...]) -> str:
        """Return runs side by side."""
        if not all(map(is_run_id, ids)):
            raise IndexError(ids)
        return compare_runs(self._store(number), ids, number)

    def _read(self, number: int) -> list[LiveEvaluation]:
        # Readers keep their place in each journal, which two threads must not move at once.
        with self._reading:
            return self._readers[number].read()

    def _of_files(self, number: int, what: str, make: Callable[[Store], Any]) -> Any:
        """Return what a function makes of a store, made again if its files have changed."""
        store = self._store(number)
        with self._making[number]:
            stamps = store.path, store.record_stamps()
            if (what, number) not in self._made or self._made[what, number][
                0
            ] != stamps:
                self._made[what, number] = stamps, make(store)
        return self._made[what, number][1]

    def report(self, number: int) -> Path:
        """Return the folder of a store's report, rewritten if its files have changed."""
        store = self._store(number)
        with self._making[number]:
            return self._report_of(number, store)

    def night(self, number: int, name: str) -> Path:
        """Return the folder of the report of a night, by the number of its page."""
        stores = _stores_of_nights(self.pages[number])
        if name not in stores:
            raise IndexError(name)
        with self._making_nights:
            nights = [key for key in self._reports if isinstance(key, tuple)]
            if (number, name) not in nights and len(nights) >= _MOST_REPORTS:
                shutil.rmtree(self._reports.pop(nights[0])[1])
            return self._report_of((number, name), open_store(stores[name]))

    def _report_of(self, key: int | tuple[int, str], store: Store) -> Path:
        stamps = store.path, store.record_stamps()
        # Stamps of files are cheaper than reading them, and any write changes them.
        if key not in self._reports or self._reports[key][0] != stamps:
            # In a new folder: visitors read the earlier report until this one is whole.
            folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
            try:
                write_report(store, folder, ReportOptions(on_damage="skip"))
            except BaseException:
                shutil.rmtree(folder)
                raise
            if key in self._reports:
                shutil.rmtree(self._reports[key][1])
            self._reports[key] = stamps, folder
        return self._reports[key][1]

    def other(self, number: int) -> str:
        """Return a page by another writer."""
        page = self.pages[number]
        return page.read_text() if page.is_file() else "<p>No night has ended yet.</p>"

    def close(self) -> None:
        """Remove the reports that were written."""
        self._scratch.cleanup()

    def page(self) -> str:
        """Return the page."""
        numbers = range(len(self._stores))
        loader = FileSystemLoader(Path(__file__).parent / "templates")
        template = Environment(loader=loader, autoescape=True).get_template(
            "dashboard.html"
        )
        return template.render(
            pages=[printable(page.parent.parent.name) for page in self.pages],
            is_live=any(
                evaluation.state() == "running"
                for number in numbers
                for evaluation in self._read(number)
            )
            or not any(self._store(number).done() for number in numbers),
            calendars=[
                Markup(_linked_calendar(*numbered))
                for numbered in enumerate(self.pages)
            ],
            names=[
                printable(self._name(number, store))
                for number, store in enumerate(map(self._store, numbers))
            ],
            style=style(),
            script=Markup((SCRIPTS / "dashboard.js").read_text(encoding="utf-8")),
            **{
                part: [Markup(getattr(self, part)(number)) for number in numbers]
                for part in ("overview", "live", "results", "tuning", "failures")
            },
        )


def _results(store: Store) -> str:
    """Return who wins, curves and tables as HTML."""
    summaries = summarise(store, on_damage="skip")
    # Reading curves adds to the list what `_tables` will name again.
    damaged = store.damaged
    source = FigureSource(store, summaries, "skip")
    head = ""
    if comparisons := compared(store, summaries, most=_MOST_LINES, on_damage="skip"):
        head = leaderboard_html(source, comparisons[0])
        sets = curves_by_dataset(source, comparisons[0], _MOST_SETS)
        head += curves_html(sets, looks_of_comparison(source, comparisons[0]))
    store.damaged = damaged
    return head + _tables(store)


def _tables(store: Store) -> str:
    of_store = tables(summarise(store, on_damage="skip"))
    shown = (
        "".join(table_html(table, "#tab=failures") for table in of_store)
        or "<p>No finished runs yet.</p>"
    )
    return shown + paragraphs(damage_notes(store.damaged), "note")


def _status(store: Store) -> Status:
    return store_status(store, on_damage="skip")


def _stores_of_nights(page: Path) -> dict[str, Path]:
    """Return the stores of the nights whose page this is, by their names; old ones are pruned."""
    stores = page.parent.parent.glob("nights/*/store")
    return {store.parent.name: store for store in sorted(stores)}


def _linked_calendar(number: int, page: Path) -> str:
    """Return the calendar that a job writes next to its page; nights lead to their reports."""
    calendar = page.parent / "calendar.html"
    if not calendar.is_file():
        return ""
    nights = {str(escape(name)): name for name in _stores_of_nights(page)}

    def linked(cell: re.Match[str]) -> str:
        head, night, sign = cell.groups()
        if night not in nights:
            return cell[0]
        address = f"night/{number}/{quote(nights[night], safe='')}/"
        return (
            f'{head}<a href="{address}" aria-label="report of {night}">{sign}</a></td>'
        )

    return _NIGHT.sub(linked, calendar.read_text(encoding="utf-8"))
