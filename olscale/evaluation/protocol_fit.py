"""Whether a protocol fits a dataset: the task of it, and the length of the stream."""

from __future__ import annotations

from collections.abc import Iterator

from olscale.errors import ExperimentError
from olscale.evaluation.protocol import ProtocolSpec, Scoring
from olscale.learners.foresight import REFERENCES
from olscale.measures import check_task_measures
from olscale.task import Task


def check_task(protocol: ProtocolSpec, dataset: str, task: Task, classes: int) -> None:
    """Refuse options that do not apply to the task of a dataset.

    Parameters
    ----------
    protocol : ProtocolSpec
    dataset : str
        Path of the dataset.
    task : {"classification", "regression", "novelty"}
    classes : int
        Number of its classes; 0 in a regression.

    Raises
    ------
    ExperimentError
        States the first option that does not apply.
    """
    for line in _task_misfits(protocol, task, classes):
        raise ExperimentError(f"dataset {dataset}: protocol.{line}")


def _task_misfits(p: ProtocolSpec, task: Task, classes: int) -> Iterator[str]:
    if wrong := check_task_measures(p.measures, task):
        yield wrong
    if task == "regression":
        if p.split.startswith("stratified"):
            yield (
                f"split was {p.split!r}, which needs classes, and its targets are numbers; "
                "expected kfold or half"
            )
        if p.drift is not None:
            yield (
                f"drift was {p.drift!r}, which watches mistakes, and its targets are numbers; "
                "leave it out"
            )
        if p.mcnemar:
            yield (
                "mcnemar was true, which counts mistakes, and its targets are numbers; leave it out"
            )
    if task == "novelty" and p.delay:
        yield f"delay was {p.delay!r}, but no label is shown in novelty detection; leave it out"
    if p.costs and len(p.costs) != classes:
        yield f"costs has {len(p.costs)} numbers, expected one for each of its {classes} classes"
    for name in ("auc", "roc"):
        if name in p.measures and classes != 2:
            yield f"measures has {name!r}, which is for two classes, not {classes}"


def check_waits(learner: str, protocol: ProtocolSpec) -> None:
    """Refuse batch references where labels come late.

    Raises
    ------
    ExperimentError
        Each row is then predicted by a machine of all labels so far, which is hours of training.

    Examples
    --------
    >>> check_waits("svm", ProtocolSpec(delay=0))
    """
    if protocol.delay and learner in REFERENCES:
        raise ExperimentError(
            f"learner {learner}: protocol.delay was {protocol.delay!r}, and a batch reference "
            "would be trained anew for every label that comes late; expected 0 for it: leave "
            f"delay out, give protocol.batch, or take {REFERENCES[learner]}"
        )


def check_stream(scoring: Scoring, dataset: str, rows: int, tested: bool) -> None:
    """Refuse a stream on which nothing would be measured.

    Parameters
    ----------
    scoring : Scoring
    dataset : str
        Path of its dataset.
    rows : int
        Length of the stream.
    tested : bool
        Whether there are rows to test on.

    Raises
    ------
    ExperimentError
        States the first of the `misfits`.
    """
    for line in misfits(scoring, dataset, rows, tested):
        raise ExperimentError(f"protocol.{line}")


def misfits(s: Scoring, dataset: str, rows: int, tested: bool) -> Iterator[str]:
    """Yield the options that do not fit a stream of `rows` rows."""
    has = f"but the stream of dataset {dataset} has {rows} rows"
    if s.test_only and not tested:
        yield (
            f"test_only needs rows to test on, and dataset {dataset} has no test split; give "
            "protocol.split"
        )
    if isinstance(s.delay, int) and s.delay >= rows:
        yield f"delay was {s.delay}, {has}: no label would arrive; expected fewer"
    if s.batch is not None and s.batch >= rows:
        yield f"batch was {s.batch}, {has}: none would be predicted by a model; expected fewer"
    if s.burn_in >= rows:
        yield f"burn_in was {s.burn_in}, {has}: none would be counted; expected fewer"
    if s.holdout_every is None:
        return
    if s.holdout_rows is None and not tested:
        yield (
            f"holdout_every needs rows to hold out, and dataset {dataset} has no test split; "
            "give holdout_rows, to hold out the next rows each time"
        )
    period = s.holdout_every + (s.holdout_rows or 0)
    if period > rows - s.burn_in:
        period_text = f"holdout_every and holdout_rows together were {period}"
        period_text += f" after a burn_in of {s.burn_in}" if s.burn_in else ""
        yield f"{period_text}, {has}: nothing would be measured; expected at most those"
