"""Opening the storage at a path, and single output files anywhere."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from olscale.errors import DatasetError
from olscale.storage.base import Storage
from olscale.storage.local import LocalStorage
from olscale.storage.remote import RemoteStorage
from olscale.system.paths import path_text

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Error numbers of writing only: a full disk, a quota, a limit, a read-only file system."""


def open_storage(path: str | os.PathLike[str], temporaries: str = "") -> Storage:
    """Return the storage at `path`, a directory or any URL that fsspec knows.

    Such URLs are ``s3://bucket/prefix`` and ``memory://name``.

    Parameters
    ----------
    path : path
    temporaries : str, default ``""``
        Folder of unfinished files; by default they are next to their targets.

    Examples
    --------
    >>> storage = open_storage("memory://doctest-storage")
    >>> storage.put("a/b", b"content")
    >>> storage.names("a"), storage.read("a/b")
    (['a/b'], b'content')
    """
    text = absolute_path(path)
    if "://" in text:
        return RemoteStorage(text.rstrip("/"), temporaries)
    return LocalStorage(text, temporaries)


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Return `path` in a form for workers in other directories; a URL stays unchanged."""
    text = path_text(path, "path")
    protocol, colon, location = text.partition("://")
    if colon and protocol not in ("file", "local"):
        return text
    if colon:
        text = location
    return str(Path(text).expanduser().absolute())


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open `path` for writing so that it appears whole or not at all.

    Raises
    ------
    DatasetError
        When it cannot be written.
    """
    folder, slash, name = path.rpartition("/")
    storage = open_storage(folder + slash or ".")
    is_open = False
    try:
        storage.make()
        storage.discard_parts(name)
        with storage.writing(name) as file:
            is_open = True
            yield file
    except OSError as error:
        if is_open and error.errno not in UNWRITABLE and error.errno != errno.EISDIR:
            raise
        raise DatasetError(
            f"{path} cannot be written ({error.strerror}); choose another place"
        ) from error
