"""The writer of the live journal (`olscale.results.live`), which also passes events on.

An evaluation does not depend on its journal: where writing fails, the journal stops and says so
once. A thread writes lines at most once per second, or every ten seconds to object stores, which
charge for each write, so that no event waits for a disk. A long evaluation is written less often,
so that a journal of days stays small.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from secrets import token_hex
from threading import Event, Lock, Thread
from time import gmtime, monotonic, strftime, time
from types import TracebackType
from typing import Any

from olscale.addresses import redacted
from olscale.errors import StoppedError, one_line
from olscale.evaluation.run import Run
from olscale.execution.progress import Detailed, Progress, Work
from olscale.execution.task_report import Stand
from olscale.learners.foresight import is_counted_in_time
from olscale.results.live import FOLDER, SILENT_SECONDS, LiveReader, journal_of, line_bytes
from olscale.results.store import Store
from olscale.version import __version__

_LINE_SECONDS = 1.0
_OBJECT_SECONDS = 10.0
_LATER_SHARE = 1 / 2000
_HEARTBEAT_SECONDS = 20.0
_MOST_SECONDS = SILENT_SECONDS / 2
_POINTS = 200
_ALL_POINTS = 200_000
"""Most positions of the error that are written per run, and for all runs together."""

_PART_BYTES = 1 << 18
_DAY = 86_400.0


class LiveJournal:
    """Passes progress events on to `progress`, and keeps the journal; a context manager.

    Parameters
    ----------
    store : Store
    progress : Progress
        Also receives the events.
    """

    def __init__(self, store: Store, progress: Progress) -> None:
        self._store = store
        self._files = store.files
        self._progress = progress
        began = strftime("%Y%m%dT%H%M%S", gmtime())
        # The random part keeps evaluations of one process and second apart.
        self._name = (
            f"{FOLDER}/{began}-{platform.node() or 'host'}-{os.getpid()}-{token_hex(2)}".replace(
                " ", "-"
            )
        )
        self._lock = Lock()
        self._ended = Event()
        self._line: dict[str, Any] = {}
        # Per run: rows of its last error, and the place of it among the positions.
        self._steps: dict[str, tuple[int, int]] = {}
        self._rows: dict[str, int] = {}
        self._points = _POINTS
        # Groups whose last written event says that they predict held-out rows, or compile.
        self._scoring: set[str] = set()
        self._compiling: set[str] = set()
        self._part = 0
        self._content = b""
        self._began, self._written, self._thread = (
            monotonic(),
            0.0,
            Thread(target=self._write_on, daemon=True),
        )
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
            self._add(end=_ending(error))
            self._flush()

    # Progress events.

    def note(self, line: str) -> None:
        """Pass a line on."""
        self._progress.note(line)
        with self._lock:
            self._line.setdefault("notes", []).append(redacted(line))

    def start(self, name: str, runs: int, done: int, groups: Mapping[str, Work]) -> None:
        """Pass on the start and write it at once; without work to do, leave no journal."""
        self._progress.start(name, runs, done, groups)
        if not groups:
            return
        with self._lock:
            if not self._part:
                begin = {"host": platform.node(), "pid": os.getpid(), "version": __version__}
                # Notes before the first start belong after the line that begins the journal.
                self._line = {"begin": begin, **self._line}
        self._add(start={"name": name, "runs": runs, "done": done, **_content(groups)})
        self._rows = {
            run.id: max(1, work.rows // max(1, len(work.runs)))
            for work in groups.values()
            for run in work.runs
        }
        self._points = (
            max(1, min(_POINTS, _ALL_POINTS // len(self._rows))) if self._rows else _POINTS
        )
        self._steps.clear()
        self._scoring.clear()
        self._compiling.clear()
        if not self._part:
            self._sweep()
            self._part = 1
            self._flush()
            self._thread.start()
        else:
            self._flush()

    def advance(self, group: str, rows: int, error: float) -> None:
        """Pass on where a group stands."""
        self._progress.advance(group, rows, error)

    def details(self, group: str, stand: Stand, worker: str) -> None:
        """Pass on and note where a group stands, on which worker, and the errors so far."""
        if isinstance(self._progress, Detailed):
            self._progress.details(group, stand, worker)
        with self._lock:
            self._line.setdefault("at", {})[group] = [stand.rows, worker, stand.memory]
            if stand.scoring[1] or group in self._scoring:
                self._line.setdefault("scored", {})[group] = stand.scoring
                (self._scoring.add if stand.scoring[1] else self._scoring.discard)(group)
            if stand.compiling or group in self._compiling:
                self._line.setdefault("compiling", {})[group] = stand.compiling
                (self._compiling.add if stand.compiling else self._compiling.discard)(group)
            for run, rows, error in stand.errors:
                if isfinite(error) and self._is_due(run, rows):
                    self._line.setdefault("errors", {})[run] = [rows, error]

    def finish(self, run: str, outcome: str) -> None:
        """Pass on that a run has ended."""
        self._progress.finish(run, outcome)
        with self._lock:
            self._line.setdefault("ended", {})[run] = outcome

    # Writing.

    def _is_due(self, run: str, rows: int) -> bool:
        total = self._rows.get(run, 0)
        step = rows * self._points // total if total else rows
        if step <= self._steps.get(run, (0, -1))[1] and rows < total:
            return False
        self._steps[run] = rows, step
        return True

    def _add(self, **more: Any) -> None:
        with self._lock:
            self._line |= more

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
            if names := [name for name in self._files.names(FOLDER) if journal_of(name) < began]:
                old = {
                    journal.id
                    for journal in LiveReader(self._store).read()
                    if journal.heard < long_ago
                }
                self._files.discard_all([name for name in names if journal_of(name) in old])


def _content(groups: Mapping[str, Work]) -> dict[str, Any]:
    """Return the journal's description of groups, with each setting of a learner once."""
    settings: dict[str, int] = {}
    of: dict[str, tuple[int, str, str, str]] = {}
    kinds: dict[tuple[str, ...], int] = {}
    ahead: dict[str, int] = {}
    uncounted: list[str] = []
    for work in groups.values():
        for run in work.runs:
            setting = json.dumps([run.learner, run.params], sort_keys=True)
            number = settings.setdefault(setting, len(settings))
            of[run.id] = number, run.stream.dataset, _stream(run), work.metric
            if names := tuple(foresight.name for foresight in work.ahead.get(run.id, ())):
                ahead[run.id] = kinds.setdefault(names, len(kinds))
            if not is_counted_in_time(run.learner, run.stream.scoring.definition()):
                uncounted.append(run.id)
    return {
        "groups": {
            name: (work.rows, work.cost, [run.id for run in work.runs])
            for name, work in groups.items()
        },
        "held": {name: work.held for name, work in groups.items() if work.held},
        "seconds": sum(work.seconds for work in groups.values()),
        "settings": [json.loads(setting) for setting in settings],
        "of": of,
        "kinds": list(kinds),
        "ahead": ahead,
        "late": uncounted,
    }


def _stream(run: Run) -> str:
    """Return the name of the stream of its dataset that a run is on."""
    shuffle = run.stream.shuffle
    part = run.stream.part
    words = [] if shuffle is None else [f"permutation {shuffle.index}"]
    words += [] if part is None else [f"fold {part.fold}"]
    words += [] if run.fold is None else [f"model {run.fold}"]
    return ", ".join(words) or "time order"


def _ending(error: BaseException | None) -> str:
    if error is None:
        return "done"
    if isinstance(error, StoppedError) or not isinstance(error, Exception):
        return "stopped"
    return f"failed: {one_line(str(error) or type(error).__name__)}"
