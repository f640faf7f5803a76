"""Datasets with their transforms, as an experiment plans them, and the learners that meet them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olscale.data.dataset import Dataset
from olscale.data.feature_names import feature_names
from olscale.data.manifest import dataset_facts
from olscale.data.transforms.pipeline import (
    bound_transforms,
    chosen_columns,
    size_after,
)
from olscale.data.transforms.scaling import transforms_version
from olscale.errors import ExperimentError
from olscale.evaluation.candidates import candidates, plain_space, rung_shares
from olscale.evaluation.dataset_fit import (
    check_classes,
    check_learner,
    check_targets,
)
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import DatasetSpec, LearnerSpec
from olscale.evaluation.protocol import ProtocolSpec, weighing_of
from olscale.evaluation.resolve import ResolvedExperiment
from olscale.evaluation.run_plan import Search
from olscale.learners.contract.capability import TakesNames, expect_ranking
from olscale.learners.contract.class_weights import name_classes, weighs_classes
from olscale.learners.contract.cost import check_row_numbers, cost_of
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import LearnersByName, ask
from olscale.measures import ranking_measures
from olscale.results.plans import PlannedDataset


@dataclass(frozen=True, slots=True)
class PlanInput:
    """A dataset of an experiment under its transforms."""

    spec: DatasetSpec
    dataset: Dataset
    transforms: tuple[str, ...]
    transforms_version: int
    chosen_columns: str
    by_name: LearnersByName

    @property
    def planned(self) -> PlannedDataset:
        """The dataset under its displayed name."""
        dataset = self.dataset
        facts = dataset_facts(self.dataset.manifest)
        return PlannedDataset(
            dataset.name,
            dataset.fingerprint,
            self.transforms,
            self.spec.label or "",
            facts,
        )

    @property
    def version(self) -> dict[str, int]:
        """Version of the transforms in the definition of a search; empty for the first version."""
        if self.transforms_version > 1:
            return {"transforms_version": self.transforms_version}
        return {}

    def check_tunable(self, protocol: ProtocolSpec) -> None:
        """Refuse what a search would read differently from the experiment.

        Raises
        ------
        ExperimentError
        """
        if isinstance(protocol.delay, str):
            raise ExperimentError(
                f"protocol.delay was the column {protocol.delay!r} of {self.dataset.name}, which "
                "tuning would take for a feature; give params in place of tune, or delay as a "
                "number of rows"
            )

    def learners(
        self, experiment: Experiment
    ) -> Iterator[tuple[LearnerSpec, dict[str, Any]]]:
        """Yield the learners for this dataset and these transforms, with each of their settings."""
        for spec in experiment.learners:
            if (
                spec.meets(self.dataset.name)
                and experiment.transforms_of(self.spec, spec) == self.transforms
            ):
                yield from ((spec, settings) for settings in spec.settings())

    def learner(
        self,
        spec: LearnerSpec,
        params: Mapping[str, Any],
        experiment: Experiment,
    ) -> Learner:
        """Return a learner that has been checked against this dataset."""
        learner = self._informed(
            self.by_name[spec.name].make(dict(params)), spec, experiment
        )
        check_learner(spec.name, learner.task, self.dataset)
        check_targets(spec.name, learner, self.dataset)
        dataset = self.dataset
        columns, _ = size_after(
            self.transforms, dataset.columns, dataset.columns, dataset.manifest
        )
        classes = len(self.dataset.classes or ())
        if weighs_classes(learner):
            # Weights of classes that do not exist are reported now, not when a run begins.
            ask(spec.name, "begin", lambda: learner.begin(1, classes))
        # A learner that cannot fit is refused here, before anything runs.
        ask(
            spec.name,
            "check_memory",
            lambda: cost_of(learner).check_memory(columns, classes),
        )
        ask(
            spec.name,
            "row_numbers",
            lambda: check_row_numbers(learner, columns, classes),
        )
        return learner

    def _informed(
        self, learner: Learner, spec: LearnerSpec, experiment: Experiment
    ) -> Learner:
        """Return a learner that knows the names of features and classes, and what is measured.

        Its version depends on them.
        """
        if isinstance(learner, TakesNames):
            steps = bound_transforms(self.transforms, self.dataset.manifest)
            learner.expect_names(
                feature_names(self.dataset.manifest, steps), self.dataset.classes or ()
            )
        name_classes(learner, self.dataset.classes or ())
        measures = list((self.spec.protocol or experiment.protocol).measures)
        if spec.tune and experiment.tuning.metric:
            measures.append(experiment.tuning.metric)
        # Learners with ranking scores return them only if a measure reads them.
        if ranking_measures(measures) and len(self.dataset.classes or ()) == 2:
            expect_ranking(learner)
        return learner

    def search(
        self, experiment: Experiment, spec: LearnerSpec, settings: dict[str, Any]
    ) -> Search:
        """Return the search for the tuned parameters of `spec`."""
        weighing = weighing_of(self.spec.protocol or experiment.protocol)
        # The version of a candidate depends on names, so each is prepared like the learner that
        # runs.
        drawn = candidates(spec, experiment.tuning, experiment.seed)
        points = [
            self._informed(
                self.by_name[spec.name].make(settings | point), spec, experiment
            )
            for point in drawn
        ]
        return Search(
            dataset={"name": self.dataset.name, "fingerprint": self.dataset.fingerprint}
            | ({"chosen_columns": self.chosen_columns} if self.chosen_columns else {}),
            transforms=self.transforms,
            learner={
                "name": spec.name,
                "version": points[0].version,
                "params": settings,
            },
            grid=plain_space(spec.tune),
            protocol=experiment.tuning.definition(
                experiment.seed, self.dataset.task, weighing
            )
            | self.version,
            points=tuple(
                ask(spec.name, "resolved_params", point.resolved_params)
                for point in points
            ),
            shares=rung_shares(
                experiment.tuning, len(points), self.dataset.rows("train")
            ),
        )


def plan_inputs(resolved: ResolvedExperiment) -> Iterator[PlanInput]:
    """Yield each dataset of an experiment once for every chain of transforms that it needs.

    Raises
    ------
    DatasetError, ParameterError
        If a dataset has too few classes, or lacks columns that transforms name.
    """
    experiment = resolved.experiment
    for spec, dataset in zip(experiment.datasets, resolved.datasets, strict=True):
        check_classes(dataset)
        learners = [
            learner for learner in experiment.learners if learner.meets(dataset.name)
        ]
        pipelines = dict.fromkeys(
            experiment.transforms_of(spec, learner) for learner in (None, *learners)
        )
        for transforms in pipelines:
            # Unknown columns are reported before rows are read.
            chosen = chosen_columns(transforms, dataset.manifest)
            version = transforms_version(dataset, transforms)
            yield PlanInput(
                spec, dataset, transforms, version, chosen, resolved.learners
            )
