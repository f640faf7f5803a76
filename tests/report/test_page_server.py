"""Visitors take little of the process that serves a page, whatever they send or leave unsaid."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tornado.netutil import bind_sockets

from olscale.report import dashboard_server, page_server
from olscale.report.dashboard import Dashboard
from olscale.report.dashboard_server import application
from olscale.report.page_server import LOG, PageServer, most_connections, short_log
from tests.soak import ADDRESSES, Served, answer, request, served, soak

DESCRIPTORS = 64


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served"), DESCRIPTORS) as at:
        yield at


def status(port: int, asks: bytes) -> int:
    return asyncio.run(asyncio.wait_for(answer(port, asks), 60))


def test_what_cannot_be_is_not_there_and_the_log_has_a_line_for_a_kind_of_refusal(
    process: Served,
) -> None:
    assert status(process.port, request("/report/0/", "Connection: close")) == 200
    for address in ADDRESSES * 3:
        assert status(process.port, request(address, "Connection: close")) in (
            400,
            404,
        ), address[:40]
    lines = process.lines()
    assert sorted(line.split(": ")[1] for line in lines) == ["400", "404"]
    assert not any("Traceback" in line for line in lines)


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
@pytest.mark.parametrize(
    "header", ["Content-Length: 100000000", "Transfer-Encoding: chunked"]
)
def test_a_body_is_refused_before_it_is_sent(
    process: Served, host: str, header: str
) -> None:
    asks = request("/", header, method="POST", host=host)
    if "chunked" in header:
        asks += b"5f5e100\r\n"
    assert status(process.port, asks) == 400


def test_connections_beyond_the_descriptors_make_room_for_who_asks(
    process: Served,
) -> None:
    before = len(process.lines())
    idle = [
        socket.create_connection(("127.0.0.1", process.port))
        for _ in range(2 * DESCRIPTORS)
    ]
    try:
        assert status(process.port, request("/", "Connection: close")) == 200
        assert idle[0].recv(1) == b""  # the oldest has made room
        assert process.descriptors() < DESCRIPTORS
        assert len(process.lines()) == before
    finally:
        for connection in idle:
            connection.close()


@asynccontextmanager
async def serving(
    sockets: list[Any] | None = None, **limits: Any
) -> AsyncIterator[tuple[PageServer, int]]:
    """Serve a page of no store here."""
    page = Dashboard([])
    server = PageServer(application(page), **limits)
    listening = sockets or bind_sockets(0, "127.0.0.1")
    server.add_sockets(listening)
    try:
        yield server, listening[0].getsockname()[1]
    finally:
        server.stop()
        await server.close_all_connections()
        page.close()


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_who_asks_for_nothing_in_time_is_left_alone(begun: bytes) -> None:
    async def left_alone() -> bytes:
        async with serving(seconds=0.05) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)
            try:
                return await reader.read()
            finally:
                writer.close()

    assert asyncio.run(left_alone()) == b""


def test_who_does_not_take_the_answer_in_time_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dashboard_server, "SECONDS_TO_TAKE", 0.05)
    monkeypatch.setattr(Dashboard, "page", lambda page: "x" * (32 << 20))

    async def taken() -> int:
        async with serving() as (server, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("/"))
            await reader.readexactly(1)
            while server.open_connections():
                await asyncio.sleep(0.01)
            try:
                return len(await reader.read())
            except ConnectionResetError:
                return 0
            finally:
                writer.close()

    assert asyncio.run(taken()) < 32 << 20


def test_a_request_that_is_being_answered_makes_room_for_no_other_and_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Event()
    times = []

    def page(of: Dashboard) -> str:
        times.append(1)
        made.wait(60)
        return "made"

    monkeypatch.setattr(Dashboard, "page", page)
    monkeypatch.setattr(page_server, "_SECONDS_BETWEEN_LOOKS", 0.01)

    async def answers() -> list[int]:
        async with serving(most=3) as (server, port):
            asks = request("/", "Connection: close")
            asking = [asyncio.create_task(answer(port, asks)) for _ in range(2)]
            while len(server.busy) < 2:
                await asyncio.sleep(0.01)
            for _ in range(6):
                await answer(port, request("/favicon.ico", "Connection: close"))
            asking += [asyncio.create_task(answer(port, asks))]
            while len(server.busy) < 3:
                await asyncio.sleep(0.01)
            # waits until another has its answer
            asking += [asyncio.create_task(answer(port, asks))]
            await asyncio.sleep(0.05)
            assert len(server.busy) == 3
            made.set()
            return await asyncio.gather(*asking)

    assert asyncio.run(answers()) == [200] * 4
    assert len(times) == 2


class NoDescriptors(socket.socket):
    """A listening socket of a process that has no descriptor left for two connections."""

    refused = 0

    def accept(self) -> tuple[socket.socket, Any]:
        if self.refused < 2:
            self.refused += 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def asked_without_descriptors(seconds: float) -> int:
    """Return how often the socket is asked for a connection, with so much between, until it has one or for a moment."""
    with NoDescriptors() as listening:
        listening.setblocking(False)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        async with serving([listening]) as (_, port):
            asking = asyncio.create_task(
                answer(port, request("/", "Connection: close"))
            )
            while not listening.refused:
                await asyncio.sleep(0.01)
            if seconds < 1:
                assert await asking == 200
            await asyncio.sleep(0.05)
            asking.cancel()
            return listening.refused


def test_without_descriptors_the_server_waits_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with short_log():
        for seconds, refused in ((3600, 1), (0.01, 2)):
            monkeypatch.setattr(page_server, "_SECONDS_BETWEEN_LOOKS", seconds)
            assert asyncio.run(asked_without_descriptors(seconds)) == refused
    [line] = caplog.messages
    assert "cannot take a connection: Too many open files" in line


def test_a_fault_is_one_line_however_often_it_happens(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with short_log():
        for number in range(5):
            try:
                raise ValueError(f"number {number}\nis wrong")
            except ValueError:
                LOG.exception("Uncaught exception")
        for number in range(1_000):
            LOG.warning(f"{number} of another kind")
    assert caplog.messages[0].startswith(
        "olscale dashboard: internal error: ValueError: number 0\\nis wrong (test_page"
    )
    assert len(caplog.messages) < 100
    assert not any(record.exc_info for record in caplog.records)
    assert not logging.getLogger("asyncio").filters


def test_most_descriptors_are_left_to_the_files_of_stores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit, expected in ((-1, 256), (100_000, 256), (64, 16), (3, 2)):
        monkeypatch.setattr(
            page_server.resource, "getrlimit", lambda _, limit=limit: (limit, -1)
        )
        assert most_connections() == expected


@pytest.mark.slow
def test_a_thousand_connections_for_a_minute(tmp_path: Path) -> None:
    assert soak(tmp_path, 60, 1_000).failures() == []
