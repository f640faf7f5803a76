"""A saved model learns on: each row of a source is predicted, then learned, as in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of, take_rows
from olscale.errors import ModelError
from olscale.evaluation.class_options import label_text
from olscale.evaluation.class_probabilities import has_plain_scores
from olscale.evaluation.metrics import METRICS, Metric, StreamShape
from olscale.evaluation.metrics.each_target import make_metric
from olscale.evaluation.protocol import Scoring
from olscale.learners.calibrator import Calibrator
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.learner import predictions_of
from olscale.learners.contract.usable_rows import diverged_at
from olscale.measures import (
    OF_CLASSES,
    check_measures,
    check_task_measures,
    headline_of,
    label_of,
)
from olscale.models.about import ColumnsEntry
from olscale.models.final_model import FinalModel
from olscale.models.grow import check_grow, grow_classes, grow_features
from olscale.models.learned_rows import LearnedRows
from olscale.models.predict import class_labels, labels_of
from olscale.models.source import ModelSource, RowsToPredict
from olscale.task import Task

_FIRST_ROWS = 1 << 12
"""Rows that measures expect at first: those of a source are not counted, and have no curves."""


@dataclass(slots=True)
class LearnedOn:
    """What a model met while it learned on.

    Attributes
    ----------
    rows, unlabelled : int
        Rows that were predicted and learned, and rows that lack a label and were left out.
    unknown : int
        Values and indices that the model does not know, which count as none.
    classes, features : int
        How many classes and features it grew by.
    measures : dict of str to float
        Error and measures asked for, of the predictions before each row was learned.
    undefined : tuple of str
        Measures asked for that have no value for these classes and rows.
    """

    rows: int = 0
    unlabelled: int = 0
    unknown: int = 0
    classes: int = 0
    features: int = 0
    measures: dict[str, float] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()


def learn_on(
    model: FinalModel,
    source: ModelSource,
    measures: Iterable[str] = (),
    grow: str = "none",
) -> LearnedOn:
    """Let `model` predict, then learn, each row of `source`.

    Parameters
    ----------
    model : FinalModel
        Is changed; after an error it may have learned some of the rows.
    source : ModelSource
    measures : sequence of str
        Measures to take in addition to those of every run.
    grow : {"none", "classes", "features", "all"}
        What the model may get that it does not know.

    Returns
    -------
    LearnedOn

    Raises
    ------
    ModelError
        If a label is none of the model's classes and it may not grow, or cannot.
    DivergedError
        If a row cannot be learned.
    """
    check_grow(grow)
    measures = check_measures(tuple(measures))
    _calibrate(model)
    pass_ = _Pass(model, measures, grow in ("classes", "all"))
    before = len(model.about.classes or ()), model.about.columns.count
    if grow in ("features", "all"):
        source.grow = pass_.grow_features
    for rows in source:
        pass_.step(rows)
    learned = pass_.learned
    learned.unknown = source.unknown + source.unknown_indices
    learned.classes = len(model.about.classes or ()) - before[0]
    learned.features = model.about.columns.count - before[1]
    learned.measures = pass_.measures()
    learned.undefined = tuple(name for name in measures if name not in learned.measures)
    return learned


def _calibrate(model: FinalModel) -> None:
    """Let a model that was saved without a calibrator, and can have one, get it as it learns on."""
    classes = len(model.about.classes or ())
    shape = StreamShape(_FIRST_ROWS, classes, task=model.learner.task)
    if model.probabilities is None and has_plain_scores(model.learner, shape):
        model.probabilities = ClassProbabilities(Calibrator(classes), None)


class _Pass:
    def __init__(
        self, model: FinalModel, measures: tuple[str, ...], grows_classes: bool
    ) -> None:
        self.model = model
        self.learned = LearnedOn()
        self._grows_classes = grows_classes
        self._asked = measures
        if wrong := check_task_measures(measures, self._task):
            raise ModelError(wrong)
        for line in self._misfits():
            raise ModelError(line)
        self._metrics = self._begun()

    @property
    def _task(self) -> Task:
        return self.model.learner.task

    def _misfits(self) -> Iterator[str]:
        """Yield what of the measures cannot be taken while a saved model learns on."""
        watching = {kind.measure for kind in METRICS.load_all() if kind.watches}
        classes = [str(label_text(label)) for label in self.model.about.classes or ()]
        for name in self._asked:
            if name in watching:
                yield f"{name} observes a model along an evaluation; leave it out"
            label = label_of(name)
            if label and label not in classes:
                yield f"{name} names no class of the model; expected one of {', '.join(classes)}"
            if (
                name in OF_CLASSES
                and self._task == "classification"
                and len(classes) > 2
            ):
                yield f"{name} is of one class; name it: {name}:{classes[0]}"

    def _begun(self) -> list[Metric]:
        about = self.model.about
        shape = StreamShape(
            _FIRST_ROWS,
            len(about.classes or ()),
            scoring=Scoring(measures=self._asked),
            task=self._task,
            targets=about.columns.targets,
            labels=about.classes or (),
        )
        return [
            make_metric(kind, shape)
            for kind in METRICS.load_all()
            if kind.meets(shape) and not kind.watches
        ]

    def grow_features(self, columns: ColumnsEntry) -> None:
        grow_features(self.model, columns)

    def step(self, rows: RowsToPredict) -> None:
        y, known = self._codes(rows)
        weights = rows.weights if self.model.learner.takes_weights else None
        X: Rows = rows.X
        if not known.all():
            index = np.flatnonzero(known)
            self.learned.unlabelled += len(known) - len(index)
            X = take_rows(X, index)
            y = y[index]
            weights = None if weights is None else weights[index]
        # Detectors never see labels; measures do.
        shown = np.zeros(len(y), dtype=np.int64) if self._task == "novelty" else y
        first = 0
        for learned in self.model.learn(X, shown, weights):
            row = learned.diverged
            if row is not None:
                at = self.learned.rows + first + row
                names = self.model.names
                raise diverged_at(self.model.learner, learned.X, row, at, names=names)
            self._count(y[first : first + len(learned.scores)], learned)
            first += len(learned.scores)
        self.learned.rows += rows_of(X)

    def _codes(self, rows: RowsToPredict) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return labels as the learner takes them, and which rows have one."""
        about = self.model.about
        if rows.labels is None:
            if self._task == "novelty":
                return np.ones(rows_of(rows.X), dtype=np.int64), np.ones(
                    rows_of(rows.X), np.bool_
                )
            raise ModelError(
                "the source has no labels to learn from; --label names their column"
            )
        if about.classes is None:
            numbers = labels_of(about.columns.targets, rows)
            known: NDArray[np.bool_] = np.logical_not(np.isnan(numbers).any(axis=1))
            return numbers if about.columns.targets else numbers[:, 0], known
        labels = class_labels(rows.labels, text=isinstance(about.classes[0], str))
        present = dict.fromkeys(label for label in labels if label is not None)
        if new := [label for label in present if label not in about.classes]:
            self._add_classes(new, labels)
        codes = {
            label: code for code, label in enumerate(self.model.about.classes or ())
        }
        y = np.array([codes.get(label, -1) for label in labels], dtype=np.int64)
        return y, y >= 0

    def _add_classes(self, new: list[Any], labels: list[Any]) -> None:
        if not self._grows_classes or self._task == "novelty":
            classes = ", ".join(map(str, (self.model.about.classes or ())[:10]))
            row = self.learned.rows + self.learned.unlabelled + labels.index(new[0])
            raise ModelError(
                f"row {row} has the label {new[0]!r}, which is none of the model's classes "
                f"({classes}); --grow classes adds it"
            )
        grow_classes(self.model, new)
        self._keep_counting()

    def _keep_counting(self) -> None:
        """Begin the measures of the larger number of classes; sums of the error continue."""
        before = self._metrics
        self._metrics = self._begun()
        for old, new in zip(before, self._metrics, strict=True):
            if {name: a.shape for name, a in old.sums.items()} == {
                name: a.shape for name, a in new.sums.items()
            }:
                new.sums = old.sums
            elif old.measure:
                raise ModelError(
                    f"the measure {old.measure} counts by class and cannot get one in "
                    "mid-stream; leave it out, or learn the rows with the new class alone"
                )

    def _count(self, y: NDArray[Any], learned: LearnedRows) -> None:
        predictions = learned.codes
        if predictions is None:
            predictions = predictions_of(learned.scores, self._task)
        probabilities = learned.probabilities
        if probabilities is None:
            probabilities = np.empty((len(y), 0))
        for metric in self._metrics:
            metric.see(
                y,
                predictions,
                probabilities if metric.reads_probabilities else learned.scores,
            )

    def measures(self) -> dict[str, float]:
        asked = {headline_of(self._task), *self._asked}
        # One of several targets is behind the name of the measure; so is one class of several.
        by_target = self._task == "regression"
        return {
            name: float(value)
            for metric in self._metrics
            for name, value in metric.values().items()
            if np.isfinite(value)
            and (name in asked or (by_target and name.partition(":")[0] in asked))
        }
