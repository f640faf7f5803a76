"""A stream that is read ahead is the stream: its bytes, its errors in their place, and no thread left behind."""

from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from olscale.data.formats.compression import open_source
from olscale.data.ingest import archive
from olscale.data.ingest.archive import read_ahead
from olscale.errors import FormatError

pytestmark = pytest.mark.usefixtures("two_cores")


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


def threads() -> int:
    return sum(thread.name == "olscale-read-ahead" for thread in threading.enumerate())


@pytest.mark.parametrize("size", [0, 1, (1 << 18) - 1, 1 << 18, 3_000_001])
def test_bytes_are_the_same(size: int) -> None:
    content = os.urandom(size)
    with read_ahead(io.BufferedReader(io.BytesIO(content))) as stream:
        assert stream.peek(6)[:6] == content[:6]
        assert stream.read(100_000) + stream.read() == content
        assert stream.read(1) == b""
    assert threads() == 0


def test_an_error_comes_behind_the_bytes_before_it_and_stays(tmp_path: Path) -> None:
    whole = os.urandom(2_000_000)
    file = tmp_path / "rows.gz"
    file.write_bytes(gzip.compress(whole, 1)[:-300_000])
    parts: list[bytes] = []
    with read_ahead(open_source(str(file))) as stream:
        with pytest.raises(FormatError, match="truncated"):
            parts.extend(iter(lambda: stream.read1(50_000), b""))
        with pytest.raises(FormatError, match="truncated"):
            stream.read1(1)
    read = b"".join(parts)
    assert 1_000_000 < len(read) < 2_000_000
    assert whole.startswith(read)
    assert threads() == 0


def test_closing_early_ends_the_thread_and_closes_the_stream() -> None:
    below = io.BufferedReader(io.BytesIO(bytes(1 << 24)))
    stream = read_ahead(below)
    assert threads() == 1
    assert stream.read(10) == bytes(10)
    stream.close()
    assert threads() == 0
    assert below.closed


def test_one_core_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive.os, "sched_getaffinity", lambda _: {0}, raising=False)
    stream = io.BufferedReader(io.BytesIO(b"rows"))
    assert read_ahead(stream) is stream
