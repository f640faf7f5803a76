"""The roster of an experiment: which learners run on which datasets, in order, with their names."""

from dataclasses import replace

from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import LearnerSpec
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import ask
from olscale.results.plans import PlannedDataset, PlannedLearner
from olscale.storage.canonical_json import canonical_json


class Roster:
    """Datasets and learners of an experiment in its order, under their displayed names."""

    def __init__(self, experiment: Experiment) -> None:
        self._specs = experiment.learners
        self.datasets: list[PlannedDataset] = []
        self._learners: dict[tuple[int, str, str], PlannedLearner] = {}

    def enter(self, dataset: PlannedDataset, spec: LearnerSpec, learner: Learner) -> None:
        """Note that a learner runs on a dataset."""
        if dataset not in self.datasets:
            self.datasets.append(dataset)
        params = ask(spec.name, "resolved_params", learner.resolved_params)
        key = (self._specs.index(spec), str(learner.version), canonical_json(params))
        planned = self._learners.get(key) or PlannedLearner(
            spec.name, key[1], params, (), spec.label or ""
        )
        met = dict.fromkeys((*planned.datasets, self.datasets.index(dataset)))
        self._learners[key] = replace(planned, datasets=tuple(met))

    def learners(self) -> tuple[PlannedLearner, ...]:
        """Return the learners in the order of the experiment, with all their settings."""
        in_order = sorted(self._learners.items(), key=lambda item: item[0][0])
        return tuple(learner for _, learner in in_order)
