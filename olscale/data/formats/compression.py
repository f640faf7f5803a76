"""Sources as streams of plain bytes, whatever they were compressed with and wherever they are.

A member of a tar archive is a source too: ``url_svmlight.tar.gz#url_svmlight/Day0.svm``. Reaching it means
decompressing the archive up to it; nothing is unpacked to disk.
"""

from __future__ import annotations

import io
import re
import tarfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, cast

from olscale.errors import FormatError

__all__ = ["members_in", "open_raw", "open_source", "split_member", "strip_compression"]

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_ARCHIVE = re.compile(r"(.+?\.(?:tar|tar\.(?:gz|bz2|xz|zst)|tgz|tbz2|txz))(?:#(.+))?", re.IGNORECASE)
_READ_BYTES = 1 << 20


def strip_compression(source: str) -> str:
    """Return `source` without the suffix of a compressed file.

    Examples
    --------
    >>> strip_compression("s3://sets/ijcnn1.trn.bz2")
    's3://sets/ijcnn1.trn'
    """
    lowered = source.lower()
    return next((source[: -len(suffix)] for suffix in _SUFFIXES if lowered.endswith(suffix)), source)


def split_member(source: str) -> tuple[str, str | None] | None:
    """Return the archive and the member that `source` names, or None when it is no tar archive by its name.

    Examples
    --------
    >>> split_member("days.tar.gz#Day0.svm")
    ('days.tar.gz', 'Day0.svm')
    >>> split_member("days.tgz")
    ('days.tgz', None)
    >>> split_member("Day0.svm")
    """
    match = _ARCHIVE.fullmatch(source)
    return None if match is None else (match[1], match[2])


def members_in(archive: str) -> tuple[str, ...]:
    """Return the files in a tar archive as sources, numbers in their names in numeric order (Day2 before Day10).

    Raises
    ------
    FormatError
        When `archive` is missing, damaged or no tar archive.
    """
    with ExitStack() as resources:
        tar = _open_archive(archive, resources)
        try:
            names = [info.name for info in tar if info.isfile()]
        except tarfile.TarError as error:
            raise FormatError(archive, f"is a damaged tar archive ({error})") from error
    names.sort(key=lambda name: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)])
    return tuple(f"{archive}#{name}" for name in names)


def open_raw(source: str) -> BinaryIO:
    """Open `source`, a local path or an fsspec address, as it is stored.

    Raises
    ------
    FormatError
        When there is no such file or it cannot be opened.
    """
    try:
        if "://" not in source:
            return Path(source).open("rb")
        import fsspec

        return cast(BinaryIO, fsspec.open(source, "rb").open())
    except FileNotFoundError:
        raise FormatError(source, "no such file") from None
    except IsADirectoryError:
        raise FormatError(source, "is a directory, expected a file") from None
    except (PermissionError, ValueError, ImportError) as error:  # the latter two: an unknown or uninstalled protocol
        raise FormatError(source, f"cannot be opened ({error})") from error


def open_source(source: str) -> io.BufferedReader:
    """Open `source` and decompress it on the fly.

    The compression (gzip, bzip2, xz, zstd or none) is known by the first bytes, never by the name.

    Parameters
    ----------
    source : str
        Local path or fsspec address.

    Returns
    -------
    io.BufferedReader
        Reading from it raises `FormatError` naming `source` where the compressed data are truncated or corrupt.

    Raises
    ------
    FormatError
        When there is no such file or member, or `source` is an archive and names no member.
    """
    match split_member(source):
        case (archive, str(member)):
            return _open_member(source, archive, member)
        case (archive, None):
            raise FormatError(archive, "is an archive; name a member as ARCHIVE#MEMBER")
    return _open_file(source)


def _open_archive(archive: str, resources: ExitStack) -> tarfile.TarFile:
    stream = resources.enter_context(_open_file(archive))
    try:
        return resources.enter_context(tarfile.open(fileobj=stream, mode="r|"))
    except tarfile.TarError as error:
        raise FormatError(archive, f"is no tar archive or is damaged ({error})") from error


def _open_member(source: str, archive: str, member: str) -> io.BufferedReader:
    with ExitStack() as resources:
        tar = _open_archive(archive, resources)
        try:
            for info in tar:
                if info.name == member and (inner := tar.extractfile(info)) is not None:
                    return io.BufferedReader(_Stream(source, resources.pop_all(), inner, "tar"), _READ_BYTES)
        except tarfile.TarError as error:
            raise FormatError(archive, f"is a damaged tar archive ({error})") from error
    raise FormatError(archive, f"has no member {member!r}")


def _open_file(source: str) -> io.BufferedReader:
    raw = open_raw(source)
    head = raw.read(6)
    raw.seek(0)
    codec = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if codec is None:
        return io.BufferedReader(_Stream(source, raw, raw, "plain"), _READ_BYTES)
    return io.BufferedReader(_Stream(source, raw, _decompressed(raw, codec), codec), _READ_BYTES)


def _decompressed(raw: BinaryIO, codec: str) -> Any:
    if codec == "gzip":
        from isal import igzip

        decompressor: Any = igzip.IGzipFile
        return decompressor(fileobj=raw)
    if codec == "bzip2":
        import bz2

        return bz2.BZ2File(raw)
    if codec == "xz":
        import lzma

        return lzma.LZMAFile(raw)
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")


class _Stream(io.RawIOBase):
    """The decompressed bytes; turns the four libraries' ways to say "damaged" into one."""

    def __init__(self, source: str, raw: BinaryIO | ExitStack, inner: Any, codec: str) -> None:
        self._source, self._raw, self._inner, self._codec = source, raw, inner, codec

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            return int(self._inner.readinto(buffer))
        except FormatError:
            raise
        except EOFError:
            raise FormatError(
                self._source, f"truncated: its {self._codec} data end early; get the file again"
            ) from None
        except Exception as error:
            # An error number means the operating system or the network failed, not the file.
            if self._codec == "plain" or getattr(error, "errno", None):
                raise
            truncated = "truncat" in str(error).lower()
            problem = "truncated" if truncated else "corrupt"
            raise FormatError(self._source, f"{problem} {self._codec} data ({error}); get the file again") from error

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._raw.close()
        super().close()
