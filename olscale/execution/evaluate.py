"""Evaluations: plan an experiment, skip what the store has, run the rest in process or on Dask."""

import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, TypeVar

from olscale.errors import StoppedError, UnknownNameError
from olscale.evaluation.budget import NO_BUDGET, Budget
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.plan import PlannedExperiment
from olscale.evaluation.resolve import (
    coarse_score_notes,
    permutation_notes,
    resolve,
    unweighted_notes,
)
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.versions import check_sources
from olscale.execution import worker_template
from olscale.execution.checkpoints import sweep_checkpoints
from olscale.execution.evaluation import Background, Evaluation
from olscale.execution.in_process import InProcess
from olscale.execution.journal import LiveJournal
from olscale.execution.phases import RETRIES, Job
from olscale.execution.progress import Progress, Silent
from olscale.execution.settings import (
    SETTINGS,
    WORKER_SHARE,
    ClusterOptions,
    ExecutionSettings,
)
from olscale.execution.shutdown import Stop
from olscale.learners.registry import is_ours, learner_path
from olscale.results.opening import make_or_mend_store
from olscale.results.store import Store
from olscale.results.version import unmake
from olscale.storage.open import absolute_path
from olscale.system.arguments import checked_arguments
from olscale.system.memory import memory_bytes, parse_limit
from olscale.system.paths import path_text
from olscale.views import make_view

T = TypeVar("T")


@checked_arguments("experiment")
def evaluate(
    experiment: Experiment,
    store: Store | str | os.PathLike[str],
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
    force: bool = False,
    strict: bool = False,
    strict_online: bool = False,
    progress: Progress | Literal[False] | None = None,
    settings: ExecutionSettings = SETTINGS,
    stop: Stop | None = None,
    background: bool = False,
) -> Evaluation:
    """Run the part of an experiment that the store does not have.

    Parameters
    ----------
    experiment : Experiment
        What to run; `olscale.load_experiment` reads one from a file.
    store : path or Store
        Metrics store, created if it is missing.
    workers : int, optional
        Processes of a local Dask cluster. By default one per core, but none for a plan of
        olscale's own learners that is shorter than the start of a cluster: it runs in process.
        With a `scheduler`, the expected number of its workers' threads: the plan is cut for at
        least as many.
    scheduler : str, optional
        Address of a running Dask scheduler, in place of a local cluster.
    tls : path, optional
        Folder with ``cert.pem`` and ``key.pem``, created if it is missing: Dask's connections are
        then encrypted.
    dashboard : str, optional
        ``HOST:PORT`` for the dashboard of a local cluster; none by default.
    in_process : bool
        Run in this process, without Dask. The store gets the same bytes.
    class_shards : int, optional
        Number of class shards of each one-vs-all run on more than two classes; 1 for none. By
        default runs are cut if workers would be idle otherwise. The store gets the same bytes.
    memory_limit : int or str, optional
        Bytes, or a size such as ``"2GB"``, of the rows of a permutation or a fold in each worker's
        memory. Larger ones are permuted through a scratch file. Defaults to half the worker's
        memory. The store gets the same bytes.
    budget : Budget, optional
        Limits of each run, where set, in place of the experiment's.
    retry : {"lost", "failed", "all"}
        Runs of the experiment to compute again although the store has them: those lost with their
        workers, those that failed in any way, or all. With ``"all"`` a record stays until the new
        one replaces it.
    force : bool
        Compute every run of the experiment again; the same as ``retry="all"``.
    strict : bool
        Raise `ExecutionError` if any run of the experiment failed, once all have ended; see
        `Evaluation.check`.
    strict_online : bool
        Raise `ExperimentError` before anything runs if a transform, a width, tuning or a learner
        sees rows before they are predicted, or if a learner is a batch reference.
    progress : Progress or False, optional
        Receives progress events. By default the evaluation displays live progress in a notebook;
        False disables this.
    settings : ExecutionSettings
        Seconds and attempts of supervision.
    stop : Stop, optional
        Lets other code ask the evaluation to stop, as Ctrl-C does.
    background : bool
        Return at once, and run the evaluation in a background thread.

    Returns
    -------
    Evaluation
        With ``background=True`` a `Background`, whose ``wait()`` returns the evaluation and whose
        ``stop()`` ends it early.

    Raises
    ------
    OlscaleError
        If the experiment, a dataset, the store or the cluster is at fault. Failed runs are no
        error, even if all failed, unless `strict`: `Evaluation.outcomes` counts them.
    StoppedError
        If SIGTERM asked the evaluation to stop; its work is saved, and the same call continues it.
    KeyboardInterrupt
        The same after Ctrl-C; a second Ctrl-C does not wait until the work is saved.
    """
    store = store.path if isinstance(store, Store) else path_text(store, "store")
    if background:
        # These are the arguments of this call: no other local variable exists yet.
        options = {
            name: value
            for name, value in locals().items()
            if name not in ("experiment", "store", "background")
        }
        # From the calling cell, which may not be the running one when the thread begins.
        view = None
        if progress is None:
            view = _view_of(store)
        options["progress"] = progress or False
        return Background(
            lambda asked: evaluate(experiment, store, **options | {"stop": asked}), view
        )  # type: ignore[return-value]
    shows = progress is None
    progress = progress or Silent()
    if retry not in RETRIES:
        raise UnknownNameError("value of retry", retry, RETRIES)
    retry = "all" if force else retry
    limit = None
    if memory_limit is not None:
        limit = parse_limit(memory_limit)
    resolved = resolve(experiment, progress.note)
    for line in check_sources(spec.name for spec in resolved.experiment.learners):
        progress.note(line)
    # Faults must show before a cluster is started or a store is created.
    planned = PlannedExperiment(resolved)
    if strict_online:
        planned.check_strictly_online()
    notes = (coarse_score_notes, unweighted_notes, permutation_notes)
    for line in chain.from_iterable(note(resolved) for note in notes):
        progress.note(line)
    where = ClusterOptions(
        workers, scheduler, None if tls is None else path_text(tls, "tls"), dashboard
    )
    threads = 0
    if scheduler is not None and not in_process:
        threads = _run_loop(_reach(where, progress, planned.learners, settings))
    # A store that this evaluation creates is removed again if no worker can be reached.
    target, new, is_mended = make_or_mend_store(store)
    if is_mended:
        progress.note(
            f"set aside damaged file store.json of {store}; it is written anew"
        )
    parts = 1
    if not in_process:
        parts = max(threads, workers or 0) or os.cpu_count() or 1
    limits = experiment.budget.model_copy(
        update=budget.model_dump(exclude_none=True) if budget else {}
    )
    # Workers of a running cluster decide themselves what they import.
    worker_bytes = None
    if not (in_process or scheduler is not None):
        worker_bytes = WORKER_SHARE * memory_bytes() / parts
    # A user who asks for workers, shards or limits gets a cluster even for a short plan.
    asks_for_workers = (
        in_process
        or where != ClusterOptions()
        or class_shards is not None
        or limits != NO_BUDGET
    )
    start_seconds = 0.0
    if not asks_for_workers:
        start_seconds = settings.start_seconds
    bounds = (
        settings.shared_runs,
        worker_bytes,
        in_process or scheduler is None,
        start_seconds,
    )
    journal = LiveJournal(target, progress)
    job = Job(target, journal, parts, class_shards, limit, limits, retry, *bounds)
    phases = job.phases(planned)
    stop = stop or Stop()
    in_this_process = InProcess(target.path, planned.datasets, journal, stop, settings)
    sweep_checkpoints(target)
    try:
        with (
            _shown(target, journal) if shows else nullcontext(),
            stop.listening(),
            journal,
        ):
            for groups in phases:
                if in_process or job.short:
                    in_this_process.run(groups)
                else:
                    job.start_seconds = 0.0  # it is running in later phases
                    _run_on_dask(
                        chain([groups], phases),
                        target,
                        new,
                        journal,
                        where,
                        stop,
                        settings,
                    )
    except StoppedError as stopped:
        # Callers and shells expect Ctrl-C to end as a KeyboardInterrupt.
        if stopped.signal == signal.SIGINT:
            raise KeyboardInterrupt(str(stopped)) from None
        raise
    sweep_checkpoints(target)
    evaluation = Evaluation(
        target,
        job.runs,
        job.computed,
        resolved.left_out,
        experiment.name,
        job.ids,
        job.changed,
        job.outcomes,
    )
    if strict:
        evaluation.check(strict=True)
    return evaluation


