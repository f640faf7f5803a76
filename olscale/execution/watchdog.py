"""The watchdog of a worker: has a process beside it end it when its learner is over its budget and does not return.

Nothing else ends a loop that runs for ever. Before it does, `olscale.execution.watchdog_process`
writes down how the run ends, beside the group's checkpoints: whoever goes on with the group gives
that run its outcome and the others their results. It also ends a worker whose nanny is gone or
whose event loop has stood still for too long, and what learners have started.
"""

import ctypes
import gc
import json
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from multiprocessing.spawn import get_executable
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from olscale.errors import ExecutionError
from olscale.evaluation.budget import Budget, Metered
from olscale.execution.watchdog_process import BEATS, SLOT, SLOTS
from olscale.results.store import Store, open_store

FULL = 0.9
"""Share of the worker's memory limit beyond which it is taken to be full; its nanny ends it at 0.95."""

BEAT_SECONDS = 1.0
MARK = "OLSCALE_WORKER"
_SUBREAPER = 36  # of prctl(2)


class Watchdog:
    """The process that watches this one, and the memory they share.

    Parameters
    ----------
    silence : float
        Seconds without a beat after which this process is ended; 0 for any number.
    """

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as this process is
        size = BEATS.size + SLOTS * SLOT.size
        self._file.truncate(size)
        self.words = mmap.mmap(self._file.fileno(), size)
        self._free = list(range(SLOTS))
        self._lines = dict[int, bytes]()
        self._returned: deque[tuple[int, dict[tuple[str, ...], int]]] = deque()
        self._beats = 0
        self._groups = 0
        self._lock = threading.Lock()
        # What learners start inherits this, wherever it goes.
        self._mark = f"{MARK}={uuid4().hex}"
        os.environ[MARK] = self._mark.partition("=")[2]
        self._process: subprocess.Popen[bytes] | None = None
        _lead_a_session()
        self.ensure()

    def ensure(self) -> None:
        """See that the process is there."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                arguments = [
                    self._file.fileno(),
                    os.getpid(),
                    os.getppid(),
                    self._silence,
                    self._mark,
                ]
                script = Path(__file__).with_name("watchdog_process.py")
                self._process = subprocess.Popen(
                    [_python(), "-I", "-S", str(script), *map(str, arguments)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[self._file.fileno()],
                    start_new_session=True,
                )
                self._send(b"".join(self._lines.values()))

    def beat(self) -> None:
        """Say that this process's event loop turns."""
        self._beats += 1
        BEATS.pack_into(self.words, 0, self._beats)
        with suppress(OSError):
            self.ensure()

    def tell(self, group: dict[str, Any]) -> int:
        """Tell of a group of runs that calls can be for; return its number."""
        with self._lock:
            self._groups += 1
            line = json.dumps({"group": self._groups, **group}).encode() + b"\n"
            self._lines[self._groups] = line
            self._send(line)
            return self._groups

    def _send(self, lines: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended; the next beat starts another
            self._process.stdin.write(lines)
            self._process.stdin.flush()

    def take_slot(self) -> int:
        """Return a free slot of the shared memory."""
        with self._lock:
            self._tidy()
            if not self._free:
                gc.collect()  # actors whose drivers are gone
                self._tidy()
            if not self._free:
                raise ExecutionError(
                    f"a worker has {SLOTS} run groups at once; give workers one thread each "
                    "(--nthreads 1)"
                )
            return self._free.pop()

    def give_back(self, slot: int, groups: dict[tuple[str, ...], int]) -> None:
        """Take a slot and its groups back; safe in the middle of anything, as the garbage collector calls it too."""
        self._returned.append((slot, groups))

    def _tidy(self) -> None:
        while self._returned:
            slot, groups = self._returned.popleft()
            self._free.append(slot)
            for group in groups.values():
                self._lines.pop(group, None)
            if groups:
                self._send(json.dumps({"forget": list(groups.values())}).encode() + b"\n")


class GroupWatch:
    """Watches the calls of one group.

    Parameters
    ----------
    watchdog : Watchdog
    store : Store
        The metrics store.
    folder : str
        Of the group's checkpoints, below the store.
    budget : Budget
    memory_limit : float
        Bytes that the process may hold; 0 for any number.

    Attributes
    ----------
    close : callable
        Ends the watch.
    """

    def __init__(
        self, watchdog: Watchdog, store: Store, folder: str, budget: Budget, memory_limit: float
    ) -> None:
        self._dog = watchdog
        self._full = FULL * memory_limit or inf
        slot = watchdog.take_slot()
        groups = dict[tuple[str, ...], int]()
        self._offset = BEATS.size + slot * SLOT.size
        self._groups = groups
        self._number: int = SLOT.unpack_from(watchdog.words, self._offset)[0]
        self.close = weakref.finalize(self, watchdog.give_back, slot, groups)
        files = store.files
        ends = {"time": budget.out_of_time(), "budget": budget.out_of_memory()}
        reasons = {over: (end.outcome, end.reason) for over, end in ends.items()}
        self._about = {
            "folder": folder,
            "budget": budget.model_dump(),
            "ends": {**reasons, "full": ("oom", "filled the memory of its worker")},
            "local": files.local is not None,
            "root": str(files.local or store.path),
            "writer": [_python(), "-c", _WRITER, json.dumps(sys.path)],
        }

    def enter(self, runs: Sequence[Metered], seconds: float, most_bytes: float) -> None:
        """Begin to watch a call."""
        if seconds == most_bytes == self._full == inf:
            return
        ids = tuple(run.run.id for run in runs)  # type: ignore[attr-defined]
        group = self._groups.get(ids)
        if group is None:
            group = self._groups[ids] = self._dog.tell({**self._about, "runs": ids})
        # First the words, then the number that makes them count.
        SLOT.pack_into(
            self._dog.words,
            self._offset,
            self._number,
            group,
            monotonic() + seconds,
            most_bytes,
            self._full,
        )
        self._number += 1
        _NUMBER.pack_into(self._dog.words, self._offset, self._number)

    def leave(self) -> None:
        """Stop watching: the call has returned."""
        if self._number & 1:
            self._number += 1
            _NUMBER.pack_into(self._dog.words, self._offset, self._number)


_NUMBER = BEATS  # a word
_WRITER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from olscale.execution.watchdog import write_verdicts; write_verdicts(json.load(sys.stdin))"
)


