"""Checks, before anything runs, that a dataset fits a learner and has rows enough for it."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from olscale.data.dataset import Dataset
from olscale.data.transforms.pipeline import make_transform
from olscale.errors import ExperimentError, ParameterError
from olscale.evaluation.label_delay import Schedule
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.protocol import ProtocolSpec, Scoring, ScoringOptions
from olscale.learners.contract.capability import expect_targets, learns_targets
from olscale.learners.contract.cost import check_rows, cost_of
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
    options = {
        option.name: getattr(protocol, option.name) for option in fields(ScoringOptions)
    }
    shape = StreamShape(
        dataset.rows(),
        len(dataset.classes or ()),
        (),
        Scoring(**options),
        dataset.task,
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
    return bool(
        getattr(learner, "takes_weights", False) or getattr(learner, "baseline", False)
    )


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


def check_enough_rows(
    learner: Learner,
    transforms: Sequence[str],
    scoring: Scoring,
    fold: int | None,
    rows: int,
    tested: bool,
) -> None:
    """Refuse a run whose learner would see too few rows to predict any.

    Parameters
    ----------
    learner : Learner
    transforms : sequence of str
        Transforms with their parameters.
    scoring : Scoring
    fold : int, optional
        Number of the model, where several process the stream together.
    rows : int
        Length of the stream.
    tested : bool
        Whether the final model is tested.

    Raises
    ------
    ParameterError
        States the number of rows, the number needed, and what to do.
    """
    interrupted = tested or scoring.interrupts
    steps = [
        (step.name, *step.start_rows()) for step in map(make_transform, transforms)
    ]
    transforms_start_at_once = not any(least for _, least, _ in steps)
    # Counting the rows takes time; most learners predict from their first row on.
    if transforms_start_at_once and not cost_of(learner).start_rows(interrupted)[0]:
        return
    learned, transformed = rows_learned(scoring, fold, rows, tested)
    check_rows(learner, learned, interrupted)
    for name, least, cure in steps:
        if transformed < least:
            raise ParameterError(
                f"transform {name}: {transformed:,} rows come to learn from, and features are 0 "
                f"before {least:,}; {cure}"
            )


def rows_learned(
    scoring: Scoring, fold: int | None, rows: int, tested: bool
) -> tuple[int, int]:
    """Return the rows that a learner and a transform have learned before the last prediction.

    A `delay` given by a column counts as none, since its values are not known yet.

    Examples
    --------
    >>> rows_learned(Scoring(delay=10), None, rows=100, tested=False)
    (89, 100)
    >>> rows_learned(Scoring(batch=30), None, rows=100, tested=False)
    (90, 100)
    >>> rows_learned(Scoring(holdout_every=3, holdout_rows=1), None, rows=100, tested=True)
    (75, 75)
    """
    times = Schedule(scoring, fold).times(0, rows)
    last = rows if tested else rows - 1
    if scoring.folds is not None and not tested:
        # the last row that tests this model
        last = int(np.flatnonzero(times == 0)[-1:].sum())
    delay = 0
    if isinstance(scoring.delay, int):
        delay = scoring.delay
    arrived = max(0, last - delay)
    if scoring.batch is not None and not tested:
        arrived = last // scoring.batch * scoring.batch
    return int(times[:arrived].sum()), int(np.count_nonzero(times))


def check_seen(learner: Learner) -> None:
    """Refuse the end of a run whose labels came too late to predict any row by them.

    See `check_enough_rows`.
    """
    if cost_of(learner).start_rows(apart=True)[0]:
        check_rows(learner, int(learner.state_["seen"][0]), apart=True)
