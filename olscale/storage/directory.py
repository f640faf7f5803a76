"""One directory or object-store prefix: the only place that knows whether a dataset is local."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from olscale.errors import DatasetError
from olscale.storage.remote import open_remote

__all__ = ["UNWRITABLE", "Directory", "open_output", "split_url", "write_in_steps"]

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Error numbers that only writing gives: a full disk, a quota, a limit, a read-only file system."""

_STEP_BYTES = 1 << 18
"""Of one write. Linux gives a longer one longer pages, which it has to find first: for files of 8 MB, written one after
another, the whole took 2.5 to 13 times as long."""


def split_url(path: str) -> tuple[Any, str]:
    """Return the fsspec file system of `path` and the path within it (absolute where local)."""
    try:
        fs, root = open_remote(os.path.expanduser(path))  # noqa: PTH111 - `path` may be a URL
    except (ValueError, OSError) as error:
        raise DatasetError(f"{path} cannot be opened ({error})") from error
    return fs, root.rstrip("/") or root


def _is_local(fs: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(fs, LocalFileSystem)


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open `path` for writing so that it appears whole or not at all.

    Raises
    ------
    DatasetError
        When it cannot be written.
    """
    fs, target = split_url(path)
    if not _is_local(fs):
        with fs.open(target, "wb") as file:
            yield file
        return
    part = Path(f"{target}.{os.getpid()}.part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        file = part.open("wb")
    except OSError as error:
        raise DatasetError(f"{path} cannot be written ({error.strerror}); choose another place") from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        if error.errno not in UNWRITABLE and error.errno != errno.EISDIR:
            raise
        raise DatasetError(f"{path} cannot be written ({error.strerror}); choose another place") from error
    finally:
        part.unlink(missing_ok=True)


def write_in_steps(file: IO[bytes], data: Any) -> None:
    """Write `data`, a sequence of bytes, behind what is in `file`, in steps of a size that is written fastest."""
    octets = memoryview(data)
    for start in range(0, len(octets), _STEP_BYTES):
        file.write(octets[start : start + _STEP_BYTES])


class Directory:
    """A directory or prefix; pickles as its path, its file system is opened at first use.

    Parameters
    ----------
    path : str or path-like
        A local path or any URL that fsspec knows (``s3://bucket/prefix``).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        # A worker need not share our working directory, so a local path is made absolute when it is first seen.
        self.path = text.rstrip("/") if "://" in text else str(Path(text).expanduser().absolute())
        self._opened: tuple[Any, str] | None = None

    def __reduce__(self) -> tuple[type[Directory], tuple[str]]:
        return type(self), (self.path,)

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """Last component of the path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def fs(self) -> Any:
        """The fsspec file system."""
        return self._open()[0]

    @property
    def local(self) -> bool:
        """Whether the files can be opened by the operating system."""
        return _is_local(self.fs)

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            self._opened = split_url(self.path)
        return self._opened

    def join(self, name: str) -> str:
        """Return the path of `name` within the file system."""
        root = self._open()[1]
        return f"{root}/{name}" if name else root

    def exists(self, name: str = "") -> bool:
        """Return whether `name` (or the directory itself) is there."""
        return bool(self.fs.exists(self.join(name)))

    def missing(self) -> list[str]:
        """Return what of the directory and its parents is not there, the innermost first."""
        if not self.local:
            return [] if self.exists() else [self.path]
        path = Path(self.join(""))
        return [str(part) for part in (path, *path.parents) if not part.exists()]

    def remove_empty(self, made: list[str]) -> None:
        """Remove those of the directories `made`, the innermost first, that hold nothing; object stores have none."""
        if not self.local:
            return
        with suppress(OSError):  # not empty: somebody else uses it by now
            for path in made:
                Path(path).rmdir()

    def names(self) -> list[str]:
        """Return the sorted names of what lies directly inside; empty where the directory is absent."""
        self.fs.invalidate_cache()
        try:
            entries = self.fs.ls(self.join(""), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(str(entry).rstrip("/").rsplit("/", 1)[-1] for entry in entries)

    def read(self, name: str) -> bytes:
        """Return the bytes of file `name`."""
        target = self.join(name)
        return Path(target).read_bytes() if self.local else bytes(self.fs.cat_file(target))

    def write(self, name: str, data: Any) -> None:
        """Write file `name`; use `write_whole` for a file whose presence means something."""
        target = self.join(name)
        if self.local:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            with Path(target).open("wb") as file:
                write_in_steps(file, data)
        else:
            self.fs.pipe_file(target, bytes(data))

    def replace(self, name: str, data: bytes) -> None:
        """Write file `name` so that any process sees the old or the new content; a power cut may leave neither."""
        if not self.local:
            self.fs.pipe_file(self.join(name), data)
            return
        part = Path(self.join(f"{name}.part"))
        part.write_bytes(data)
        part.replace(self.join(name))

    def write_whole(self, name: str, data: bytes) -> None:
        """Write file `name` atomically and durably: temporary file and rename, or one PUT."""
        if not self.local:
            self.fs.pipe_file(self.join(name), data)
            return
        with open_output(self.join(name)) as file:
            file.write(data)

    @contextmanager
    def locked(self, name: str) -> Iterator[bool]:
        """Create file `name` and hold its lock; yield False where another process holds it. Remote: always True."""
        if not self.local:
            yield True
            return
        import fcntl

        path = Path(self.join(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def remove(self, name: str = "") -> None:
        """Remove `name` with all that is under it, or the directory itself; absent is fine."""
        target = self.join(name)
        if self.local:
            if Path(target).is_dir():
                shutil.rmtree(target)
            else:
                Path(target).unlink(missing_ok=True)
        elif self.fs.exists(target):
            self.fs.rm(target, recursive=True)

    def move(self, source: str, target: str) -> None:
        """Rename `source` to `target`, both inside this directory."""
        if self.local:
            Path(self.join(target)).parent.mkdir(parents=True, exist_ok=True)
            Path(self.join(source)).rename(self.join(target))
        else:
            self.fs.mv(self.join(source), self.join(target), recursive=True)

    def size(self) -> int:
        """Return the bytes of all files below."""
        return int(self.fs.du(self.join("")))

    def mapped(self, name: str) -> memoryview:
        """Return the bytes of file `name`, memory-mapped where local; what is written to them stays in this process."""
        if not self.local:
            return memoryview(bytearray(self.read(name)))
        with Path(self.join(name)).open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))

    def zarr_store(self, name: str, *, read_only: bool) -> Any:
        """Return the zarr store rooted at `name`."""
        from zarr.storage import FsspecStore, LocalStore

        if self.local:
            return LocalStore(self.join(name), read_only=read_only)
        return FsspecStore.from_url(f"{self.path}/{name}", read_only=read_only)
