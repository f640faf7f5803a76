"""Tar archives with a file a segment, as the URL set is published: one pass, whatever the order of the members."""

import re
import tarfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from io import BufferedReader, RawIOBase
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, cast

from olscale.data.formats import known_suffixes
from olscale.data.formats.ahead import read_ahead
from olscale.data.formats.compression import decompressed, open_source, strip_compression
from olscale.errors import FormatError

_ARCHIVE = re.compile(r"\.(tar|tar\.(gz|bz2|xz|zst)|tgz|tbz2|txz)$", re.IGNORECASE)
_DATA = frozenset((".txt", ".dat", ".data", ".t", ".trn", ".tst", ".train", ".test"))
_NOTES = re.compile(r"(\.|readme|license|copying|featuretypes)", re.IGNORECASE)
_READ_BYTES = 1 << 17
"""Few enough to stay in the cache between decompressing and writing."""

_MOST_BYTES = 1 << 24
"""Of one name; the contents of members are read in much smaller pieces."""


def is_archive(source: str) -> bool:
    """Return whether `source` is a tar archive by its name.

    Examples
    --------
    >>> is_archive("url_svmlight.tar.gz"), is_archive("Day0.svm.gz")
    (True, False)
    """
    return _ARCHIVE.search(source) is not None


def open_members(archive: str) -> Generator[tuple[str, BufferedReader]]:
    """Yield name and decompressed content of the data files in `archive`, in its order; read one before the next.

    A data file has an ending that tells its format, or one of ``.txt .dat .data .t .trn .tst .train .test``. All others
    (``FeatureTypes``, ``README``) are passed over.

    Raises
    ------
    FormatError
        When `archive` is missing, damaged or no tar archive.
    """
    suffixes = known_suffixes() | _DATA
    with read_ahead(open_source(archive)) as stream:
        forward = _Forward(archive, stream)
        try:
            with tarfile.open(fileobj=cast(Any, forward), mode="r:") as tar:
                for info in tar:
                    path = PurePosixPath(info.name)
                    data = PurePosixPath(strip_compression(path.name)).suffix.lower() in suffixes
                    if data and info.issparse():  # holes are zero bytes, as many as a header of 512 bytes says
                        raise FormatError(
                            archive, f"{info.name} has holes, which no text has; pack it without --sparse"
                        )
                    if info.isfile() and data and not _NOTES.match(path.name):
                        if info.size < 0:
                            raise FormatError(
                                archive, f"is no tar archive or is damaged ({info.name} has {info.size} bytes)"
                            )
                        forward.seek(info.offset_data)
                        content = BufferedReader(_Content(forward, info.size), _READ_BYTES)
                        yield info.name, decompressed(f"{archive}: {info.name}", content, content.peek(6)[:6])
        except (tarfile.TarError, ValueError, OverflowError) as error:  # sizes and names of members may be anything
            raise FormatError(archive, f"is no tar archive or is damaged ({error})") from error


class _Forward:
    """A stream as a file that tarfile moves about in, which it does towards the end only.

    Its own way with streams copies more, for a tenth of the time of gunzip; and there a header that promises 2**60 bytes
    would keep it reading on and on behind the end.
    """

    def __init__(self, archive: str, stream: BufferedReader) -> None:
        self.archive, self._stream, self._at = archive, stream, 0

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if size > _MOST_BYTES:  # room for all of it would be made before the first byte is read
            raise FormatError(self.archive, f"is no tar archive or is damaged (a name of {size:,} bytes); get it again")
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
                raise FormatError(self.archive, "truncated: a file in it is longer than the archive; get it again")


class _Content(RawIOBase):
    """A file in an archive, decompressed to where it is wanted; tarfile's own way copies it three times more."""

    def __init__(self, forward: _Forward, size: int) -> None:
        self._forward, self._left = forward, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), self._left)
        got = self._forward.readinto(memoryview(buffer)[:wanted]) if wanted else 0
        if wanted and not got:
            raise FormatError(self._forward.archive, "is no tar archive or is damaged (unexpected end of data)")
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
            raise FormatError(archive, "changed while it was read: files in it are gone; ingest it again")
        yield found[1]
