"""The home of a job: folders of nights and history, the page, and the lock of one caller."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from olscale.errors import ExecutionError
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content
from olscale.storage.local import LocalStorage
from olscale.system.regular_file import open_regular, read_regular


@dataclass(frozen=True, slots=True)
class JobHome:
    """The folder of a job.

    Parameters
    ----------
    path : Path
        Made when the first night begins.
    """

    path: Path

    @property
    def history(self) -> Path:
        """Folder of what came of each night."""
        return self.path / "history"

    def night(self, name: str) -> Path:
        """Return the folder of a night."""
        return self.path / "nights" / name

    def nights(self) -> list[str]:
        """Return the nights that have a folder, in order."""
        folder = self.path / "nights"
        return (
            sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
            if folder.is_dir()
            else []
        )

    def latest_store(self) -> Path | None:
        """Return the store of the last night that has one."""
        stores = (self.night(name) / "store" for name in reversed(self.nights()))
        return next((store for store in stores if store.is_dir()), None)

    def holder(self) -> dict[str, Any] | None:
        """Return who runs a night now: host, process and since when; None if nobody does."""
        try:
            with open_regular(self.path / "lock", "r") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    found = json.loads(file.read() or "{}")
                    return found if isinstance(found, dict) else {}
        except OSError:
            pass
        except ValueError:  # held, by somebody of whom nothing can be read
            return {}
        return None

    @contextmanager
    def held(self, now: float) -> Iterator[bool]:
        """Hold the lock, which the system frees when a process dies; yield whether it was free."""
        with self.written():
            self.path.mkdir(parents=True, exist_ok=True)
            file = os.fdopen(os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644), "r+")
        with file:
            if not _lock(file):
                yield False
                return
            with self.written():
                file.truncate()
                file.write(
                    json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "since": now})
                )
                file.flush()
            yield True

    @contextmanager
    def written(self) -> Iterator[None]:
        """Say what to do where a folder or a disk refuses to be written to.

        Raises
        ------
        ExecutionError
            In place of an `OSError`.
        """
        try:
            yield
        except OSError as fault:
            raise ExecutionError(
                f"cannot write to {self.path}: {fault.strerror or fault}; make it writable, make "
                "room on its disk, or name "
                "another folder by --home"
            ) from None


def _lock(file: IO[str]) -> bool:
    """Lock a file, unless somebody holds it for longer than a look at who does."""
    for seconds in (0.1, 0.2, 0.4, 0.0):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(seconds)
    return False


def read_json(file: Path) -> dict[str, Any]:
    """Return the content of a JSON file; an empty dictionary if it is missing or damaged.

    Earlier versions wrote no checksum.
    """
    try:
        return json_content(read_regular(file), checked=False)
    except (OSError, *DAMAGE):
        return {}


def write_file(file: Path, data: bytes) -> None:
    """Write a file by a rename, so that it is there whole or not at all."""
    folder = LocalStorage(str(file.parent))
    folder.make()
    folder.discard_parts(file.name)
    with folder.writing(file.name) as out:
        out.write(data)


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write plain JSON with a checksum, by a rename."""
    write_file(file, json_bytes(content, indent=1, sort_keys=True))
