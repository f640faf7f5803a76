"""Evaluating an experiment: plan it, leave out what the store has, run the rest, in process or on Dask."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import olscale
from olscale.data.memory import parse_size
from olscale.errors import ExecutionError, StoppedError
from olscale.evaluation.budget import Budget
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.forecast import check_workers, long_runs
from olscale.evaluation.pack import Pack, cut_packs
from olscale.evaluation.plan import Plan, make_plan, plan_searches
from olscale.evaluation.resolve import resolve
from olscale.evaluation.run import Run
from olscale.evaluation.shard import cut_shards
from olscale.evaluation.versions import check_sources
from olscale.execution.checkpoints import resumable_packs, sweep_checkpoints
from olscale.execution.passages import Envelope, clear_scratch, merge_pack, run_pack
from olscale.execution.progress import Progress, Silent, Work
from olscale.execution.stopping import Stop
from olscale.execution.where import WORKER_SHARE, Where
from olscale.learners.second_order import memory_bytes
from olscale.results.compact import forget, set_damaged_aside
from olscale.results.plans import LeftOut, write_plan
from olscale.results.selections import Selection, write_selection
from olscale.results.store import Store, is_vacant, open_store, unmake

if TYPE_CHECKING:
    from olscale.report.notebook import Results

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation did.

    Attributes
    ----------
    store : Store
        Where the results are.
    runs : int
        Runs of the plan, those of tuning included.
    computed : int
        Runs computed now; the others were in the store already.
    left_out : tuple of LeftOut
        Optional datasets and learners that could not be had, and why.
    experiment : str
        Name of the experiment.
    ids : tuple of str
        Ids of its runs, without those of tuning.
    """

    store: Store
    runs: int
    computed: int
    left_out: tuple[LeftOut, ...] = ()
    experiment: str = ""
    ids: tuple[str, ...] = field(default=(), repr=False)

    def results(self, metric: str | None = None) -> Results:
        """Return the results of this experiment, which show themselves as tables.

        Parameters
        ----------
        metric : str, optional
            The metric to show in place of the errors.
        """
        # Reports stand above this floor; the package itself knows where.
        return olscale.Results(self.store, self.ids, metric, self.experiment)


