"""Kill evaluations of many short runs at random moments; no run that was reported may be missing.

``python -m tests.chaos.told_runs --kills 100`` evaluates 1,000 permutations of breast cancer with
three learners: in process, on two workers, and by two drivers that share workers and a store. It
kills a driver or a worker, looks for each run that a driver had reported as finished, and starts
again. A store that is complete must hold the bytes of an undisturbed one. Exit code 1 if not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import sleep

from distributed import Client

from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Silent
from olscale.results.compact import compact
from olscale.results.opening import open_store
from tests.cluster import running

LEARNERS = ("pa1", "pa2", "lol")
PERMUTATIONS = 1_000
WAYS = ("in process", "two workers", "two drivers")
MOST_SECONDS = 4.0


def experiment(folder: Path) -> Experiment:
    """Return the experiment, whose data set lies in `folder`."""
    content = {
        "datasets": [{"path": str(folder / "breast_cancer")}],
        "learners": [{"name": name} for name in LEARNERS],
        "protocol": {"permutations": PERMUTATIONS},
    }
    return parse_experiment(content, "told-runs")


class _Printed(Silent):
    """Progress that prints the id of each finished run."""

    def finish(self, run: str, outcome: str) -> None:
        print(run, flush=True)


class _Driver:
    """An evaluation in a process of its own, and the runs that it has reported."""

    def __init__(self, folder: Path, store: Path, scheduler: str) -> None:
        command = [
            sys.executable,
            "-m",
            __spec__.name,
            "--drive",
            str(folder),
            str(store),
        ]
        self.process = subprocess.Popen(
            [*command, "--scheduler", scheduler],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.runs: set[str] = set()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        # A line that the kill has cut in two is not a report.
        self.runs.update(
            line.strip() for line in self.process.stdout if line.endswith("\n")
        )

    def wait(self) -> None:
        """Wait for the end; raise an error if it is neither a normal one nor a kill."""
        assert self.process.stderr is not None
        errors = self.process.stderr.read()
        if self.process.wait() not in (0, -signal.SIGKILL):
            raise RuntimeError(
                f"a driver ended with {self.process.returncode}: {errors}"
            )
        self._reader.join()


def _workers(scheduler: str) -> list[int]:
    """Return the process ids of a cluster's workers."""
    with Client(scheduler) as client:
        return list(client.run(os.getpid, on_error="ignore").values())


def _hit(way: str, drivers: list[_Driver], scheduler: str, dice: random.Random) -> str:
    """Kill a driver, or on a cluster a worker every other time; return what was killed."""
    if scheduler and dice.random() < 0.5:
        with suppress(ProcessLookupError):
            os.kill(dice.choice(_workers(scheduler)), signal.SIGKILL)
        return f"{way}: a worker"
    dice.choice(drivers).process.kill()
    return f"{way}: a driver"


def check(folder: Path, kills: int, seed: int) -> int:
    """Return how many runs were reported and are missing, or stores are other than the undisturbed one."""
    dice = random.Random(seed)
    ingest(["sklearn:breast_cancer"], str(folder / "breast_cancer"))
    undisturbed = evaluate(
        experiment(folder), folder / "undisturbed", in_process=True
    ).store
    compact(undisturbed)
    expected = dict(undisturbed.files.read_many(undisturbed.compacted_files("runs")))
    hits: Counter[str] = Counter()
    faults = 0
    stores = 0
    reported = 0
    store = folder / "store-0"
    with running(folder, 2) as cluster:
        while hits.total() < kills:
            way = WAYS[hits.total() % len(WAYS)]
            scheduler = "" if way == "in process" else cluster.scheduler
            count = 2 if way == "two drivers" else 1
            drivers = [_Driver(folder, store, scheduler) for _ in range(count)]
            sleep(dice.uniform(0.5, MOST_SECONDS))
            if all(driver.process.poll() is None for driver in drivers):
                hits[_hit(way, drivers, scheduler, dice)] += 1
            for driver in drivers:
                driver.wait()
            runs = set().union(*(driver.runs for driver in drivers))
            # A driver that is killed while it starts has made no store, and has reported nothing.
            done = open_store(store).done() if store.exists() else set()
            faults += len(runs - done)
            reported += len(runs)
            if len(done) == len(LEARNERS) * PERMUTATIONS:
                kept = open_store(store)
                compact(kept)
                faults += (
                    dict(kept.files.read_many(kept.compacted_files("runs"))) != expected
                )
                stores += 1
                store = folder / f"store-{stores}"
    for what, number in sorted(hits.items()):
        print(f"{number} times killed {what}")
    print(f"{reported:,} runs reported, {stores} stores complete, {faults} faults")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.told_runs", description=__doc__
    )
    parser.add_argument("--kills", type=int, default=100, help="default: 100")
    parser.add_argument(
        "--seed", type=int, default=0, help="which processes are hit when"
    )
    parser.add_argument(
        "--drive", nargs=2, metavar=("FOLDER", "STORE"), help=argparse.SUPPRESS
    )
    parser.add_argument("--scheduler", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        folder, store = map(Path, given.drive)
        where = (
            {"scheduler": given.scheduler} if given.scheduler else {"in_process": True}
        )
        evaluate(experiment(folder), store, progress=_Printed(), **where)
        return 0
    with tempfile.TemporaryDirectory(prefix="olscale-told-") as folder:
        return min(1, check(Path(folder), given.kills, given.seed))


if __name__ == "__main__":
    sys.exit(main())
