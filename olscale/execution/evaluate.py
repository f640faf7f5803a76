"""Evaluating an experiment: plan it, leave out what the store has, run the rest, in process or on Dask."""

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
from olscale.evaluation.coarse_scores import coarse_score_notes
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.plan import PlannedExperiment
from olscale.evaluation.resolve import resolve
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.unweighted_baselines import unweighted_notes
from olscale.evaluation.versions import check_sources
from olscale.execution import worker_template
from olscale.execution.background import Background
from olscale.execution.checkpoints import sweep_checkpoints
from olscale.execution.cluster_options import WORKER_SHARE, ClusterOptions
from olscale.execution.evaluation import Evaluation
from olscale.execution.in_process import InProcess
from olscale.execution.journal import LiveJournal
from olscale.execution.phases import RETRIES, Job
from olscale.execution.progress import Progress, Silent
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.learners.registry import is_ours, learner_path
from olscale.results.store import Store, open_store
from olscale.results.version import is_vacant, mend_version, unmake
from olscale.storage.open import absolute_path
from olscale.system.memory import memory_bytes, parse_limit
from olscale.system.paths import path_text
from olscale.views import make_view

T = TypeVar("T")


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
    """Run what the store does not have of an experiment.

    Parameters
    ----------
    experiment : Experiment
        What to run; `olscale.load_experiment` reads one from a file.
    store : path or Store
        Metrics store, made if it is missing.
    workers : int, optional
        Processes of a local Dask cluster; as many as there are cores when left out, and none for a
        plan of olscale's own learners that is shorter than the start of a cluster: it runs here.
        With a `scheduler`, how many threads its workers will have: the plan is cut for no fewer.
    scheduler : str, optional
        Address of a running Dask scheduler, in place of a local cluster.
    tls : path, optional
        Folder with ``cert.pem`` and ``key.pem``, made if it is missing: Dask's connections are then
        encrypted.
    dashboard : str, optional
        ``HOST:PORT`` for the dashboard of a local cluster; there is none when left out.
    in_process : bool
        Run here, without Dask. The store gets the same bytes.
    class_shards : int, optional
        Into how many class shards to cut each one-vs-all run on more than two classes; 1 for none.
        Left out, runs are cut if there are workers that would be idle. The store gets the same
        bytes.
    memory_limit : int or str, optional
        Bytes, or a size such as ``"2GB"``: memory that the rows of a permutation or a fold may take
        in each worker. Larger ones are permuted by way of a scratch file. Half the worker's memory
        when left out. The store gets the same bytes.
    budget : Budget, optional
        What each run may take, where it is limited, in place of the experiment's.
    retry : {"lost", "failed", "all"}
        Which runs of the experiment are computed again though the store has them: those that were
        lost with their workers, those that failed in any way, or all. With ``"all"`` a record stays
        until the new one takes its place.
    force : bool
        Compute every run of the experiment again; the same as ``retry="all"``.
    strict : bool
        Raise `ExecutionError` if any run of the experiment failed, once all have ended; see
        `Evaluation.check`.
    strict_online : bool
        Raise `ExperimentError` before anything runs if a transform, a width, tuning or a learner
        sees rows before they are predicted, or if a learner is a batch reference.
    progress : Progress or False, optional
        Receives progress events. When left out, the evaluation shows itself where this is a
        notebook; not with False.
    settings : ExecutionSettings
        Seconds and attempts of supervision.
    stop : Stop, optional
        Whoever has it can ask the evaluation to stop, as Ctrl-C does.
    background : bool
        Return at once, while the evaluation goes on in a thread of its own.

    Returns
    -------
    Evaluation
        With ``background=True`` a `Background`, whose ``wait()`` returns it and whose ``stop()``
        ends it early.

    Raises
    ------
    OlscaleError
        If the experiment, a dataset, the store or the cluster is at fault. Runs that failed are no
        error, even if all did, unless `strict`: `Evaluation.outcomes` counts them.
    StoppedError
        If SIGTERM asked the evaluation to stop; it is saved, and the same call goes on with it.
    KeyboardInterrupt
        Likewise, after Ctrl-C; a second Ctrl-C does not wait for anything to be saved.
    """
    store = store.path if isinstance(store, Store) else path_text(store, "store")
    if background:
        given = {
            name: value
            for name, value in locals().items()
            if name not in ("experiment", "store", "background")
        }
        # Of this cell, and not of the one that happens to run when it begins.
        view = _view_of(store) if progress is None else None
        given["progress"] = progress or False
        return Background(
            lambda asked: evaluate(experiment, store, **given | {"stop": asked}), view
        )  # type: ignore[return-value]
    shows = progress is None
    progress = progress or Silent()
    if retry not in RETRIES:
        raise UnknownNameError("value of retry", retry, RETRIES)
    retry = "all" if force else retry
    limit = None if memory_limit is None else parse_limit(memory_limit)
    resolved = resolve(experiment, progress.note)
    for line in check_sources(spec.name for spec in resolved.experiment.learners):
        progress.note(line)
    # A fault must show before a cluster is started or a store is made.
    planned = PlannedExperiment(resolved)
    if strict_online:
        planned.check_strictly_online()
    for line in (*coarse_score_notes(resolved), *unweighted_notes(resolved.experiment)):
        progress.note(line)
    where = ClusterOptions(
        workers, scheduler, None if tls is None else path_text(tls, "tls"), dashboard
    )
    threads = 0
    if scheduler is not None and not in_process:
        threads = _run_loop(_reach(where, progress, planned.learners, settings))
    new = is_vacant(store)
    if mend_version(store):
        progress.note(f"set aside damaged file store.json of {store}; it is written anew")
    target = open_store(store, create=True, writes=False)
    parts = 1 if in_process else max(threads, workers or 0) or os.cpu_count() or 1
    limits = experiment.budget.model_copy(
        update=budget.model_dump(exclude_none=True) if budget else {}
    )
    # What the workers of a cluster that runs already have is theirs to say.
    worker_bytes = (
        None if in_process or scheduler is not None else WORKER_SHARE * memory_bytes() / parts
    )
    asks_for_workers = (
        in_process or where != ClusterOptions() or class_shards is not None or limits != NO_BUDGET
    )
    start_seconds = 0.0 if asks_for_workers else settings.start_seconds
    bounds = (settings.many_runs, worker_bytes, in_process or scheduler is None, start_seconds)
    journal = LiveJournal(target, progress)
    job = Job(target, journal, parts, class_shards, limit, limits, retry, *bounds)
    phases = job.phases(planned)
    stop = stop or Stop()
    here = InProcess(target.path, planned.datasets, journal, stop, settings)
    sweep_checkpoints(target)
    try:
        with _shown(target, journal) if shows else nullcontext(), stop.listening(), journal:
            for groups in phases:
                if in_process or job.short:
                    here.run(groups)
                else:
                    job.start_seconds = 0.0  # for later phases it runs already
                    _run_on_dask(
                        chain([groups], phases), target, new, journal, where, stop, settings
                    )
    except StoppedError as stopped:
        if stopped.signal == signal.SIGINT:
            raise KeyboardInterrupt(str(stopped)) from None
        raise
    sweep_checkpoints(target)
    done = Evaluation(
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
        done.check(strict=True)
    return done


def _view_of(store: Store | str, *journal: str) -> Any:
    """Return a view of an evaluation where this may be a notebook, else None."""
    return make_view("evaluation", store, *journal) if "IPython" in sys.modules else None


@contextmanager
def _shown(store: Store, journal: LiveJournal) -> Iterator[None]:
    """Show what goes on within the block, where this is a notebook."""
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
    """Run on a cluster; if there is none that could run anything, a `new` store is taken back."""
    first = next(phases)
    began = False

    async def run() -> None:
        from olscale.execution.cluster import connect
        from olscale.execution.compatibility import agree_on_learners, modules_of
        from olscale.execution.driver import drive

        nonlocal began
        learners = {run.learner for group in first for run in group.runs}
        modules = {learner_path(name).partition(":")[0] for name in learners if is_ours(name)}
        starting = replace(where, modules=("olscale.execution.on_worker", *sorted(modules)))
        async with connect(starting, settings) as client:
            if where.scheduler is None:
                await agree_on_learners(client, modules_of(learners))
            began = True
            for groups in chain([first], phases):
                await drive(client, groups, absolute_path(store.path), progress, stop, settings)

    try:
        if where.scheduler is None:
            worker_template.check_children()
            worker_template.begin()  # beside Dask's imports here
        _run_loop(run())
    except BaseException:
        if new and not began:
            unmake(store.files)
        raise


async def _reach(
    where: ClusterOptions, progress: Progress, learners: Iterable[str], settings: ExecutionSettings
) -> int:
    """Return how many threads the workers of a cluster have; see that it fits before a store is made for its results."""
    from olscale.execution.cluster import connect
    from olscale.execution.compatibility import agree, modules_of

    async with connect(where, settings) as client:
        for line in await agree(client, modules_of(learners)):
            progress.note(line)
        return sum((await client.scheduler.ncores()).values())


def _run_loop(job: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from inside a notebook, whose own loop is busy with the calling cell."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(job)
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
        except KeyboardInterrupt:  # of the notebook's kernel, which only this thread hears of
            for stop in interrupt:
                stop()
            raise
