"""Aggregates over a metrics store: mean and spread of every metric over the permutations of a run."""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from olscale.analysis.aggregate import Aggregate, aggregate
from olscale.analysis.names import UNNAMED, Name, Names
from olscale.measures import CAUTIONS, RANKED_BY_CLASS, SPEEDS, WAITED, measure_of
from olscale.results import Store, canonical_json
from olscale.results.arrow_arrays import arrow_array, times_of
from olscale.results.plans import TUNING, read_plans
from olscale.results.record import ParsedJson
from olscale.results.selections import Selection, read_selections
from olscale.results.settings import REPLICATES
from olscale.results.store import OnDamage

_COLUMNS = (
    "id",
    "dataset",
    "fingerprint",
    "transforms",
    "learner",
    "version",
    "params",
    "protocol",
    "outcome",
    "metrics",
)


PREPARED = "prepare_seconds"
"""The timing that runs have whose learner was shown rows ahead of the stream."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric of one learner on one dataset, over the replicates of the protocol.

    Parameters
    ----------
    dataset, fingerprint : str
        Name and content fingerprint of the dataset.
    transforms : tuple of str
        Transforms of the rows, in order.
    learner : str
        Registry name, or ``module:Class``.
    version : str
        Version of the learner's update rule.
    params : dict
        All parameters, resolved.
    protocol : dict
        The protocol without the index of the permutation, fold or projection.
    metric : str
        Name of the metric; ``"outcome"`` if every run of the group failed and there is nothing to
        average.
    mean, std : float
        Mean and sample standard deviation (``ddof=1``, 0.0 for one run) over the runs that ended
        ``ok``; NaN if none.
    n : int
        Runs averaged.
    failures : dict of str to int
        Outcomes other than ``ok`` in this group of runs, with their counts.
    tuned : dict, optional
        If tuning chose these parameters: from what ``grid``, and by what ``metric`` on which
        ``split`` of the training rows (``folds``, ``seed``).
    tuning : bool
        Whether these are runs that tuning compared.
    dataset_name : Name
        Place and label of the dataset in the store's experiments.
    learner_names : tuple of Name
        Those of the learner: one, or more where an experiment has the same setting under several
        labels.
    last_version : str
        The version of the learner that was computed last, where the store has several; else empty.
    replicates : int
        Equal for summaries over the same permutations, folds and projections.
    warned : tuple of str
        Those of `olscale.measures.CAUTIONS` that one of the runs has.
    prepared : bool
        Whether the learner was shown rows ahead of the stream.
    """

    dataset: str
    fingerprint: str
    transforms: tuple[str, ...]
    learner: str
    version: str
    params: Mapping[str, Any]
    protocol: Mapping[str, Any]
    metric: str
    mean: float
    std: float
    n: int
    failures: Mapping[str, int] = field(default_factory=dict)
    tuned: Mapping[str, Any] | None = None
    tuning: bool = False
    dataset_name: Name = UNNAMED
    learner_names: tuple[Name, ...] = (UNNAMED,)
    last_version: str = ""
    replicates: int = 0
    warned: tuple[str, ...] = ()
    prepared: bool = False

    @property
    def cautions(self) -> list[str]:
        """What tables say of the figure, in words."""
        return [CAUTIONS[caution] for caution in self.cautions_of(self.metric)]

    def cautions_of(self, metric: str) -> list[str]:
        """Return those of the cautions that concern a metric of these runs."""
        concerned = {RANKED_BY_CLASS: measure_of(metric).ranks_rows, WAITED: metric in SPEEDS}
        return [caution for caution in self.warned if concerned.get(caution, True)]

    @property
    def dataset_label(self) -> str:
        """What people see as the dataset's name."""
        return self.dataset_name.text or self.dataset

    @property
    def label(self) -> str:
        """What people see as the learner's name."""
        return self.learner_names[0].text or self.learner


