"""Checks, before anything runs, that a dataset fits a learner."""

from dataclasses import fields

from olscale.data.dataset import Dataset
from olscale.errors import ExperimentError
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.protocol import ProtocolSpec, Scoring, ScoringOptions
from olscale.learners.contract.capability import expect_targets, learns_targets
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import ask, learner_class, learner_names
from olscale.task import Task

_LEARNS = {
    "classification": "learns classes",
    "regression": "predicts numbers",
    "novelty": "tells novelties",
}
_HAS = {
    "classification": "has classes; ingest it with --target real to keep numbers, or with --novel "
    "LABEL",
    "regression": "has real-valued targets; ingest it with --target classes to make a class of "
    "each value",
    "novelty": "is for novelty detection; ingest it without --novel for classes",
}


def check_learner(name: str, task: Task, dataset: Dataset) -> None:
    """Refuse the learner `name`, which learns `task`, for a dataset of another task.

    Raises
    ------
    ExperimentError
    """
    if task != dataset.task:
        raise ExperimentError(
            f"learner {name} {_LEARNS[task]} ({task}), but dataset {dataset.path} "
            f"{_HAS[dataset.task]}; learners for it: "
            f"olscale learners list --task {dataset.task}"
        )


def check_targets(name: str, learner: Learner, dataset: Dataset) -> None:
    """Prepare `learner`, called `name`, for the targets of the dataset.

    Raises
    ------
    ExperimentError
        If there are several targets and the learner supports one.
    """
    count = len(dataset.targets)
    if not count:
        return
    if not learns_targets(learner):
        raise ExperimentError(
            f"learner {name} learns one target, but dataset {dataset.path} has {count}: "
            f"{', '.join(dataset.targets)}; "
            "ingest a dataset for each with --label TARGET and the others in --drop, or take a "
            "learner of several, as rls"
        )
    ask(name, "expect_targets", lambda: expect_targets(learner, count))


def check_weights(protocol: ProtocolSpec, dataset: Dataset) -> None:
    """Refuse a column of weights that the dataset lacks, and metrics that ignore weights.

    Raises
    ------
    ExperimentError
        Names the column or the metric.
    """
    if protocol.weights not in (None, dataset.weights):
        available = "none; ingest its sources with --weights COLUMN"
        if dataset.weights is not None:
            available = f"those of its column {dataset.weights!r}; name that"
        raise ExperimentError(
            f"protocol.weights was {protocol.weights!r}, and the weights of dataset "
            f"{dataset.path} are {available}"
        )
    if not protocol.weighted_measures:
        return
    protocol.check()  # reports conflicting options by their names
    options = {option.name: getattr(protocol, option.name) for option in fields(ScoringOptions)}
    shape = StreamShape(
        dataset.rows(), len(dataset.classes or ()), (), Scoring(**options), dataset.task
    )
    for metric in METRICS.load_all():
        if metric.meets(shape) and not (metric.weighs_rows or metric.watches):
            raise ExperimentError(
                f"protocol.weighted_measures does not go with the metric {metric.__name__}, where "
                "all rows count alike"
            )


def check_takes_weights(name: str, learner: Learner, weights: str | None) -> None:
    """Refuse the learner `name` if rows have weights and it takes none; baselines are exempt.

    Raises
    ------
    ExperimentError
        Names the learners of its task that take weights.
    """
    if weights is None or takes_or_ignores_weights(learner):
        return
    takers = [
        candidate
        for candidate in learner_names(learner.task)
        if getattr(learner_class(candidate), "takes_weights", False)
    ]
    raise ExperimentError(
        f"learner {name} takes no weights of rows, and protocol.weights was {weights!r}; leave "
        "one of them out. Learners of "
        f"its task that take them: {', '.join(takers) or 'none'}"
    )


def takes_or_ignores_weights(learner: Learner | type) -> bool:
    """Return whether a learner, or its class, can be used where rows have weights."""
    return bool(getattr(learner, "takes_weights", False) or getattr(learner, "baseline", False))


def check_classes(dataset: Dataset) -> None:
    """Refuse a dataset with a single class.

    Raises
    ------
    ExperimentError
    """
    classes = dataset.classes or ()
    if dataset.task == "classification" and len(classes) < 2:
        raise ExperimentError(
            f"dataset {dataset.path} has only the class {classes[0]!r}; two are needed"
        )
