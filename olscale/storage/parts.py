"""Unfinished files and folders next to their targets, as ``NAME.PID.part``, and their removal."""

import fcntl
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

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
            if entry.name.startswith(target.name) and mark and not _is_alive(int(mark[1])):
                with suppress(OSError):
                    _discard(Path(entry.path))


def _discard(part: Path) -> None:
    descriptor = os.open(part, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.flock(
            descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB
        )  # raises if a process on another machine holds it
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