def _view_of(store: Store | str, *journal: str) -> Any:
    """Return a view of an evaluation if this may be a notebook, else None."""
    if "IPython" in sys.modules:
        return make_view("evaluation", store, *journal)
    return None


@contextmanager
def _shown(store: Store, journal: LiveJournal) -> Iterator[None]:
    """Display progress within the block if this is a notebook."""
    view = _view_of(store, journal.id)
    try:
        yield
    finally:
        if view is not None:
            view.stop()


def _run_on_dask(
    phases: Iterator[list[RunGroup]],
    store: Store,
    new: bool,
    progress: Progress,
    where: ClusterOptions,
    stop: Stop,
    settings: ExecutionSettings,
) -> None:
    """Run on a cluster; if no cluster can run anything, remove a `new` store again."""
    first = next(phases)
    began = False

    async def run() -> None:
        from olscale.execution.cluster import connect
        from olscale.execution.compatibility import agree_on_learners, modules_of
        from olscale.execution.driver import drive

        nonlocal began
        # Workers import the learners of the first phase while they start, in parallel.
        learners = {run.learner for group in first for run in group.runs}
        modules = {
            learner_path(name).partition(":")[0] for name in learners if is_ours(name)
        }
        starting = replace(
            where, modules=("olscale.execution.on_worker", *sorted(modules))
        )
        async with connect(starting, settings) as client:
            if where.scheduler is None:
                await agree_on_learners(client, modules_of(learners))
            began = True
            for groups in chain([first], phases):
                await drive(
                    client, groups, absolute_path(store.path), progress, stop, settings
                )

    try:
        if where.scheduler is None:
            worker_template.check_children()
            worker_template.begin()  # in parallel with Dask's imports here
        _run_loop(run())
    except BaseException:
        if new and not began:
            unmake(store.files)
        raise


async def _reach(
    where: ClusterOptions,
    progress: Progress,
    learners: Iterable[str],
    settings: ExecutionSettings,
) -> int:
    """Return the threads of a cluster's workers; check the cluster before a store is created."""
    from olscale.execution.cluster import connect
    from olscale.execution.compatibility import agree, modules_of

    async with connect(where, settings) as client:
        for line in await agree(client, modules_of(learners)):
            progress.note(line)
        return sum((await client.scheduler.ncores()).values())


def _run_loop(job: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, even in a notebook, whose own loop runs the calling cell."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(job)
    # A thread with an event loop cannot start another one, so the job gets its own thread.
    interrupt: list[Callable[[], object]] = []

    async def main() -> T:
        task = asyncio.ensure_future(job)
        loop = asyncio.get_running_loop()
        interrupt.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    with ThreadPoolExecutor(1, thread_name_prefix="olscale-driver") as thread:
        finished = thread.submit(asyncio.run, main())
        try:
            return finished.result()
        except KeyboardInterrupt:  # sent by the notebook's kernel to this thread only
            for stop in interrupt:
                stop()
            raise
