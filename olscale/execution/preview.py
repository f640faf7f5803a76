"""What an evaluation would do: its runs, groups, rows and time; nothing is run or written."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import uuid4

from olscale.data.catalogue.fetch import unchanged_home
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.forecast import seconds_of, short_seconds
from olscale.evaluation.plan import PlannedExperiment
from olscale.evaluation.resolve import resolve
from olscale.evaluation.run import Run
from olscale.evaluation.run_plan import RunPlan
from olscale.execution.phases import Job
from olscale.execution.progress import Progress
from olscale.execution.settings import SETTINGS
from olscale.results.opening import open_store
from olscale.results.plans import LeftOut
from olscale.results.selections import read_selections
from olscale.results.store import Store
from olscale.results.version import is_vacant, open_files
from olscale.system.memory import parse_limit
from olscale.system.paths import path_text


@dataclass(frozen=True, slots=True)
class LearnerPreview:
    """The runs of a learner on a dataset.

    Attributes
    ----------
    dataset, learner : str
        Their labels, or else their names.
    runs, missing : int
        All runs, and those that would be computed.
    rows : int
        Rows that the missing runs would learn.
    seconds : float
        Approximate processor time of the missing runs.
    """

    dataset: str
    learner: str
    runs: int
    missing: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PhasePreview:
    """What tuning, or the experiment itself, would do.

    Attributes
    ----------
    name : str
        Name of the plan.
    runs, missing : int
        All runs, and those that would be computed.
    groups : int
        Run groups of the missing runs; a group reads its stream once.
    rows : int
        Rows that the missing runs would learn, over all passes.
    seconds : float
        Approximate processor time of the missing runs.
    wall_seconds : float
        Approximate time on `workers` workers, without their start.
    workers : int
        Processes that share the groups; 1 for a phase that runs in process.
    learners : tuple of LearnerPreview
        In the order of the plan.
    """

    name: str
    runs: int
    missing: int
    groups: int
    rows: int
    seconds: float
    wall_seconds: float
    workers: int
    learners: tuple[LearnerPreview, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What an evaluation would do.

    Attributes
    ----------
    phases : tuple of PhasePreview
        Tuning, if parameters are tuned, then the experiment.
    undecided : int
        Searches whose choice is not in the store: the first candidate stands for it.
    left_out : tuple of LeftOut
        Optional datasets and learners that are unavailable.
    """

    phases: tuple[PhasePreview, ...]
    undecided: int
    left_out: tuple[LeftOut, ...]


def preview(
    experiment: Experiment,
    store: str | os.PathLike[str],
    progress: Progress,
    *,
    workers: int | None = None,
    in_process: bool = False,
    on_cluster: bool = False,
    class_shards: int | None = None,
    memory_limit: int | str | None = None,
    retry: str = "lost",
    strict_online: bool = False,
) -> Preview:
    """Return what `olscale.evaluate` would do with these arguments.

    Nothing is run, and neither the store nor the data home is written to. Datasets that the data
    home lacks are made in a folder that is removed again, since their rows decide what there is to
    do; those that would have to be downloaded are refused.

    Parameters
    ----------
    experiment : Experiment
    store : path
        Metrics store; it may be missing.
    progress : Progress
        Receives notes.
    workers, in_process, class_shards, memory_limit, retry, strict_online
        As of `olscale.execution.evaluate.evaluate`.
    on_cluster : bool
        Whether a running scheduler is named, whose workers are not asked.

    Raises
    ------
    OlscaleError
        If the experiment, a dataset or the store is at fault.
    """
    with unchanged_home():
        resolved = resolve(experiment, progress.note)
        planned = PlannedExperiment(resolved)
        if strict_online:
            planned.check_strictly_online()
        path = path_text(store, "store")
        if is_vacant(open_files(path)):
            # An empty store in memory takes the place of one that is not to be made.
            target = open_store(f"memory://olscale-preview-{uuid4().hex}", create=True)
        else:
            target = open_store(path, writes=False)
        parts = 1 if in_process else workers or os.cpu_count() or 1
        start_seconds = SETTINGS.start_seconds
        if in_process or on_cluster or workers is not None or class_shards is not None:
            start_seconds = 0.0
        limit = None if memory_limit is None else parse_limit(memory_limit)
        job = Job(
            target,
            progress,
            parts,
            class_shards,
            limit,
            experiment.budget,
            retry,
            SETTINGS.shared_runs,
            own_workers=not on_cluster,
            start_seconds=start_seconds,
        )
        phases = []
        undecided = 0
        selections = []
        stored = {
            selection.id: selection for selection in read_selections(target, "skip")
        }
        for search in planned.tuning.searches:
            undecided += search.id not in stored
            selections.append(stored.get(search.id) or search.untried())
        tuning = planned.tuning
        while tuning.searches:
            phases.append(_phase(job, tuning))
            going_on = (search for search in tuning.searches if not search.is_last_rung)
            # As if the first candidates were the better ones: as many proceed, whichever they are.
            tuning = planned.next_rung(
                search.halved(
                    dict.fromkeys(run.id for runs in search.runs for run in runs)
                )
                for search in going_on
            )
        phases.append(_phase(job, planned.chosen(selections)))
        return Preview(tuple(phases), undecided, resolved.left_out)


def _phase(job: Job, plan: RunPlan) -> PhasePreview:
    kept = _kept(job.store, plan, job.retry)
    missing = [run for run in plan.runs if run.id not in kept]
    job.short = bool(missing) and short_seconds(plan, missing) < job.start_seconds
    groups = job.cut(plan, missing, set()) if missing else []
    workers = 1 if job.short else job.parts
    seconds = seconds_of(plan, missing)
    # No worker can end before the longest group does.
    longest = max((seconds_of(plan, group.runs) for group in groups), default=0.0)
    return PhasePreview(
        plan.name,
        len(plan.runs),
        len(missing),
        len(groups),
        sum(_rows(plan, run) for run in missing),
        seconds,
        max(longest, seconds / workers),
        workers,
        tuple(_learners(plan, {run.id for run in missing})),
    )


def _kept(store: Store, plan: RunPlan, retry: str) -> set[str]:
    """Return the runs of a plan that the store has and that are not computed again."""
    if retry == "all":
        return set()
    stored = store.done().intersection(run.id for run in plan.runs)
    if retry == "failed":
        table = store.read(["id", "outcome"], "skip", ids=stored)
        return {row["id"] for row in table.to_pylist() if row["outcome"] == "ok"}
    return stored


def _rows(plan: RunPlan, run: Run) -> int:
    return plan.sources[run.stream.fingerprint].length(run.stream)


def _learners(plan: RunPlan, missing: Collection[str]) -> Iterator[LearnerPreview]:
    """Yield the learners of a plan on each of its datasets, their settings taken together."""
    labels = plan.labels
    runs_by_name: dict[tuple[str, str], list[Run]] = {}
    for run in plan.runs:
        runs_by_name.setdefault(labels.of(run), []).append(run)
    for (dataset, learner), runs in runs_by_name.items():
        to_do = [run for run in runs if run.id in missing]
        rows = sum(_rows(plan, run) for run in to_do)
        seconds = seconds_of(plan, to_do)
        yield LearnerPreview(dataset, learner, len(runs), len(to_do), rows, seconds)
