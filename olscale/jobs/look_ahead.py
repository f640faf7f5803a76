"""What of a job file would fail tonight, as far as it can be known without running anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from olscale.data.catalogue.entries import find_entry
from olscale.data.dataset import open_dataset
from olscale.data.ingest.sources import expand
from olscale.errors import OlscaleError
from olscale.evaluation.experiment import load_experiment
from olscale.evaluation.experiment_sections import EVERY, DatasetSpec, LearnerSpec
from olscale.jobs.job_file import EvaluateStep, JobFile
from olscale.learners.registry import make_learner


def faults_ahead(job: JobFile) -> list[str]:
    """Return a line for each source, experiment, dataset or learner that is missing or invalid."""
    faults: list[str] = []
    for step in job.ingest:
        faults += _fault(f"ingest of {step.dest}", partial(expand, [*step.sources, *step.tests]))
    made = {step.dest for step in job.ingest}
    for evaluation in job.evaluate:
        faults += list(_faults_of(evaluation, made))
    return faults


def _faults_of(step: EvaluateStep, made: set[str]) -> Iterator[str]:
    try:
        experiment = load_experiment(step.experiment)
    except OlscaleError as fault:
        yield f"evaluate: {fault}"
        return
    for dataset in experiment.datasets:
        if not dataset.optional:
            yield from _fault(str(step.experiment), partial(_look_for, dataset, made))
    for learner in experiment.learners:
        if not learner.optional and learner.name != EVERY:
            yield from _fault(str(step.experiment), partial(_make, learner))


def _look_for(dataset: DatasetSpec, made: set[str]) -> None:
    if dataset.name is not None:
        find_entry(dataset.name)
    if dataset.path is not None and str(Path(dataset.path)) not in made:
        open_dataset(dataset.path)


def _make(learner: LearnerSpec) -> None:
    for settings in learner.settings():
        for point in learner.points():
            make_learner(learner.name, settings | point)


def _fault(what: str, look: Callable[[], object]) -> Iterator[str]:
    try:
        look()
    except OlscaleError as fault:
        yield f"{what}: {fault}"
