"""Notes for users on baselines that ignore weights next to learners that use them."""

from __future__ import annotations

from olscale.evaluation.experiment import Experiment
from olscale.learners.registry import learner_class


def unweighted_notes(experiment: Experiment) -> list[str]:
    """Return a line that names the learners that ignore the weights of a protocol.

    These are baselines, which look at labels only; other learners without weights are refused.
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
