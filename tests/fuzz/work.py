"""The process that reads inputs: under a limit of memory, each under a deadline, telling how far it is.

The deadline is one of processor time and ends in a signal that nobody catches, so it also ends
loops in machine code; whoever started the process then finds in the file of positions which input
it was.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.fuzz.target import Bench, Target

DEADLINE = 10.0
"""Seconds of processor time for an input."""

PATIENCE = 300
"""Seconds of any time for an input: it waits for something that does not come."""

MEMORY = 1 << 30
"""Bytes of address space beyond what the libraries take."""

SHOWN = 5
"""Inputs told of a kind of finding; all are counted."""


def limit_memory(more: int = MEMORY) -> None:
    """Let this process ask for `more` bytes beyond what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    allowed = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


def start_deadline(seconds: float = DEADLINE) -> None:
    """End the process after so much processor time, or much more of any time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(PATIENCE if seconds else 0)


def kind_of(error: BaseException) -> str:
    """Return what tells findings apart: the exception and the last line of olscale that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/olscale/" in frame.filename]
    where = (
        f"{ours[-1].filename.rpartition('/olscale/')[2]}:{ours[-1].lineno}"
        if ours
        else "check"
    )
    return f"{type(error).__name__} at {where}"


def work(target: Target, start: int, stop: int, seed: int, positions: Path) -> None:
    """Read inputs `start` to `stop` and print one JSON line a finding and one with the counts."""
    warnings.simplefilter("ignore")
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    slowest = (0.0, start)
    with (
        tempfile.TemporaryDirectory() as folder,
        positions.open("r+b") as file,
        mmap.mmap(file.fileno(), 64) as shared,
    ):
        bench = Bench(target, Path(folder))
        # loads libraries and compiled loops before memory is limited
        for base in range(len(target.valid)):
            if bench.attempt(base, {}) != "accepted":
                raise SystemExit(f"{target.name}: valid input {base} was refused")
        limit_memory()
        for number in range(start, stop):
            shared[:16] = b"%16d" % number
            base, changed = target.input(number, seed)
            start_deadline()
            before = time.process_time()
            try:
                outcome = bench.attempt(base, changed)
            except (Exception, SystemExit) as error:
                outcome = "finding"
                kind = kind_of(error)
                kinds[kind] += 1
                if kinds[kind] <= SHOWN:
                    _tell(
                        {
                            "number": number,
                            "kind": kind,
                            "what": " ".join(str(error).split())[:300],
                        }
                    )
            start_deadline(0)
            counts[outcome] += 1
            slowest = max(slowest, (time.process_time() - before, number))
    # With its children's: none are started. Kilobytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _tell({"counts": counts, "slowest": slowest, "peak": peak, "kinds": kinds})


def _tell(message: dict[str, object]) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def fails(
    target: Target, base: int, changed: dict[str, bytes], folder: Path
) -> str | None:
    """Read one input in a process of its own and return what kind of finding it is, or None."""
    child = os.fork()
    if child == 0:
        code = 0
        faulthandler.disable()  # of a crash that is expected
        try:
            limit_memory()
            start_deadline()
            Bench(target, folder).attempt(base, changed)
        except BaseException as error:
            (folder / "kind").write_text(kind_of(error))
            code = 1
        os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return (folder / "kind").read_text() if os.WEXITSTATUS(status) else None


def shrink(
    target: Target, number: int, seed: int, tries: int = 2_000
) -> tuple[str | None, int, dict[str, bytes]]:
    """Return the kind of finding of input `number`, and the smallest input found that gives the same kind."""
    base, changed = target.input(number, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kind = fails(target, base, changed, folder)
        if kind is None:
            return None, base, changed
        for file in sorted(changed):
            if len(changed) > 1:
                fewer = {
                    other: data for other, data in changed.items() if other != file
                }
                if fails(target, base, fewer, folder) == kind:
                    changed = fewer
        for file in sorted(changed):
            size = max(1, len(changed[file]) // 2)
            while size and tries > 0:
                start = 0
                while start < len(changed[file]) and tries > 0:
                    tries -= 1
                    shorter = {
                        **changed,
                        file: changed[file][:start] + changed[file][start + size :],
                    }
                    if fails(target, base, shorter, folder) == kind:
                        changed = shorter
                    else:
                        start += size
                size //= 2
    return kind, base, changed