def summarise(
    store: Store,
    on_damage: OnDamage = "raise",
    tuning: bool = False,
    experiments: Collection[str] = (),
    ids: Collection[str] | None = None,
) -> list[Summary]:
    """Average every metric and timing of a store over permutations and folds.

    Parameters
    ----------
    store : Store
    on_damage : {"raise", "skip"}
        What to do about damaged files; skipped ones are named in ``store.damaged``.
    tuning : bool
        Whether to give the runs that tuning compared as well.
    experiments : collection of str
        Only runs that these experiments planned; all when empty, or when the store has no plan of
        any of them.
    ids : collection of str, optional
        Only these runs.

    Returns
    -------
    list of Summary
        In the order of the store's experiments: by dataset, then by learner. What is in none of
        them comes last, sorted by name, transforms, parameters, protocol and metric. The order in
        which runs finished has no influence on any digit.

    Raises
    ------
    StoreError
        If a file of the store is damaged.
    """
    store.damaged = ()
    compared, chosen = _selected(read_selections(store, on_damage))
    plans = read_plans(store, on_damage)
    damaged = store.damaged
    planned = {run for plan in plans if plan.experiment in experiments for run in plan.runs}
    candidates = {run for plan in plans if plan.experiment.endswith(TUNING) for run in plan.runs}
    candidates = candidates.difference(
        *(plan.runs for plan in plans if not plan.experiment.endswith(TUNING))
    )
    if (
        ids is None and candidates and not tuning
    ):  # also of tuning that goes on, which has chosen nothing yet
        ids = (planned or {*store.read(["id"], on_damage)["id"].to_pylist()}) - candidates
        if not ids:
            return []
    made = aggregated(store, on_damage, planned if ids is None else ids)
    store.damaged = (*damaged, *store.damaged)
    names = Names(plan for plan in plans if plan.experiment in experiments or not experiments)
    metrics: dict[int, list[tuple[str, float, float, int, int]]] = defaultdict(list)
    warned: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for metric, moments in sorted(made.moments.items()):
        if metric in CAUTIONS:  # no figure, but what must be said of figures
            for group in moments.groups.tolist():
                warned[group] = (*warned[group], metric)
            continue
        for group, *values in zip(*(array.tolist() for array in moments), strict=True):
            metrics[group].append((metric, *values))
    last = _last_versions(store, {(key[3], key[4]) for key in made.keys}, on_damage)
    params, protocols = cache(ParsedJson), cache(ParsedJson)
    datasets = [names.dataset(*key[:3]) for key in made.keys]
    learners = [names.learner(key[:3], *key[3:6]) for key in made.keys]
    places = [(dataset.place, of[0].place) for dataset, of in zip(datasets, learners, strict=True)]
    found = []
    for group in sorted(
        range(len(made.keys)), key=lambda group: (places[group], _order(made.keys[group]))
    ):
        key = made.keys[group]
        is_tuning = key in compared
        if is_tuning and not tuning:
            continue
        tuned = None if is_tuning else chosen.get(key[:-1])
        failures = dict(sorted(made.failures[group].items())) if group in made.failures else {}
        dataset, fingerprint, transforms, learner, version, given, protocol = key
        names_of = (datasets[group], learners[group], last.get(learner, ""))
        prepared = any(metric == PREPARED for metric, *_ in metrics.get(group, ()))
        setting = (
            dataset,
            fingerprint,
            transforms,
            learner,
            version,
            params(given),
            protocols(protocol),
        )
        found += [
            Summary(
                *setting,
                metric,
                mean,
                std,
                n,
                failures,
                tuned,
                is_tuning,
                *names_of,
                replicates,
                warned[group],
                prepared,
            )
            for metric, mean, std, n, replicates in metrics.get(group)
            or [("outcome", math.nan, math.nan, 0, 0)]
        ]
    return found


def one_of_each_setting(summaries: Iterable[Summary]) -> Iterator[Summary]:
    """Yield the first of those that stand side by side, as `summarise` has them, for one setting.

    What does not depend on the metric is found several times as fast.

    Examples
    --------
    >>> setting = ("iris", "0f", (), "pa1", "1", {"C": 1.0}, {"order": "time"})
    >>> summaries = [Summary(*setting, name, 0.5, 0.0, 1) for name in ("mistakes", "updates")]
    >>> [s.metric for s in one_of_each_setting(summaries)]
    ['mistakes']
    """
    last: Summary | None = None
    for s in summaries:
        # `summarise` has one object for equal parameters, and for equal protocols.
        if not (
            last is not None
            and s.params is last.params
            and s.protocol is last.protocol
            and (s.dataset, s.fingerprint, s.transforms, s.learner, s.version)
            == (last.dataset, last.fingerprint, last.transforms, last.learner, last.version)
        ):
            yield s
        last = s


