"""Files below a local directory.

A file is written under another name and renamed into place, so that a killed writer leaves
its half file where no reader looks.
"""

import errno
import fcntl
import mmap
import os
import re
import shutil
import time
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from olscale.storage.base import Storage
from olscale.system.regular_file import open_regular, read_regular, require_regular

_PART = re.compile(r"\.(\d+)\.part")


def part_of(target: Path) -> Path:
    """Return the path where this process writes the unfinished `target`."""
    return target.with_name(f"{target.name}.{os.getpid()}.part")


def hold(descriptor: int) -> None:
    """Mark an open part as being written until it is closed, if the file system supports it."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def discard_parts(target: Path) -> None:
    """Remove the parts of `target` whose writers have ended, as far as access is allowed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "rows.csv")
    ...     Path(f"{target}.4194305.part").touch()  # no process has so high a number
    ...     part_of(target).touch()
    ...     discard_parts(target)
    ...     [path == part_of(target) for path in Path(folder).iterdir()]
    [True]
    """
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            mark = _PART.fullmatch(entry.name.removeprefix(target.name))
            if (
                entry.name.startswith(target.name)
                and mark
                and not _is_alive(int(mark[1]))
            ):
                with suppress(OSError):
                    _discard(Path(entry.path))


def _discard(part: Path) -> None:
    descriptor = os.open(part, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # It raises if a process on another machine holds the part.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
    finally:
        os.close(descriptor)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


# Bytes per write. For longer writes Linux uses larger pages, which it has to find first.
# Files of 8 MB, written one after another, took 2.5 to 13 times as long in one write each.
_STEP_BYTES = 1 << 18

# Seconds after which no writer is still writing a file.
_DAY = 86_400


def write_in_steps(file: IO[bytes], data: Any) -> None:
    """Append `data`, a sequence of bytes, to `file` in steps of the size that is fastest."""
    octets = memoryview(data)
    for start in range(0, len(octets), _STEP_BYTES):
        file.write(octets[start : start + _STEP_BYTES])


class LocalStorage(Storage):
    """Files below a directory; see `olscale.storage.base`."""

    local: Path

    def __init__(self, path: str, temporaries: str = "") -> None:
        super().__init__(path, temporaries)
        self.local = Path(path)

    def make(self) -> None:
        self.local.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file that is renamed into place at the end of the block."""
        target = self.local / name
        temporary = part_of(target)
        if self.temporaries:
            name = f"{target.stem}.{os.getpid()}.{uuid4().hex[:8]}"
            temporary = self.local / self.temporaries / name
        for folder in {temporary.parent, target.parent}:
            self._need(folder)
        try:
            with temporary.open("wb") as file:
                hold(file.fileno())
                yield file
                file.flush()
                # else a power cut may leave the new name with no content
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        # Else a power cut may keep what is removed after this call, and not the new name.
        _sync(target.parent)

    def _need(self, folder: Path) -> None:
        """Make a folder and its parents, but not the place: it must not come back empty."""
        if not folder.is_dir():
            depth = len(folder.parts) - len(self.local.parts)
            missing = [folder, *folder.parents][:depth]
            for above in reversed(missing):
                above.mkdir(exist_ok=True)
                _sync(above.parent)

    def replace(self, name: str, data: bytes) -> None:
        part = self.local / f"{name}.part"
        self._need(part.parent)
        part.write_bytes(data)
        part.replace(self.local / name)

    def write(self, name: str, data: Any) -> None:
        target = self.local / name
        self._need(target.parent)
        with target.open("wb") as file:
            write_in_steps(file, data)

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        return open_regular(self.local / name)

    def ranges(self, name: str) -> AbstractContextManager[IO[bytes]]:
        import pyarrow as pa

        require_regular(self.local / name)
        file: AbstractContextManager[IO[bytes]] = pa.OSFile(
            str(self.local / name), "rb"
        )
        return file

    def map(self, name: str) -> memoryview:
        with self.open(name) as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))

    def read(self, name: str) -> bytes:
        return read_regular(self.local / name)

    def read_many(
        self, names: Iterable[str]
    ) -> Iterator[tuple[str, bytes | Exception]]:
        for name in names:
            try:
                yield name, self.read(name)
            except OSError as fault:
                yield name, fault

    def exists(self, name: str = "") -> bool:
        # `Path.exists` raises if it cannot tell.
        return os.path.exists(self.local / name)  # noqa: PTH110

    def is_file(self, name: str) -> bool:
        return (self.local / name).is_file()

    def is_folder(self, name: str = "") -> bool:
        return (self.local / name).is_dir()

    def entries(self) -> list[str]:
        try:
            return sorted(entry.name for entry in self.local.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def names(self, folder: str) -> list[str]:
        if not self.local.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the store's directory is gone")
        names: list[str] = []
        for entry in _scan(self.local / folder):
            if entry.is_dir():
                names += [
                    f"{folder}/{entry.name}/{file.name}"
                    for file in _scan(entry.path)
                    if file.is_file()
                ]
            elif entry.is_file():
                names.append(f"{folder}/{entry.name}")
        return sorted(names)

    def stamps(self, folder: str) -> dict[str, Hashable]:
        stamps = dict[str, Hashable]()
        for name in self.names(folder):
            try:
                # Ten thousand `Path` objects take long to make.
                status = os.stat(f"{self.local}/{name}")  # noqa: PTH116
            except OSError:
                continue
            # Includes the time of change, which cannot be set back, as the time of
            # modification can be.
            stamps[name] = (
                status.st_ino,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
            )
        return stamps

    def size(self) -> int:
        total = 0
        for folder, _, files in os.walk(self.local):
            for file in files:
                # a writer has just renamed its temporary file, or access to it is denied
                with suppress(OSError):
                    total += Path(folder, file).stat().st_size
        return total

    def discard(self, name: str) -> None:
        (self.local / name).unlink(missing_ok=True)

    def remove(self, name: str = "") -> None:
        target = self.local / name
        if target.is_dir():
            with suppress(FileNotFoundError):
                shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def move(self, source: str, target: str) -> None:
        self._need((self.local / target).parent)
        (self.local / source).rename(self.local / target)

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        self.make()
        with open_regular(self.local / name, "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def discard_parts(self, name: str) -> None:
        discard_parts(self.local / name)

    def stale_temporaries(self) -> list[str]:
        stale = []
        for entry in _scan(self.local / self.temporaries) if self.temporaries else ():
            with suppress(FileNotFoundError):
                age = time.time() - entry.stat().st_mtime
                if entry.is_file() and age > _DAY:
                    stale.append(f"{self.temporaries}/{entry.name}")
        return stale

    def is_vacant(self) -> bool:
        if self.local.exists() and not self.local.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file", str(self.local))
        # Temporaries may belong to another process that is making the same store.
        return all(
            entry.name.startswith(".") or entry.name == self.temporaries
            for entry in _scan(self.local)
        )

    def is_writable(self) -> bool:
        return os.access(self.local, os.W_OK | os.X_OK)

    def missing(self) -> list[str]:
        return [
            str(folder)
            for folder in (self.local, *self.local.parents)
            if not folder.exists()
        ]

    def remove_empty(self, folders: list[str]) -> None:
        with suppress(OSError):  # not empty: another process uses it by now
            for folder in folders:
                Path(folder).rmdir()


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _scan(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
