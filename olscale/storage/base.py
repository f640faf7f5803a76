"""The storage contract: what datasets, metrics stores and checkpoints need from a place.

A storage is a directory, or a prefix of an object store or of memory. Its files have names relative
to it, with slashes (``runs/ab/ab12....parquet``). `put` and `writing` are atomic: a reader sees all
of the new file, all of the old one or none. Irregular files, such as named pipes, are neither
listed nor read. The only other promise between processes is `lock`, which object stores do
not have.

`olscale.testing.storage_checks` holds an implementation to all this.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

from olscale.addresses import redacted_name


class Storage(ABC):
    """Files below one place; pickles as its path, and is opened at first use.

    Methods that are not abstract suit object stores: one PUT is atomic and durable, there are no
    folders and no locks.

    Parameters
    ----------
    path : str
        Absolute directory, or URL.
    temporaries : str, default ``""``
        Folder of unfinished files, whose names no reader may see; next to their targets by
        default.

    Attributes
    ----------
    local : Path or None
        The directory, where the operating system can open the files.
    """

    local: Path | None = None

    def __init__(self, path: str, temporaries: str = "") -> None:
        self.path = path
        self.temporaries = temporaries

    def __reduce__(self) -> tuple[type[Storage], tuple[str, str]]:
        return type(self), (self.path, self.temporaries)

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """Last component of the path, without secrets."""
        return redacted_name(self.path)

    def connect(self) -> None:  # noqa: B027
        """Open the file system now instead of at first use.

        Raises a `DatasetError` if the path has none.
        """

    def make(self) -> None:  # noqa: B027
        """Make the place itself if necessary.

        Only `lock` does this too: otherwise a vanished place stays away.
        """

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to write it in pieces; it appears whole and durably at the end, or never."""

    def put(self, name: str, data: bytes) -> None:
        """Write a whole file durably, replacing one of that name."""
        with self.writing(name) as file:
            file.write(data)

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file by a whole one, with one writer at a time; a power cut may lose both."""
        self.put(name, data)

    def write(self, name: str, data: Any) -> None:
        """Write a file whose presence means nothing, as fast as possible, without guarantees."""
        self.put(name, bytes(data))

    @abstractmethod
    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to read it from end to end."""

    @abstractmethod
    def ranges(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to read some ranges of it."""

    def map(self, name: str) -> memoryview:
        """Return the bytes of a file, memory-mapped if local; writes stay in this process."""
        return memoryview(bytearray(self.read(name)))

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""

    @abstractmethod
    def read_many(
        self, names: Iterable[str]
    ) -> Iterator[tuple[str, bytes | Exception]]:
        """Yield each name with the file's bytes, or with the error that reading it gave."""

    @abstractmethod
    def exists(self, name: str = "") -> bool:
        """Return whether a file, folder or the place itself exists; False if this is unknown."""

    @abstractmethod
    def is_file(self, name: str) -> bool:
        """Return whether a file exists; raise an `OSError` if this cannot be determined."""

    @abstractmethod
    def is_folder(self, name: str = "") -> bool:
        """Return whether a folder (or the place itself) is there."""

    @abstractmethod
    def entries(self) -> list[str]:
        """Return the names directly inside, sorted; none if the place is absent."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the files in a folder and one folder down, sorted; none if it does not exist."""

    def stamps(self, folder: str) -> dict[str, Hashable]:
        """Return, for each file that `names` lists, a value that changes when its bytes change."""
        contents = self.read_many(self.names(folder))
        return {
            name: hashlib.sha256(data).digest()
            for name, data in contents
            if isinstance(data, bytes)
        }

    @abstractmethod
    def size(self) -> int:
        """Return the bytes of all files."""

    @abstractmethod
    def discard(self, name: str) -> None:
        """Remove a file, if it exists."""

    def discard_all(self, names: Iterable[str]) -> None:
        """Remove many files, as far as they exist."""
        for name in names:
            self.discard(name)

    @abstractmethod
    def remove(self, name: str = "") -> None:
        """Remove a file, or a folder with all below it, or the place itself; absent is fine."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Rename a file or folder."""

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Make a file and hold its lock; yield False if another process holds it.

        Object stores have no locks and always yield True.
        """
        del name
        yield True

    def discard_parts(self, name: str) -> None:  # noqa: B027
        """Remove what killed writers left of a file, if files are made next to their targets."""

    def stale_temporaries(self) -> list[str]:
        """Return the files in `temporaries` that writers left unfinished over a day ago."""
        return []

    @abstractmethod
    def is_vacant(self) -> bool:
        """Return whether nothing is here but hidden files and `temporaries`.

        Raises
        ------
        NotADirectoryError
            If the place is a file.
        FileNotFoundError
            If there is no such bucket.
        """

    def is_writable(self) -> bool:
        """Return whether files can be written, as far as is known without writing one."""
        return True

    def missing(self) -> list[str]:
        """Return the missing ones of the place and its parents, the innermost first."""
        if self.exists():
            return []
        return [self.path]

    def remove_empty(self, folders: list[str]) -> None:  # noqa: B027
        """Remove the empty ones of `folders`, as named by `missing`; object stores have none."""
