"""Two workers: how much of two workers' time is learning, for plans that are hard to share.

Eight learners that differ in speed by a factor of a hundred read one stream in time order, which
two workers share by giving each some of the learners: well only if the estimates of their time are
right. Permutations and grids have many groups, and what learners of a row have in common is done
once; there the speed of two workers is compared with that of one. Two evaluations on a worker
each, which share nothing but the machine, show how much of that speed the machine gives.
"""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from olscale.bench.base import Figure
from olscale.bench.class_clouds import Shape, clouds
from olscale.bench.workers import running_cluster
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate

_LEARNERS = ("scw1", "bpas", "fogd", "arow", "lol", "amm", "pa1", "ogd")
_STEPS = [2.0 ** (number / 4 - 8) for number in range(64)]

_STREAMS = {
    "narrow": (Shape(columns=10, classes=2), 4_000_000),
    "wide": (Shape(columns=200, classes=10), 400_000),
}
"""Rows of a short name; eight learners take about five seconds with either."""

_SHARED_PART = 4
"""Permutations and grids, which read a stream several times, have this part of its rows."""

_ROUNDS = 3
_FEW_ROWS = 64


class _Plan(NamedTuple):
    """What is evaluated: its name, learners and protocol, and the share that is to be reached."""

    name: str
    learners: list[dict[str, Any]]
    protocol: dict[str, Any]
    target: str = ""


_IN_ORDER = _Plan(
    "eight learners in time order",
    [{"name": name} for name in _LEARNERS],
    {"order": "time"},
    ">= 0.85",
)
_SHARED = (
    _Plan(
        "eight permutations of pa1 and lol",
        [{"name": "pa1"}, {"name": "lol"}],
        {"permutations": 8},
        ">= 0.9",
    ),
    _Plan(
        "a grid of 64 pa1",
        [{"name": "pa1", "params": {"C": _STEPS}}],
        {"permutations": 4},
        ">= 0.9",
    ),
)


