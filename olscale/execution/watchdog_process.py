"""The process that ends a worker whose learner does not return, started by `watchdog`.

A thread of the worker would wait forever on a learner that never releases Python's lock. This
separate process imports only a little of the standard library, and starts in about 30 ms:
``python -I -S watchdog_process.py FD WORKER NANNY SECONDS MARK``. It reads a few words of shared
memory (`SLOT`: the current call, its deadline and its limit in bytes) and, from the same file, what
the worker has written about the runs of a call, only when it ends that call. It ends with its
worker, however the worker ends, and kills the processes that learners have started there.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import signal
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POLL_SECONDS = 0.05
LOOK_SECONDS = 1.0
"""Seconds between checks that are not urgent: for a missing nanny, and for started processes."""

ORPHAN_SECONDS = 5.0
"""Seconds for a worker without a nanny to end by itself."""

BEATS = struct.Struct("=q")
"""Head of the shared memory: a counter that grows each second while the worker's loop runs."""

SLOT = struct.Struct("=qqqddd")
"""A call: number (odd while running), where the file describes its runs and in how many bytes,
deadline, bytes of its budget and of the worker.
"""

SLOTS = 64

WORDS_SIZE = BEATS.size + SLOTS * SLOT.size
"""Bytes of the shared memory; descriptions of runs follow it in the file."""


def ends_of(
    about: dict[str, Any], runs: list[str], excess: list[str]
) -> list[tuple[str, str]]:
    """Return path below the store and content of each file that says how one of `runs` ends."""
    end = {"outcome": excess[0], "reason": excess[1], "budget": about["budget"]}
    # Same format as `olscale.storage.checked_json`; this process has only Python's own modules.
    text = json.dumps(end, sort_keys=True, separators=(",", ":"))
    content = (
        json.dumps({**end, "checksum": hashlib.sha256(text.encode()).hexdigest()})
        + "\n"
    )
    return [(f"{about['folder']}/{run}.json", content) for run in runs]


class CallWatch:
    """Watches one worker.

    Parameters
    ----------
    words : mmap
        The shared memory.
    descriptor : int
        Its file, with the descriptions of runs.
    worker, nanny : int
        Processes.
    silence : float
        Seconds without a beat after which the worker is ended.
    mark : str
        Setting in the environment of processes that were started in the worker.
    """

    def __init__(
        self,
        words: mmap.mmap,
        descriptor: int,
        worker: int,
        nanny: int,
        silence: float,
        mark: str,
    ) -> None:
        self.words = words
        self.descriptor = descriptor
        self.worker = worker
        self.nanny = nanny
        self.silence = silence
        self.mark = mark.encode()
        self.beats = -1
        self.silent = 0.0
        self.orphan = 0.0
        self.offspring: dict[int, int] = {}  # process -> start time

    def run(self) -> None:
        """Watch until the worker has ended, and end the processes that it leaves."""
        last = looked = time.monotonic()
        while os.getppid() == self.worker:
            time.sleep(POLL_SECONDS)
            now = time.monotonic()
            # No more than two intervals count: a suspended machine has not been silent.
            passed = min(now - last, 2 * POLL_SECONDS)
            last = now
            self.silent += passed
            if (excess := self.excess(now)) and self.terminate(*excess):
                break
            if now - looked < LOOK_SECONDS:
                continue
            looked = now
            if (beats := BEATS.unpack_from(self.words)[0]) != self.beats:
                self.beats = beats
                self.silent = 0.0
            if self.silence and self.silent > self.silence:
                break
            self.offspring.update(descendants(self.worker))
            state = status(self.worker)
            self.orphan = (
                self.orphan + LOOK_SECONDS if state and state[1] != self.nanny else 0.0
            )
            if self.orphan > ORPHAN_SECONDS:
                break
        self.end()

    def excess(self, now: float) -> tuple[int, int, str] | None:
        """Return slot, number and outcome of a call over its budget; None without one."""
        held = None
        for slot in range(SLOTS):
            number, _, _, deadline, most, full = self.call(slot)
            if not number & 1:
                continue
            if held is None and (most != float("inf") or full != float("inf")):
                held = resident_bytes(self.worker)
            if (held or 0) > most:
                return slot, number, "budget"
            if now > deadline:
                return slot, number, "time"
            if (held or 0) > full:
                return slot, number, "full"
        return None

    def call(self, slot: int) -> tuple[int, int, int, float, float, float]:
        """Return the words of a slot, in the order of `SLOT`."""
        words: tuple[int, int, int, float, float, float] = SLOT.unpack_from(
            self.words, BEATS.size + slot * SLOT.size
        )
        return words

    def terminate(self, slot: int, number: int, over: str) -> bool:
        """Stop the worker and write the outcomes; resume it if the call has returned after all."""
        os.kill(self.worker, signal.SIGSTOP)
        for _ in range(100):
            state = status(self.worker)
            if state is None or state[0] in "TtZX":
                break
            time.sleep(0.01)
        current, start, size, *_ = self.call(slot)
        if current != number:
            os.kill(self.worker, signal.SIGCONT)
            return False
        try:
            # A line about the group, and a line with the runs of the call.
            lines = os.pread(self.descriptor, size, start).splitlines()
            about, runs = (json.loads(line) for line in lines)
            files = ends_of(about, runs, about["ends"][over])
            if about["local"]:
                for name, content in files:
                    write(about["root"], name, content)
            else:
                import subprocess

                line = json.dumps({"store": about["root"], "files": files}).encode()
                subprocess.run(
                    about["writer"],
                    input=line,
                    timeout=60,
                    check=False,
                    start_new_session=True,
                )
        except Exception:  # without that file the death counts like any other
            pass
        return True

    def end(self) -> None:
        """End the worker, if it still runs, and every process that was started in it."""
        self.offspring.update(descendants(self.worker))
        if os.getppid() == self.worker:
            os.kill(self.worker, signal.SIGKILL)
        for _ in range(5):
            remaining = [
                process
                for process in left_of(self.worker, self.offspring, self.mark)
                if process != os.getpid()
            ]
            if not remaining:
                break
            for process in remaining:
                try:
                    os.kill(process, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.02)


