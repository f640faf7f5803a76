"""The watchdog of a worker: a separate process ends the worker if its learner does not return.

Nothing else ends an infinite loop over its budget. Before it does,
`olscale.execution.watchdog_process` writes the outcome of the run next to the group's checkpoints,
so that the process that continues the group gives that run its outcome and the others their
results. It also ends a worker whose nanny is gone or whose event loop has stood still for too long,
and the processes that learners have started.
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
from olscale.results.opening import open_store
from olscale.results.store import Store

FULL = 0.9
"""Share of the worker's memory limit above which it counts as full; its nanny ends it at 0.95."""

BEAT_SECONDS = 1.0
MARK = "OLSCALE_WORKER"
_SUBREAPER = 36  # of prctl(2)


class Watchdog:
    """The process that watches this one, and their shared memory.

    Parameters
    ----------
    silence : float
        Seconds without a beat after which this process is ended; 0 for no limit.
    """

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open for the life of this process
        size = BEATS.size + SLOTS * SLOT.size
        self._file.truncate(size)
        self.words = mmap.mmap(self._file.fileno(), size)
        self._free = list(range(SLOTS))
        self._lines = dict[int, bytes]()
        self._returned: deque[tuple[int, dict[tuple[str, ...], int]]] = deque()
        self._beats = 0
        self._groups = 0
        self._lock = threading.Lock()
        # Processes that learners start inherit this, even if they detach.
        self._mark = f"{MARK}={uuid4().hex}"
        os.environ[MARK] = self._mark.partition("=")[2]
        self._process: subprocess.Popen[bytes] | None = None
        _lead_a_session()
        self.ensure()

    def ensure(self) -> None:
        """Start the process if it does not run."""
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
        """Signal that this process's event loop runs."""
        self._beats += 1
        BEATS.pack_into(self.words, 0, self._beats)
        with suppress(OSError):
            self.ensure()

    def tell(self, group: dict[str, Any]) -> int:
        """Announce a group of runs to the process; return its number."""
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
        """Take a slot and its groups back; safe anywhere, since the garbage collector calls it."""
        self._returned.append((slot, groups))

    def _tidy(self) -> None:
        while self._returned:
            slot, groups = self._returned.popleft()
            self._free.append(slot)
            for group in groups.values():
                self._lines.pop(group, None)
            if groups:
                self._send(
                    json.dumps({"forget": list(groups.values())}).encode() + b"\n"
                )


class GroupWatch:
    """Watches the calls of one group.

    Parameters
    ----------
    watchdog : Watchdog
    store : Store
        The metrics store.
    folder : str
        Folder of the group's checkpoints, relative to the store.
    budget : Budget
    memory_limit : float
        Bytes that the process may hold; 0 for no limit.

    Attributes
    ----------
    close : callable
        Ends the watch.
    """

    def __init__(
        self,
        watchdog: Watchdog,
        store: Store,
        folder: str,
        budget: Budget,
        memory_limit: float,
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
        # Write the values first, then the number that makes them valid.
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


_NUMBER = BEATS  # one word
_WRITER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from olscale.execution.watchdog import write_verdicts; write_verdicts(json.load(sys.stdin))"
)


def write_verdicts(message: dict[str, Any]) -> None:
    """Write the outcomes of runs to a store that is not local; called in a separate process."""
    files = open_store(message["store"]).files
    for name, content in message["files"]:
        files.put(name, content.encode())


_watchdog: Watchdog | None = None
_making = threading.Lock()


def watchdog_of(worker: Any) -> Watchdog | None:
    """Return the watchdog of this Dask worker; None without a nanny that would restart it."""
    global _watchdog
    if worker.nanny is None:
        return None
    with _making:
        if _watchdog is None:
            from tornado.ioloop import PeriodicCallback

            # After twice that time the scheduler would have ended the worker, if it could.
            ttl = _seconds(worker)
            dog = _watchdog = Watchdog(2 * ttl)
            beats = PeriodicCallback(dog.beat, BEAT_SECONDS * 1000)
            worker.loop.add_callback(beats.start)
        return _watchdog


def _seconds(worker: Any) -> float:
    import dask
    from dask.utils import parse_timedelta

    ttl = dask.config.get("distributed.scheduler.worker-ttl", None)
    if ttl:
        return float(parse_timedelta(ttl))
    return 0.0


def _python() -> str:
    executable = get_executable()
    if isinstance(executable, bytes):
        return executable.decode()
    return str(executable)


def _lead_a_session() -> None:
    """Make this process lead a session, so that everything learners start here can be found."""
    with suppress(OSError):  # it leads a group already
        os.setsid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
