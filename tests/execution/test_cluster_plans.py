"""Plans for a scheduler that runs already: cut for its threads, or for those that are expected."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from distributed import get_worker
from distributed.utils_test import gen_cluster

from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.run_group import RunGroup
from olscale.execution import group_calls
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import run_as_task
from olscale.execution.progress import Silent, Work
from olscale.execution.settings import SETTINGS
from olscale.execution.task_report import TaskReport
from tests.cluster import Cluster

eight_workers = gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)] * 8,
    timeout=120,
    clean_kwargs={"threads": False},
)


def experiment(shelf: Path, settings: int) -> Experiment:
    learners = [
        {"name": "pa1", "params": {"C": [0.01 * (i + 1) for i in range(settings)]}}
    ]
    content = {"datasets": [{"path": str(shelf / "dense")}], "learners": learners}
    return parse_experiment({**content, "protocol": {"permutations": 1}}, "cluster")


busy: set[str] = set()


def noted_task(group: RunGroup, store: str, **options: Any) -> TaskReport:
    busy.add(get_worker().address)
    # or the first workers would be through before the last have heard of anything
    sleep(0.05)
    return run_as_task(group, store, **options)


def test_each_of_eight_workers_has_work(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy.clear()
    monkeypatch.setattr(group_calls, "run_as_task", noted_task)

    @eight_workers
    async def run(client: Any, scheduler: Any, *workers: Any) -> None:
        done = await asyncio.to_thread(
            evaluate,
            experiment(shelf, 58),
            tmp_path / "store",
            scheduler=scheduler.address,
            # Bundles would be for runs that are as short as these are without their sleep.
            settings=replace(SETTINGS, shared_runs=1_000),
        )
        assert done.outcomes == {"ok": 58}
        assert busy == {worker.address for worker in workers}

    run()


def test_workers_beside_a_scheduler_say_how_many_to_expect(
    shelf: Path, tmp_path: Path, cluster: Cluster
) -> None:
    counts: list[int] = []

    class Counts(Silent):
        def start(
            self, name: str, runs: int, done: int, groups: Mapping[str, Work]
        ) -> None:
            counts.append(len(groups))

    for workers in (None, 1, 20):
        where = {
            "scheduler": cluster.scheduler,
            "workers": workers,
            "progress": Counts(),
        }
        evaluate(experiment(shelf, 58), tmp_path / f"store-{workers}", **where)
    there, fewer, more = counts
    assert there == fewer  # those that are there count in any case
    assert there >= 3 * 2
    assert more >= 58 / 3