def write_verdicts(message: dict[str, Any]) -> None:
    """Write how runs ended to a store that is no local directory; called in a process of its own."""
    files = open_store(message["store"]).files
    for name, content in message["files"]:
        files.put(name, content.encode())


_ours: Watchdog | None = None
_making = threading.Lock()


def watchdog_of(worker: Any) -> Watchdog | None:
    """Return the watchdog of this process, a Dask worker; None if it has no nanny that would start another in its place."""
    global _ours
    if worker.nanny is None:
        return None
    with _making:
        if _ours is None:
            from tornado.ioloop import PeriodicCallback

            # Beyond twice that time the scheduler would have had the worker ended, if it could.
            ttl = _seconds(worker)
            dog = _ours = Watchdog(2 * ttl)
            beats = PeriodicCallback(dog.beat, BEAT_SECONDS * 1000)
            worker.loop.add_callback(beats.start)
        return _ours


def _seconds(worker: Any) -> float:
    import dask
    from dask.utils import parse_timedelta

    ttl = dask.config.get("distributed.scheduler.worker-ttl", None)
    return float(parse_timedelta(ttl)) if ttl else 0.0


def _python() -> str:
    executable = get_executable()
    return executable.decode() if isinstance(executable, bytes) else str(executable)


def _lead_a_session() -> None:
    """Have all that learners start here belong together, so that nothing of it stays behind."""
    with suppress(OSError):  # a leader of a group already
        os.setsid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