def write(root: str, name: str, content: str) -> None:
    """Write a file below a local store atomically."""
    path = os.path.join(root, name)
    temporary = os.path.join(root, "tmp", f"{os.path.basename(name)}.{os.getpid()}")
    for folder in (
        os.path.dirname(temporary),
        os.path.dirname(os.path.dirname(path)),
        os.path.dirname(path),
    ):
        if os.path.isdir(root) and not os.path.isdir(folder):
            os.mkdir(folder)
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def status(process: int | str) -> tuple[str, int, int, int] | None:
    """Return state, parent, session and start of a process; None if unavailable.

    The process may be gone, or the system without /proc.
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19])
    except (OSError, IndexError):
        return None


def resident_bytes(process: int) -> int:
    """Return the memory of a process in bytes."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError):
        import subprocess

        answer = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, check=False
        ).stdout
        return int(answer or 0) * 1024


def descendants(process: int) -> dict[int, int]:
    """Return all descendants of a process with their starts."""
    starts: dict[int, int] = {}
    waiting = [process]
    while waiting:
        parent = waiting.pop()
        try:
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                    children = [int(child) for child in file.read().split()]
                for child in children:
                    state = status(child)
                    if state and child not in starts and child != os.getpid():
                        starts[child] = state[3]
                        waiting.append(child)
        except OSError:
            continue
    return starts


def left_of(worker: int, offspring: dict[int, int], mark: bytes) -> list[int]:
    """Return live processes started in a dead worker, by earlier sight, session or mark."""
    try:
        processes = {
            int(name): status(name) for name in os.listdir("/proc") if name.isdigit()
        }
    except OSError:
        return []
    alive = {
        process: state
        for process, state in processes.items()
        if state and state[0] not in "ZX"
    }
    survivors = {
        process
        for process, (_, _, session, start) in alive.items()
        if process not in (worker, os.getpid())
        and (
            session == worker
            or offspring.get(process) == start
            or mark in contents(process, "environ").split(b"\0")
        )
    }
    while (
        children := {
            process for process, state in alive.items() if state[1] in survivors
        }
        - survivors
        - {os.getpid()}
    ):
        survivors |= children
    # Trackers clean up after other processes, and then end by themselves.
    return [
        process
        for process in survivors
        if b"resource_tracker" not in contents(process, "cmdline")
    ]


def contents(process: int, name: str) -> bytes:
    """Return the content of a file of a process in /proc; empty if it cannot be read."""
    try:
        with open(f"/proc/{process}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def main(arguments: list[str]) -> None:
    """Watch the worker that started this process."""
    descriptor, worker, nanny = (int(argument) for argument in arguments[:3])
    words = mmap.mmap(descriptor, WORDS_SIZE)
    silence = float(arguments[3])
    CallWatch(words, descriptor, worker, nanny, silence, arguments[4]).run()


if __name__ == "__main__":
    main(sys.argv[1:])
