"""What a protocol needs of probabilities of classes, and how a run gets them."""

from collections.abc import Iterator

import numpy as np

from olscale.evaluation.class_options import F1, costs_of
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.metrics.one_class import class_of
from olscale.evaluation.protocol import Scoring
from olscale.learners.calibrator import Calibrator
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import (
    GivesProbabilities,
    only_says_class,
    show_margins,
    show_probabilities,
)
from olscale.learners.contract.learner import Learner
from olscale.learners.decision import CostMatrix, Decision, F1Threshold


def needs_of(shape: StreamShape) -> Iterator[str]:
    """Yield what of a protocol needs probabilities of classes: the threshold, measures."""
    if shape.scoring.threshold is not None:
        yield f"threshold was {shape.scoring.threshold!r}"
    for metric in METRICS.load_all():
        if metric.needs_probabilities(shape):
            yield f"measures has {metric.measure or 'average_precision'!r}"


def may_need(scoring: Scoring) -> bool:
    """Return whether runs with these options need probabilities for some number of classes."""
    metrics = METRICS.load_all()
    return scoring.threshold is not None or any(
        metric.reads_probabilities and metric.wanted(scoring) for metric in metrics
    )


def begin_probabilities(
    learner: Learner, shape: StreamShape, ranking: int
) -> ClassProbabilities:
    """Return the probabilities of a begun learner: its own if it has any, else calibrated ones.

    `ranking` is the number of columns after the learner's scores that only rank rows.
    """
    decision = _decision(shape)
    if own := show_probabilities(learner, shape.classes):
        return ClassProbabilities(None, decision, own, ranking)
    return ClassProbabilities(
        Calibrator(shape.classes), decision, show_margins(learner), ranking
    )


def has_plain_scores(learner: Learner, shape: StreamShape) -> bool:
    """Return whether a model file can carry a calibrator of the scores of `learner`.

    Other models have probabilities of their own, or none that are defined.
    """
    return (
        shape.task == "classification"
        and shape.classes > 1
        and learner.restorable
        and not isinstance(learner, GivesProbabilities)
        and not only_says_class(learner)
    )


def _decision(shape: StreamShape) -> Decision | None:
    threshold = shape.scoring.threshold
    if threshold is None:
        return None
    if threshold == F1:
        return F1Threshold(class_of(shape, ""))
    return CostMatrix(np.array(costs_of(threshold)))
