"""Checks, before anything runs, of what a protocol asks of single classes and of probabilities."""

from collections.abc import Iterator
from dataclasses import fields

from olscale.data.dataset import Dataset
from olscale.errors import ExperimentError
from olscale.evaluation.class_options import F1, costs_of, label_text
from olscale.evaluation.class_probabilities import needs_of
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.protocol import ProtocolSpec, Scoring, ScoringOptions
from olscale.learners.contract.capability import GivesProbabilities, only_says_class
from olscale.learners.contract.learner import Learner
from olscale.measures import OF_CLASSES, label_of

_TASKS = {
    "regression": "has targets that are numbers",
    "novelty": "is for novelty detection, where no label is shown",
}


def check_class_requests(protocol: ProtocolSpec, dataset: Dataset) -> None:
    """Refuse labels that a dataset does not have, and thresholds that do not fit its classes.

    Raises
    ------
    ExperimentError
        States the first option that does not fit.
    """
    for line in _misfits(protocol, dataset):
        raise ExperimentError(f"dataset {dataset.path}: protocol.{line}")


def _misfits(p: ProtocolSpec, dataset: Dataset) -> Iterator[str]:
    if dataset.task != "classification":
        if p.threshold is not None:
            yield (
                f"threshold was {p.threshold!r}, which decides by probabilities of classes, and "
                f"the dataset {_TASKS[dataset.task]}; leave it out"
            )
        return
    labels = [label_text(label) for label in dataset.classes or ()]
    count = len(labels)
    among = f"the classes are {', '.join(repr(label) for label in labels)}"
    for name in p.measures:
        if label_of(name) and label_of(name) not in labels:
            yield f"measures has {name!r}, and {among}; name one of those"
    if p.positive is not None and p.positive not in labels:
        yield f"positive was {p.positive!r}, and {among}; name one of those"
    for name in p.measures:
        if name in OF_CLASSES and p.positive is None and count > 2:
            yield (
                f"measures has {name!r}, which is of one class, not of {count}; name it: "
                f"positive = LABEL, or {name}:LABEL; {among}"
            )
    if p.threshold == F1 and count != 2:
        yield f"threshold was 'f1', which is for two classes, not {count}; expected costs"
    costs = costs_of(p.threshold)
    if costs and len(costs) != count:
        yield (
            f"threshold has costs of {len(costs)} classes, expected a list for each of the {count} "
            f"classes of the dataset, in their order; {among}"
        )


def check_probabilities(
    name: str, learner: Learner, protocol: ProtocolSpec, dataset: Dataset
) -> None:
    """Refuse the learner `name` if a protocol needs probabilities and it has nothing like them.

    Raises
    ------
    ExperimentError
        Says what needs them, and which models have them.
    """
    if dataset.task != "classification":
        return
    if protocol.keep_model and protocol.threshold is not None and _saves_own(learner):
        raise ExperimentError(
            f"learner {name} has probabilities of its own, which model files do not have, and "
            f"protocol.threshold was {protocol.threshold!r} with keep_model; leave one of them out"
        )
    if not only_says_class(learner):
        return
    options = {
        option.name: getattr(protocol, option.name) for option in fields(ScoringOptions)
    }
    labels = tuple(dataset.classes or ())
    shape = StreamShape(
        dataset.rows(), len(labels), scoring=Scoring(**options), labels=labels
    )
    for need in needs_of(shape):
        raise ExperimentError(
            f"learner {name} only says which class, so it has no probabilities, and protocol."
            f"{need}; leave one of them out, or take a model with predict_proba or "
            "decision_function"
        )


def _saves_own(learner: Learner) -> bool:
    """Return whether a learner has probabilities of its own and can be saved."""
    return learner.restorable and isinstance(learner, GivesProbabilities)
