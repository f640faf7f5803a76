"""How far a metrics store has come."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow.compute as pc

from olscale.results import OUTCOMES, Store, read_plans
from olscale.results.store import OnDamage

__all__ = ["Failure", "Progress", "Status", "store_status"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Runs of one experiment.

    Parameters
    ----------
    experiment : str
        Its name.
    done, lost, total : int
        Runs with a result, runs given up as lost, runs planned.
    """

    experiment: str
    done: int
    lost: int
    total: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Runs of one learner on one dataset that failed in one way.

    Parameters
    ----------
    learner, dataset, outcome : str
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
        Runs by name, sorted by name.
    last_finished : datetime or None
        When the last run finished (UTC).
    bytes : int
        Size of the store's files.
    experiments : tuple of Progress
        One for each plan in the store.
    failures : tuple of Failure
        Runs with an outcome other than ``ok``, sorted by learner and dataset.
    """

    store: str
    outcomes: Mapping[str, int]
    datasets: Mapping[str, int]
    learners: Mapping[str, int]
    last_finished: datetime | None
    bytes: int
    experiments: tuple[Progress, ...]
    failures: tuple[Failure, ...] = ()


def store_status(store: Store, on_damage: OnDamage = "raise") -> Status:
    """Count what a store holds.

    Raises
    ------
    StoreError
        If a file of the store is damaged.
    """
    runs = store.read(["dataset", "learner", "outcome", "reason"], on_damage)
    damaged = store.damaged
    finished = pc.max(store.timings(on_damage)["finished_at"]).as_py()
    store.damaged = (*damaged, *store.damaged)
    done, lost = store.done(), store.lost()
    outcomes = Counter(runs["outcome"].to_pylist())
    return Status(
        store=store.path,
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]},
        datasets=dict(sorted(Counter(runs["dataset"].to_pylist()).items())),
        learners=dict(sorted(Counter(runs["learner"].to_pylist()).items())),
        last_finished=finished,
        bytes=store.files.size(),
        experiments=tuple(
            Progress(
                plan.experiment, len(done.intersection(plan.runs)), len(lost.intersection(plan.runs)), len(plan.runs)
            )
            for plan in read_plans(store)
        ),
        failures=_failures(runs.to_pylist()),
    )


def _failures(runs: Iterable[Mapping[str, str]]) -> tuple[Failure, ...]:
    reasons: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for run in runs:
        if run["outcome"] != "ok":
            reasons[run["learner"], run["dataset"], run["outcome"]].append(run["reason"])
    return tuple(Failure(*key, of[0], len(of)) for key, of in sorted(reasons.items()))