def evaluate(
    experiment: Experiment,
    store: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    tls: str | os.PathLike[str] | None = None,
    dashboard: str | None = None,
    in_process: bool = False,
    class_shards: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
    retry: str = "lost",
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
    tls : path, optional
        Folder with ``cert.pem`` and ``key.pem``, made if it is missing: Dask's connections are then encrypted.
    dashboard : str, optional
        ``HOST:PORT`` for the dashboard of a local cluster; any free port of this machine's own network when left out.
    in_process : bool
        Run here, without Dask. The store gets the same bytes.
    class_shards : int, optional
        Into how many class shards to cut each one-vs-all run on more than two classes; 1 for none. Left out, runs are cut
        if there are workers that would be idle. The store gets the same bytes.
    memory_limit : int or str, optional
        Bytes, or a size such as ``"2GB"``: memory that the rows of a permutation or a fold may take in each worker. Larger
        ones are permuted by way of a scratch file. Half the worker's memory when left out. The store gets the same bytes.
    budget : Budget, optional
        What each run may take, where it is limited, in place of the experiment's.
    retry : {"lost", "failed"}
        Which runs of the experiment that the store has without a result are computed again: those that were lost with
        their workers, or all that failed in any way.
    progress : Progress, optional
        Gets told of progress.

    Returns
    -------
    Evaluation

    Raises
    ------
    OlscaleError
        If the experiment, a dataset, the store or the cluster is at fault.
    StoppedError
        If SIGTERM asked the evaluation to stop; it is saved, and the same call goes on with it.
    KeyboardInterrupt
        Likewise, after Ctrl-C; a second Ctrl-C does not wait for anything to be saved.
    """
    progress = progress or Silent()
    limit = None if memory_limit is None else parse_size(memory_limit)
    found, left_out = resolve(experiment, progress.note)
    for line in check_sources(spec.name for spec in found.learners):
        progress.note(line)
    searches = plan_searches(found)
    # A fault must show before a cluster is started or a store is made.
    learners = {run.learner for run in make_plan(found, left_out, [one.untried() for one in searches.searches]).runs}
    where = Where(workers, scheduler, None if tls is None else str(tls), dashboard)
    if scheduler is not None and not in_process:
        _run_loop(_reach(where, progress, learners))
    new = is_vacant(str(store))
    target = open_store(str(store), create=True)
    parts = 1 if in_process else workers or os.cpu_count() or 1
    limits = experiment.budget.model_copy(update=budget.model_dump(exclude_none=True) if budget else {})
    # What the workers of a cluster that runs already have is theirs to say.
    worker_bytes = None if in_process or scheduler is not None else WORKER_SHARE * memory_bytes() / parts
    job = _Job(target, progress, parts, class_shards, limit, limits, retry == "failed", worker_bytes)
    phases = job.phases(found, left_out, searches)
    sweep_checkpoints(target)
    stop = Stop()
    try:
        with stop.listening():
            if in_process:
                for packs in phases:
                    _run_here(packs, target.path, progress, stop)
            else:
                _run_on_dask(phases, target, new, progress, where, stop)
    except StoppedError as stopped:
        if stopped.signal == signal.SIGINT:
            raise KeyboardInterrupt(str(stopped)) from None
        raise
    sweep_checkpoints(target)
    return Evaluation(target, job.runs, job.computed, left_out, experiment.name, job.ids)


@dataclass
class _Job:
    """What there is to run, phase by phase, and how much of it there was."""

    store: Store
    progress: Progress
    parts: int
    class_shards: int | None
    memory_limit: int | None
    budget: Budget
    retry_failed: bool
    worker_bytes: float | None = None
    runs: int = 0
    computed: int = 0
    ids: tuple[str, ...] = ()

    def phases(self, experiment: Experiment, left_out: tuple[LeftOut, ...], tuning: Plan) -> Iterator[list[Pack]]:
        """Yield the packs of tuning and then those of the experiment; each must have been run before the next."""
        selections: list[Selection] = []
        if tuning.searches:
            yield from self._packs(tuning)
            selections = choose(self.store, tuning)
        plan = make_plan(experiment, left_out, selections)
        self.ids = tuple(run.id for run in plan.runs)
        yield from self._packs(plan)

    def _packs(self, plan: Plan) -> Iterator[list[Pack]]:
        ids = [run.id for run in plan.runs]
        write_plan(self.store, plan.name, ids, plan.left_out, plan.datasets, plan.learners)
        if self.retry_failed:
            forget(self.store, self.store.failed().intersection(run.id for run in plan.runs))
        for name in set_damaged_aside(self.store, {run.id for run in plan.runs}):
            self.progress.note(f"set aside damaged file {name} of {self.store.path}; its runs are computed again")
        done = self.store.done()
        missing = [run for run in plan.runs if run.id not in done]
        self.runs, self.computed = self.runs + len(plan.runs), self.computed + len(missing)
        if self.worker_bytes is not None:
            check_workers(missing, plan.state_bytes, self.worker_bytes)
        packs = self._cut(plan, missing) if missing else []
        for line in long_runs(plan, missing):
            self.progress.note(line)
        self.progress.start(plan.name, len(plan.runs), len(plan.runs) - len(missing), _work(packs, plan.costs))
        if missing:
            yield packs
            left = {run.id for run in missing} - self.store.done() - self.store.lost()
            if left:
                raise ExecutionError(
                    f"{len(left)} runs have no record though all their packs ended; run the command again"
                )

    def _cut(self, plan: Plan, missing: list[Run]) -> list[Pack]:
        begun = resumable_packs(self.store, missing, plan.sources)
        fresh = set(missing).difference(*(pack.runs for pack in begun))
        left_over = [run for run in missing if run in fresh]
        packs = cut_packs(left_over, plan.sources, self.parts, self.memory_limit, plan.costs)
        packs = begun + list(cut_shards(packs, self.parts, self.class_shards))
        return [replace(pack, budget=self.budget, memory_limit=self.memory_limit) for pack in packs]


def _work(packs: Iterable[Pack], costs: Mapping[str, float]) -> dict[str, Work]:
    """Return what there is to do, by the name under which progress is reported; a class shard has a share of the rows."""
    work = {}
    for pack in packs:
        rows, cost = pack.rows * len(pack.runs), sum(costs.get(run.id, 0.0) for run in pack.runs)
        classes = pack.shards[-1].stop if pack.shards else 1
        for part, own in zip(pack.parts(), pack.shards or (range(1),), strict=True):
            share = rows * own.stop // classes - rows * own.start // classes
            work[part.name] = Work(share, cost * len(own) / classes)
    return work


def choose(store: Store, tuning: Plan) -> list[Selection]:
    """Return what the runs of `tuning` say is best in each search, and write it to the store.

    Raises
    ------
    ExecutionError
        If the store lacks runs of a search: those that were lost with their workers.
    """
    table = store.read(["id", "outcome", "metrics"])
    outcomes = {row["id"]: (row["outcome"], dict(row["metrics"])) for row in table.to_pylist()}
    selections = []
    for search in tuning.searches:
        errors: dict[str, float | None] = {}
        for run in (run for runs in search.runs for run in runs):
            outcome, metrics = outcomes.get(run.id, ("lost", {}))
            if outcome == "lost":
                raise ExecutionError(
                    f"tuning of {run.learner} on {run.stream.dataset} lacks runs that were lost with their workers; "
                    "run the command again"
                )
            errors[run.id] = metrics[search.protocol["metric"]] if outcome == "ok" else None
        selections.append(search.choose(errors))
        write_selection(store, selections[-1])
    return selections


def _run_here(packs: list[Pack], store: str, progress: Progress, stop: Stop) -> None:
    for pack in packs:
        try:
            for part in pack.parts():
                progress.advance(part.name, 0, 0.0)
                envelope = run_pack(part, store, partial(progress.advance, part.name), lambda: stop.asked)
                _noted(envelope, progress)
                if envelope.stopped:
                    raise stop.error(f"{part.name} was saved at chunk {envelope.position} of {envelope.chunks}")
            if pack.shards:
                _noted(merge_pack(pack, store), progress)
        except StoppedError:  # what shards have left so far is needed to go on
            raise
        except Exception:
            clear_scratch(pack, store)
            raise
        clear_scratch(pack, store)


def _noted(envelope: Envelope, progress: Progress) -> None:
    for note in envelope.notes:
        progress.note(note)
    if envelope.fault:
        raise ExecutionError(envelope.fault)
    for run, outcome in envelope.outcomes.items():
        progress.finish(run, outcome)


def _run_on_dask(
    phases: Iterator[list[Pack]], store: Store, new: bool, progress: Progress, where: Where, stop: Stop
) -> None:
    """Run on a cluster; if there is none that could run anything, a `new` store is taken back."""
    first = next(phases, None)
    if first is None:
        return
    began = False

    async def run() -> None:
        from olscale.execution.agreement import agree_on_learners, modules_of
        from olscale.execution.cluster import connect
        from olscale.execution.driver import drive

        nonlocal began
        async with connect(where) as client:
            if where.scheduler is None:
                await agree_on_learners(client, modules_of(run.learner for pack in first for run in pack.runs))
            began = True
            for packs in chain([first], phases):
                await drive(client, packs, store.path, progress, stop)

    try:
        _run_loop(run())
    except BaseException:
        if new and not began:
            unmake(store)
        raise


async def _reach(where: Where, progress: Progress, learners: Iterable[str]) -> None:
    """See that the scheduler answers and the cluster fits, before a store is made for results that may never come."""
    from olscale.execution.agreement import agree, modules_of
    from olscale.execution.cluster import connect

    async with connect(where) as client:
        for line in await agree(client, modules_of(learners)):
            progress.note(line)


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
