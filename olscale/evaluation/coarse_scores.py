"""Notes for users on ranking measures of models that predict classes without scores."""

from __future__ import annotations

from olscale.evaluation.experiment_sections import LearnerSpec
from olscale.evaluation.resolve import ResolvedExperiment
from olscale.learners.contract.capability import ranks_by_class
from olscale.learners.registry import make_learner
from olscale.measures import ranking_measures


def coarse_score_notes(resolved: ResolvedExperiment) -> list[str]:
    """Return a line for each learner without scores whose protocol asks for ranking measures.

    Its `auc` is the mean recall of both classes, which is not comparable with that of a learner
    with scores.
    """
    experiment = resolved.experiment
    measures_of: dict[str, set[str]] = {}
    for section, dataset in zip(experiment.datasets, resolved.datasets, strict=True):
        words = set(ranking_measures((section.protocol or experiment.protocol).measures))
        if words and dataset.task == "classification" and len(dataset.classes or ()) == 2:
            for spec in experiment.learners:
                if spec.meets(dataset.name) and _is_coarse(spec):
                    measures_of.setdefault(spec.name, set()).update(words)
    return [
        f"{' and '.join(sorted(words))} of {name}: of the classes that it predicts, -1 or 1, and "
        "not of scores, not to be "
        "set beside those of learners with scores"
        for name, words in measures_of.items()
    ]


def _is_coarse(spec: LearnerSpec) -> bool:
    if ":" not in spec.name:
        return False
    return ranks_by_class(make_learner(spec.name, spec.settings()[0] | spec.points()[0]))
