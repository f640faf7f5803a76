"""The page that shows stores while they fill: a small, read-only web server.

Addresses on the page are relative, so that it works behind a proxy under any path. What has not
changed since a browser last asked is not sent again.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from tornado.iostream import IOStream, StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from olscale.addresses import redacted_name
from olscale.analysis import summarise
from olscale.errors import OlscaleError, ReportError
from olscale.printable import printable
from olscale.report.html import escape, paragraphs, table_html
from olscale.report.live_html import live_html
from olscale.report.notes import damage_notes
from olscale.report.page_server import LOG, MOST_CONNECTIONS, SECONDS_TO_TAKE, PageServer, short_log
from olscale.report.tables import tables
from olscale.report.write import write_report
from olscale.results.live import going_on
from olscale.results.live_reader import LiveReader
from olscale.results.store import Store

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
    """

    def __init__(
        self,
        stores: Sequence[Store],
        pages: Sequence[Path] = (),
        latest: Mapping[int, Callable[[], Store]] | None = None,
    ) -> None:
        self._stores = list(stores)
        self.pages = list(pages)
        self._latest = latest or {}
        self._readers = [LiveReader(store) for store in stores]
        self._results: dict[int, tuple[_Stamps, str]] = {}
        self._reports: dict[int, tuple[_Stamps, Path]] = {}
        self._making = [Lock() for _ in stores]
        self._scratch = tempfile.TemporaryDirectory(prefix="olscale-dashboard-")

    def _store(self, number: int) -> Store:
        """Return a store: the latest one if others replace it."""
        if number in self._latest:
            store = self._latest[number]()
            if store.path != self._stores[number].path:
                self._stores[number] = store
                self._readers[number] = LiveReader(store)
        return self._stores[number]

    def live(self, number: int) -> str:
        """Return the running evaluations of a store as HTML."""
        self._store(number)
        return live_html(going_on(self._readers[number].read()), results_below=True)

    def results(self, number: int) -> str:
        """Return the tables of a store as HTML, rebuilt if its files have changed."""
        store = self._store(number)
        with self._making[number]:
            stamps = store.path, store.record_stamps()
            if number not in self._results or self._results[number][0] != stamps:
                parts = map(table_html, tables(summarise(store, on_damage="skip")))
                shown = "".join(parts) or "<p>No finished runs yet.</p>"
                notes = paragraphs(damage_notes(store.damaged), "note")
                self._results[number] = stamps, shown + notes
        return self._results[number][1]

    def report(self, number: int) -> Path:
        """Return the folder of a store's report, rewritten if its files have changed."""
        store = self._store(number)
        with self._making[number]:
            stamps = store.path, store.record_stamps()
            if number not in self._reports or self._reports[number][0] != stamps:
                folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
                try:
                    write_report(store, folder, on_damage="skip")
                except BaseException:
                    shutil.rmtree(folder)
                    raise
                if number in self._reports:
                    shutil.rmtree(self._reports[number][1])
                self._reports[number] = stamps, folder
        return self._reports[number][1]

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
            names=[
                printable(redacted_name(store.path) or store.path)
                for store in map(self._store, numbers)
            ],
            live=[Markup(self.live(number)) for number in numbers],
            results=[Markup(self.results(number)) for number in numbers],
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
                (rf"{start}/(live|results)/([0-9]{{1,6}})", _Part, arguments),
                (rf"{start}/report/([0-9]{{1,6}})/(.*)", _Report, arguments),
                (rf"{start}/page/([0-9]{{1,6}})/", _Other, arguments),
                (r"/favicon\.ico", _Icon),
            ],
            log_function=_log,
            busy=set(),
            in_the_making={},
        )


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


class _Other(_Handler):
    async def get(self, number: str) -> None:
        await self.give(await self.made(self.dashboard.other, int(number)))


class _Report(_Handler):
    async def get(self, number: str, name: str) -> None:
        folder = await self.made(self.dashboard.report, int(number))
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
    dashboard = Dashboard(stores, pages, latest)
    application = dashboard.application(prefix, hosts)
    server = PageServer(application)
    server.add_sockets(sockets)
    bound = sockets[0].getsockname()[1]
    ready(f"http://{host}:{bound}/{prefix.strip('/') + '/' if prefix.strip('/') else ''}")
    try:
        with short_log():
            await asyncio.Event().wait()
    finally:
        server.stop()
        dashboard.close()
