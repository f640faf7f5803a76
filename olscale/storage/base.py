"""The storage contract: what datasets, the metrics store and checkpoints need of the place where their files lie.

A storage is a directory, or a prefix of an object store or of memory. Its files have names relative
to it, with slashes (``runs/ab/ab12....parquet``). `put` and `writing` are atomic: a reader sees all
of the new file, all of the old one or none. What is no regular file, as a named pipe, is neither
listed nor read. Nothing else is promised between processes but by `lock`, which object stores do
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

    What is not abstract is as object stores have it: one PUT is atomic and durable, there are no
    folders and no locks.

    Parameters
    ----------
    path : str
        Absolute directory, or URL.
    temporaries : str, default ``""``
        Folder of files in the making, whose names no reader may meet; beside what they become by
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
        """Open the file system, which raises a `DatasetError` if there is none for the path; first use does it otherwise."""

    def make(self) -> None:  # noqa: B027
        """Make the place itself, if it has to be made; nothing else but `lock` does: what has vanished stays away."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to write it piece by piece; it appears whole and durably at the end of the block, or not at all."""

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole and durably, in the place of one of that name."""
        with self.writing(name) as file:
            file.write(data)

    def replace(self, name: str, data: bytes) -> None:
        """Write a file whole, in the place of one of that name; one writer at a time, and a power cut may leave neither."""
        self.put(name, data)

    def write(self, name: str, data: Any) -> None:
        """Write a file whose presence means nothing, the fastest way: neither whole at once nor durable."""
        self.put(name, bytes(data))

    @abstractmethod
    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to read it from end to end."""

    @abstractmethod
    def ranges(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file to read some ranges of it."""

    def map(self, name: str) -> memoryview:
        """Return the bytes of a file, memory-mapped where local; what is written to them stays in this process."""
        return memoryview(bytearray(self.read(name)))

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""

    @abstractmethod
    def read_many(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | Exception]]:
        """Yield each name with the file's bytes, or with the error that reading it gave."""

    @abstractmethod
    def exists(self, name: str = "") -> bool:
        """Return whether a file or folder (or the place itself) is there; no where nobody can tell."""

    @abstractmethod
    def is_file(self, name: str) -> bool:
        """Return whether a file is there; that nobody can tell is an `OSError`."""

    @abstractmethod
    def is_folder(self, name: str = "") -> bool:
        """Return whether a folder (or the place itself) is there."""

    @abstractmethod
    def entries(self) -> list[str]:
        """Return the names of the files and folders directly inside, sorted; none where the place is absent."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder and one folder down, sorted; none if there is no such folder."""

    def stamps(self, folder: str) -> dict[str, Hashable]:
        """Return, for each file that `names` gives of a folder, a value that is another one once its bytes have changed."""
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
        """Remove a file, if there is one of that name."""

    def discard_all(self, names: Iterable[str]) -> None:
        """Remove many files, those of them that are there."""
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
        """Make a file and hold its lock; yields False where another process holds it. Object stores: always True."""
        del name
        yield True

    def discard_parts(self, name: str) -> None:  # noqa: B027
        """Remove what killed writers of a file have left beside it, where files are made beside what they become."""

    def stale_temporaries(self) -> list[str]:
        """Return the files in `temporaries` that writers have left half written for longer than a day."""
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
        """Return whether files can be written, as far as that can be told without writing one."""
        return True

    def missing(self) -> list[str]:
        """Return what of the place and the folders above it is not there, the innermost first."""
        return [] if self.exists() else [self.path]

    def remove_empty(self, folders: list[str]) -> None:  # noqa: B027
        """Remove those of `folders`, as `missing` named them, that hold nothing; object stores have none."""
