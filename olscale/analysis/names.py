"""Under which names, and in which order, people see the datasets and learners of a store.

They are those of its experiments.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

from olscale.analysis.joined_columns import (
    DatasetKey,
    LearnerKey,
    joined_columns,
    key_of_dataset,
    key_of_learner,
)
from olscale.learners.adapter_version import own_version
from olscale.results import Plan
from olscale.results.plans import TUNING
from olscale.results.settings import SettingKey, natural_name

UNPLACED = 2**31
"""Place of what no experiment of the store has: after everything else."""


class Name(NamedTuple):
    """Place among the names of all experiments, and label in one, empty without one.

    `version` is what tables call a learner's version, where that is not the version of its runs: an
    external learner has the adapter's version on some datasets of an experiment only.
    """

    place: int = UNPLACED
    text: str = ""
    version: str = ""

    def order(self) -> tuple[Any, ...]:
        """Return what names are sorted by; numbers in texts by their values."""
        return self.place, natural_name(self.text), self.text


UNNAMED = Name()


class Names:
    """The names of datasets and learners, from the plans of a store.

    Experiments come in the order in which the store saw them first, and of one that was changed its
    last form comes first. The first label in that order counts; places are those of the first
    appearance. What tuning compares comes last, and names nothing that an experiment asks for: a
    default among the candidates is not what was chosen.
    """

    def __init__(self, plans: Iterable[Plan]) -> None:
        self._dataset_places: dict[DatasetKey, int] = {}
        self._dataset_labels: dict[DatasetKey, str] = {}
        self._learner_places: dict[tuple[str, LearnerKey], int] = {}
        self._labels: dict[tuple[DatasetKey, LearnerKey], list[str]] = {}
        self._versions: dict[tuple[DatasetKey, LearnerKey], str] = {}
        in_order = list(_in_order(plans))
        for plan in in_order:
            self._add(plan)
        self._columns = joined_columns(in_order)

    def _add(self, plan: Plan) -> None:
        datasets = [key_of_dataset(dataset) for dataset in plan.datasets]
        for key, dataset in zip(datasets, plan.datasets, strict=True):
            self._dataset_places.setdefault(key, len(self._dataset_places))
            if dataset.label:
                self._dataset_labels.setdefault(key, dataset.label)
        labels_of_plan: dict[tuple[DatasetKey, LearnerKey], list[str]] = {}
        shown_versions = _shown_versions(plan)
        for learner in plan.learners:
            learner_key = key_of_learner(learner)
            shown_version = shown_versions.get(learner_key, "")
            for version in (learner.version, shown_version or learner.version):
                labelled = (learner.label, (learner.name, version, learner_key[2]))
                self._learner_places.setdefault(labelled, len(self._learner_places))
            for place in learner.datasets:
                setting = (datasets[place], learner_key)
                labels = labels_of_plan.setdefault(setting, [])
                if learner.label not in labels:
                    labels.append(learner.label)
                if shown_version:
                    self._versions[setting] = shown_version
        # The first label counts, and tuning takes the place of none.
        is_tuning = plan.experiment.endswith(TUNING)
        for setting, labels in labels_of_plan.items():
            earlier = self._labels.get(setting)
            if earlier is None or not (is_tuning or any(earlier)):
                self._labels[setting] = labels

    def column(self, key: SettingKey) -> tuple[str, ...]:
        """Return the transforms of the column that a setting stands in: mostly its own."""
        place = (key[:3], key[3:6])
        return self._columns.get(place, key.transforms)

    def dataset(self, key: SettingKey) -> Name:
        """Return the name of the dataset of a setting under its transforms."""
        dataset = key[:3]
        place = self._dataset_places.get(dataset, UNPLACED)
        return Name(place, self._dataset_labels.get(dataset, ""))

    def learner(self, key: SettingKey) -> tuple[Name, ...]:
        """Return the names of the learner of a setting.

        There are several where an experiment asks for the same runs under several labels: a default
        that tuning chose too.
        """
        setting = (key[:3], key[3:6])
        labels = self._labels.get(setting, [""])
        version = self._versions.get(setting, "")
        # Rows that are joined have one place.
        placed = (key.learner, version or key.version, key.params)
        return tuple(
            sorted(
                Name(
                    self._learner_places.get((label, placed), UNPLACED), label, version
                )
                for label in labels
            )
        )


def _shown_versions(plan: Plan) -> dict[LearnerKey, str]:
    """Return what tables call the versions of learners that the plan has in two.

    Those differ in the adapter's part only, by what a dataset hands over. Runs of an older adapter
    that the plan does not ask for keep a version of their own.
    """
    versions: dict[LearnerKey, list[str]] = {}
    for learner in plan.learners:
        name, version, params = key_of_learner(learner)
        versions.setdefault((name, own_version(version), params), []).append(version)
    shown = {}
    for (name, _, params), of_learner in versions.items():
        newest = max(of_learner, key=natural_name)
        for version in of_learner:
            if version != newest:
                shown[name, version, params] = newest
    return shown


def _in_order(plans: Iterable[Plan]) -> Iterable[Plan]:
    experiments: dict[str, list[Plan]] = {}
    for plan in sorted(plans, key=lambda plan: plan.number):
        experiments.setdefault(plan.experiment, []).append(plan)
    in_turn = sorted(experiments, key=lambda name: name.endswith(TUNING))
    return chain.from_iterable(reversed(experiments[name]) for name in in_turn)
