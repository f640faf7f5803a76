"""How far a metrics store has come."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from olscale.analysis.aggregate import groups_of
from olscale.analysis.names import Name, Names
from olscale.results import OUTCOMES, Plan, Store, read_plans
from olscale.results.arrow_arrays import arrow_array, times_of
from olscale.results.plans import own_names
from olscale.results.settings import KEY_COLUMNS, SettingKey, natural_name
from olscale.results.store import OnDamage


@dataclass(frozen=True, slots=True)
class ExperimentProgress:
    """Runs of an experiment: those with a result, those given up as lost, and all planned ones.

    `experiment` is a name that no other plan of the store has: ``letter #2`` if the runs of
    ``letter`` were planned twice.
    """

    experiment: str
    done: int
    lost: int
    total: int


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Runs of one learner on one dataset that failed in one way.

    Parameters
    ----------
    learner, dataset, outcome : str
        Learner and dataset by their labels in the experiment, or else by their names.
    reason : str
        That of the run with the smallest id.
    runs : int
        How many they are.
    """

    learner: str
    dataset: str
    outcome: str
    reason: str
    runs: int


@dataclass(frozen=True, slots=True)
class Status:
    """What a store holds.

    Parameters
    ----------
    store : str
        Path of the store.
    outcomes : dict of str to int
        Runs by outcome, in the order of `OUTCOMES`; outcomes that did not happen are absent.
    datasets, learners : dict of str to int
        Runs by label, or else by name, in the order of the store's experiments.
    last_finished : datetime or None
        When the last run finished (UTC).
    bytes : int
        Size of the store's files.
    experiments : tuple of ExperimentProgress
        One for each plan in the store.
    failures : tuple of FailureGroup
        Runs with an outcome other than ``ok``, by learner and dataset in that order.
    """

    store: str
    outcomes: Mapping[str, int]
    datasets: Mapping[str, int]
    learners: Mapping[str, int]
    last_finished: datetime | None
    bytes: int
    experiments: tuple[ExperimentProgress, ...]
    failures: tuple[FailureGroup, ...] = ()


def store_status(store: Store, on_damage: OnDamage = "raise") -> Status:
    """Count what a store holds.

    Raises
    ------
    StoreError
        If a file of the store is damaged.
    """
    runs = store.read(
        [*KEY_COLUMNS, "outcome", "reason"],
        on_damage,
        dictionaries=True,
    )
    with store.adding_damage():
        times = times_of(store.timings(on_damage, ("finished_at",))["finished_at"])
        plans = read_plans(store, on_damage)
    finished = store.done()
    lost = store.lost()
    group, settings = groups_of(runs)
    labels = _labels(settings, Names(plans))
    # A setting has one label, so runs are counted by setting first.
    counts = np.bincount(group, minlength=len(labels)).tolist()
    outcomes = runs["outcome"].to_pylist()
    counts_of_outcomes = Counter(outcomes)
    is_failed = np.array([outcome != "ok" for outcome in outcomes], dtype=bool)
    failed = runs.select(["outcome", "reason"])
    failed = failed.filter(arrow_array(is_failed, pa.bool_()))
    labels_of_failed = [labels[i] for i in group[is_failed].tolist()]
    return Status(
        store=store.path,
        outcomes={
            name: counts_of_outcomes[name]
            for name in OUTCOMES
            if counts_of_outcomes[name]
        },
        datasets=_by_text([label.dataset for label in labels], counts),
        learners=_by_text([label.learner for label in labels], counts),
        last_finished=max(filter(None, times), default=None),
        bytes=store.files.size(),
        experiments=tuple(
            _progress(name, plan, finished, lost)
            # Files of plans sort by hashes: #2 would stand before #1.
            for name, plan in sorted(
                own_names(plans).items(), key=lambda item: natural_name(item[0])
            )
        ),
        failures=_failures(zip(labels_of_failed, failed.to_pylist(), strict=True)),
    )


def unfinished_experiments(
    store: Store, on_damage: OnDamage = "raise"
) -> list[ExperimentProgress]:
    """Return how far those experiments of a store are that have runs left to do.

    A plan that a later one of its name takes up, with runs in common, is that experiment in an
    earlier form: what it alone had is no longer asked for.
    """
    plans = read_plans(store, on_damage)
    finished = store.done()
    lost = store.lost()
    unfinished = []
    for name, plan in own_names(plans).items():
        if any(_takes_up(later, plan) for later in plans):
            continue
        progress = _progress(name, plan, finished, lost)
        if progress.done < progress.total:
            unfinished.append(progress)
    return unfinished


def _takes_up(later: Plan, plan: Plan) -> bool:
    """Return whether a plan is a later form of the experiment of another."""
    return (
        later.number > plan.number
        and later.experiment == plan.experiment
        and not set(plan.runs).isdisjoint(later.runs)
    )


def _progress(
    name: str, plan: Plan, done: Collection[str], lost: Collection[str]
) -> ExperimentProgress:
    runs = set(plan.runs)
    return ExperimentProgress(
        experiment=name,
        done=len(runs.intersection(done)),
        lost=len(runs.intersection(lost)),
        total=len(runs),
    )


class _Labels(NamedTuple):
    """What people call the dataset and the learner of a setting."""

    dataset: Name
    learner: Name


def _labels(settings: Iterable[SettingKey], names: Names) -> list[_Labels]:
    labels = []
    for key in settings:
        dataset = names.dataset(key)
        learner = names.learner(key)[0]
        labels.append(
            _Labels(
                dataset._replace(text=dataset.text or key.dataset),
                learner._replace(text=learner.text or key.learner),
            )
        )
    return labels


def _by_text(names: Sequence[Name], counts: Sequence[int]) -> dict[str, int]:
    """Add up what has one label in several places, in the order of the first."""
    sums: dict[str, int] = {}
    counted = zip(names, counts, strict=True)
    for name, count in sorted(counted, key=lambda pair: pair[0].order()):
        sums[name.text] = sums.get(name.text, 0) + count
    return sums


def _failures(
    runs: Iterable[tuple[_Labels, Mapping[str, str]]],
) -> tuple[FailureGroup, ...]:
    reasons: dict[tuple[str, Name, str], list[str]] = defaultdict(list)
    places: dict[str, int] = {}
    for (dataset, learner), run in runs:
        earliest = places.get(learner.text, learner.place)
        places[learner.text] = min(learner.place, earliest)
        reasons[learner.text, dataset, run["outcome"]].append(run["reason"])
    in_order = sorted(
        reasons,
        key=lambda group: (
            places[group[0]],
            natural_name(group[0]),
            group[1].order(),
            group[2],
        ),
    )
    return tuple(
        FailureGroup(
            learner=group[0],
            dataset=group[1].text,
            outcome=group[2],
            reason=reasons[group][0],
            runs=len(reasons[group]),
        )
        for group in in_order
    )
