"""What the parts of a cluster cost, and the wall time that follows for 1, 2 and 64 to 512 workers.

The costs are those of whole evaluations on a scheduler and workers in processes of their own: the
processor time of driver and scheduler, over the groups. docs/scaling.md explains what follows from
them.

`olscale.bench.worker_forecast` simulates an evaluation from these costs.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

import numpy as np
import psutil

from olscale.bench.base import Figure
from olscale.bench.worker_forecast import Costs, Load, forecast
from olscale.data.ingest.ingest import ingest
from olscale.errors import ExecutionError
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import TOPIC, run_as_task
from olscale.execution.settings import SETTINGS, ClusterOptions
from olscale.results.opening import open_store

_SHORT = 20
_LONG = 220
_REPORTS = 500
_RECORDS = 200
_TRIPS = 50
_CLUSTERS = (64, 128, 256, 512)
_PACK_SECONDS = (0.1, 1.0, 10.0, 100.0)


def figures() -> list[Figure]:
    """Return costs, predictions against measurements, and simulations."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        one_worker, two_workers = (
            stack.enter_context(running_cluster(root, workers)) for workers in (1, 2)
        )
        _generate(root / "tiny", 64)
        _generate(root / "plan", 150_000)
        costs = _measure(root, two_workers)
        checked = _checked(root, costs, {1: one_worker, 2: two_workers})
        return [*_listed(costs), *checked, *_simulated(costs)]


def _generate(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 30))
    y = rng.integers(0, 2, rows)
    np.savez(f"{path}.npz", X=X, y=y)
    ingest([f"{path}.npz"], str(path))


class _Running(NamedTuple):
    """A scheduler with workers in processes of their own."""

    address: str
    scheduler: psutil.Process

    def processor_seconds(self) -> tuple[float, float]:
        """Return those of this process, the driver's, and of the scheduler."""
        times = self.scheduler.cpu_times()
        return process_time(), float(times.user + times.system)


