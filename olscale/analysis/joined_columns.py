"""Learners that an experiment gives transforms of their own, in the columns of the others.

Who gives trees raw rows and linear learners standardized ones compares learners with what prepares
their rows: the rows that are predicted are the same. Where a learner meets a data set with several
transforms, these are what is compared, and stay columns of their own.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from olscale.results import Plan, PlannedDataset, PlannedLearner, canonical_json
from olscale.results.plans import TUNING

DatasetKey = tuple[str, str, tuple[str, ...]]
"""Name, fingerprint and transforms."""

LearnerKey = tuple[str, str, str]
"""Name, version and parameters."""

SettingOnRows = tuple[DatasetKey, LearnerKey]


class _Part(NamedTuple):
    """The learners that a plan has on a data set with the same transforms."""

    transforms: tuple[str, ...]
    names: set[str]
    settings: set[SettingOnRows]


def key_of_dataset(dataset: PlannedDataset) -> DatasetKey:
    """Return what identifies a data set under its transforms."""
    return dataset.name, dataset.fingerprint, dataset.transforms


def key_of_learner(learner: PlannedLearner) -> LearnerKey:
    """Return what identifies a learner in one of its settings."""
    return learner.name, learner.version, canonical_json(dict(learner.params))


def joined_columns(plans: Iterable[Plan]) -> dict[SettingOnRows, tuple[str, ...]]:
    """Return, by setting, the transforms of the column that it stands in, if not its own.

    That is the column of most learners of its experiment, in all forms that this had: learners may
    be evaluated one after another. A setting that another experiment compares with learners of its
    own transforms stays with these.

    Parameters
    ----------
    plans : iterable of Plan
        The first experiment counts.

    Examples
    --------
    >>> from olscale.results import PlannedDataset, PlannedLearner
    >>> datasets = (PlannedDataset("wine", "0f", ("standardize",)), PlannedDataset("wine", "0f"))
    >>> learners = [PlannedLearner(name, "1", {}, (0,)) for name in ("pa1", "arow")]
    >>> tree = PlannedLearner("hoeffding-tree", "1", {}, (1,))
    >>> joined_columns([Plan("study", (), (), datasets, (*learners, tree))])
    {(('wine', '0f', ()), ('hoeffding-tree', '1', '{}')): ('standardize',)}
    """
    experiments: dict[str, list[Plan]] = defaultdict(list)
    for plan in plans:
        # Candidates of tuning meet each other, not the learners of the experiment.
        if not plan.experiment.endswith(TUNING):
            experiments[plan.experiment].append(plan)
    joined: dict[SettingOnRows, tuple[str, ...]] = {}
    separate: set[SettingOnRows] = set()
    for forms in experiments.values():
        for parts in _by_dataset(forms):
            column = max(parts, key=lambda part: len(part.names))
            names = set(column.names)
            for part in parts:
                if part is not column and names.isdisjoint(part.names):
                    names |= part.names
                    for setting in part.settings:
                        joined.setdefault(setting, column.transforms)
                elif len(part.names) > 1:
                    separate |= part.settings
    return {
        setting: transforms
        for setting, transforms in joined.items()
        if setting not in separate
    }


def _by_dataset(forms: Iterable[Plan]) -> Iterable[list[_Part]]:
    """Return the parts of each data set of an experiment, in its order."""
    parts: dict[tuple[str, str, str], dict[tuple[str, ...], _Part]]
    parts = defaultdict(dict)
    for plan in forms:
        parts_at: list[_Part] = []
        for dataset in plan.datasets:
            of_dataset = parts[dataset.name, dataset.fingerprint, dataset.label]
            part = _Part(dataset.transforms, set(), set())
            parts_at.append(of_dataset.setdefault(dataset.transforms, part))
        for learner in plan.learners:
            for place in learner.datasets:
                part = parts_at[place]
                part.names.add(learner.label or learner.name)
                dataset_key = key_of_dataset(plan.datasets[place])
                part.settings.add((dataset_key, key_of_learner(learner)))
    return [list(of_dataset.values()) for of_dataset in parts.values()]
