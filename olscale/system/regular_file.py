"""Open regular files only, since reading a pipe or a device may never return."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO, Any

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: str | os.PathLike[str], mode: str = "rb") -> IO[Any]:
    """Open a file, as `open` does; what is no regular file is an `OSError`, and is not waited for.

    Examples
    --------
    >>> open_regular("/dev/null")
    Traceback (most recent call last):
    OSError: [Errno 22] is a device, expected a file: '/dev/null'
    """
    return open(path, mode, opener=_open)


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file."""
    with open_regular(path) as file:
        content: bytes = file.read()
    return content


def require_regular(path: str | os.PathLike[str]) -> None:
    """Raise an `OSError` if what is there is no regular file."""
    _require(Path(path).stat().st_mode, os.fspath(path))


def _open(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a pipe without a writer would already wait.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        # Of the open file, not of the path, which may have been replaced meanwhile.
        _require(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _require(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(
            errno.EINVAL,
            f"is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, expected a file",
            path,
        )
