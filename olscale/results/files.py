"""Where a store keeps its files: a local directory, or a prefix of any fsspec file system.

Both put a file in one atomic step: a reader sees all of it or none.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, Protocol
from uuid import uuid4

import pyarrow as pa

from olscale.errors import StoreError

__all__ = ["Files", "LocalFiles", "RemoteFiles", "files_at"]

_DAY = 86_400
"""Seconds after which nobody is still writing a file."""


class Files(Protocol):
    """Files of one store, named by paths relative to it (``runs/ab/ab12....parquet``)."""

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole, replacing one of that name."""

    def writing(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to write it piece by piece; it appears whole at the end of the block, or not at all."""

    def reading(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to read it piece by piece."""

    def make(self) -> None:
        """Make the place where files are put, if it has to be made."""

    def exists(self, name: str) -> bool:
        """Return whether a file of this name is there."""

    def discard(self, name: str) -> None:
        """Remove a file, if there is one of that name."""

    def discard_all(self, names: Iterable[str]) -> None:
        """Remove many files, those of them that are there."""

    def ranges(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file of which some ranges are read."""

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | Exception]]:
        """Yield each file's bytes, or the error that reading it gave."""

    def names(self, folder: str) -> list[str]:
        """Return the files below a folder, at most one folder down, sorted; none if there is no such folder."""

    def remove(self, folder: str) -> None:
        """Remove a folder and the files below it, if there is one of that name."""

    def size(self) -> int:
        """Return the bytes of all files."""

    def litter(self) -> list[str]:
        """Return the files that writers have left half written for longer than a day."""

    def is_free(self) -> bool:
        """Return whether a new store may be made here: nothing there, or nothing but hidden files."""

    def writable(self) -> bool:
        """Return whether files can be written, as far as that can be told without writing one."""


class LocalFiles:
    """Files below a directory.

    A file is written under ``tmp/`` and renamed into place, so a writer that is killed leaves its half file where no
    reader looks, and ``diff -r`` of two stores' ``runs/`` stays empty.
    """

    def __init__(self, root: str) -> None:
        self.root = Path(root)

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole, by renaming."""
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file that is renamed into place at the end of the block."""
        target = self.root / name
        temporary = self.root / "tmp" / f"{target.stem}.{os.getpid()}.{uuid4().hex[:8]}"
        for folder in (temporary.parent, target.parent):
            self._need(folder)
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # else a power cut may leave the new name with no content
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync(target.parent)  # else a power cut may keep what is removed after this call, and not the new name

    def _need(self, folder: Path) -> None:
        """Make a folder and those above it, but not the store's: one that has vanished must not come back empty."""
        if not folder.is_dir():
            for above in reversed([folder, *folder.parents][: len(folder.parts) - len(self.root.parts)]):
                above.mkdir(exist_ok=True)
                _sync(above.parent)

    def make(self) -> None:
        """Make the directory."""
        self.root.mkdir(parents=True, exist_ok=True)

    def reading(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to read it piece by piece."""
        return (self.root / name).open("rb")

    def exists(self, name: str) -> bool:
        """Return whether a file of this name is there."""
        return (self.root / name).is_file()

    def discard(self, name: str) -> None:
        """Remove a file, if there is one of that name."""
        (self.root / name).unlink(missing_ok=True)

    def discard_all(self, names: Iterable[str]) -> None:
        """Remove many files."""
        for name in names:
            self.discard(name)

    def ranges(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file of which some ranges are read."""
        opened: AbstractContextManager[IO[bytes]] = pa.OSFile(str(self.root / name), "rb")
        return opened

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | Exception]]:
        """Yield each file's bytes, or the error that reading it gave."""
        for name in names:
            try:
                yield name, (self.root / name).read_bytes()
            except OSError as fault:
                yield name, fault

    def names(self, folder: str) -> list[str]:
        """Return the files below a folder, sorted."""
        if not self.root.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the store's directory is gone")
        found: list[str] = []
        for entry in _scan(self.root / folder):
            if entry.is_dir():
                found += [f"{folder}/{entry.name}/{file.name}" for file in _scan(entry.path) if not file.is_dir()]
            else:
                found.append(f"{folder}/{entry.name}")
        return sorted(found)

    def remove(self, folder: str) -> None:
        """Remove a folder and the files below it."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.root / folder)

    def size(self) -> int:
        """Return the bytes of all files."""
        total = 0
        for folder, _, files in os.walk(self.root):
            for file in files:
                with suppress(OSError):  # a writer has just renamed its temporary file, or it may not be looked at
                    total += Path(folder, file).stat().st_size
        return total

    def litter(self) -> list[str]:
        """Return the files that writers have left half written for longer than a day."""
        found = []
        for entry in _scan(self.root / "tmp"):
            with suppress(FileNotFoundError):
                if entry.is_file() and time.time() - entry.stat().st_mtime > _DAY:
                    found.append(f"tmp/{entry.name}")
        return found

    def is_free(self) -> bool:
        """Return whether a new store may be made here."""
        if self.root.exists() and not self.root.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file", str(self.root))
        # "tmp" may be the work of another process that is making the same store right now.
        return all(entry.name.startswith(".") or entry.name == "tmp" for entry in _scan(self.root))

    def writable(self) -> bool:
        """Return whether files can be written."""
        return os.access(self.root, os.W_OK | os.X_OK)


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


class RemoteFiles:
    """Files below a prefix of an fsspec file system, where one PUT is atomic."""

    requests = 16  # at once: enough to hide most of the latency
    batch = 256  # files held at once

    def __init__(self, fs: Any, root: str) -> None:
        self.fs, self.root = fs, root.rstrip("/")

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole, by one PUT."""
        self.fs.pipe_file(f"{self.root}/{name}", data)

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Open a local file that is uploaded, in one step, at the end of the block."""
        with NamedTemporaryFile(prefix="olscale-") as file:
            yield file
            file.flush()
            self.fs.put_file(file.name, f"{self.root}/{name}")

    def reading(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to read it piece by piece."""
        opened: AbstractContextManager[IO[bytes]] = self.fs.open(f"{self.root}/{name}", "rb")
        return opened

    def make(self) -> None:
        """Do nothing: a prefix is there with its first file."""

    def exists(self, name: str) -> bool:
        """Return whether a file of this name is there."""
        self.fs.invalidate_cache()
        return bool(self.fs.isfile(f"{self.root}/{name}"))

    def discard(self, name: str) -> None:
        """Remove a file, if there is one of that name."""
        with suppress(FileNotFoundError):
            self.fs.rm_file(f"{self.root}/{name}")

    def discard_all(self, names: Iterable[str]) -> None:
        """Remove many files."""
        with ThreadPoolExecutor(self.requests) as threads:
            for _ in threads.map(self.discard, names):
                pass

    def ranges(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file of which some ranges are read, each by one GET."""
        path = f"{self.root}/{name}"
        opened: AbstractContextManager[IO[bytes]] = self.fs.open(path, "rb", cache_type="none")
        return opened

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | Exception]]:
        """Yield each file's bytes, or the error that reading it gave."""
        waiting = iter(names)
        # One by one in threads: fsspec's cat of many paths would take a bracket in the store's path for a pattern.
        with ThreadPoolExecutor(self.requests) as threads:
            while batch := list(islice(waiting, self.batch)):
                yield from zip(batch, threads.map(self._get, batch), strict=True)

    def _get(self, name: str) -> bytes | Exception:
        try:
            return bytes(self.fs.cat_file(f"{self.root}/{name}"))
        except OSError as fault:
            return fault

    def names(self, folder: str) -> list[str]:
        """Return the files below a folder, sorted."""
        self.fs.invalidate_cache()  # a cached listing hides what other writers have finished
        top = f"{self.root}/{folder}"
        try:
            paths = self.fs.find(top)
        except FileNotFoundError:
            return []
        return sorted(f"{folder}{path[path.index(top) + len(top) :]}" for path in paths)

    def remove(self, folder: str) -> None:
        """Remove a folder and the files below it."""
        self.discard_all(self.names(folder))  # fsspec's rm would take a bracket in the store's path for a pattern

    def size(self) -> int:
        """Return the bytes of all files."""
        self.fs.invalidate_cache()
        return int(self.fs.du(self.root))

    def litter(self) -> list[str]:
        """Return nothing: what a killed writer has uploaded of a file is not there."""
        return []

    def is_free(self) -> bool:
        """Return whether a new store may be made here; that there is no such bucket is a `FileNotFoundError`."""
        self.fs.invalidate_cache()
        try:
            return not self.fs.find(self.root)
        except FileNotFoundError as fault:
            if fault.__cause__ is not None:  # the answer of the service; an absent prefix is found absent here
                raise
            return True

    def writable(self) -> bool:
        """Return whether files can be written."""
        return True


def files_at(path: str) -> Files:
    """Return the files below `path`, a directory or an fsspec URL (``s3://bucket/prefix``)."""
    if "://" not in path:
        return LocalFiles(path)
    from olscale.storage.remote import Reached, open_remote

    try:
        fs, root = open_remote(path)
    except (ValueError, OSError) as fault:
        raise StoreError(f"cannot open the metrics store {path}: {fault}; use a directory or an fsspec URL") from fault
    return RemoteFiles(fs, root) if isinstance(fs, Reached) else LocalFiles(root)
