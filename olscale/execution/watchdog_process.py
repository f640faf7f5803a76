"""The process beside a worker that ends it when its learner does not return; `olscale.execution.watchdog` starts it.

A thread of the worker would wait for ever on a learner that never lets go of Python's lock. This is
a process of its own that imports nothing but a little of the standard library, and starts in some
30 ms: ``python -I -S watchdog_process.py FD WORKER NANNY SECONDS MARK``. It reads a few words of
shared memory (`SLOT`: which call, when and at how many bytes it is to end) and, on its standard
input, a line of JSON for each group of runs that a call can be for. It ends with its worker,
whatever ends that, and takes along what learners have started there.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import select
import signal
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POLL_SECONDS = 0.05
LOOK_SECONDS = 1.0
"""How often is looked for what is no matter of milliseconds: a nanny that is gone, processes that learners have started."""

ORPHAN_SECONDS = 5.0
"""What a worker whose nanny is gone gets to end by itself."""

BEATS = struct.Struct("=q")
"""Head of the shared memory: counts up each second for as long as the worker's event loop turns."""

SLOT = struct.Struct("=qqddd")
"""A call: its number, odd while it goes on; group; when it is to end; bytes of its budget; bytes that fill the worker."""

SLOTS = 64


def ends_of(group: dict[str, Any], excess: list[str]) -> list[tuple[str, str]]:
    """Return the files that say how the runs of a group end: pairs of a path below the store and its contents."""
    end = {"outcome": excess[0], "reason": excess[1], "budget": group["budget"]}
    # As `olscale.storage.checked_json` does; this process has nothing but Python's own modules.
    text = json.dumps(end, sort_keys=True, separators=(",", ":"))
    content = json.dumps({**end, "checksum": hashlib.sha256(text.encode()).hexdigest()}) + "\n"
    return [(f"{group['folder']}/{run}.json", content) for run in group["runs"]]


class CallWatch:
    """Watches one worker.

    Parameters
    ----------
    words : mmap
        The shared memory.
    worker, nanny : int
        Processes.
    silence : float
        Seconds without a beat after which the worker is ended.
    mark : str
        Setting in the environment of what was started in the worker.
    """

    def __init__(
        self, words: mmap.mmap, worker: int, nanny: int, silence: float, mark: str
    ) -> None:
        self.words = words
        self.worker = worker
        self.nanny = nanny
        self.silence = silence
        self.mark = mark.encode()
        self.groups: dict[int, dict[str, Any]] = {}
        self.rest = b""
        self.heard = True
        self.beats = -1
        self.silent = 0.0
        self.orphan = 0.0
        self.offspring: dict[int, int] = {}  # process -> when it was started

    def run(self) -> None:
        """Watch until the worker has ended, and end what it has left."""
        last = looked = time.monotonic()
        while os.getppid() == self.worker:
            self.hear()
            now = time.monotonic()
            # No more than two looks count: a machine that was suspended has not been silent.
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
            self.orphan = self.orphan + LOOK_SECONDS if state and state[1] != self.nanny else 0.0
            if self.orphan > ORPHAN_SECONDS:
                break
        self.end()

    def hear(self) -> None:
        """Read lines for a moment."""
        if not self.heard:
            time.sleep(POLL_SECONDS)
        elif select.select([0], [], [], POLL_SECONDS)[0]:
            data = os.read(0, 1 << 16)
            self.heard = bool(data)  # else the worker has closed its end: it is ending
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                about = json.loads(line)
                if "forget" in about:
                    for group in about["forget"]:
                        self.groups.pop(group, None)
                else:
                    self.groups[about["group"]] = about

    def excess(self, now: float) -> tuple[int, int, int, str] | None:
        """Return the slot of a call that is over its budget, its number, group, and how its runs end; None if none is."""
        held = None
        for slot in range(SLOTS):
            number, group, deadline, most, full = SLOT.unpack_from(
                self.words, BEATS.size + slot * SLOT.size
            )
            if not number & 1:
                continue
            if held is None and (most != float("inf") or full != float("inf")):
                held = resident_bytes(self.worker)
            if (held or 0) > most:
                return slot, number, group, "budget"
            if now > deadline:
                return slot, number, group, "time"
            if (held or 0) > full:
                return slot, number, group, "full"
        return None

    def terminate(self, slot: int, number: int, group: int, over: str) -> bool:
        """Stop the worker and write down how the runs end; let it go on if the call has returned after all."""
        os.kill(self.worker, signal.SIGSTOP)
        for _ in range(100):
            state = status(self.worker)
            if state is None or state[0] in "TtZX":
                break
            time.sleep(0.01)
        now = SLOT.unpack_from(self.words, BEATS.size + slot * SLOT.size)[0]
        while self.heard and group not in self.groups and select.select([0], [], [], 0)[0]:
            self.hear()
        if now != number or group not in self.groups:
            os.kill(self.worker, signal.SIGCONT)
            return False
        about = self.groups[group]
        files = ends_of(about, about["ends"][over])
        try:
            if about["local"]:
                for name, content in files:
                    write(about["root"], name, content)
            else:
                import subprocess

                line = json.dumps({"store": about["root"], "files": files}).encode()
                subprocess.run(
                    about["writer"], input=line, timeout=60, check=False, start_new_session=True
                )
        except Exception:  # without that file its death counts as any other
            pass
        return True

    def end(self) -> None:
        """End the worker, if it still is, and every process that was started in it."""
        self.offspring.update(descendants(self.worker))
        if os.getppid() == self.worker:
            os.kill(self.worker, signal.SIGKILL)
        for _ in range(5):
            left = [
                process
                for process in left_of(self.worker, self.offspring, self.mark)
                if process != os.getpid()
            ]
            if not left:
                break
            for process in left:
                try:
                    os.kill(process, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.02)


