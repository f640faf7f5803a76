"""How far a metrics store has come."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from olscale.analysis.aggregate import groups_of
from olscale.analysis.names import Names
from olscale.results import OUTCOMES, Plan, Store, read_plans
from olscale.results.arrow_arrays import arrow_array, times_of
from olscale.results.store import OnDamage

_KEY = ("dataset", "fingerprint", "transforms", "learner", "version", "params")


@dataclass(frozen=True, slots=True)
class ExperimentProgress:
    """Runs of the experiment of that name: those with a result, those given up as lost, and all that are planned."""

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
    runs = store.read([*_KEY, "protocol", "outcome", "reason"], on_damage, dictionaries=True)
    damaged = store.damaged
    finished = times_of(store.timings(on_damage, ("finished_at",))["finished_at"])
    store.damaged = (*damaged, *store.damaged)
    plans = read_plans(store, on_damage)
    done, lost = store.done(), store.lost()
    group, settings = groups_of(runs, lambda protocol: "")
    labels = _labels(settings, Names(plans))
    runs_of = list(zip(labels, np.bincount(group, minlength=len(labels)).tolist(), strict=True))
    outcome_of_run = runs["outcome"].to_pylist()
    outcomes = Counter(outcome_of_run)
    is_failed = np.array([outcome != "ok" for outcome in outcome_of_run], dtype=bool)
    failed = runs.select(["outcome", "reason"]).filter(arrow_array(is_failed.tolist(), pa.bool_()))
    failures = zip([labels[i] for i in group[is_failed].tolist()], failed.to_pylist(), strict=True)
    return Status(
        store=store.path,
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]},
        datasets=_by_text([(dataset, count) for (dataset, _), count in runs_of]),
        learners=_by_text([(learner, count) for (_, learner), count in runs_of]),
        last_finished=max(filter(None, finished), default=None),
        bytes=store.files.size(),
        experiments=tuple(_progress(plan, done, lost) for plan in plans),
        failures=_failures(failures),
    )


def unfinished_experiments(store: Store, on_damage: OnDamage = "raise") -> list[ExperimentProgress]:
    """Return how far those experiments of a store are that have runs left to do.

    A plan that a later one of its name takes up, with runs in common, is that experiment in an
    earlier form: what it alone had is no longer asked for.
    """
    plans = read_plans(store, on_damage)
    done, lost = store.done(), store.lost()
    every = [
        _progress(plan, done, lost)
        for plan in plans
        if not any(
            other.number > plan.number
            and other.experiment == plan.experiment
            and not set(plan.runs).isdisjoint(other.runs)
            for other in plans
        )
    ]
    return [one for one in every if one.done < one.total]


def _progress(plan: Plan, done: Collection[str], lost: Collection[str]) -> ExperimentProgress:
    runs = set(plan.runs)
    return ExperimentProgress(
        plan.experiment, len(runs.intersection(done)), len(runs.intersection(lost)), len(runs)
    )


_Labels = tuple[tuple[int, str], tuple[int, str]]
"""Place and label of dataset and learner."""


def _labels(settings: Iterable[tuple[Any, ...]], names: Names) -> list[_Labels]:
    """Return the names by which people know the dataset and the learner of each setting."""
    labels = []
    for *key, _ in settings:
        dataset, [learner, *_] = names.dataset(*key[:3]), names.learner(tuple(key[:3]), *key[3:])
        labels.append(
            ((dataset.place, dataset.text or key[0]), (learner.place, learner.text or key[3]))
        )
    return labels


def _by_text(counts: Iterable[tuple[tuple[int, str], int]]) -> dict[str, int]:
    """Add up what has one label in several places, in the order of the first."""
    found: dict[str, int] = {}
    for (_, label), count in sorted(counts):
        found[label] = found.get(label, 0) + count
    return found


def _failures(runs: Iterable[tuple[_Labels, Mapping[str, str]]]) -> tuple[FailureGroup, ...]:
    reasons: dict[tuple[str, tuple[int, str], str], list[str]] = defaultdict(list)
    places: dict[str, int] = {}
    for (dataset, (place, learner)), run in runs:
        places[learner] = min(place, places.get(learner, place))
        reasons[learner, dataset, run["outcome"]].append(run["reason"])
    in_order = sorted(reasons.items(), key=lambda item: (places[item[0][0]], item[0]))
    return tuple(
        FailureGroup(learner, dataset, outcome, of[0], len(of))
        for (learner, (_, dataset), outcome), of in in_order
    )
