"""Dask's adaptive scaling with a queue that the driver keeps: the cluster grows by what could be used, and shrinks after."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from distributed import Client, LocalCluster

from olscale.evaluation.experiment import parse_experiment
from olscale.execution.demand import ask_for_workers
from olscale.execution.driver import _Drive
from olscale.execution.evaluate import evaluate
from olscale.execution.settings import ExecutionSettings
from tests.cli.command import run
from tests.cluster import Cluster
from tests.clusters.conftest import ROOT, records


class Watcher:
    """A scheduler's part that the plugin meets."""

    def __init__(self) -> None:
        self.plugins: dict[str, Any] = {}
        self.handlers: dict[str, Any] = {}
        self.idle_since: float | None = 1.0

    def adaptive_target(self, target_duration: str = "") -> int:
        return 3

    def add_plugin(self, plugin: Any, name: str) -> None:
        self.plugins[name] = plugin


def test_what_drivers_ask_for_is_added_up_and_forgotten() -> None:
    scheduler = Watcher()
    ask_for_workers("one", 2, ["a"], 60.0, dask_scheduler=scheduler)
    assert scheduler.handlers["adaptive_target"]() == 3
    ask_for_workers("two", 5, ["b"], 60.0, dask_scheduler=scheduler)
    assert scheduler.adaptive_target(target_duration="5s") == 7
    assert scheduler.idle_since is None
    [plugin] = scheduler.plugins.values()
    there = [type("Worker", (), {"address": address}) for address in "abc"]
    assert [
        worker.address for worker in plugin.valid_workers_downscaling(scheduler, there)
    ] == ["c"]
    ask_for_workers("one", 9, ["a"], -1.0, dask_scheduler=scheduler)
    assert scheduler.adaptive_target() == 5
    ask_for_workers("three", 1, [], 60.0, dask_scheduler=scheduler)
    assert plugin.asked.keys() == {"two", "three"}


@pytest.mark.parametrize(
    ("fault", "again"),
    [(TimeoutError(), True), (ModuleNotFoundError("olscale"), False)],
)
def test_a_scheduler_that_is_slow_is_told_again_and_one_without_olscale_is_not(
    fault: Exception, again: bool
) -> None:
    client = SimpleNamespace(run_on_scheduler=AsyncMock(side_effect=fault))
    calls = SimpleNamespace(demand=lambda: (1, set()), name="one")
    drive: Any = SimpleNamespace(
        _asks=True, _calls=calls, _client=client, _settings=ExecutionSettings()
    )
    for _ in range(3):
        asyncio.run(_Drive._ask(drive))
    assert client.run_on_scheduler.await_count == (3 if again else 1)


@pytest.mark.long
@pytest.mark.parametrize("order", ["permuted", "time"])
def test_a_cluster_without_workers_grows_as_far_as_it_may(
    shelf: Path, tmp_path: Path, order: str
) -> None:
    """From none to two and back; the bytes are those of an evaluation in process."""
    protocol = {"order": order} | ({"permutations": 3} if order == "permuted" else {})
    learners = [{"name": "perceptron"}, {"name": "sklearn.linear_model:Perceptron"}]
    experiment = parse_experiment(
        {
            "protocol": protocol,
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": learners,
        },
        "test",
    )
    evaluate(experiment, tmp_path / "here", in_process=True)
    most = 0
    # workers go when ten times that have passed
    often = ExecutionSettings(watch_seconds=0.3)

    async def grow() -> None:
        nonlocal most
        async with (
            LocalCluster(
                n_workers=0,
                threads_per_worker=1,
                processes=False,
                asynchronous=True,
                dashboard_address="127.0.0.1:0",
            ) as cluster,
            Client(cluster, asynchronous=True),
        ):
            cluster.adapt(minimum=0, maximum=2, interval="200ms", wait_count=2)
            job = asyncio.create_task(
                asyncio.to_thread(
                    evaluate,
                    experiment,
                    tmp_path / "there",
                    scheduler=cluster.scheduler_address,
                    settings=often,
                )
            )
            while not job.done():
                most = max(most, len(cluster.scheduler.workers))
                await asyncio.sleep(0.05)
            await job
            async with asyncio.timeout(60):
                while cluster.scheduler.workers:
                    await asyncio.sleep(0.1)

    asyncio.run(grow())
    assert 1 <= most <= 2
    assert records(tmp_path / "there") == records(tmp_path / "here")


@pytest.mark.long
def test_two_drivers_share_a_cluster(
    cluster: Cluster, shelf: Path, tmp_path: Path
) -> None:
    """Each ends with the bytes of an evaluation in process."""
    learners = [
        "--learner",
        "perceptron",
        "--learner",
        "sklearn.linear_model:Perceptron",
    ]
    drivers = {}
    for order in ("permuted", "time"):
        words = [
            sys.executable,
            "-m",
            "olscale",
            "evaluate",
            "--dataset",
            shelf / "dense",
            *learners,
            "--order",
            order,
        ]
        store = ["--store", tmp_path / order, "--scheduler", cluster.scheduler]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        drivers[order] = (
            words,
            subprocess.Popen([*words, *store], env=environment, stderr=subprocess.PIPE),
        )
    for order, (words, driver) in drivers.items():
        _, said = driver.communicate(timeout=250)
        assert driver.returncode == 0, said
        here = run(*words[3:], "--store", tmp_path / f"{order}-here", "--in-process")
        assert here.returncode == 0
        assert records(tmp_path / order) == records(tmp_path / f"{order}-here")
