"""The processes of chaos: started, kept alive, killed, and ended with nothing left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from olscale.results.opening import open_store
from tests.chaos.compactor import Compactor
from tests.chaos.compare import differences
from tests.chaos.learners import ORDERS, write_experiments
from tests.chaos.report import CHECKPOINT_SECONDS, KINDS, Report
from tests.chaos.rework import places, read_notes, setbacks

__all__ = ["Chaos"]

GIVE_UP_SECONDS = 900.0
CHUNK_SECONDS = 0.03
FROZEN_SECONDS = 12
"""After which the scheduler gives a worker up (`worker-ttl`); a worker is heard of twice a second."""


class Chaos:
    """Rounds of both experiments on one cluster.

    Parameters
    ----------
    folder : path
        Empty directory.
    dice : random.Random
        Which processes are hit when.
    workers : int
        Nannies with one worker each.
    every : float
        Mean seconds between two hits.

    Attributes
    ----------
    end : float
        When nothing is hit any more; 0 until rows have been learned.
    """

    def __init__(
        self, folder: Path, dice: random.Random, workers: int, every: float
    ) -> None:
        self._folder = folder
        self._dice = dice
        self._count = workers
        self._every = every
        self._token = uuid4().hex
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._frozen: list[int] = []
        self._port = 0
        self._rows = folder / "rows"
        self.end = 0.0

    def prepare(self) -> None:
        """Write data, learners and experiments; evaluate undisturbed, in process."""
        write_experiments(self._folder)
        for order in ORDERS:
            command = self._driver(order, self._folder / "undisturbed", "--in-process")
            quick = {**self._environment(), "OLSCALE_CHAOS_SLEEP": "0"}
            subprocess.run(
                command,
                env=quick,
                check=True,
                capture_output=True,
                timeout=GIVE_UP_SECONDS,
            )
        notes = read_notes(self._rows)
        self._places = places(notes)
        self._rows_needed = sum(note.rows for note in notes)

    def round(self, store: Path, seconds: float, report: Report) -> None:
        """Bring one store to its end; hit processes for so many seconds in all, and start again what dies."""
        self._rows.write_text("")
        start = monotonic()
        hit = 0.0
        learned = 0
        open_drivers = set(ORDERS)
        compactor = Compactor(store, random.Random(self._dice.random()), self._popen)
        while open_drivers:
            if monotonic() > max(start, self.end) + GIVE_UP_SECONDS:
                report.failures.append(
                    f"not finished {GIVE_UP_SECONDS:.0f} s after the last hit"
                )
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
                hit = (
                    # nothing is being learned since the last hit: there is nothing to lose yet
                    0.0
                )
            elif not hit:
                hit = monotonic() + self._dice.uniform(0.25, 1.75) * self._every
            elif monotonic() > hit:
                self._hit(report, compactor)
                hit = 0.0
                learned = self._rows.stat().st_size
            sleep(0.1)
        report.seconds += monotonic() - start
        compactor.stop()
        report.hits["compactor"] += compactor.killed
        report.compactions += compactor.ended
        report.failures += compactor.failures
        self.stop()
        report.orphans += len(list(self._alive()))
        self._compare(store, report)

    def _keep_cluster(self) -> None:
        if not self._port:
            self._port = _free_port()
        if not self._lives("scheduler"):
            self._start(
                "scheduler",
                "distributed.cli.dask_scheduler",
                "--host",
                "127.0.0.1",
                f"--port={self._port}",
            )
        for number in range(self._count):
            if not self._lives(f"nanny{number}"):
                options = [
                    "--nthreads=1",
                    "--nworkers=1",
                    f"--local-directory={self._folder / 'dask'}",
                ]
                # Else a busy machine imports it with the first task, for so long that the worker
                # seems to be frozen.
                options += ["--preload", "olscale.execution.on_worker"]
                self._start(
                    f"nanny{number}",
                    "distributed.cli.dask_worker",
                    self._address,
                    *options,
                )

    def _ended(self, order: str, store: Path, report: Report) -> bool:
        """Tell whether the driver of an experiment has come to its end with nothing lost; start it again if not."""
        name = f"driver-{order}"
        process = self._processes.get(name)
        if process is not None and process.poll() is None:
            return False
        if (
            process is not None
            and process.returncode == 0
            and not open_store(store).lost()
        ):
            return True
        if process is not None and process.returncode not in (0, -signal.SIGKILL):
            lines = (self._folder / f"{name}.log").read_text().strip().splitlines() or [
                ""
            ]
            # The scheduler's being away, and its answers' being late, are ends that a driver may
            # come to.
            if process.returncode != 1 or not any(
                word in lines[-1] for word in ("scheduler", "no worker")
            ):
                report.failures.append(f"exit {process.returncode}: {lines[-1]}")
        self._processes[name] = self._popen(
            name, self._driver(order, store, f"--scheduler={self._address}")
        )
        return False

    def _hit(self, report: Report, compactor: Compactor) -> None:
        kind = self._dice.choices(list(KINDS), list(KINDS.values()))[0]
        if kind == "compactor":
            compactor.hit()
            return
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
            if (
                process.poll() is None
                and kind in ("scheduler", "nanny", "driver")
                and name.startswith(kind)
            ):
                yield process.pid
            if (
                process.poll() is None
                and name.startswith("nanny")
                and kind.endswith("worker")
            ):
                try:
                    # Of a nanny's children one is multiprocessing's resource tracker.
                    children = psutil.Process(process.pid).children()
                    yield from (
                        c.pid
                        for c in children
                        if "resource_tracker" not in " ".join(c.cmdline())
                    )
                except psutil.Error:
                    continue

    def _compare(self, store: Path, report: Report) -> None:
        undisturbed = self._folder / "undisturbed"
        report.differing += differences(store, undisturbed)
        report.runs += len(open_store(undisturbed).done())
        notes = read_notes(self._rows)
        report.rows += self._rows_needed
        report.rows_learned += sum(note.rows for note in notes)
        report.setbacks += setbacks(notes, self._places)
        pauses = (
            later - earlier
            for earlier, later in pairwise(sorted(note.when for note in notes))
        )
        report.longest_pause = max(report.longest_pause, *pauses)

    @property
    def _address(self) -> str:
        return f"tcp://127.0.0.1:{self._port}"

    def _driver(self, order: str, store: Path, where: str) -> list[str]:
        experiment = self._folder / f"{order}.toml"
        return [
            sys.executable,
            "-m",
            "olscale",
            "evaluate",
            str(experiment),
            "--store",
            str(store),
            where,
        ]

    def _environment(self) -> dict[str, str]:
        import olscale
        import olscale.execution

        package = str(Path(olscale.__file__).parents[1])
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(self._folder), package, os.environ.get("PYTHONPATH", "")]
            ),
            "DASK_CONFIG": str(Path(olscale.execution.__file__).parent),
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{FROZEN_SECONDS}s",
            "OLSCALE_CHECKPOINT_SECONDS": str(CHECKPOINT_SECONDS),
            "OLSCALE_CHAOS": self._token,
            "OLSCALE_CHAOS_ROWS": str(self._rows),
            "OLSCALE_CHAOS_SLEEP": str(CHUNK_SECONDS),
        }

    def _start(self, name: str, module: str, *arguments: str) -> None:
        self._processes[name] = self._popen(
            name, [sys.executable, "-m", module, "--no-dashboard", *arguments]
        )

    def _popen(
        self, name: str, command: list[str], output: int | None = None
    ) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            out: Any = log if output is None else output
            return subprocess.Popen(
                command,
                env=self._environment(),
                cwd=self._folder,
                stdout=out,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def _lives(self, name: str) -> bool:
        return name in self._processes and self._processes[name].poll() is None

    def stop(self) -> None:
        """End all that was started here, gently."""
        # one whose nanny was killed as well: nobody else would ever wake it
        for pid in self._frozen:
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
                alive = (
                    process.pid != os.getpid()
                    and process.status() != psutil.STATUS_ZOMBIE
                )
                if alive and process.environ().get("OLSCALE_CHAOS") == self._token:
                    yield process
            except psutil.Error:
                continue


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