@contextmanager
def running_cluster(folder: Path, workers: int) -> Iterator[_Running]:
    """Start a scheduler and workers in processes of their own, and end them with the block."""
    config = str(Path(str(files("olscale.execution").joinpath("dask.yaml"))).parent)
    environment = dict(os.environ) | {"DASK_CONFIG": config}
    file = folder / f"scheduler-{workers}.json"
    commands = [
        [
            "dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--scheduler-file",
            str(file),
        ],
        [
            "dask_worker",
            "--scheduler-file",
            str(file),
            "--nworkers",
            str(workers),
            "--nthreads",
            "1",
        ],
    ]
    # Under the folder, so that nothing is left in the working directory.
    commands[1] += ["--local-directory", str(folder)]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            full_command = [
                sys.executable,
                "-m",
                f"distributed.cli.{command[0]}",
                "--no-dashboard",
                *command[1:],
            ]
            running.append(
                subprocess.Popen(
                    full_command,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        address = asyncio.run(_started(file, workers))
        yield _Running(address, psutil.Process(running[0].pid))
    finally:
        # Workers first: without their scheduler they would wait for it before they end.
        for process in reversed(running):
            process.terminate()
            process.wait(30)


async def _started(file: Path, workers: int) -> str:
    from distributed import Client

    for _ in range(300):
        if file.exists():
            break
        sleep(0.1)
    else:
        raise ExecutionError(
            "a Dask scheduler did not start within 30 s; try `dask scheduler` by hand"
        )
    address: str = json.loads(file.read_text())["address"]
    client: Any = Client(address, asynchronous=True)
    async with client:
        await client.wait_for_workers(workers, timeout=60)
    return address


def _experiment(
    dataset: Path, learner: dict[str, Any], permutations: int
) -> Experiment:
    content = {
        "datasets": [{"path": str(dataset)}],
        "learners": [learner],
        "protocol": {"permutations": permutations},
    }
    return parse_experiment(content, "bench")


def _groups(experiment: Experiment) -> list[RunGroup]:
    plan = make_plan(experiment)
    return cut_groups(plan.runs, plan.sources, 1)


def _measure(here: Path, cluster: _Running) -> Costs:
    driver, scheduler = _seconds_a_group(here, cluster)
    driver_report, scheduler_report, trip = asyncio.run(_seconds_a_message(cluster))
    record = _write_again(str(here / "groups-0"), str(here / "records"), _RECORDS)
    groups = _groups(_experiment(here / "tiny", {"name": "perceptron"}, _SHORT))
    group_seconds = statistics.median(_run_all(groups, here / "started"))
    # Runs on 64 rows take no time worth counting: what is left is the start of a group.
    start = max(0.0, group_seconds - record)
    # An empty task keeps both threads busy as well.
    trip = max(0.0, trip - driver - scheduler)
    file = asyncio.run(_files(here, cluster))
    return Costs(
        driver, scheduler, driver_report, scheduler_report, start, trip, record, file
    )


def _seconds(work: Callable[..., object], *arguments: object) -> float:
    start = perf_counter()
    work(*arguments)
    return perf_counter() - start


def _run(group: RunGroup, store: str) -> None:
    report = run_as_task(group, store, lambda stand: None)
    if report.fault:
        raise ExecutionError(report.fault)


def _run_all(groups: list[RunGroup], store: Path) -> list[float]:
    """Run groups in this process, the first one twice; return the seconds of each."""
    for path in (store, f"{store}-before"):
        open_store(path, create=True)
    _run(groups[0], f"{store}-before")
    return [_seconds(_run, group, str(store)) for group in groups]


def _seconds_a_group(here: Path, cluster: _Running) -> tuple[float, float]:
    """Return processor seconds of driver and scheduler per group: a long plan minus a short."""
    spent: list[tuple[float, float]] = []
    # the first for what is done once a process
    for permutations in (_SHORT, _SHORT, _LONG):
        experiment = _experiment(here / "tiny", {"name": "perceptron"}, permutations)
        before = cluster.processor_seconds()
        evaluate(experiment, here / f"groups-{len(spent)}", scheduler=cluster.address)
        after = cluster.processor_seconds()
        spent.append((after[0] - before[0], after[1] - before[1]))
    # What an evaluation takes however many groups it has is in both, and cancels out.
    (_, _), (driver, scheduler), (driver_long, scheduler_long) = spent
    more = _LONG - _SHORT
    return max(0.0, driver_long - driver) / more, max(
        0.0, scheduler_long - scheduler
    ) / more


def _nothing(number: int) -> int:
    return number


def _report_often(count: int) -> None:
    from distributed import get_worker

    for number in range(count):
        sleep(0.002)  # or they would travel together
        get_worker().log_event(TOPIC, {"group": "bench", "stand": (number, 0.0)})


async def _seconds_a_message(cluster: _Running) -> tuple[float, float, float]:
    """Return driver's and scheduler's seconds per report, and the seconds of an empty task."""
    from olscale.execution.cluster import connect

    async with connect(ClusterOptions(scheduler=cluster.address)) as client:
        events: list[object] = []
        client.subscribe_topic(TOPIC, events.append)
        # The first task also moves its function to the worker.
        await client.submit(_nothing, -1)
        before = cluster.processor_seconds()
        await client.submit(_report_often, _REPORTS)
        while len(events) < _REPORTS:
            await asyncio.sleep(0.02)
        after = cluster.processor_seconds()
        trips = []
        for number in range(_TRIPS):
            start = perf_counter()
            # Not pure, or Dask would answer equal calls from memory.
            await client.submit(_nothing, number, pure=False)
            trips.append(perf_counter() - start)
    return (
        (after[0] - before[0]) / _REPORTS,
        (after[1] - before[1]) / _REPORTS,
        statistics.median(trips),
    )


def _write_again(source: str, store: str, count: int) -> float:
    """Write copies of one record; return the seconds a record."""
    records = open_store(source)
    (run, *_) = records.done()
    record = records.get(run)
    target = open_store(store, create=True)
    copies = [replace(record, id=f"{number:032x}") for number in range(count)]
    return _seconds(lambda: [target.write(copy) for copy in copies]) / count


async def _files(here: Path, cluster: _Running) -> float:
    """Return the seconds a record when two workers write to one store at once."""
    from olscale.execution.cluster import connect

    async with connect(ClusterOptions(scheduler=cluster.address)) as client:
        workers = await client.scheduler.ncores()
        start = [
            client.submit(
                _write_again,
                str(here / "groups-0"),
                str(here / f"at-once-{i}"),
                _RECORDS,
                workers=[worker],
            )
            for i, worker in enumerate(workers)
        ]
        slowest: float = max(await asyncio.gather(*start))
        return slowest / len(workers)


def _listed(costs: Costs) -> list[Figure]:
    names = (
        "driver, a group",
        "scheduler, a group",
        "driver, a report of progress",
        "scheduler, a report of progress",
        "worker, a group beside its work",
        "a group on its way, there and back",
        "worker, a record",
        "file system, a record of two workers at once",
    )
    return [
        Figure(name, 1e3 * seconds, "ms")
        for name, seconds in zip(names, astuple(costs), strict=True)
    ]


def _checked(here: Path, costs: Costs, clusters: dict[int, _Running]) -> list[Figure]:
    """Return predicted and measured wall times of one plan, its groups timed in this process.

    To both belongs what an evaluation takes however little there is to do: that of one group of 64
    rows.
    """
    experiment = _experiment(here / "plan", {"name": "lol"}, 40)
    groups = _groups(experiment)
    loads = []
    for group, seconds in zip(groups, _run_all(groups, here / "timed"), strict=True):
        work = max(0.0, seconds - costs.start - costs.record * len(group.runs))
        loads.append(Load(work, len(group.runs), 1 + int(2 * seconds)))
    results = []
    for workers, cluster in clusters.items():
        run = partial(evaluate, scheduler=cluster.address)
        run(_experiment(here / "plan", {"name": "lol"}, 2), here / f"warm-{workers}")
        least = _experiment(here / "tiny", {"name": "perceptron"}, 1)
        begin = _seconds(run, least, here / f"least-{workers}")
        measured = _seconds(run, experiment, here / f"run-{workers}")
        predicted = begin + forecast(loads, workers, costs).seconds
        name = f"{len(groups)} groups of lol, {workers} workers"
        peer = f"the predicted {predicted:.2f} s"
        results.append(Figure(name, measured, "s", predicted / measured, peer))
    return results


def _simulated(costs: Costs) -> list[Figure]:
    results = []
    for seconds in _PACK_SECONDS:
        for workers in _CLUSTERS:
            pause = max(SETTINGS.report_seconds, workers / SETTINGS.most_reports)
            load = Load(seconds, reports=1 + int(seconds / pause))
            expected = forecast([load] * (10 * workers), workers, costs)
            busy = expected.busy[expected.bottleneck]
            note = f"{expected.bottleneck} busy {busy:.0%} of the time"
            name = f"simulated: {workers} workers, groups of {seconds:g} s"
            results.append(
                Figure(name, 100 * expected.efficiency, "% of ideal", note=note)
            )
    return results