def figures() -> list[Figure]:
    """Return the share of learning in time order, and half the speed-up of the other plans."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        one, both = (
            stack.enter_context(running_cluster(root, workers)).address
            for workers in (1, 2)
        )
        # A folder has one scheduler for a number of workers.
        elsewhere = root / "other"
        elsewhere.mkdir()
        other = stack.enter_context(running_cluster(elsewhere, 1)).address
        bench = _Bench(root, {1: one, 2: both})
        results = []
        for stream in _STREAMS:
            bench.generate(stream)
            results.append(bench.of_the_machine(stream, other))
            results.append(bench.in_order(stream))
            results += [bench.shared(stream, plan) for plan in _SHARED]
        return results


class _Bench:
    """Evaluations on one and two running workers, whose stores and streams are in a folder."""

    def __init__(self, root: Path, clusters: dict[int, str]) -> None:
        self._root = root
        self._clusters = clusters
        self._numbers = count()

    def generate(self, stream: str) -> None:
        """Write the rows of a stream, and the first few of them as a stream of its own."""
        shape, rows = _STREAMS[stream]
        chunks = list(clouds(shape, rows))
        X = np.concatenate([chunk.X for chunk in chunks])
        y = np.concatenate([chunk.y for chunk in chunks])
        sizes = {
            stream: rows,
            f"part-{stream}": rows // _SHARED_PART,
            f"few-{stream}": _FEW_ROWS,
        }
        for name, first in sizes.items():
            file = self._root / f"{name}.npz"
            np.savez(file, X=X[:first], y=y[:first])
            ingest([str(file)], str(self._root / name))
            file.unlink()

    def of_the_machine(self, stream: str, other: str) -> Figure:
        """Return seconds of two evaluations at once, and the share of them that one alone takes."""
        plan = _SHARED[0]
        addresses = (self._clusters[1], other)
        shares = []
        seconds = []
        for address in addresses:
            self._evaluated_on(f"few-{stream}", plan, address)
        for _ in range(_ROUNDS):
            least, _ = self._evaluated(f"few-{stream}", plan, 1)
            alone, _ = self._evaluated(f"part-{stream}", plan, 1)
            # Threads of this process only wait: the work is done by processes of their own.
            with ThreadPoolExecutor(len(addresses)) as pool:
                evaluations = [
                    pool.submit(self._evaluated_on, f"part-{stream}", plan, address)
                    for address in addresses
                ]
                at_once = max(evaluation.result()[0] for evaluation in evaluations)
            seconds.append(at_once - least)
            shares.append((alone - least) / (at_once - least))
        return Figure(
            f"{stream}: {plan.name}, twice at once",
            median(seconds),
            "s",
            median(shares),
            "time of one alone / time of two that share nothing",
            "",
            f"what the machine gives; by round: {_listed(shares)}",
        )

    def in_order(self, stream: str) -> Figure:
        """Return seconds of two workers, and the share of them that one spends learning."""
        shares = []
        seconds = []
        self._warm(stream, _IN_ORDER)
        for _ in range(_ROUNDS):
            # What an evaluation takes with hardly any rows is no learning, and is subtracted.
            least = self._evaluated(f"few-{stream}", _IN_ORDER, 2)[0]
            _, learning = self._evaluated(stream, _IN_ORDER, 1)
            taken = self._evaluated(stream, _IN_ORDER, 2)[0] - least
            seconds.append(taken)
            shares.append(learning / (2.0 * taken))
        return Figure(
            f"{stream}: {_IN_ORDER.name}",
            median(seconds),
            "s",
            median(shares),
            "learning of one worker / time of both",
            _IN_ORDER.target,
            f"{_size(stream)}; by round: {_listed(shares)}",
        )

    def shared(self, stream: str, plan: _Plan) -> Figure:
        """Return seconds of two workers, and half of the speed-up over one."""
        halves = []
        seconds = []
        self._warm(stream, plan)
        for _ in range(_ROUNDS):
            least = self._evaluated(f"few-{stream}", plan, 2)[0]
            alone = self._evaluated(f"part-{stream}", plan, 1)[0] - least
            taken = self._evaluated(f"part-{stream}", plan, 2)[0] - least
            seconds.append(taken)
            halves.append(alone / (2.0 * taken))
        return Figure(
            f"{stream}: {plan.name}",
            median(seconds),
            "s",
            median(halves),
            "time of one worker / time of both",
            plan.target,
            f"{_size(stream, _SHARED_PART)}; by round: {_listed(halves)}",
        )

    def _warm(self, stream: str, plan: _Plan) -> None:
        # Twice: which of the workers loads the machine code of a learner is not ours to say.
        for workers in (1, 2, 2):
            self._evaluated(f"few-{stream}", plan, workers)

    def _evaluated(self, stream: str, plan: _Plan, workers: int) -> tuple[float, float]:
        """Return seconds by the clock, and processor seconds of all learning."""
        return self._evaluated_on(stream, plan, self._clusters[workers])

    def _evaluated_on(
        self, stream: str, plan: _Plan, address: str
    ) -> tuple[float, float]:
        """Return the same of the workers of a scheduler."""
        content = {
            "datasets": [{"path": str(self._root / stream)}],
            "learners": plan.learners,
            "protocol": plan.protocol,
        }
        experiment = parse_experiment(content, "bench")
        store = self._root / f"store-{next(self._numbers)}"
        begin = perf_counter()
        evaluation = evaluate(experiment, store, scheduler=address)
        seconds = perf_counter() - begin
        timings = evaluation.store.timings(columns=["timings"])["timings"].to_pylist()
        return seconds, sum(dict(timing)["fit_cpu_seconds"] for timing in timings)


def _size(stream: str, part: int = 1) -> str:
    shape, rows = _STREAMS[stream]
    return f"{rows // part:,} rows of {shape.columns} columns, {shape.classes} classes"


def _listed(shares: list[float]) -> str:
    return " ".join(f"{share:.2f}" for share in shares)
