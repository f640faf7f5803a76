"""A plan: an experiment expanded into its runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from olscale.data.dataset import open_dataset
from olscale.data.stream import Part, Shuffle
from olscale.data.transforms import width_after
from olscale.errors import ExperimentError
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.run import Run, StreamKey
from olscale.learners.registry import make_learner
from olscale.results.plans import LeftOut

__all__ = ["Plan", "make_plan"]

DEFAULT_REPEATS = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of an experiment.

    Attributes
    ----------
    name : str
        The experiment's name.
    runs : tuple of Run
        Every run once.
    paths, rows : dict
        Path and number of training rows of each dataset, by fingerprint.
    left_out : tuple of LeftOut
        Optional datasets and learners that could not be had, and why.
    """

    name: str
    runs: tuple[Run, ...]
    paths: dict[str, str]
    rows: dict[str, int]
    left_out: tuple[LeftOut, ...] = ()


def make_plan(experiment: Experiment, left_out: tuple[LeftOut, ...] = ()) -> Plan:
    """Expand `experiment`; datasets are opened, learners and transforms checked, nothing is fetched or run.

    Parameters
    ----------
    experiment : Experiment
        With a path for every dataset, as `olscale.evaluation.resolve.resolve` returns it.
    left_out : tuple of LeftOut
        What that left out.

    Raises
    ------
    UnknownNameError, ParameterError
        If a learner, a parameter or a transform does not exist, or a value is outside its domain.
    ExperimentError
        If the parts do not fit together.
    DatasetError
        If a dataset cannot be opened.
    """
    learners = [
        (spec.name, make_learner(spec.name, params)) for spec in experiment.learners for params in spec.settings()
    ]
    runs: dict[str, Run] = {}
    paths: dict[str, str] = {}
    rows: dict[str, int] = {}
    for spec in experiment.datasets:
        if spec.path is None:
            raise ExperimentError(f"data set {spec.name} has no path yet; resolve the experiment before planning it")
        dataset = open_dataset(spec.path)
        _check_classes(dataset)
        transforms = experiment.transforms if spec.transforms is None else spec.transforms
        width = width_after(transforms, dataset.columns)
        for _, learner in learners:
            learner.check_memory(width, len(dataset.classes or ()))
        paths[dataset.fingerprint], rows[dataset.fingerprint] = spec.path, dataset.rows("train")
        for shuffle, part in _orders(experiment):
            key = StreamKey(dataset.name, dataset.fingerprint, transforms, shuffle, part)
            for name, learner in learners:
                run = Run(key, name, learner.version, learner.resolved_params())
                runs[run.id] = run
    return Plan(experiment.name, tuple(runs.values()), paths, rows, left_out)


def _orders(experiment: Experiment) -> Iterator[tuple[Shuffle | None, Part | None]]:
    """Yield order and part of each stream; every fold has permutations of its own."""
    protocol, seed = experiment.protocol, experiment.seed
    if protocol.order == "time" and protocol.permutations is not None:
        raise ExperimentError("protocol.permutations needs protocol.order = 'permuted'; it was 'time'")
    if protocol.split == "given":
        if protocol.folds is not None:
            raise ExperimentError("protocol.folds needs a protocol.split other than 'given'")
        parts: list[Part | None] = [None]
        repeats = protocol.permutations or DEFAULT_REPEATS
    else:
        folds = protocol.folds or DEFAULT_REPEATS
        if folds < 2 and protocol.split != "half":
            raise ExperimentError(f"protocol.folds was {folds}, expected at least 2 for split = {protocol.split!r}")
        parts = [Part(protocol.split, seed, fold, folds) for fold in range(folds)]
        repeats = protocol.permutations or 1
    for number, part in enumerate(parts):
        if protocol.order == "time":
            yield None, part
        else:
            yield from ((Shuffle(seed, number * repeats + index), part) for index in range(repeats))


def _check_classes(dataset: Any) -> None:
    if dataset.task != "classification":
        raise ExperimentError(f"dataset {dataset.path} has real-valued targets; the learners here learn classes")
    if len(dataset.classes) < 2:
        raise ExperimentError(f"dataset {dataset.path} has only the class {dataset.classes[0]!r}; two are needed")
