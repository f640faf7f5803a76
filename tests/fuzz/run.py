"""Runs of many inputs: processes one after another, each with a stretch of numbers, started again behind a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEMORY_DISK = Path("/dev/shm")  # inputs are small files, each written and read once
STRETCH = 20_000
"""Inputs of one process."""

MOST_CRASHES = 20
"""Of one target; each costs a process."""


@dataclass
class Outcome:
    """What became of the inputs of one target."""

    target: str
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, object]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, 0)
    peak: int = 0
    seconds: float = 0.0
    stopped: str = ""

    @property
    def clean(self) -> bool:
        """Whether every input was accepted or refused."""
        return not self.kinds and not self.stopped

    def line(self) -> str:
        """Return the line of a table."""
        return (
            f"{self.target:15} {sum(self.counts.values()):9,} {self.counts['accepted']:9,} "
            f"{self.counts['refused']:9,} "
            f"{sum(self.kinds.values()):8,} {self.seconds:8.0f} {self.slowest[0]:8.2f} "
            f"{self.peak // 1024:6,}"
        )


_HEADS = (
    ("inputs", 9),
    ("accepted", 9),
    ("refused", 9),
    ("findings", 8),
    ("seconds", 8),
    ("slowest", 8),
    ("MB", 6),
)
HEADER = " ".join([f"{'reader':15}", *(f"{head:>{width}}" for head, width in _HEADS)])
"""Seconds of the whole, processor seconds of the slowest input, megabytes of the largest process."""


def run(target: str, inputs: int, seed: int = 0, first: int = 0) -> Outcome:
    """Read `inputs` inputs of a target, in processes of their own, and return what became of them."""
    outcome = Outcome(target)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(
        dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None
    ) as folder:
        positions = Path(folder, "position")
        at = first
        crashes = 0
        while at < first + inputs:
            stop = min(at + STRETCH, first + inputs)
            positions.write_bytes(b" " * 64)
            span = [str(at), str(stop), str(seed), str(positions)]
            command = [sys.executable, "-m", "tests.fuzz", "--work", *span, target]
            environment = {**os.environ, "TMPDIR": folder}
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            _collect(outcome, done.stdout)
            if done.returncode == 0:
                at = stop
                continue
            told = positions.read_bytes()[:16].strip()
            if not told or done.returncode > 0:
                outcome.stopped = (
                    done.stderr.strip().splitlines()[-1]
                    if done.stderr.strip()
                    else "did not start"
                )
                break
            kind = {signal.SIGPROF: "deadline", signal.SIGALRM: "waits"}.get(
                -done.returncode
            )
            kind = kind or f"crash {signal.Signals(-done.returncode).name}"
            outcome.kinds[kind] += 1
            outcome.counts["finding"] += 1
            outcome.findings.append(
                {"number": int(told), "kind": kind, "what": done.stderr.strip()[-300:]}
            )
            # The counts of a process that crashed are lost with it.
            outcome.counts["uncounted"] += int(told) - at
            at = int(told) + 1
            crashes = crashes + 1
            if crashes == MOST_CRASHES:
                outcome.stopped = f"stopped at input {at} after {crashes} crashes"
                break
    outcome.seconds = time.monotonic() - began
    return outcome


def _collect(outcome: Outcome, lines: str) -> None:
    for line in lines.splitlines():
        start = line.find('{"')
        if start < 0:
            continue  # what a library prints: blosc tells there that it has no memory
        message = json.loads(line[start:])
        if "counts" not in message:
            outcome.findings.append(message)
            continue
        outcome.counts.update(message["counts"])
        outcome.kinds.update(message["kinds"])
        outcome.slowest = max(outcome.slowest, tuple(message["slowest"]))
        outcome.peak = max(outcome.peak, message["peak"])


def run_all(
    targets: Iterable[str],
    inputs: int,
    seed: int,
    processes: int,
    tell: Callable[[Outcome], None],
    first: int = 0,
) -> bool:
    """Run targets side by side and return whether all were clean."""
    with ThreadPoolExecutor(processes) as threads:
        clean = True
        for outcome in threads.map(
            lambda name: run(name, inputs, seed, first), list(targets)
        ):
            tell(outcome)
            clean = clean and outcome.clean
    return clean
