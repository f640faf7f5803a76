"""Probabilities of the classes of a run's rows, and the decisions that a protocol makes by them."""

from collections.abc import Iterator, Mapping

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.evaluation.class_options import F1, costs_of
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.metrics.one_class import class_of
from olscale.evaluation.protocol import Scoring
from olscale.learners.calibrator import Calibrator
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.probabilities import show_margins, show_probabilities
from olscale.learners.decision import CostMatrix, Decision, F1Threshold, decision_of


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


class ClassProbabilities:
    """The probabilities of one run: the learner's own, else its scores calibrated as they come.

    Each row is answered, and decided, before its label teaches anything.

    Parameters
    ----------
    learner : Learner
        It has begun.
    shape : StreamShape
    ranking : int
        Number of columns after the learner's scores that only rank rows.

    Attributes
    ----------
    columns : int
        Number of columns that the learner appends: probabilities, or margins to calibrate.
    calibrator : Calibrator, optional
        None if the probabilities are the learner's own.
    decision : Decision, optional
        None if the learner's scores decide.
    """

    def __init__(self, learner: Learner, shape: StreamShape, ranking: int) -> None:
        classes = shape.classes
        self._ranking = ranking
        self.calibrator: Calibrator | None = None
        self.columns = show_probabilities(learner, classes)
        if not self.columns:
            self.columns = show_margins(learner)
            self.calibrator = Calibrator(classes)
        self.decision = _decision(shape)

    def follow(
        self, scores: FloatArray, y: Array, weights: FloatArray | None
    ) -> tuple[FloatArray, IntArray | None]:
        """Return scores with probabilities in the place of `columns`, and decisions if any.

        Parameters
        ----------
        scores : ndarray of shape (events, outputs)
            As the learner gave them, in the order in which labels arrive.
        y : int array of shape (events,)
            Class codes, negative where an event brings no label.
        weights : float64 array of shape (events,), optional
        """
        kept, probabilities = self._parts(scores)
        if self.calibrator is not None:
            probabilities = self.calibrator.follow(probabilities, y, weights)
        codes = None
        if self.decision is not None:
            codes = self.decision.follow(probabilities, y, weights)
        return np.hstack([kept, probabilities]), codes

    def answer(self, scores: FloatArray) -> tuple[FloatArray, IntArray | None]:
        """Return the same of rows whose labels nothing learns."""
        kept, probabilities = self._parts(scores)
        if self.calibrator is not None:
            probabilities = self.calibrator.probabilities(probabilities)
        codes = None
        if self.decision is not None:
            codes = self.decision.decide(probabilities)
        return np.hstack([kept, probabilities]), codes

    def _parts(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the columns that stay, and those that are or become probabilities."""
        if self.columns:
            return scores[:, : -self.columns], scores[:, -self.columns :]
        return scores, scores[:, : scores.shape[1] - self._ranking]

    def state(self) -> dict[str, Array]:
        """Return all that has been learned, as plain arrays."""
        arrays: dict[str, Array] = {}
        if self.calibrator is not None:
            arrays |= {f"calibrator.{name}": a for name, a in self.calibrator.state().items()}
        if self.decision is not None:
            arrays |= {f"decision.{name}": a for name, a in self.decision.state().items()}
        return arrays

    def restore(self, groups: Mapping[str, Mapping[str, Array]]) -> None:
        """Continue from a `state`, whose names are grouped by what comes before the point.

        Raises
        ------
        ValueError
            If it is not one of such a run.
        """
        if self.calibrator is not None:
            self.calibrator = Calibrator.from_state(groups.get("calibrator", {}))
        if self.decision is not None:
            self.decision = decision_of(groups.get("decision", {}))


def _decision(shape: StreamShape) -> Decision | None:
    threshold = shape.scoring.threshold
    if threshold is None:
        return None
    if threshold == F1:
        return F1Threshold(class_of(shape, ""))
    return CostMatrix(np.array(costs_of(threshold)))
