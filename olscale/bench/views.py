"""What an open dashboard costs the evaluation that it shows: processor time, in pairs."""

import os
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import process_time

from olscale.bench.base import Figure
from olscale.data.generators import generate
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate

ROWS = 200_000
PAIRS = 10

LIMIT = 1.02
"""How many times as much processor time an evaluation may take that somebody watches."""

_READER = """
import sys, time, urllib.request
address = sys.argv[1]
moment = 0
while True:
    parts = ["live/0"]
    if moment % 20 == 0:
        parts += ["overview/0", "results/0", "failures/0"]
    for part in parts:
        try:
            urllib.request.urlopen(address + part, timeout=10).read()
        except OSError:
            pass
    time.sleep(2)
    moment += 2
"""
"""Asks for what a page asks for while its reader looks at it, as often."""


def figures(rows: int = ROWS, pairs: int = PAIRS) -> list[Figure]:
    """Return how much processor time an evaluation takes with a dashboard, to that without."""
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder:
        root = Path(folder)
        generate("rotating-xor", root / "rows", rows=rows, seed=0)
        experiment = _experiment(root / "rows")
        numbers = count()

        def seconds(watched: bool) -> float:
            store = root / f"store-{next(numbers)}"
            if not watched:
                return _seconds(experiment, store)
            with _watched(store):
                return _seconds(experiment, store)

        seconds(watched=False)  # compiles the loops, or loads them
        watched_seconds = []
        ratios = []
        for pair in range(pairs):
            # Which comes first changes: a machine gets slower or faster along the pairs.
            order = (False, True) if pair % 2 else (True, False)
            of_kind = {watched: seconds(watched) for watched in order}
            watched_seconds.append(of_kind[True])
            ratios.append(of_kind[True] / of_kind[False])
        ratio = statistics.median(ratios)
        words = "an evaluation that a dashboard shows, processor time"
        limit = f"{LIMIT:g} times as much as without"
        median = statistics.median(watched_seconds)
        return [Figure(words, median, "s", LIMIT / ratio, limit, ">= 1")]


def _experiment(dataset: Path) -> Experiment:
    content = {
        "datasets": [{"path": str(dataset)}],
        "learners": [{"name": name} for name in ("pa1", "arow", "lol", "soft-lol")],
        "protocol": {"permutations": 20, "window": 1000},
    }
    return parse_experiment(content, "bench")


def _seconds(experiment: Experiment, store: Path) -> float:
    start = process_time()
    evaluate(experiment, store, in_process=True)
    return process_time() - start


@contextmanager
def _watched(store: Path) -> Iterator[None]:
    """Serve a dashboard of a store, and read it as a page in a browser does."""
    command = [sys.executable, "-m", "olscale", "dashboard", str(store)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONUNBUFFERED": "1",
    }
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as dashboard:
        try:
            assert dashboard.stdout is not None
            # "olscale dashboard: ADDRESS (Ctrl-C ends it)"
            address = dashboard.stdout.readline().split()[2]
            # A first page imports what all of them need.
            urllib.request.urlopen(address, timeout=60).read()
            with subprocess.Popen([sys.executable, "-c", _READER, address]) as reader:
                try:
                    yield
                finally:
                    reader.kill()
        finally:
            dashboard.kill()
