"""Archives of several files, tar and zip: one file per segment, as the URL set is published.

A tar archive is read in one pass, with its members in any order; a thread decompresses it while
earlier bytes are parsed. A zip archive has a table at its end that says where members are, so each
can be opened on its own.
"""

import io
import os
import re
import stat
import tarfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from io import BufferedReader, RawIOBase
from itertools import islice
from pathlib import PurePosixPath
from queue import Empty, Queue
from threading import Event, Thread
from typing import IO, Any, cast
from zipfile import ZipFile, ZipInfo

from olscale.data.formats.compression import decompressed, open_raw, open_source
from olscale.data.formats.npz import NpzFormat
from olscale.data.ingest.data_files import is_note, looks_like_rows, tells_format
from olscale.errors import FormatError

_BLOCK_BYTES = 1 << 18
_BLOCKS = 4
_STOP_SECONDS = 0.01


def read_ahead(stream: io.BufferedReader) -> io.BufferedReader:
    """Return `stream`, read ahead in a thread if a second core is available.

    Closing it closes `stream`. Errors of `stream` are raised where its bytes would have been.
    """
    # Those that the process may use, which containers limit.
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )
    if cores < 2:
        return stream
    return io.BufferedReader(_Ahead(stream), _BLOCK_BYTES)


class _Ahead(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._rest = memoryview(b"")
        self._blocks: Queue[bytes | BaseException] = Queue(_BLOCKS)
        self._last: bytes | BaseException | None = None
        self._stop = Event()
        # A daemon: a process that ends does not wait for a slow source.
        self._thread = Thread(target=self._read, name="olscale-read-ahead", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        block: bytes | BaseException = b"more"
        while (
            block and not isinstance(block, BaseException) and not self._stop.is_set()
        ):
            try:
                block = self._stream.read(_BLOCK_BYTES)
            except BaseException as error:  # raised again in the reading thread
                block = error
            self._blocks.put(block)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            block = self._blocks.get() if self._last is None else self._last
            if isinstance(block, BaseException):
                self._last = block
                raise block
            self._last = None if block else block
            self._rest = memoryview(block)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._stop.set()
            while self._thread.is_alive():  # the thread may wait for room
                try:
                    self._blocks.get(timeout=_STOP_SECONDS)
                except Empty:
                    continue
            self._stream.close()
        super().close()


_TAR = r"\.(?:tar|tar\.(?:gz|bz2|xz|zst)|tgz|tbz2|txz)"
_ARCHIVE = re.compile(rf"(?:{_TAR}|\.zip)$", re.IGNORECASE)
_MEMBERS = re.compile(rf"(.*?(?:{_TAR}|\.zip))[#/](.+)", re.IGNORECASE | re.DOTALL)
_HEAD_BYTES = 512
# Few enough to stay in the cache between decompressing and writing.
_READ_BYTES = 1 << 17

# Largest size of a name; the contents of members are read in much smaller pieces.
_MOST_BYTES = 1 << 24


def is_archive(source: str) -> bool:
    """Return whether `source` has the name of a tar or zip archive; NumPy's archives are neither.

    Examples
    --------
    >>> is_archive("url_svmlight.tar.gz"), is_archive("Day0.svm.gz")
    (True, False)
    """
    return _ARCHIVE.search(source) is not None and not (
        is_zip(source) and _holds_arrays(source)
    )


def is_zip(source: str) -> bool:
    """Return whether `source` has the name of a zip archive."""
    return source.lower().endswith(".zip")


def split_archive(source: str) -> tuple[str, str | None]:
    """Return an archive and the pattern after its name, which selects the members to read.

    Examples
    --------
    >>> split_archive("data.zip#*.csv"), split_archive("sets/data.tar.gz/days/Day?.svm")
    (('data.zip', '*.csv'), ('sets/data.tar.gz', 'days/Day?.svm'))
    >>> split_archive("data.zip")
    ('data.zip', None)
    """
    match = _MEMBERS.fullmatch(source)
    if match is None:
        return source, None
    return match[1], match[2]


def fits(path: str, pattern: str) -> bool:
    """Return whether the end of a member's path matches a pattern.

    Examples
    --------
    >>> fits("data/days/Day0.svm", "days/*.svm"), fits("data/a[1].csv", "a[1].csv")
    (True, True)
    """
    if f"/{path}".endswith(f"/{pattern}"):
        return True
    return bool(PurePosixPath(pattern).parts) and PurePosixPath(path).match(pattern)


def may_be_data(path: str, pattern: str | None) -> bool:
    """Return whether a member's name matches `pattern` or, without one, is not that of a note."""
    if pattern is None:
        return not is_note(path)
    return fits(path, pattern)


def is_data(
    path: str,
    pattern: str | None,
    format: str | None,
    content: BufferedReader,
) -> bool:
    """Return whether a member that `may_be_data` is data: it is named, or looks like rows.

    Parameters
    ----------
    path : str
    pattern : str, optional
    format : str, optional
        If the user names it, every member is of that format.
    content : BufferedReader
        The member's bytes; the position, the first byte, does not change.
    """
    # What the user or an ending names is not opened only to be looked at.
    if pattern is not None or format is not None or tells_format(path):
        return True
    return looks_like_rows(path, content)


def open_members(
    archive: str,
    pattern: str | None = None,
    format: str | None = None,
    passed_over: list[str] | None = None,
) -> Generator[tuple[str, BufferedReader]]:
    """Yield path and decompressed content of the data files in a tar archive, in its order.

    Read each before asking for the next.

    Parameters
    ----------
    archive : str
    pattern, format : str, optional
        See `is_data`.
    passed_over : list of str, optional
        Receives the paths of all other files.

    Raises
    ------
    FormatError
        When `archive` is missing, damaged or no tar archive.
    """
    with read_ahead(open_source(archive)) as stream:
        forward = _Forward(archive, stream)
        try:
            # As an uncompressed one: `open_source` decompresses it, and ahead of the reader.
            with tarfile.open(fileobj=cast(Any, forward), mode="r:") as tar:
                for info in tar:
                    path = info.name
                    if info.isdir():
                        continue
                    content = None
                    if may_be_data(path, pattern):
                        content = _opened(archive, forward, info)
                    if content is not None and is_data(path, pattern, format, content):
                        yield path, content
                    elif passed_over is not None:
                        passed_over.append(path)
        # The last two are raised for invalid sizes and names of members.
        except (tarfile.TarError, ValueError, OverflowError) as error:
            raise FormatError(
                archive, f"is no tar archive or is damaged ({error})"
            ) from error


def _opened(
    archive: str, forward: "_Forward", info: tarfile.TarInfo
) -> BufferedReader | None:
    """Return the decompressed content of a member, or None if it is no file, such as a link."""
    if info.issparse():
        # Holes are zero bytes, in any number that a header of 512 bytes claims.
        raise FormatError(
            archive,
            f"{info.name} has holes, which no text has; pack it without --sparse",
        )
    if not info.isfile():
        return None
    if info.size < 0:
        problem = f"is no tar archive or is damaged ({info.name} has {info.size} bytes)"
        raise FormatError(archive, problem)
    forward.seek(info.offset_data)
    content = BufferedReader(_Content(forward, info.size), _READ_BYTES)
    return decompressed(
        f"{archive}: {PurePosixPath(info.name).name}", content, content.peek(6)[:6]
    )


def _holds_arrays(source: str) -> bool:
    try:
        with open_raw(source) as file:
            head = file.read(_HEAD_BYTES)
    except FormatError:
        return False
    # Arrays may be called .zip as well, since NumPy's archives are zip files.
    return NpzFormat().matches(source, head)


class _Forward:
    """A stream as a file in which tarfile seeks, always forward.

    tarfile's own stream mode copies more, for a tenth of the time of gunzip, and with it a header
    that claims 2**60 bytes would keep it reading long after the end.
    """

    def __init__(self, archive: str, stream: BufferedReader) -> None:
        self.archive = archive
        self._stream = stream
        self._at = 0

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if size > _MOST_BYTES:  # memory is allocated before the first byte is read
            raise FormatError(
                self.archive,
                f"is no tar archive or is damaged (a name of {size:,} bytes); get it again",
            )
        part = self._stream.read(size)
        self._at += len(part)
        return part

    def readinto(self, buffer: memoryview) -> int:
        got = self._stream.readinto(buffer)
        self._at += got
        return got

    def seek(self, position: int) -> None:
        while self._at < position:
            if not self.read(min(position - self._at, _READ_BYTES)):
                raise FormatError(
                    self.archive,
                    "truncated: a file in it is longer than the archive; get it again",
                )


class _Content(RawIOBase):
    """A file in an archive, decompressed in place; tarfile's own way copies it three times more."""

    def __init__(self, forward: _Forward, size: int) -> None:
        self._forward = forward
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        size = min(len(buffer), self._left)
        got = 0
        if size:
            got = self._forward.readinto(memoryview(buffer)[:size])
        if size and not got:
            raise FormatError(
                self._forward.archive,
                "is no tar archive or is damaged (unexpected end of data)",
            )
        self._left -= got
        return got


@contextmanager
def open_member(archive: str, number: int) -> Iterator[BufferedReader]:
    """Open data file `number` of `archive`, counted from 0 in archive order.

    Raises
    ------
    FormatError
        When there are fewer.
    """
    with closing(open_members(archive)) as members:
        member = next(islice(members, number, None), None)
        if member is None:
            raise FormatError(
                archive,
                "changed while it was read: files in it are gone; ingest it again",
            )
        yield member[1]


_SPREADSHEET = "[Content_Types].xml"


def open_zip_members(
    archive: str,
    pattern: str | None,
    format: str | None,
    passed_over: list[str],
) -> Generator[tuple[int, str, BufferedReader]]:
    """Yield number, path and decompressed content of the data files in a zip archive.

    Parameters
    ----------
    archive : str
    pattern, format : str, optional
        See `olscale.data.ingest.archive.is_data`.
    passed_over : list of str
        Receives the paths of all other files.

    Raises
    ------
    FormatError
        When `archive` is missing, damaged, encrypted or a spreadsheet.
    """
    with _open_zip(archive) as opened:
        infos = opened.infolist()
        if any(info.filename == _SPREADSHEET for info in infos):
            raise FormatError(
                archive, "is a spreadsheet, which is not read; save it as CSV"
            )
        for number, info in enumerate(infos):
            path = info.filename
            if info.is_dir():
                continue
            # The content of a link is a path, which is no row.
            if may_be_data(path, pattern) and not stat.S_ISLNK(
                info.external_attr >> 16
            ):
                with _opened_in_zip(archive, opened, info) as content:
                    if is_data(path, pattern, format, content):
                        yield number, path, content
                        continue
            passed_over.append(path)


@contextmanager
def open_zip_member(archive: str, number: int) -> Iterator[BufferedReader]:
    """Open file `number` of a zip archive, counted from 0.

    Raises
    ------
    FormatError
        When there are fewer.
    """
    with _open_zip(archive) as opened:
        infos = opened.infolist()
        if number >= len(infos):
            problem = "changed while it was read: files in it are gone; ingest it again"
            raise FormatError(archive, problem)
        with _opened_in_zip(archive, opened, infos[number]) as content:
            yield content


@contextmanager
def _open_zip(archive: str) -> Iterator[ZipFile]:
    with open_raw(archive) as file:
        try:
            opened = ZipFile(file)
        except FormatError:
            raise
        except Exception as error:  # zipfile raises nearly anything for damaged bytes
            raise _damaged(archive, error) from error
        with opened:
            yield opened


def _opened_in_zip(archive: str, opened: ZipFile, info: ZipInfo) -> BufferedReader:
    try:
        member = opened.open(info)
    except FormatError:
        raise
    except Exception as error:  # also for an unknown encryption or compression
        raise _damaged(archive, error) from error
    content = BufferedReader(_ZipContent(archive, member), _READ_BYTES)
    name = f"{archive}: {PurePosixPath(info.filename).name}"
    return decompressed(name, content, content.peek(6)[:6])


class _ZipContent(RawIOBase):
    """A member: every read succeeds or raises `FormatError`."""

    def __init__(self, archive: str, member: IO[bytes]) -> None:
        self._archive = archive
        self._member = member

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            part = self._member.read(len(buffer))
        except FormatError:
            raise
        except Exception as error:
            # zipfile and its decompressors raise nearly anything
            raise _damaged(self._archive, error) from error
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._member.close()
        super().close()


def _damaged(archive: str, error: Exception) -> FormatError:
    if isinstance(error, RuntimeError) and "password" in str(error):
        return FormatError(archive, "is encrypted; unpack it, and name the data files")
    if isinstance(error, NotImplementedError):
        problem = f"is compressed in a way that is not read ({error})"
        return FormatError(archive, f"{problem}; unpack it, and name the data files")
    reason = str(error) or repr(error)
    return FormatError(
        archive, f"is no zip archive or is damaged ({reason}); get it again"
    )
