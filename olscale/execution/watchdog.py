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
from functools import cached_property
from math import inf
from multiprocessing.spawn import get_executable
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from olscale.errors import ExecutionError
from olscale.evaluation.budget import Budget, Metered
from olscale.execution.watchdog_process import BEATS, SLOT, SLOTS, WORDS_SIZE
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
        self._file.truncate(WORDS_SIZE)
        self.words = mmap.mmap(self._file.fileno(), WORDS_SIZE)
        self._free = list(range(SLOTS))
        self._returned: deque[int] = deque()
        # Start and size of the part of the file that describes the runs of each slot.
        self._descriptions = [(WORDS_SIZE, 0)] * SLOTS
        self._end = WORDS_SIZE
        self._beats = 0
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
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[self._file.fileno()],
                    start_new_session=True,
                )

    def beat(self) -> None:
        """Signal that this process's event loop runs."""
        self._beats += 1
        BEATS.pack_into(self.words, 0, self._beats)
        with suppress(OSError):
            self.ensure()

    def describe(self, slot: int, description: bytes) -> int:
        """Write what the process may have to know about a call; return where it starts.

        The process reads it only if it ends the call: a message for each of a thousand short groups
        would take longer than learning them.
        """
        start, size = self._descriptions[slot]
        if len(description) > size:
            with self._lock:
                start = self._end
                size = 2 * len(description)
                self._end += size
            self._descriptions[slot] = start, size
        os.pwrite(self._file.fileno(), description, start)
        return start

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

    def give_back(self, slot: int) -> None:
        """Take a slot back; safe anywhere, since the garbage collector calls it."""
        self._returned.append(slot)

    def _tidy(self) -> None:
        while self._returned:
            self._free.append(self._returned.popleft())


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
        self._store = store
        self._folder = folder
        self._budget = budget
        self._full = FULL * memory_limit or inf
        self._slot = watchdog.take_slot()
        self._offset = BEATS.size + self._slot * SLOT.size
        self._number: int = SLOT.unpack_from(watchdog.words, self._offset)[0]
        self.close = weakref.finalize(self, watchdog.give_back, self._slot)
        self._runs: tuple[str, ...] = ()
        self._described = (0, 0)

    @cached_property
    def _about(self) -> bytes:
        """A line about the group, for the process."""
        ends = {
            "time": self._budget.out_of_time(),
            "budget": self._budget.out_of_memory(),
        }
        reasons = {over: (end.outcome, end.reason) for over, end in ends.items()}
        files = self._store.files
        about = {
            "folder": self._folder,
            "budget": self._budget.model_dump(),
            "ends": {**reasons, "full": ("oom", "filled the memory of its worker")},
            "local": files.local is not None,
            "root": str(files.local or self._store.path),
        }
        if files.local is None:
            about["writer"] = [_python(), "-c", _WRITER, json.dumps(sys.path)]
        return json.dumps(about).encode()

    def enter(self, runs: Sequence[Metered], seconds: float, most_bytes: float) -> None:
        """Begin to watch a call."""
        if seconds == most_bytes == self._full == inf:
            return
        ids = tuple(run.run.id for run in runs)  # type: ignore[attr-defined]
        if ids != self._runs:
            description = self._about + b"\n" + json.dumps(ids).encode()
            try:
                start = self._dog.describe(self._slot, description)
            except (
                OSError
            ):  # a full disk is no fault of the learner: the call is not watched
                return
            self._described = start, len(description)
            self._runs = ids
        # Write the values first, then the number that makes them valid.
        SLOT.pack_into(
            self._dog.words,
            self._offset,
            self._number,
            *self._described,
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
