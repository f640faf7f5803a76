"""Measures that rank rows by their scores, of models that only say which class: the user is told what the figures are."""

from __future__ import annotations

from olscale.data.dataset import open_dataset
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import LearnerSpec
from olscale.learners.contract.foreign.learner import ForeignLearner
from olscale.learners.registry import make_learner

RANKED = ("auc", "roc")
"""Words of a protocol's measures that look at how high a score is."""


def coarse_score_notes(experiment: Experiment) -> list[str]:
    """Return a line for each learner from elsewhere whose scores are -1 and 1, where a protocol asks how they rank rows.

    Its `auc` is then the mean of the shares found of both classes; that of a learner with scores is another figure.
    """
    asked: dict[str, set[str]] = {}
    for dataset in experiment.datasets:
        words = set(RANKED).intersection((dataset.protocol or experiment.protocol).measures)
        opened = open_dataset(str(dataset.path)) if words else None
        if opened is not None and opened.task == "classification" and len(opened.classes or ()) == 2:
            for spec in experiment.learners:
                if spec.meets(opened.name) and _is_coarse(spec):
                    asked.setdefault(spec.name, set()).update(words)
    return [
        f"{' and '.join(sorted(words))} of {name}: of the classes that it predicts, -1 or 1, and not of scores, not to be "
        "set beside those of olscale's own learners"
        for name, words in asked.items()
    ]


def _is_coarse(spec: LearnerSpec) -> bool:
    if ":" not in spec.name:
        return False
    learner = make_learner(spec.name, spec.settings()[0] | spec.points()[0])
    return isinstance(learner, ForeignLearner) and learner.task == "classification"
