"""Chaos: two evaluations on a real cluster whose processes are killed at random, against the same evaluations undisturbed.

One experiment streams in time order (actors), the other goes through permutations (tasks), both into one store. Scheduler,
workers with their nannies, and both drivers are processes of their own; whatever dies is started again here, as a service
manager would. When all runs have their records, `runs/` must be that of the undisturbed store, byte for byte.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from olscale.bench.base import Figure
from olscale.results.store import open_store

__all__ = ["Report", "figures", "run_chaos"]

KINDS = {"worker": 6, "frozen worker": 1, "nanny": 2, "driver": 2, "scheduler": 1}
"""What is hit, and how often against the others."""

GIVE_UP_SECONDS = 900.0
CHUNKS, CHUNK_ROWS, CHUNK_SECONDS, PERMUTATIONS = 100, 100, 0.03, 3

LEARNERS = '''
"""Learners that note each row they learn from, and take their time, so that there is something to kill."""

import os
import time

from olscale.learners.local import LOL
from olscale.learners.passive_aggressive import PA1


def noted(rows):
    with open(os.environ["OLSCALE_CHAOS_ROWS"], "a") as file:
        file.write(f"{time.time():.3f} {rows}\\n")
    time.sleep(float(os.environ["OLSCALE_CHAOS_SLEEP"]))


class NotedPA1(PA1):
    name = "noted-pa1"

    def grid_key(self):
        return None

    def learn(self, X, y):
        if len(y):
            noted(len(y))
        return super().learn(X, y)


class NotedLOL(LOL):
    name = "noted-lol"

    def learn(self, X, y):
        if len(y):
            noted(len(y))
        return super().learn(X, y)
'''

EXPERIMENT = """
name = "chaos-{order}"
transforms = ["bias"]
[protocol]
order = "{order}"
{repeats}
[[datasets]]
path = "{data}"
[[learners]]
name = "chaos_learners:NotedPA1"
params = {{ C = [0.1, 1.0] }}
[[learners]]
name = "chaos_learners:NotedLOL"
params = {{ k = [4, 16] }}
"""


@dataclass
class Report:
    """What happened.

    Attributes
    ----------
    hits : Counter of str
        Processes killed or frozen, by kind.
    runs : int
        Runs of both experiments.
    differing : list of str
        Files in ``runs/`` that differ from the undisturbed ones, or are in one store only.
    rows, rows_learned : int
        Rows that had to be learned from, and that were, those lost with a worker and learned again included.
    longest_pause : float
        Seconds without any row learned.
    orphans : int
        Processes that were left at the end.
    seconds : float
        From the first start to the last record.
    failures : list of str
        Ends of drivers that were neither success nor being killed, with their last line.
    """

    hits: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    differing: list[str] = field(default_factory=list)
    rows: int = 0
    rows_learned: int = 0
    longest_pause: float = 0.0
    orphans: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def run_chaos(seconds: float, folder: Path, seed: int = 0, workers: int = 2, every: float = 2.0) -> Report:
    """Evaluate while processes die, for `seconds` at least; then let everything end, and compare.

    Parameters
    ----------
    seconds : float
        How long processes are hit, from the first row learned on. The experiments are started anew, on empty stores, until
        then.
    folder : path
        Empty directory for data, stores and logs.
    seed : int
        Which processes are hit when.
    workers : int
        Nannies with one worker each.
    every : float
        Mean seconds between two hits, counted from where rows are learned again.
    """
    chaos = _Chaos(folder, random.Random(seed), workers, every)
    try:
        chaos.prepare()
        report, number = Report(), 0
        while not chaos.end or monotonic() < chaos.end:
            chaos.round(folder / f"store{number}", seconds, report)
            number += 1
        return report
    finally:
        chaos.stop()


class _Chaos:
    def __init__(self, folder: Path, dice: random.Random, workers: int, every: float) -> None:
        self._folder, self._dice, self._count, self._every = folder, dice, workers, every
        self._token = uuid4().hex
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._frozen: list[int] = []
        self._port = 0
        self._rows = folder / "rows"
        self.end = 0.0

    def prepare(self) -> None:
        """Write data, learners and experiments; evaluate undisturbed, in process."""
        from olscale.data.generators import generate

        generate("rotating-xor", self._folder / "xor", rows=CHUNKS * CHUNK_ROWS, chunk_rows=CHUNK_ROWS)
        (self._folder / "chaos_learners.py").write_text(LEARNERS)
        for order, repeats in (("time", ""), ("permuted", f"permutations = {PERMUTATIONS}")):
            text = EXPERIMENT.format(order=order, repeats=repeats, data=self._folder / "xor")
            (self._folder / f"{order}.toml").write_text(text)
        self._rows.touch()
        for order in ("time", "permuted"):
            command = self._driver(order, self._folder / "undisturbed", "--in-process")
            quick = {**self._environment(), "OLSCALE_CHAOS_SLEEP": "0"}
            subprocess.run(command, env=quick, check=True, capture_output=True, timeout=GIVE_UP_SECONDS)
        self._rows_needed = sum(rows for _, rows in self._noted())

    def round(self, store: Path, seconds: float, report: Report) -> None:
        """Bring one store to its end; hit processes for so many seconds in all, and start again what dies."""
        self._rows.write_text("")
        start, hit, learned = monotonic(), 0.0, 0
        open_drivers = {"time", "permuted"}
        while open_drivers:
            if monotonic() > max(start, self.end) + GIVE_UP_SECONDS:
                report.failures.append(f"not finished {GIVE_UP_SECONDS:.0f} s after the last hit")
                self.end = self.end or monotonic()
                break
            self._keep_cluster()
            for order in sorted(open_drivers):
                if self._ended(order, store, report):
                    open_drivers.discard(order)
            size = self._rows.stat().st_size
            if size and not self.end:
                self.end = monotonic() + seconds
            if size == learned or monotonic() > self.end:
                hit = 0.0  # nothing is being learned since the last hit: there is nothing to lose yet
            elif not hit:
                hit = monotonic() + self._dice.uniform(0.25, 1.75) * self._every
            elif monotonic() > hit:
                self._hit(report)
                hit, learned = 0.0, self._rows.stat().st_size
            sleep(0.1)
        report.seconds += monotonic() - start
        self.stop()
        report.orphans += len(list(self._alive()))
        self._compare(store, report)

    def _keep_cluster(self) -> None:
        if not self._port:
            self._port = _free_port()
        if not self._lives("scheduler"):
            self._start("scheduler", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", f"--port={self._port}")
        for number in range(self._count):
            if not self._lives(f"nanny{number}"):
                options = ["--nthreads=1", "--nworkers=1", f"--local-directory={self._folder / 'dask'}"]
                self._start(f"nanny{number}", "distributed.cli.dask_worker", self._address, *options)

    def _ended(self, order: str, store: Path, report: Report) -> bool:
        """Tell whether the driver of an experiment has come to its end with nothing lost; start it again if not."""
        name = f"driver-{order}"
        process = self._processes.get(name)
        if process is not None and process.poll() is None:
            return False
        if process is not None and process.returncode == 0 and not open_store(store).lost():
            return True
        if process is not None and process.returncode not in (0, -signal.SIGKILL):
            lines = (self._folder / f"{name}.log").read_text().strip().splitlines() or [""]
            # The scheduler's being away, and its answers' being late, are ends that a driver may come to.
            if process.returncode != 1 or not any(word in lines[-1] for word in ("scheduler", "no worker")):
                report.failures.append(f"exit {process.returncode}: {lines[-1]}")
        self._processes[name] = self._popen(name, self._driver(order, store, f"--scheduler={self._address}"))
        return False

    def _hit(self, report: Report) -> None:
        kind = self._dice.choices(list(KINDS), list(KINDS.values()))[0]
        pids = list(self._victims(kind))
        if pids:
            pid = self._dice.choice(pids)
            frozen = kind == "frozen worker"
            try:
                os.kill(pid, signal.SIGSTOP if frozen else signal.SIGKILL)
            except ProcessLookupError:
                return
            report.hits[kind] += 1
            if frozen:
                self._frozen.append(pid)

    def _victims(self, kind: str) -> Iterator[int]:
        import psutil

        for name, process in self._processes.items():
            if process.poll() is None and kind in ("scheduler", "nanny", "driver") and name.startswith(kind):
                yield process.pid
            if process.poll() is None and name.startswith("nanny") and kind.endswith("worker"):
                try:
                    # Of a nanny's children one is multiprocessing's resource tracker.
                    children = psutil.Process(process.pid).children()
                    yield from (c.pid for c in children if "resource_tracker" not in " ".join(c.cmdline()))
                except psutil.Error:
                    continue

    def _compare(self, store: Path, report: Report) -> None:
        found, wanted = ({p.name: p.read_bytes() for p in top.glob("runs/*/*")} for top in (store, self._undisturbed))
        report.differing += sorted(name for name in found | wanted if found.get(name) != wanted.get(name))
        report.differing += sorted(str(left.name) for left in store.glob("checkpoints/*"))
        report.runs += len(wanted)
        noted = self._noted()
        report.rows += self._rows_needed
        report.rows_learned += sum(rows for _, rows in noted)
        times = sorted(when for when, _ in noted)
        pauses = (later - earlier for earlier, later in pairwise(times))
        report.longest_pause = max(report.longest_pause, *pauses)

    @property
    def _undisturbed(self) -> Path:
        return self._folder / "undisturbed"

    @property
    def _address(self) -> str:
        return f"tcp://127.0.0.1:{self._port}"

    def _noted(self) -> list[tuple[float, int]]:
        lines = (line.split() for line in self._rows.read_text().splitlines())
        return [(float(parts[0]), int(parts[1])) for parts in lines if len(parts) == 2]

    def _driver(self, order: str, store: Path, where: str) -> list[str]:
        experiment = self._folder / f"{order}.toml"
        return [sys.executable, "-m", "olscale", "evaluate", str(experiment), "--store", str(store), where]

    def _environment(self) -> dict[str, str]:
        import olscale
        import olscale.execution

        package = str(Path(olscale.__file__).parents[1])
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self._folder), package, os.environ.get("PYTHONPATH", "")]),
            "DASK_CONFIG": str(Path(olscale.execution.__file__).parent),
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s",
            "OLSCALE_CHECKPOINT_SECONDS": "1",
            "OLSCALE_CHAOS": self._token,
            "OLSCALE_CHAOS_ROWS": str(self._rows),
            "OLSCALE_CHAOS_SLEEP": str(CHUNK_SECONDS),
        }

    def _start(self, name: str, module: str, *arguments: str) -> None:
        self._processes[name] = self._popen(name, [sys.executable, "-m", module, "--no-dashboard", *arguments])

    def _popen(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, env=self._environment(), cwd=self._folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def _lives(self, name: str) -> bool:
        return name in self._processes and self._processes[name].poll() is None

    def stop(self) -> None:
        """End all that was started here, gently."""
        for pid in self._frozen:  # one whose nanny was killed as well: nobody else would ever wake it
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._frozen.clear()
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        self._port = 0
        deadline = monotonic() + 10
        while list(self._alive()) and monotonic() < deadline:
            sleep(0.1)

    def _alive(self) -> Iterator[Any]:
        """Yield processes with our token in their environment: what was started here, and whatever that started."""
        import psutil

        for process in psutil.process_iter():
            try:
                alive = process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get("OLSCALE_CHAOS") == self._token:
                    yield process
            except psutil.Error:
                continue


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def figures(minutes: float = 10.0, seed: int = 0) -> list[Figure]:
    """Return what `minutes` of chaos came to."""
    with tempfile.TemporaryDirectory(prefix="olscale-chaos-") as folder:
        report = run_chaos(60 * minutes, Path(folder), seed)
    again = 100 * (report.rows_learned / max(1, report.rows) - 1)
    return [
        *(Figure(f"{kind}: hit", report.hits[kind], "times") for kind in KINDS),
        Figure("runs", report.runs, "", note=f"in {report.seconds:.0f} s"),
        Figure(
            "files that differ from the undisturbed", len(report.differing), "", note=", ".join(report.differing[:3])
        ),
        Figure("rows learned again", again, "% of all"),
        Figure("longest time without a row", report.longest_pause, "s"),
        Figure("processes left at the end", report.orphans, ""),
        Figure("drivers that ended otherwise", len(report.failures), "", note="; ".join(report.failures[:3])),
    ]
