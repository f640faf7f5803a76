"""How far a metrics store has come."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import pyarrow.compute as pc

from olscale.analysis.names import Names
from olscale.results import OUTCOMES, Plan, Store, read_plans
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
    runs = store.read([*_KEY, "outcome", "reason"], on_damage)
    damaged = store.damaged
    finished = pc.max(store.timings(on_damage)["finished_at"]).as_py()
    store.damaged = (*damaged, *store.damaged)
    plans = read_plans(store, on_damage)
    done, lost = store.done(), store.lost()
    outcomes = Counter(runs["outcome"].to_pylist())
    entries = _under_labels(runs.to_pylist(), Names(plans))
    return Status(
        store=store.path,
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]},
        datasets=_by_text(Counter(dataset for dataset, *_ in entries)),
        learners=_by_text(Counter(learner for _, learner, *_ in entries)),
        last_finished=finished,
        bytes=store.files.size(),
        experiments=tuple(_progress(plan, done, lost) for plan in plans),
        failures=_failures(entries),
    )


def unfinished_experiments(store: Store, on_damage: OnDamage = "raise") -> list[ExperimentProgress]:
    """Return how far those experiments of a store are that have runs left to do.

    A plan that a later one of its name takes up, with runs in common, is that experiment in an earlier form: what it alone
    had is no longer asked for.
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
    return ExperimentProgress(plan.experiment, len(runs.intersection(done)), len(runs.intersection(lost)), len(runs))


_LabelledRun = tuple[tuple[int, str], tuple[int, str], str, str]
"""Place and label of dataset and learner; outcome; reason."""


def _under_labels(runs: Iterable[Mapping[str, Any]], names: Names) -> list[_LabelledRun]:
    """Return each run under the names by which people know it."""

    @cache
    def labels(*key: Any) -> tuple[tuple[int, str], tuple[int, str]]:
        dataset, [learner, *_] = names.dataset(*key[:3]), names.learner(key[:3], *key[3:])
        return (dataset.place, dataset.text or key[0]), (learner.place, learner.text or key[3])

    keys = ((run, [tuple(run[name]) if name == "transforms" else run[name] for name in _KEY]) for run in runs)
    return [(*labels(*key), run["outcome"], run["reason"]) for run, key in keys]


def _by_text(counts: Mapping[tuple[int, str], int]) -> dict[str, int]:
    """Add up what has one label in several places, in the order of the first."""
    found: dict[str, int] = {}
    for (_, label), count in sorted(counts.items()):
        found[label] = found.get(label, 0) + count
    return found


def _failures(runs: Iterable[_LabelledRun]) -> tuple[FailureGroup, ...]:
    reasons: dict[tuple[str, tuple[int, str], str], list[str]] = defaultdict(list)
    places: dict[str, int] = {}
    for dataset, (place, learner), outcome, reason in runs:
        if outcome != "ok":
            places[learner] = min(place, places.get(learner, place))
            reasons[learner, dataset, outcome].append(reason)
    in_order = sorted(reasons.items(), key=lambda item: (places[item[0][0]], item[0]))
    return tuple(
        FailureGroup(learner, dataset, outcome, of[0], len(of)) for (learner, (_, dataset), outcome), of in in_order
    )
