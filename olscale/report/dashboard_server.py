"""The web server of the dashboard: its addresses, what they answer, and how it starts and ends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tornado.iostream import IOStream, StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from olscale.errors import OlscaleError, ReportError
from olscale.report.dashboard import Dashboard
from olscale.report.html import escape
from olscale.report.page_server import (
    LOG,
    MOST_CONNECTIONS,
    SECONDS_TO_TAKE,
    PageServer,
    short_log,
)
from olscale.report.run_list import (
    MOST_ADDED,
    Query,
)
from olscale.report.run_page import MOST_COMPARED
from olscale.results.store import Store

_MOST_CHARACTERS = 200
_HERE = ("localhost", "127.0.0.1", "[::1]")


def application(
    dashboard: Dashboard, prefix: str = "", hosts: Sequence[str] = _HERE
) -> Application:
    """Return the web application of a dashboard, with addresses below `prefix`.

    It answers only requests to `hosts`.
    """
    start = f"/{prefix.strip('/')}" if prefix.strip("/") else ""
    arguments = {"dashboard": dashboard, "hosts": hosts}
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
        # An empty list means any host: who listens on another address has opened the
        # page to others.
        hosts = _HERE if host in (*_HERE, "::1") and not prefix else ()
    try:
        sockets = bind_sockets(port, host, backlog=2 * MOST_CONNECTIONS)
    except OSError as fault:
        raise ReportError(
            f"cannot listen on {host}:{port}: {fault.strerror or fault}; give another --port"
        ) from None
    dashboard = Dashboard(stores, pages, latest, names)
    server = PageServer(application(dashboard, prefix, hosts))
    server.add_sockets(sockets)
    # What the first visitor asks for is made before; locks make him wait, or it would be made
    # twice.
    first = asyncio.create_task(asyncio.to_thread(_warm, dashboard))
    bound = sockets[0].getsockname()[1]
    ready(
        f"http://{host}:{bound}/{prefix.strip('/') + '/' if prefix.strip('/') else ''}"
    )
    try:
        with short_log():
            await asyncio.Event().wait()
    finally:
        server.stop()
        # A thread cannot be stopped, and its folder must not go before it has ended.
        await asyncio.wait([first])
        dashboard.close()


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
            and (host.rsplit(":", 1)[0] if not host.endswith("]") else host)
            not in self.hosts
        ):
            raise HTTPError(
                403,
                reason="this dashboard answers requests to its own address alone; see --host",
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
            # A later request gets what is made of the files as they are then.
            making[of].add_done_callback(lambda _: making.pop(of))
        busy = self.settings["busy"]
        stream = self._stream
        busy.add(stream)
        try:
            # A visitor who leaves must not cancel what others wait for.
            return await asyncio.shield(making[of])
        except IndexError:
            raise HTTPError(404) from None
        except OlscaleError as fault:
            # A store may vanish or be damaged while it is watched: the page continues,
            # with a line.
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
        # Each run is read whole: a request must not ask for thousands.
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
        self.set_header(
            "Content-Type", kinds.get(file.suffix, "application/octet-stream")
        )
        await self.give(content)


class _Report(_Files):
    async def get(self, number: str, name: str) -> None:
        await self.give_file(await self.made(self.dashboard.report, int(number)), name)


class _Night(_Files):
    async def get(self, number: str, night: str, name: str) -> None:
        await self.give_file(
            await self.made(self.dashboard.night, int(number), night), name
        )


class _Icon(RequestHandler):
    def get(self) -> None:
        """Stop browsers from requesting an icon, as they do for pages that name none."""
        self.set_header("Cache-Control", "max-age=86400")
        self.set_status(204)
