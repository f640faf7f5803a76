"""Baselines beside learners that count rows by their weights: the user is told that to them all rows count alike."""

from __future__ import annotations

from olscale.evaluation.experiment import Experiment
from olscale.learners.registry import learner_class


def unweighted_notes(experiment: Experiment) -> list[str]:
    """Return a line that names the learners to which all rows count alike where a protocol gives rows weights.

    Those are baselines, which look at labels only; all others that take no weights are refused.
    """
    protocols = [dataset.protocol or experiment.protocol for dataset in experiment.datasets]
    if all(protocol.weights is None for protocol in protocols):
        return []
    names = dict.fromkeys(spec.name for spec in experiment.learners)
    baselines = [
        name
        for name in names
        if ":" not in name and getattr(learner_class(name), "baseline", False)
    ]
    if not baselines:
        return []
    return [
        f"{', '.join(baselines)}: all rows count alike, whatever they weigh, as to every baseline"
    ]
