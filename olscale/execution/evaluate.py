"""Evaluating an experiment: plan it, leave out what the store has, run the rest, in process or on Dask."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from olscale.errors import ExecutionError
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.pack import Pack, cut_packs
from olscale.evaluation.plan import make_plan
from olscale.evaluation.resolve import resolve
from olscale.execution.passages import run_pack
from olscale.execution.progress import Progress, Silent
from olscale.results.plans import LeftOut, write_plan
from olscale.results.store import Store, open_store

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation did.

    Attributes
    ----------
    store : Store
        Where the results are.
    runs : int
        Runs of the plan.
    computed : int
        Runs computed now; the others were in the store already.
    left_out : tuple of LeftOut
        Optional datasets and learners that could not be had, and why.
    """

    store: Store
    runs: int
    computed: int
    left_out: tuple[LeftOut, ...] = ()


def evaluate(
    experiment: Experiment,
    store: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    in_process: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Run what the store does not have of an experiment.

    Parameters
    ----------
    experiment : Experiment
        What to run; `olscale.load_experiment` reads one from a file.
    store : path
        Metrics store, made if it is missing.
    workers : int, optional
        Processes of a local Dask cluster; as many as there are cores when left out.
    scheduler : str, optional
        Address of a running Dask scheduler, in place of a local cluster.
    in_process : bool
        Run here, without Dask. The store gets the same bytes.
    progress : Progress, optional
        Gets told of progress.

    Returns
    -------
    Evaluation

    Raises
    ------
    OlscaleError
        If the experiment, a dataset, the store or the cluster is at fault.
    """
    progress = progress or Silent()
    plan = make_plan(*resolve(experiment, progress.note))
    if scheduler is not None and not in_process:
        _run_loop(_reach(scheduler))
    target = open_store(str(store), create=True)
    write_plan(target, plan.name, [run.id for run in plan.runs], plan.left_out)
    done = target.done()
    missing = [run for run in plan.runs if run.id not in done]
    work = sum(plan.rows[run.stream.fingerprint] for run in missing)
    progress.start(plan.name, len(plan.runs), len(plan.runs) - len(missing), work)
    if missing:
        parts = 1 if in_process else workers or os.cpu_count() or 1
        packs = list(cut_packs(missing, plan.paths, plan.rows, parts))
        if in_process:
            _run_here(packs, target.path, progress)
        else:
            _run_loop(_run_on_dask(packs, target.path, progress, workers, scheduler))
        left = {run.id for run in missing} - target.done() - target.lost()
        if left:
            raise ExecutionError(f"{len(left)} runs have no record though all their packs ended; run the command again")
    return Evaluation(target, len(plan.runs), len(missing), plan.left_out)


def _run_here(packs: list[Pack], store: str, progress: Progress) -> None:
    for pack in packs:
        progress.advance(pack.name, 0, 0.0)
        envelope = run_pack(pack, store, partial(progress.advance, pack.name))
        if envelope.fault:
            raise ExecutionError(envelope.fault)
        for run, outcome in envelope.outcomes.items():
            progress.finish(run, outcome)


async def _run_on_dask(
    packs: list[Pack], store: str, progress: Progress, workers: int | None, scheduler: str | None
) -> None:
    from olscale.execution.cluster import connect
    from olscale.execution.driver import drive

    async with connect(workers, scheduler) as client:
        await drive(client, packs, store, progress)


async def _reach(scheduler: str) -> None:
    """See that the scheduler answers, before a store is made for results that may never come."""
    from olscale.execution.cluster import connect

    async with connect(scheduler=scheduler):
        pass


def _run_loop(job: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, also from inside a notebook, whose own loop is busy with the calling cell."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(job)
        return
    interrupt: list[Callable[[], object]] = []

    async def main() -> None:
        task, loop = asyncio.ensure_future(job), asyncio.get_running_loop()
        interrupt.append(lambda: loop.call_soon_threadsafe(task.cancel))
        await task

    with ThreadPoolExecutor(1, thread_name_prefix="olscale-driver") as thread:
        finished = thread.submit(asyncio.run, main())
        try:
            finished.result()
        except KeyboardInterrupt:  # of the notebook's kernel, which only this thread hears of
            for stop in interrupt:
                stop()
            raise
