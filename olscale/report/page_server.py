"""A web server that limits its visitors: connections, seconds, bytes and lines of the log.

=========================================  ================================================
open connections                           `MOST_CONNECTIONS`, or a quarter of the file
                                           descriptors that the process may have; one more
                                           replaces the one that has waited longest
a connection that sends no whole request   `SECONDS_TO_ASK`
a visitor that does not accept an answer   `SECONDS_TO_TAKE`
a request                                  64 KiB of address and headers, and no body
the log                                    one line per kind of error
=========================================  ================================================
"""

from __future__ import annotations

import logging
import resource
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPMessageDelegate
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream
from tornado.log import access_log, app_log, gen_log

from olscale.printable import printable

LOG = logging.getLogger("olscale.dashboard")  # Dask silences Tornado's loggers
MOST_CONNECTIONS = 256
SECONDS_TO_ASK = 20.0
SECONDS_TO_TAKE = 120.0
_MOST_HEADERS = 64 << 10
_MOST_KINDS = 50
_SECONDS_BETWEEN_LOOKS = 0.5


def most_connections() -> int:
    """Return how many connections may be open; stores' files need the other descriptors."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    # At least two, so that one connection that is kept open does not shut out the next.
    return min(MOST_CONNECTIONS, max(descriptors // 4, 2))


class PageServer(HTTPServer):
    """Tornado's server with the limits above.

    Parameters
    ----------
    application : Application
        Its setting ``busy`` is a set of the connections whose request it is answering: these make
        room for no other.
    most : int, optional
        Open connections.
    seconds : float
        For a whole request.
    """

    def initialize(
        self,
        *args: Any,
        most: int | None = None,
        seconds: float = SECONDS_TO_ASK,
        **kwargs: Any,
    ) -> None:
        """Set the limits."""
        (application,) = args
        self.busy: set[IOStream] = application.settings["busy"]
        self._most = most or most_connections()
        # A dict as a set with an order: keys stay in the order in which they were set.
        self._oldest_first: dict[IOStream, None] = {}
        self._listening: list[socket.socket] = []
        super().initialize(
            application,
            idle_connection_timeout=seconds,
            body_timeout=seconds,
            max_header_size=_MOST_HEADERS,
            max_buffer_size=2 * _MOST_HEADERS,
            max_body_size=1,  # earlier versions of Tornado take 0 for no limit
        )

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections at these sockets.

        Tornado's own loop spins when no descriptors are left.
        """
        for listening in sockets:
            self._listening.append(listening)
            self._listen(listening)

    def stop(self) -> None:
        """Stop accepting connections."""
        for listening in self._listening:
            IOLoop.current().remove_handler(listening)
            listening.close()
        self._listening.clear()

    def open_connections(self) -> list[IOStream]:
        """Return the connections, starting with the one that has waited longest."""
        return list(self._oldest_first)

    def _listen(self, listening: socket.socket) -> None:
        if listening in self._listening:
            IOLoop.current().add_handler(listening, self._accept, IOLoop.READ)

    def _accept(self, listening: socket.socket, events: int) -> None:
        if len(self._oldest_first) >= self._most and not self._make_room():
            self._look_later(listening)
            return
        try:
            connection, address = listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as fault:
            # Most often no descriptor is left; the connection stays in the system's queue.
            LOG.warning(
                "cannot take a connection: %s; others make room, or it waits",
                fault.strerror,
            )
            if not self._make_room():
                self._look_later(listening)
            return
        stream = IOStream(connection, max_buffer_size=self.max_buffer_size)
        self._oldest_first[stream] = None
        self.handle_stream(stream, address)

    def _look_later(self, listening: socket.socket) -> None:
        # The socket stays readable: a handler that takes nothing would be called without a pause.
        IOLoop.current().remove_handler(listening)
        IOLoop.current().call_later(_SECONDS_BETWEEN_LOOKS, self._listen, listening)

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for a request; False if none waits."""
        for stream in self._oldest_first:
            # Who is being answered has waited for its turn and is not turned away.
            if stream not in self.busy:
                del self._oldest_first[stream]
                stream.close()
                return True
        return False

    def start_request(
        self, server_conn: object, request_conn: Any
    ) -> HTTPMessageDelegate:
        """Begin to wait for a request."""
        # Last in the order again: a dict keeps the order in which keys are set.
        self._oldest_first.pop(request_conn.stream, None)
        self._oldest_first[request_conn.stream] = None
        return super().start_request(server_conn, request_conn)

    def on_close(self, server_conn: Any) -> None:
        """Forget a connection."""
        self._oldest_first.pop(server_conn.stream, None)
        super().on_close(server_conn)


class _OnceForAKind(logging.Filter):
    """Passes one line for each kind of error, and no traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        fault = None
        if record.exc_info:
            fault = record.exc_info[1]
        if fault is None:
            kind = str(record.msg)
            text = record.getMessage()
        else:
            place = "".join(
                f" ({Path(call.filename).name}:{call.lineno})"
                for call in extract_tb(fault.__traceback__)[-1:]
            )
            kind = f"{type(fault).__name__}{place}"
            text = f"internal error: {type(fault).__name__}: {fault}{place}"
        # A visitor could otherwise fill the disk with lines, by requests that all fail differently.
        if kind in self._kinds or len(self._kinds) >= _MOST_KINDS:
            return False
        self._kinds.add(kind)
        shown = printable(text)[:300]
        record.msg = f"olscale dashboard: {shown} (others of this kind are not shown)"
        record.args = record.exc_info = record.exc_text = None
        return True


@contextmanager
def short_log() -> Iterator[None]:
    """Limit server, Tornado and asyncio to one line of log per kind of error."""
    once_per_kind = _OnceForAKind()
    loggers = (LOG, access_log, app_log, gen_log, logging.getLogger("asyncio"))
    for logger in loggers:
        logger.addFilter(once_per_kind)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(once_per_kind)
