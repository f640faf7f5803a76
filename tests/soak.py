"""The command ``python -m tests.soak``: a served page with 1,000 visitors who mean no good, and one who does.

Some open a connection and say nothing, some say a character a second, send bodies, take no answer,
ask for names that cannot be, leave before they are answered; each begins again when its connection
ends.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from olscale.results import Record, open_store, run_id

MOST_MEGABYTES = 150
MOST_LINES = 20
PATIENCE = 15.0
NAMES = ("%00", "x" * 5_000, "a/" * 3_000, "..%2f..%2fetc/passwd", "%ff", "figures")
ADDRESSES = (
    *(f"/report/0/{name}" for name in NAMES),
    f"/live/{'9' * 5_000}",
    "/live/%D9%A0",
    "/%00",
    "/live/77",
)


@dataclass
class Served:
    """A dashboard in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def lines(self) -> list[str]:
        """Return what it has logged."""
        return self.log.read_text().splitlines()

    def megabytes(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def descriptors(self) -> int:
        """Return how many descriptors it has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def processor_seconds(self) -> float:
        """Return what it has taken of the processor."""
        user, system = (
            Path(f"/proc/{self.process.pid}/stat")
            .read_text()
            .rpartition(")")[2]
            .split()[11:13]
        )
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(folder: Path, descriptors: int | None = None) -> Iterator[Served]:
    """Serve a store of one run, with as many file descriptors at most."""
    run = {
        "dataset": {"name": "digits", "fingerprint": "f" * 64},
        "transforms": [],
        "learner": {"name": "pa1", "version": 1, "params": {}},
        "protocol": {"order": "permuted", "seed": 0, "permutation": 0},
    }
    record = Record(
        run=run, id=run_id(run), outcome="ok", metrics={"cumulative_error": 0.5}
    )
    open_store(folder / "store", create=True).write(record)
    limit = f"ulimit -n {descriptors}; " if descriptors else ""
    command = (
        f'{limit}exec "{sys.executable}" -m olscale dashboard "{folder / "store"}"'
    )
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        yield Served(process, urlsplit(said.split()[2]).port or 0, folder / "log")
    finally:
        process.kill()
        process.communicate()


def request(
    address: str, *headers: str, method: str = "GET", host: str = "127.0.0.1"
) -> bytes:
    """Return the bytes that ask for an address."""
    return "\r\n".join(
        [f"{method} {address} HTTP/1.1", f"Host: {host}", *headers, "", ""]
    ).encode()


async def answer(port: int, asks: bytes) -> int:
    """Return the status of the answer to a request, all of which is read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(asks)
        await reader.readuntil(b" ")
        status = int(await reader.readexactly(3))
        await reader.read()
        return status
    finally:
        writer.close()


async def says_nothing(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    await reader.read()


async def says_a_character_a_second(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    for character in request("/", "X: " + "x" * 1_000).decode():
        writer.write(character.encode())
        await writer.drain()
        await asyncio.sleep(1)


async def sends_a_body(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    chunked = number % 2
    writer.write(
        request(
            "/",
            "Transfer-Encoding: chunked" if chunked else "Content-Length: 100000000",
            method="POST",
        )
    )
    for _ in range(100):
        writer.write(
            (b"100000\r\n" if chunked else b"")
            + bytes(1 << 20)
            + (b"\r\n" if chunked else b"")
        )
        await writer.drain()


async def takes_no_answer(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(request("/") * 20)
    await asyncio.sleep(1_000)


async def asks_for_what_cannot_be(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(request(ADDRESSES[number % len(ADDRESSES)], "Connection: close"))
    await reader.read()


async def comes_from_another_page(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(request("/", "Connection: close", host="evil.example"))
    await reader.read()


async def leaves_at_once(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(request("/"))
    await writer.drain()


async def talks_nonsense(
    number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(bytes(range(256)) * 1_000)
    await reader.read()


Visit = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
VISITS: tuple[Visit, ...] = (
    says_nothing,
    says_a_character_a_second,
    sends_a_body,
    takes_no_answer,
    asks_for_what_cannot_be,
    comes_from_another_page,
    leaves_at_once,
    talks_nonsense,
)


@dataclass
class Soaked:
    """What came of it."""

    visits: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    left: int = 0
    lines: list[str] = field(default_factory=list)
    processor_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def most_left(self) -> int:
        """How many descriptors may be open at the end."""
        return self.descriptors[0] + 10

    def failures(self) -> list[str]:
        """Return what must not be."""
        failures = [
            f"the visitor was not answered: {fault}" for fault in self.unanswered[:3]
        ]
        if not self.waits:
            failures.append("the visitor was never answered")
        if max(self.megabytes) - self.megabytes[0] > MOST_MEGABYTES:
            failures.append(
                f"memory grew by {max(self.megabytes) - self.megabytes[0]:.0f} MB"
            )
        if len(self.lines) > MOST_LINES or any(
            "internal error" in line for line in self.lines
        ):
            failures.append(
                f"{len(self.lines)} lines of log, the first: {self.lines[0]}"
            )
        if self.left > self.most_left:
            failures.append(
                f"{self.left} descriptors were left open, {self.descriptors[0]} before"
            )
        return failures

    def report(self) -> list[str]:
        """Return the figures, one a line."""
        waits = sorted(self.waits) or [0.0]
        return [
            f"connections: {self.visits.total():,} in {self.seconds:.0f} s",
            f"the visitor who means well: {len(self.waits)} answers, in "
            f"{waits[len(waits) // 2]:.2f} s (median), "
            f"{waits[-1]:.2f} s (longest); {len(self.unanswered)} failed",
            f"memory: {self.megabytes[0]:.0f} MB before, {max(self.megabytes):.0f} MB at most",
            f"descriptors: {self.descriptors[0]} before, {max(self.descriptors)} at most, "
            f"{self.left} after",
            f"log: {len(self.lines)} lines",
            f"processor: {self.processor_seconds:.1f} s",
            *(f"FAILED: {failure}" for failure in self.failures()),
        ]


async def visit(number: int, port: int, soaked: Soaked) -> None:
    """Visit again and again."""
    await asyncio.sleep(number % 100 / 50)
    kind = VISITS[number % len(VISITS)]
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            soaked.visits[kind.__name__] += 1
            try:
                await kind(number // len(VISITS), reader, writer)
            finally:
                writer.close()
        await asyncio.sleep(2)


async def mean_well(at: Served, soaked: Soaked) -> None:
    """Ask for the page twice a second, and look at the server."""
    while True:
        began = time.monotonic()
        try:
            status = await asyncio.wait_for(
                answer(at.port, request("/", "Connection: close")), PATIENCE
            )
            if status == 200:
                soaked.waits.append(time.monotonic() - began)
            else:
                soaked.unanswered.append(str(status))
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as fault:
            soaked.unanswered.append(repr(fault))
        soaked.megabytes.append(at.megabytes())
        soaked.descriptors.append(at.descriptors())
        await asyncio.sleep(0.5)


async def _soak(at: Served, seconds: float, connections: int) -> Soaked:
    for address in ("/", "/report/0/"):
        assert await answer(at.port, request(address, "Connection: close")) == 200
    soaked = Soaked(megabytes=[at.megabytes()], descriptors=[at.descriptors()])
    began = time.monotonic()
    before = at.processor_seconds()
    tasks = [
        asyncio.create_task(visit(number, at.port, soaked))
        for number in range(connections)
    ]
    tasks.append(asyncio.create_task(mean_well(at, soaked)))
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    soaked.seconds = time.monotonic() - began
    soaked.processor_seconds = at.processor_seconds() - before
    # on a machine with other work the server is slow, too
    deadline = time.monotonic() + 30
    while (left := at.descriptors()) > soaked.most_left and time.monotonic() < deadline:
        await asyncio.sleep(0.5)
    soaked.left = left
    soaked.lines = at.lines()
    return soaked


def soak(
    folder: Path, seconds: float, connections: int, descriptors: int | None = None
) -> Soaked:
    """Return what comes of so many connections for so long."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with served(folder, descriptors or 1024) as at:
        return asyncio.run(_soak(at, seconds, connections))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description="Visit a served page badly; exit 1 where others suffer from it.",
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument(
        "--descriptors", type=int, default=1_024, help="what the server may have open"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="olscale-soak-") as folder:
        soaked = soak(Path(folder), given.seconds, given.connections, given.descriptors)
    print("\n".join(soaked.report()))
    return 1 if soaked.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
