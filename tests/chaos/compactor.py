"""A process that compacts a store again and again, as a service would, and is killed in the middle of it."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from subprocess import PIPE, Popen
from time import monotonic, sleep

__all__ = ["Compactor"]

Start = Callable[[str, list[str], int], "Popen[bytes]"]


class Compactor:
    """``olscale compact STORE``, started again a few seconds after it has ended or was killed.

    Parameters
    ----------
    store : path
        What it compacts, from when there is something.
    dice : random.Random
        How long it pauses, and when in its work it is killed.
    start : callable
        Takes a name, a command and where its output goes, and starts a process.
    pause : float
        Mean seconds between two compactions.

    Attributes
    ----------
    ended, killed : int
        Compactions that came to their end, and that were killed at work.
    failures : list of str
        Exit codes of those that ended otherwise.
    """

    def __init__(
        self, store: Path, dice: random.Random, start: Start, pause: float = 2.0
    ) -> None:
        self._store = store
        self._dice = dice
        self._start = start
        self._pause = pause
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._seconds = 0.1
        self.ended = self.killed = 0
        self.failures: list[str] = []
        self._thread = threading.Thread(
            target=self._go_on, name="compactor", daemon=True
        )
        self._thread.start()

    def hit(self) -> None:
        """Have the next compaction killed while it is at work."""
        self._wanted.set()

    def stop(self) -> None:
        """Wait until the compaction that is going on has ended, and begin no other."""
        self._over.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._over.is_set():
            if (self._store / "store.json").is_file():
                self._compact_once()
            pause = self._dice.uniform(0, 2 * self._pause)
            end = monotonic() + pause
            while (
                monotonic() < end
                and not self._wanted.is_set()
                and not self._over.wait(0.05)
            ):
                pass

    def _compact_once(self) -> None:
        """Start a compaction and see it through, or kill it between the first thing it does and the line it ends with."""
        before = self._mark()
        process = self._start(
            "compactor",
            [sys.executable, "-m", "olscale", "compact", str(self._store)],
            PIPE,
        )
        # The first thing is to write a compacted file of timings.
        while self._mark() == before and process.poll() is None:
            sleep(0.001)
        begun = monotonic()
        if self._wanted.is_set():
            sleep(self._dice.uniform(0, self._seconds))
            process.kill()
        told, _ = process.communicate()
        if told:
            self._seconds = monotonic() - begun
            self.ended += 1
        elif process.returncode == -SIGKILL:
            self.killed += 1
            self._wanted.clear()
        else:
            self.failures.append(f"compactor: exit {process.returncode}")

    def _mark(self) -> int:
        try:
            return (self._store / "compacted" / "timings").stat().st_mtime_ns
        except FileNotFoundError:
            return 0
