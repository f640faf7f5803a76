"""Archives of several files, and reading tar: a file per segment, as the URL set is published.

A tar archive is read in one pass, in any order of its members; for those of zip see
`olscale.data.ingest.zip_archive`.
"""

import re
import tarfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from io import BufferedReader, RawIOBase
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, cast

from olscale.data.formats.ahead import read_ahead
from olscale.data.formats.compression import decompressed, open_raw, open_source
from olscale.data.formats.npz import NpzFormat
from olscale.data.ingest.data_files import is_note, looks_like_rows, tells_format
from olscale.errors import FormatError

_TAR = r"\.(?:tar|tar\.(?:gz|bz2|xz|zst)|tgz|tbz2|txz)"
_ARCHIVE = re.compile(rf"(?:{_TAR}|\.zip)$", re.IGNORECASE)
_MEMBERS = re.compile(rf"(.*?(?:{_TAR}|\.zip))[#/](.+)", re.IGNORECASE | re.DOTALL)
_HEAD_BYTES = 512
_READ_BYTES = 1 << 17
"""Few enough to stay in the cache between decompressing and writing."""

_MOST_BYTES = 1 << 24
"""Of one name; the contents of members are read in much smaller pieces."""


def is_archive(source: str) -> bool:
    """Return whether `source` is a tar or zip archive by its name; NumPy's archives of arrays are none.

    Examples
    --------
    >>> is_archive("url_svmlight.tar.gz"), is_archive("Day0.svm.gz")
    (True, False)
    """
    return _ARCHIVE.search(source) is not None and not (is_zip(source) and _holds_arrays(source))


def is_zip(source: str) -> bool:
    """Return whether `source` is a zip archive by its name."""
    return source.lower().endswith(".zip")


def split_archive(source: str) -> tuple[str, str | None]:
    """Return an archive and the pattern behind its name, which says what to read of it.

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
    """Return whether the end of the path of a member fits a pattern.

    Examples
    --------
    >>> fits("data/days/Day0.svm", "days/*.svm"), fits("data/a[1].csv", "a[1].csv")
    (True, True)
    """
    if f"/{path}".endswith(f"/{pattern}"):
        return True
    return bool(PurePosixPath(pattern).parts) and PurePosixPath(path).match(pattern)


def may_be_data(path: str, pattern: str | None) -> bool:
    """Return whether the name of a member fits `pattern` or, without one, is not that of a note."""
    return not is_note(path) if pattern is None else fits(path, pattern)


def is_data(path: str, pattern: str | None, format: str | None, content: BufferedReader) -> bool:
    """Return whether a member, which `may_be_data`, is: it has been named, or looks like rows.

    Parameters
    ----------
    path : str
    pattern : str, optional
    format : str, optional
        Where the user named it, every member is of that format.
    content : BufferedReader
        Of the member, at its first byte, where it is left.
    """
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

    Read one before the next.

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
        except (
            tarfile.TarError,
            ValueError,
            OverflowError,
        ) as error:  # sizes and names of members may be anything
            raise FormatError(archive, f"is no tar archive or is damaged ({error})") from error


def _opened(archive: str, forward: "_Forward", info: tarfile.TarInfo) -> BufferedReader | None:
    """Return the decompressed content of a member, or None where it is no file, as a link."""
    if info.issparse():
        # Holes are zero bytes, as many as a header of 512 bytes says.
        raise FormatError(
            archive, f"{info.name} has holes, which no text has; pack it without --sparse"
        )
    if not info.isfile():
        return None
    if info.size < 0:
        problem = f"is no tar archive or is damaged ({info.name} has {info.size} bytes)"
        raise FormatError(archive, problem)
    forward.seek(info.offset_data)
    content = BufferedReader(_Content(forward, info.size), _READ_BYTES)
    return decompressed(f"{archive}: {PurePosixPath(info.name).name}", content, content.peek(6)[:6])


def _holds_arrays(source: str) -> bool:
    try:
        with open_raw(source) as file:
            head = file.read(_HEAD_BYTES)
    except FormatError:
        return False
    return NpzFormat().matches(source, head)


class _Forward:
    """A stream as a file that tarfile moves about in, which it does towards the end only.

    Its own way with streams copies more, for a tenth of the time of gunzip; and there a header that
    promises 2**60 bytes would keep it reading on and on behind the end.
    """

    def __init__(self, archive: str, stream: BufferedReader) -> None:
        self.archive = archive
        self._stream = stream
        self._at = 0

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if size > _MOST_BYTES:  # room for all of it would be made before the first byte is read
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
                    self.archive, "truncated: a file in it is longer than the archive; get it again"
                )


class _Content(RawIOBase):
    """A file in an archive, decompressed to where it is wanted; tarfile's own way copies it three times more."""

    def __init__(self, forward: _Forward, size: int) -> None:
        self._forward = forward
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), self._left)
        got = self._forward.readinto(memoryview(buffer)[:wanted]) if wanted else 0
        if wanted and not got:
            raise FormatError(
                self._forward.archive, "is no tar archive or is damaged (unexpected end of data)"
            )
        self._left -= got
        return got


@contextmanager
def open_member(archive: str, number: int) -> Iterator[BufferedReader]:
    """Open data file `number` of `archive`, counted from 0 in its order.

    Raises
    ------
    FormatError
        When there are fewer.
    """
    with closing(open_members(archive)) as members:
        found = next(islice(members, number, None), None)
        if found is None:
            raise FormatError(
                archive, "changed while it was read: files in it are gone; ingest it again"
            )
        yield found[1]
