"""SVMlight text parsed by several tasks: byte ranges of a plain file, blocks of a bzip2 file.

A task parses the whole lines of its range, sets the rows aside in a file and answers with what it is called and with the
broken lines at both ends of the range. The reader takes the ranges in order, mends the line between two of them, and so
yields the rows that serial reading does. What numbering the indices have is found out from the first batch, as there.
"""

from __future__ import annotations

import io
import itertools
import mmap
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.bzip2_blocks import decompress_block, find_blocks
from olscale.data.formats.compression import open_source
from olscale.data.formats.lines import MAX_LINE, too_long
from olscale.data.formats.svmlight import read_svmlight
from olscale.data.formats.text import labels_beside
from olscale.data.ingest.spill import read_batches, write_batch
from olscale.errors import DatasetError

__all__ = ["RANGE_BYTES", "Parsers", "read_ranges"]

RANGE_BYTES = 16 << 20
"""Bytes of text of a range, to a block."""

_BLOCK_BYTES = 900_000
_ROW = re.compile(rb"^[ \t\r]*[^\s#]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parsers:
    """Who parses.

    Attributes
    ----------
    pool : Executor
        Runs tasks in other processes that see the same files.
    workers : int
        How many run at a time.
    """

    pool: Executor
    workers: int


@dataclass(frozen=True, slots=True)
class _Range:
    file: str
    bits: tuple[tuple[int, int], ...]
    """Of a bzip2 file: first bit and end of its blocks; of a plain file: those of the range."""
    packed: bool

    def text(self) -> bytes:
        first, last = self.bits[0][0] // 8, -(-self.bits[-1][1] // 8)
        with Path(self.file).open("rb") as file:
            file.seek(first)
            content = file.read(last - first)
        if not self.packed:
            return content
        return b"".join(decompress_block(content, start - 8 * first, stop - 8 * first) for start, stop in self.bits)


@dataclass(frozen=True, slots=True)
class _Parsed:
    head: bytes
    tail: bytes
    rows: str | None
    """File with the rows between."""


def read_ranges(source: str, file: str, options: ReadOptions, parsers: Parsers, spool: Path) -> Iterator[Batch] | None:
    """Return the rows of `source`, parsed in parallel, or None where it cannot be cut: it is small, or packed otherwise.

    Parameters
    ----------
    source : str
        What errors call it.
    file : str
        Local file of SVMlight text.
    options : ReadOptions
        As for serial reading.
    parsers : Parsers
    spool : Path
        Directory for parsed rows.

    Raises
    ------
    FormatError
        While reading, as serial reading does.
    """
    ranges = _cut(file, RANGE_BYTES)
    return None if len(ranges) < 2 else _read(source, options, ranges, parsers, spool)


def _cut(file: str, range_bytes: int) -> list[_Range]:
    path = Path(file)
    if "://" in file or not path.is_file() or path.stat().st_size <= range_bytes // 16 or labels_beside(file):
        return []
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:3] == b"BZh":
            blocks, each = find_blocks(content), max(1, range_bytes // _BLOCK_BYTES)
            return [_Range(file, tuple(blocks[i : i + each]), True) for i in range(0, len(blocks), each)]
        if content[:2] == b"\x1f\x8b" or content[:3] in (b"\xfd7z", b"\x28\xb5\x2f", b"\xef\xbb\xbf"):
            return []
        edges = [*range(0, len(content), range_bytes), len(content)]
    return [_Range(file, ((8 * start, 8 * stop),), False) for start, stop in pairwise(edges)]


def _read(source: str, options: ReadOptions, ranges: list[_Range], parsers: Parsers, spool: Path) -> Iterator[Batch]:
    def serial() -> Iterator[Batch]:
        return read_svmlight(source, replace(options, stream=open_source(ranges[0].file)))

    known = replace(options, zero_based=next(serial()).zero_based)
    spool.mkdir(parents=True, exist_ok=True)
    waiting: deque[Future[_Parsed]] = deque()
    todo = enumerate(ranges)
    broken = b""
    try:
        while True:
            # A few ahead keep all workers busy; more would only fill the disk.
            for number, span in itertools.islice(todo, 2 * parsers.workers - len(waiting)):
                waiting.append(parsers.pool.submit(_parse, span, known, str(spool / f"range-{number}")))
            if not waiting:
                break
            parsed = waiting.popleft().result()
            broken += parsed.head
            if len(broken) > MAX_LINE:
                raise too_long(source, 1)  # serial reading names the line
            if parsed.rows is not None:
                yield from _lines(source, broken, known)
                if (rows := Path(parsed.rows)).exists():  # a line may end in the range without any being whole in it
                    yield from read_batches(rows)
                broken = parsed.tail
        yield from _lines(source, broken, known)
    except Exception as error:
        # Serial reading counts lines from the start of the file, and says what is wrong with compressed data.
        for _ in serial():
            pass
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise DatasetError(f"{source}: a worker failed ({reason}); ingest again, without workers") from error
    finally:
        for future in waiting:
            future.cancel()


def _parse(span: _Range, options: ReadOptions, file: str) -> _Parsed:
    """Parse the whole lines of a range; runs in a worker."""
    text = span.text()
    start, stop = text.find(b"\n") + 1, text.rfind(b"\n") + 1
    if start == stop:
        return _Parsed(text[:start], text[stop:], file) if start else _Parsed(text, b"", None)
    with Path(file).open("wb") as out:
        for batch in _lines(span.file, text[start:stop], options):
            write_batch(out, batch)
    return _Parsed(text[:start], text[stop:], file)


def _lines(source: str, text: bytes, options: ReadOptions) -> Iterator[Batch]:
    """Yield the rows in `text`; none at all is fine."""
    if _ROW.search(text):
        yield from read_svmlight(source, replace(options, stream=io.BufferedReader(io.BytesIO(text))))