def aggregated(store: Store, on_damage: OnDamage = "raise", ids: Collection[str] = ()) -> Aggregate:
    """Return means and deviations of a store, or of its runs `ids` (none: all), as arrays; else as `summarise`."""
    runs = store.read(_COLUMNS, on_damage, dictionaries=True)
    if ids:
        runs = runs.filter(pc.is_in(runs["id"], value_set=arrow_array(sorted(ids), pa.string())))
    damaged = store.damaged
    timings = store.timings(on_damage, ("id", "timings"), runs["id"], dictionaries=True)
    store.damaged = (*damaged, *store.damaged)
    return aggregate(runs, timings, without_replicate, replicate_text)


def _selected(
    selections: list[Selection],
) -> tuple[set[tuple[Any, ...]], dict[tuple[Any, ...], dict[str, Any]]]:
    """Return the groups of runs that tuning compared, and for those settings that it chose from what."""
    compared, chosen = set(), {}
    for selection in selections:
        how = selection.definition["protocol"]
        protocol = {"order": "permuted", "seed": how["seed"], "split": how["split"]}
        protocol |= {"split_seed": how["seed"], "folds": how["folds"]}
        protocol |= {
            name: how[name]
            for name in ("transforms_version", "weights", "weighted_measures")
            if name in how
        }
        compared |= {
            (*_setting(selection, point.params), canonical_json(protocol))
            for point in selection.points
        }
        chosen[_setting(selection, selection.chosen)] = selection.summary()
    return compared, chosen


def _last_versions(
    store: Store, versions: Iterable[tuple[str, str]], on_damage: OnDamage
) -> Mapping[str, str]:
    """Return the version whose run finished last, of each learner that has several: a user's own gets one with each edit."""
    found: dict[str, set[str]] = defaultdict(set)
    for learner, version in versions:
        found[learner].add(version)
    several = [learner for learner, those in found.items() if len(those) > 1]
    if not several:
        return {}
    runs = store.read(("id", "learner", "version"), on_damage)
    runs = runs.filter(pc.is_in(runs["learner"], value_set=arrow_array(several, pa.string())))
    timings = store.timings(on_damage, ("id", "finished_at"))
    ids = timings["id"].to_pylist()
    finished = dict(zip(ids, times_of(timings["finished_at"]), strict=True))
    last: dict[str, tuple[Any, str]] = {}
    for run in runs.to_pylist():
        when = finished.get(run["id"])
        if when is not None:
            last[run["learner"]] = max(last.get(run["learner"], (when, "")), (when, run["version"]))
    return {learner: version for learner, (_, version) in last.items()}


def _setting(selection: Selection, params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what tells a group of runs apart, but for the protocol."""
    dataset, learner = selection.definition["dataset"], selection.definition["learner"]
    transforms = tuple(selection.definition["transforms"])
    kind = (learner["name"], str(learner["version"]))
    return (dataset["name"], dataset["fingerprint"], transforms, *kind, canonical_json(params))


@cache
def without_replicate(protocol: str) -> str:
    """Return the text of a protocol without what tells replicates apart."""
    return canonical_json(
        {key: value for key, value in json.loads(protocol).items() if key not in REPLICATES}
    )


@cache
def replicate_text(protocol: str) -> str:
    """Return, as canonical JSON, the part of a protocol that tells replicates apart."""
    return canonical_json(
        {key: value for key, value in json.loads(protocol).items() if key in REPLICATES}
    )


def _order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dataset, fingerprint, transforms, learner, version, params, protocol = key
    return (
        dataset,
        fingerprint,
        transforms,
        learner,
        version,
        natural(params),
        params,
        natural(protocol),
        protocol,
    )


@cache
def natural(text: str) -> tuple[tuple[str, int, float, str], ...]:
    """Return a sort key of a JSON object's text that orders numbers by value (``C=2`` before ``C=10``)."""
    return tuple(
        (name, 0, float(value), "")
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else (name, 1, 0.0, canonical_json(value))
        for name, value in sorted(json.loads(text).items())
    )
