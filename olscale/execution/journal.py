"""The writer of the live journal (`olscale.results.live`).

An evaluation does not depend on its journal: where writing fails, the journal stops and says so
once. A thread writes lines at most once per second, or every ten seconds to object stores, which
charge for each write, so that no event waits for a disk. A long evaluation is written less often,
so that a journal of days stays small.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from threading import Event, Lock, Thread
from time import gmtime, monotonic, strftime, time
from types import TracebackType
from typing import Any

from olscale.errors import StoppedError, one_line
from olscale.execution.progress import LiveProgress, Progress
from olscale.execution.work import Work
from olscale.results.live import SILENT_SECONDS
from olscale.results.live_reader import FOLDER, LiveReader, journal_of, line_bytes
from olscale.results.store import Store
from olscale.version import __version__

_LINE_SECONDS = 1.0
_OBJECT_SECONDS = 10.0
_LATER_SHARE = 1 / 2000
_HEARTBEAT_SECONDS = 20.0
_MOST_SECONDS = SILENT_SECONDS / 2
_PART_BYTES = 1 << 18
_DAY = 86_400.0


class LiveJournal(LiveProgress):
    """Live progress that is also written to the store's journal; a context manager.

    Parameters
    ----------
    store : Store
    progress : Progress
        Also receives the events.
    """

    def __init__(self, store: Store, progress: Progress) -> None:
        super().__init__(progress)
        self._store = store
        self._files = store.files
        began = strftime("%Y%m%dT%H%M%S", gmtime())
        # The random part keeps evaluations of one process and second apart.
        name = f"{began}-{platform.node() or 'host'}-{os.getpid()}-{token_hex(2)}"
        self._name = f"{FOLDER}/{name}".replace(" ", "-")
        self._lock = Lock()
        self._ended = Event()
        self._line: dict[str, Any] = {}
        self._part = 0
        self._content = b""
        self._began = monotonic()
        self._written = 0.0
        self._thread = Thread(target=self._write_on, daemon=True)
        self._broken = False

    @property
    def id(self) -> str:
        """Name of the journal for its readers."""
        return self._name.removeprefix(f"{FOLDER}/")

    def __enter__(self) -> LiveJournal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write how the evaluation ended."""
        self._ended.set()
        # Evaluations without work never began a journal.
        if self._part:
            self._thread.join()
            self._add({"end": _ending(error)})
            self._flush()

    def start(
        self, name: str, runs: int, done: int, groups: Mapping[str, Work]
    ) -> None:
        """Write the start at once; without work to do, leave no journal."""
        if self._part and groups:
            self._flush()  # a line has what is of one start
        super().start(name, runs, done, groups)
        if not groups:
            return
        if not self._part:
            self._sweep()
            self._part = 1
            self._flush()
            self._thread.start()
        else:
            self._flush()

    def _add(self, content: dict[str, Any]) -> None:
        """Take in the content of a line, and leave it to be written."""
        super()._add(content)
        with self._lock:
            start = content.get("start")
            if start is not None and not start["groups"]:
                return
            if start is not None and not self._part:
                begin = {
                    "host": platform.node(),
                    "pid": os.getpid(),
                    "version": __version__,
                }
                # Notes before the first start belong after the line that begins the journal.
                self._line = {"begin": begin, **self._line}
            for key, value in content.items():
                if key == "notes":
                    self._line.setdefault("notes", []).extend(value)
                elif key in ("start", "end"):
                    self._line[key] = value
                else:
                    self._line.setdefault(key, {}).update(value)

    # Writing.

    def _write_on(self) -> None:
        least = _LINE_SECONDS if self._files.local is not None else _OBJECT_SECONDS
        while not self._ended.wait(
            min(_MOST_SECONDS, max(least, (monotonic() - self._began) * _LATER_SHARE))
        ):
            if self._line or monotonic() - self._written > _HEARTBEAT_SECONDS:
                self._flush()

    def _flush(self) -> None:
        with self._lock:
            # Events continue in a new line while this one is written.
            line = self._line
            self._line = {}
        self._written = monotonic()
        if self._broken:
            return
        text = line_bytes({"t": round(time(), 3), **line})
        try:
            self._append(text)
        except Exception as fault:
            # A full disk or a missing store: writing results reports the fault if it matters.
            self._broken = True
            # A vanished new store is no fault: the evaluation was interrupted and removed it.
            if not (isinstance(fault, FileNotFoundError) and self._is_taken_back()):
                self._progress.note(
                    f"the live journal is not written any more: {type(fault).__name__}"
                )

    def _is_taken_back(self) -> bool:
        """Return whether the store is gone, as a new one without results is after an interrupt."""
        with suppress(Exception):
            return not self._files.is_file("store.json")
        return False

    def _append(self, text: bytes) -> None:
        if self._files.local is not None:
            path = self._files.local / f"{self._name}.{self._part:04}.jsonl"
            path.parent.mkdir(exist_ok=True)
            with path.open("ab") as file:
                file.write(text)
            return
        # Objects are written as a whole: small parts keep rewriting cheap.
        if len(self._content) > _PART_BYTES:
            self._part = self._part + 1
            self._content = b""
        self._content += text
        self._files.put(f"{self._name}.{self._part:04}.jsonl", self._content)

    def _sweep(self) -> None:
        """Remove journals that have not grown for a day."""
        with suppress(Exception):
            long_ago = time() - _DAY
            began = strftime("%Y%m%dT%H%M%S", gmtime(long_ago))
            if names := [
                name for name in self._files.names(FOLDER) if journal_of(name) < began
            ]:
                old = {
                    journal.id
                    for journal in LiveReader(self._store).read()
                    if journal.heard < long_ago
                }
                self._files.discard_all(
                    [name for name in names if journal_of(name) in old]
                )


def _ending(error: BaseException | None) -> str:
    if error is None:
        return "done"
    if isinstance(error, StoppedError) or not isinstance(error, Exception):
        return "stopped"
    return f"failed: {one_line(str(error) or type(error).__name__)}"