def write(root: str, name: str, content: str) -> None:
    """Write a file below a local store, whole."""
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
    """Return state, parent, session and start of a process; None if it is gone, or this system has no /proc."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19])
    except (OSError, IndexError):
        return None


def resident_bytes(process: int) -> int:
    """Return how much memory a process holds."""
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
    """Return the processes that a process has started, and those that they have, with their starts."""
    found: dict[int, int] = {}
    waiting = [process]
    while waiting:
        one = waiting.pop()
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/children", "rb") as file:
                    children = [int(child) for child in file.read().split()]
                for child in children:
                    state = status(child)
                    if state and child not in found and child != os.getpid():
                        found[child] = state[3]
                        waiting.append(child)
        except OSError:
            continue
    return found


def left_of(worker: int, offspring: dict[int, int], mark: bytes) -> list[int]:
    """Return what is alive of what was started in a worker that is gone, by what is known of it, its session or its mark."""
    try:
        processes = {int(name): status(name) for name in os.listdir("/proc") if name.isdigit()}
    except OSError:
        return []
    there = {
        process: state for process, state in processes.items() if state and state[0] not in "ZX"
    }
    found = {
        process
        for process, (_, _, session, start) in there.items()
        if process not in (worker, os.getpid())
        and (
            session == worker
            or offspring.get(process) == start
            or mark in contents(process, "environ").split(b"\0")
        )
    }
    while (
        more := {process for process, state in there.items() if state[1] in found}
        - found
        - {os.getpid()}
    ):
        found |= more
    # Trackers clean up after others, and end by themselves when they have.
    return [process for process in found if b"resource_tracker" not in contents(process, "cmdline")]


def contents(process: int, name: str) -> bytes:
    """Return what the system says of a process under `name`; nothing if it does not."""
    try:
        with open(f"/proc/{process}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def main(arguments: list[str]) -> None:
    """Watch the worker that started this process."""
    descriptor, worker, nanny = (int(argument) for argument in arguments[:3])
    words = mmap.mmap(descriptor, BEATS.size + SLOTS * SLOT.size)
    os.close(descriptor)
    CallWatch(words, worker, nanny, float(arguments[3]), arguments[4]).run()


if __name__ == "__main__":
    main(sys.argv[1:])
