"""Under which names, and in which order, people see the datasets and learners of a store: those of its experiments."""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from olscale.results import Plan, PlannedDataset, canonical_json
from olscale.results.plans import TUNING

UNPLACED = 2**31
"""Place of what no experiment of the store has: behind everything else."""


class Name(NamedTuple):
    """The label in an experiment, empty without one, and its place among the datasets, or learners, of all experiments."""

    place: int = UNPLACED
    text: str = ""


UNNAMED = Name()


class Names:
    """The names of datasets and learners, from the plans of a store.

    Experiments come in the order in which the store saw them first, and of one that was changed its
    last form comes first. The first label found in that order counts; places are those of the first
    appearance. What tuning compares comes last, and names nothing that an experiment asks for: a
    default among the candidates is not what was chosen.
    """

    def __init__(self, plans: Iterable[Plan]) -> None:
        self._dataset_places: dict[PlannedDataset, int] = {}
        self._dataset_labels: dict[PlannedDataset, str] = {}
        self._learner_places: dict[tuple[str, str, str, str], int] = {}
        self._labels: dict[tuple[PlannedDataset, tuple[str, str, str]], list[str]] = {}
        for plan in _in_order(plans):
            self._add(plan)

    def _add(self, plan: Plan) -> None:
        keys = [_key(one.name, one.fingerprint, one.transforms) for one in plan.datasets]
        for key, dataset in zip(keys, plan.datasets, strict=True):
            self._dataset_places.setdefault(key, len(self._dataset_places))
            if dataset.label:
                self._dataset_labels.setdefault(key, dataset.label)
        own: dict[tuple[PlannedDataset, tuple[str, str, str]], list[str]] = {}
        for one in plan.learners:
            learner = (one.name, one.version, canonical_json(dict(one.params)))
            self._learner_places.setdefault((one.label, *learner), len(self._learner_places))
            for place in one.datasets:
                labels = own.setdefault((keys[place], learner), [])
                if one.label not in labels:
                    labels.append(one.label)
        for setting, labels in own.items():
            if setting not in self._labels or not (
                plan.experiment.endswith(TUNING) or any(self._labels[setting])
            ):
                self._labels[setting] = labels

    def dataset(self, name: str, fingerprint: str, transforms: tuple[str, ...]) -> Name:
        """Return the name of a dataset under its transforms."""
        key = _key(name, fingerprint, transforms)
        return Name(self._dataset_places.get(key, UNPLACED), self._dataset_labels.get(key, ""))

    def learner(self, dataset: tuple[str, str, tuple[str, ...]], *setting: str) -> tuple[Name, ...]:
        """Return the names of a learner's setting (name, version, params) on a dataset (name, fingerprint, transforms).

        There are several where an experiment asks for the same runs under several labels: a default
        that tuning chose too.
        """
        name, version, params = setting
        labels = self._labels.get((_key(*dataset), (name, version, params)), [""])
        places = (
            (self._learner_places.get((label, name, version, params), UNPLACED), label)
            for label in labels
        )
        return tuple(sorted(Name(*place) for place in places))


def _key(name: str, fingerprint: str, transforms: tuple[str, ...]) -> PlannedDataset:
    return PlannedDataset(name, fingerprint, transforms)


def _in_order(plans: Iterable[Plan]) -> Iterable[Plan]:
    experiments: dict[str, list[Plan]] = {}
    for plan in sorted(plans, key=lambda plan: plan.number):
        experiments.setdefault(plan.experiment, []).append(plan)
    in_turn = sorted(experiments, key=lambda name: name.endswith(TUNING))
    return chain.from_iterable(reversed(experiments[name]) for name in in_turn)
