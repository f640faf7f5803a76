"""The page that shows stores while they fill: a small, read-only web server.

Addresses on the page are relative, so that it works behind a proxy under any path. What has not
changed since a browser last asked is not sent again.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from tornado.iostream import IOStream, StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from olscale.addresses import redacted_name
from olscale.analysis import store_status, summarise
from olscale.analysis.status import Status
from olscale.errors import OlscaleError, ReportError
from olscale.printable import printable
from olscale.report.comparison import compared
from olscale.report.first_screen import (
    curves_by_dataset,
    leaderboard_html,
    looks_of_comparison,
)
from olscale.report.html import escape, paragraphs, style, table_html
from olscale.report.live_html import curves_html, live_html
from olscale.report.nights import linked_calendar, stores_of_nights
from olscale.report.notes import damage_notes
from olscale.report.overview import overview_html
from olscale.report.page_server import LOG, MOST_CONNECTIONS, SECONDS_TO_TAKE, PageServer, short_log
from olscale.report.papers.base import FigureSource
from olscale.report.run_list import (
    MOST_ADDED,
    Query,
    list_runs,
    runs_in_hand,
    table_of_runs,
)
from olscale.report.run_page import MOST_COMPARED, compare_runs, page_of_run
from olscale.report.sections import failures
from olscale.report.tables import tables
from olscale.report.tuning_view import tuning_html
from olscale.report.write import write_report
from olscale.results.live import LiveEvaluation, going_on
from olscale.results.live_reader import LiveReader
from olscale.results.record import is_run_id
from olscale.results.store import Store, open_store

SCRIPTS = Path(__file__).parent / "scripts"
_MOST_CHARACTERS = 200
_MOST_LINES = 12
_MOST_SETS = 9
_MOST_REPORTS = 8
"""Most reports of nights that are kept: visitors may ask for those of a year."""

_HERE = ("localhost", "127.0.0.1", "[::1]")
_Stamps = tuple[str, dict[str, Hashable]]


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
        self._making = [Lock() for _ in stores]
        self._making_nights = Lock()
        self._reading = Lock()
        self._scratch = tempfile.TemporaryDirectory(prefix="olscale-dashboard-")

    def _store(self, number: int) -> Store:
        """Return a store: the latest one if others replace it."""
        if number in self._latest:
            store = self._latest[number]()
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
                return paragraphs(["Nothing goes on."])
            name = self._name(number, store)
            command = f"olscale evaluate ... --store {name}"
            return paragraphs([f"No evaluation yet. This page starts by itself: {command}"])
        return live_html(evaluations)

    def results(self, number: int) -> str:
        """Return the tables of a store as HTML, rebuilt if its files have changed."""
        # While runs end every second, tables are enough: the leaderboard reads all curves.
        if any(one.state() == "running" for one in self._read(number)):
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
            if (what, number) not in self._made or self._made[what, number][0] != stamps:
                self._made[what, number] = stamps, make(store)
        return self._made[what, number][1]

    def report(self, number: int) -> Path:
        """Return the folder of a store's report, rewritten if its files have changed."""
        store = self._store(number)
        with self._making[number]:
            return self._report_of(number, store)

    def night(self, number: int, name: str) -> Path:
        """Return the folder of the report of a night, by the number of its page."""
        stores = stores_of_nights(self.pages[number])
        if name not in stores:
            raise IndexError(name)
        with self._making_nights:
            nights = [key for key in self._reports if isinstance(key, tuple)]
            if (number, name) not in nights and len(nights) >= _MOST_REPORTS:
                shutil.rmtree(self._reports.pop(nights[0])[1])
            return self._report_of((number, name), open_store(stores[name]))

    def _report_of(self, key: int | tuple[int, str], store: Store) -> Path:
        stamps = store.path, store.record_stamps()
        if key not in self._reports or self._reports[key][0] != stamps:
            folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
            try:
                write_report(store, folder, on_damage="skip")
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
        template = Environment(loader=loader, autoescape=True).get_template("dashboard.html")
        return template.render(
            pages=[printable(page.parent.parent.name) for page in self.pages],
            is_live=any(
                one.state() == "running" for number in numbers for one in self._read(number)
            )
            or not any(self._store(number).done() for number in numbers),
            calendars=[Markup(linked_calendar(*numbered)) for numbered in enumerate(self.pages)],
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

    def application(self, prefix: str = "", hosts: Sequence[str] = _HERE) -> Application:
        """Return the web application, with addresses below `prefix`.

        It answers only requests to `hosts`.
        """
        start = f"/{prefix.strip('/')}" if prefix.strip("/") else ""
        arguments = {"dashboard": self, "hosts": hosts}
        return Application(
            [
                (rf"{start}/", _Page, arguments),
                (
                    rf"{start}/(live|results|overview|tuning|failures)/([0-9]{{1,6}})",
                    _Part,
                    arguments,
                ),
                (rf"{start}/runs/([0-9]{{1,6}})", _Runs, arguments),
                (rf"{start}/run/([0-9]{{1,6}})/([0-9a-f]{{32}})", _Run, arguments),
                (rf"{start}/compare/([0-9]{{1,6}})", _Compared, arguments),
                (rf"{start}/report/([0-9]{{1,6}})/(.*)", _Report, arguments),
                (rf"{start}/night/([0-9]{{1,6}})/([^/]{{1,200}})/(.*)", _Night, arguments),
                (rf"{start}/page/([0-9]{{1,6}})/", _Other, arguments),
                (r"/favicon\.ico", _Icon),
            ],
            log_function=_log,
            busy=set(),
            in_the_making={},
        )


def _warm(dashboard: Dashboard) -> None:
    with suppress(OlscaleError, OSError):
        dashboard.page()


def _results(store: Store) -> str:
    """Return who wins, curves and tables as HTML."""
    summaries = summarise(store, on_damage="skip")
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
    found = tables(summarise(store, on_damage="skip"))
    shown = (
        "".join(table_html(table, "#tab=failures") for table in found)
        or "<p>No finished runs yet.</p>"
    )
    return shown + paragraphs(damage_notes(store.damaged), "note")


def _status(store: Store) -> Status:
    return store_status(store, on_damage="skip")


def _log(request: RequestHandler) -> None:
    """Log a refused request; errors of this program have a line already."""
    status = request.get_status()
    if 400 <= status < 500:
        LOG.warning(f"{status}: %s %s", request.request.method, request.request.uri)


class _Handler(RequestHandler):
    def initialize(self, dashboard: Dashboard, hosts: Sequence[str]) -> None:
        self.dashboard = dashboard
        self.hosts = hosts

    def prepare(self) -> None:
        # A page of another site whose name leads to this address must not read what is here.
        host = self.request.host.lower()
        if (
            self.hosts
            and (host.rsplit(":", 1)[0] if not host.endswith("]") else host) not in self.hosts
        ):
            raise HTTPError(
                403, reason="this dashboard answers requests to its own address alone; see --host"
            )

    def set_default_headers(self) -> None:
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Content-Type-Options", "nosniff")

    def log_exception(self, kind: Any, fault: Any, trace: Any) -> None:
        """Log nothing: a refusal is a normal answer."""
        if not isinstance(fault, HTTPError):
            super().log_exception(kind, fault, trace)

    async def made(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function makes of a store, in a thread; a vanished store is no failure.

        Visitors who ask for the same meanwhile get the same, so that no crowd keeps more threads
        busy than one.
        """
        making = self.settings["in_the_making"]
        of = (make, arguments)
        if of not in making:
            making[of] = asyncio.create_task(asyncio.to_thread(make, *arguments))
            making[of].add_done_callback(lambda _: making.pop(of))
        busy = self.settings["busy"]
        stream = self._stream
        busy.add(stream)
        try:
            return await asyncio.shield(making[of])
        except IndexError:
            raise HTTPError(404) from None
        except OlscaleError as fault:
            return f"<p>{escape(str(fault))}</p>"
        finally:
            busy.discard(stream)

    async def give(self, content: str | bytes) -> None:
        """Answer; drop a visitor who does not accept the answer in time."""
        stream = self._stream
        try:
            await asyncio.wait_for(self.finish(content), SECONDS_TO_TAKE)
        except TimeoutError:
            stream.close()
        except StreamClosedError:
            pass

    @property
    def _stream(self) -> IOStream:
        stream: IOStream = self.request.connection.stream  # type: ignore[union-attr]
        return stream


class _Page(_Handler):
    async def get(self) -> None:
        await self.give(await self.made(self.dashboard.page))


class _Part(_Handler):
    async def get(self, part: str, number: str) -> None:
        await self.give(await self.made(getattr(self.dashboard, part), int(number)))


class _Runs(_Handler):
    async def get(self, number: str) -> None:
        query = Query(
            self.get_query_argument("q", "")[:_MOST_CHARACTERS],
            self.get_query_argument("state", "")[:_MOST_CHARACTERS],
            _number(self.get_query_argument("sort", "")),
            _number(self.get_query_argument("page", "")),
            _lines(self.get_query_argument("columns", "")),
        )
        await self.give(await self.made(self.dashboard.runs, int(number), query))


class _Run(_Handler):
    async def get(self, number: str, id: str) -> None:
        await self.give(await self.made(self.dashboard.run, int(number), id))


class _Compared(_Handler):
    async def get(self, number: str) -> None:
        ids = tuple(self.get_query_arguments("run")[:MOST_COMPARED])
        await self.give(await self.made(self.dashboard.compare, int(number), ids))


def _lines(text: str) -> tuple[str, ...]:
    """Return the lines of a query's argument: names may have any other character in them."""
    lines = text[: _MOST_CHARACTERS * MOST_ADDED].split("\n")
    return tuple(dict.fromkeys(line for line in lines if line))


def _number(text: str) -> int:
    """Return a small number; what is none counts as 0."""
    return int(text) if re.fullmatch("-?[0-9]{1,6}", text) else 0


class _Other(_Handler):
    async def get(self, number: str) -> None:
        await self.give(await self.made(self.dashboard.other, int(number)))


class _Files(_Handler):
    async def give_file(self, folder: str | Path, name: str) -> None:
        """Give a file of a report, or what was said in its place."""
        if isinstance(folder, str):
            await self.give(folder)
            return
        # Only names that are there: a name that is asked for may be of any length, and hold
        # anything.
        files = {
            file.relative_to(folder).as_posix(): file
            for file in folder.rglob("*")
            if file.is_file()
        }
        file = files.get(name or "index.html")
        if file is None:
            raise HTTPError(404)
        try:
            content = file.read_bytes()
        except OSError:  # another report has just replaced this one
            raise HTTPError(404) from None
        kinds = {".html": "text/html; charset=utf-8", ".svg": "image/svg+xml"}
        self.set_header("Content-Type", kinds.get(file.suffix, "application/octet-stream"))
        await self.give(content)


class _Report(_Files):
    async def get(self, number: str, name: str) -> None:
        await self.give_file(await self.made(self.dashboard.report, int(number)), name)


class _Night(_Files):
    async def get(self, number: str, night: str, name: str) -> None:
        await self.give_file(await self.made(self.dashboard.night, int(number), night), name)


class _Icon(RequestHandler):
    def get(self) -> None:
        """Stop browsers from requesting an icon, as they do for pages that name none."""
        self.set_header("Cache-Control", "max-age=86400")
        self.set_status(204)


async def serve(
    stores: Sequence[Store],
    port: int,
    host: str = "127.0.0.1",
    prefix: str = "",
    hosts: Sequence[str] | None = None,
    ready: Callable[[str], None] = lambda url: None,
    pages: Sequence[Path] = (),
    latest: Mapping[int, Callable[[], Store]] | None = None,
    names: Mapping[int, str] | None = None,
) -> None:
    """Serve the page until the task is cancelled; `ready` takes its address.

    Only requests to `hosts` are answered: those of this machine, or all where it listens on another
    address or stands behind a proxy, whose name requests then have.

    Raises
    ------
    ReportError
        If the port is taken or the host is none of this machine.
    """
    if hosts is None:
        hosts = _HERE if host in (*_HERE, "::1") and not prefix else ()
    try:
        sockets = bind_sockets(port, host, backlog=2 * MOST_CONNECTIONS)
    except OSError as fault:
        raise ReportError(
            f"cannot listen on {host}:{port}: {fault.strerror or fault}; give another --port"
        ) from None
    dashboard = Dashboard(stores, pages, latest, names)
    application = dashboard.application(prefix, hosts)
    server = PageServer(application)
    server.add_sockets(sockets)
    # What the first visitor asks for is made before; locks make him wait instead of making it twice.
    first = asyncio.create_task(asyncio.to_thread(_warm, dashboard))
    bound = sockets[0].getsockname()[1]
    ready(f"http://{host}:{bound}/{prefix.strip('/') + '/' if prefix.strip('/') else ''}")
    try:
        with short_log():
            await asyncio.Event().wait()
    finally:
        server.stop()
        await asyncio.wait([first])
        dashboard.close()
