"""Zip archives: a table at the end says where members are, so each can be opened on its own."""

import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import PurePosixPath
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

from olscale.data.formats.compression import decompressed, open_raw
from olscale.data.ingest.archive import is_data, may_be_data
from olscale.errors import FormatError

_SPREADSHEET = "[Content_Types].xml"
_READ_BYTES = 1 << 17


def open_zip_members(
    archive: str, pattern: str | None, format: str | None, passed_over: list[str]
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
            raise FormatError(archive, "is a spreadsheet, which is not read; save it as CSV")
        for number, info in enumerate(infos):
            path = info.filename
            if info.is_dir():
                continue
            if may_be_data(path, pattern) and not stat.S_ISLNK(info.external_attr >> 16):
                with _opened(archive, opened, info) as content:
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
        with _opened(archive, opened, infos[number]) as content:
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


def _opened(archive: str, opened: ZipFile, info: ZipInfo) -> BufferedReader:
    try:
        member = opened.open(info)
    except FormatError:
        raise
    except Exception as error:  # also for an unknown encryption or compression
        raise _damaged(archive, error) from error
    content = BufferedReader(_Content(archive, member), _READ_BYTES)
    name = f"{archive}: {PurePosixPath(info.filename).name}"
    return decompressed(name, content, content.peek(6)[:6])


class _Content(RawIOBase):
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
        except Exception as error:  # zipfile and its decompressors raise nearly anything
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
        problem = (
            f"is compressed in a way that is not read ({error}); unpack it, and name the data files"
        )
        return FormatError(archive, problem)
    reason = str(error) or repr(error)
    return FormatError(archive, f"is no zip archive or is damaged ({reason}); get it again")
