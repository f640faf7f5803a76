"""Aggregates over a metrics store: mean and spread of every metric over replicates."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from olscale.analysis.aggregate import Aggregate, aggregate
from olscale.analysis.names import UNNAMED, Name, Names
from olscale.measures import CAUTIONS, RANKED_BY_CLASS, SPEEDS, WAITED, measure_of
from olscale.results import Plan, Store, canonical_json
from olscale.results.arrow_arrays import arrow_array, times_of
from olscale.results.plans import TUNING, read_plans
from olscale.results.selections import Selection, read_selections
from olscale.results.settings import KEY_COLUMNS, SettingKey
from olscale.results.store import OnDamage
from olscale.storage.canonical_json import ParsedJson

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
    joined : tuple of str, optional
        Transforms of the column that tables have it in, where an experiment gives the learner
        transforms of its own.
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
    joined: tuple[str, ...] | None = None

    @property
    def column_transforms(self) -> tuple[str, ...]:
        """The transforms of most learners in its column."""
        if self.joined is None:
            return self.transforms
        return self.joined

    @property
    def key(self) -> SettingKey:
        """What its runs have in common."""
        return SettingKey(
            self.dataset,
            self.fingerprint,
            self.transforms,
            self.learner,
            self.version,
            canonical_json(self.params),
            canonical_json(self.protocol),
        )

    @property
    def cautions(self) -> list[str]:
        """What tables say about the figure, in words."""
        return [CAUTIONS[caution] for caution in self.cautions_of(self.metric)]

    def cautions_of(self, metric: str) -> list[str]:
        """Return those of the cautions that concern a metric of these runs."""
        if not self.warned:
            return []
        concerned = {
            RANKED_BY_CLASS: measure_of(metric).ranks_rows,
            WAITED: metric in SPEEDS,
        }
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
    tuned = _tuned(read_selections(store, on_damage))
    plans = read_plans(store, on_damage)
    planned = {
        run for plan in plans if plan.experiment in experiments for run in plan.runs
    }
    with store.adding_damage():
        if ids is None:
            ids = planned
            candidates = _candidates(plans)
            # Those of tuning that has chosen nothing yet are left out as well.
            if candidates and not tuning:
                existing = planned
                if not existing:
                    runs = store.read(["id"], on_damage)
                    existing = set(runs["id"].to_pylist())
                ids = existing - candidates
                if not ids:
                    return []
        groups = aggregated(store, on_damage, ids)
        last_versions = _last_versions(store, groups.keys, on_damage)
    names = Names(
        plan for plan in plans if plan.experiment in experiments or not experiments
    )
    figures, cautions = _figures_and_cautions(groups)
    columns = _columns(groups.keys, names)
    datasets = [
        names.dataset(key._replace(transforms=column))
        for key, column in zip(groups.keys, columns, strict=True)
    ]
    learners = [names.learner(key) for key in groups.keys]
    places = [
        (datasets[i].place, learners[i][0].place, key.order())
        for i, key in enumerate(groups.keys)
    ]
    order = sorted(range(len(places)), key=places.__getitem__)
    # Settings share parameters and protocols: each text is parsed once.
    params = cache(ParsedJson)
    protocols = cache(ParsedJson)
    summaries = []
    for i in order:
        key = groups.keys[i]
        is_tuning = key in tuned.compared
        if is_tuning and not tuning:
            continue
        # What tuning compared was not chosen, though its parameters may be.
        chosen = None
        if not is_tuning:
            chosen = tuned.chosen.get(key._replace(protocol=""))
        failures = {}
        if i in groups.failures:
            failures = dict(sorted(groups.failures[i].items()))
        is_prepared = any(figure.metric == PREPARED for figure in figures[i])
        # By position: of a large store ten thousands are made, and keywords take a tenth longer.
        setting = (*key[:5], params(key.params), protocols(key.protocol))
        last_version = last_versions.get(key.learner, "")
        runs = (failures, chosen, is_tuning, datasets[i], learners[i], last_version)
        joined = columns[i] if columns[i] != key.transforms else None
        for figure in figures[i] or [_NO_FIGURE]:
            summaries.append(
                Summary(
                    *setting,
                    figure.metric,
                    figure.mean,
                    figure.std,
                    figure.n,
                    *runs,
                    figure.replicates,
                    cautions[i],
                    is_prepared,
                    joined,
                )
            )
    return summaries


def _columns(keys: Sequence[SettingKey], names: Names) -> list[tuple[str, ...]]:
    """Return the transforms of the column that each setting stands in."""
    own = {key._replace(protocol="") for key in keys}
    columns = []
    for key in keys:
        column = names.column(key)
        # One place in a table has one figure: what was run with both transforms keeps two columns.
        if key._replace(transforms=column, protocol="") in own:
            column = key.transforms
        columns.append(column)
    return columns


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
    for group in by_setting(summaries):
        yield group[0]


def by_setting(summaries: Iterable[Summary]) -> Iterator[list[Summary]]:
    """Yield those that stand side by side, as `summarise` has them, for one setting.

    Examples
    --------
    >>> setting = ("iris", "0f", (), "pa1", "1", {"C": 1.0}, {"order": "time"})
    >>> summaries = [Summary(*setting, name, 0.5, 0.0, 1) for name in ("mistakes", "updates")]
    >>> [len(group) for group in by_setting(summaries)]
    [2]
    """
    group: list[Summary] = []
    for s in summaries:
        # `summarise` has one object for equal parameters, and for equal protocols.
        if (
            group
            and s.params is group[0].params
            and s.protocol is group[0].protocol
            and s.fingerprint == group[0].fingerprint
            and s.transforms == group[0].transforms
            and s.dataset_name == group[0].dataset_name
            and s.learner_names == group[0].learner_names
            and (s.dataset, s.learner, s.version)
            == (group[0].dataset, group[0].learner, group[0].version)
        ):
            group.append(s)
            continue
        if group:
            yield group
        group = [s]
    if group:
        yield group


class _Figure(NamedTuple):
    """A metric of a group of runs; see `olscale.analysis.aggregate.Moments`."""

    metric: str
    mean: float
    std: float
    n: int
    replicates: int


_NO_FIGURE = _Figure("outcome", math.nan, math.nan, 0, 0)


def _figures_and_cautions(
    groups: Aggregate,
) -> tuple[dict[int, list[_Figure]], dict[int, tuple[str, ...]]]:
    """Return the metrics of each group, and its cautions, which stand among the metrics."""
    figures: dict[int, list[_Figure]] = defaultdict(list)
    cautions: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for metric, moments in sorted(groups.moments.items()):
        if metric in CAUTIONS:
            for group in moments.groups.tolist():
                cautions[group] = (*cautions[group], metric)
            continue
        columns = [array.tolist() for array in moments]
        for group, *values in zip(*columns, strict=True):
            figures[group].append(_Figure(metric, *values))
    return figures, cautions


def aggregated(
    store: Store,
    on_damage: OnDamage = "raise",
    ids: Collection[str] = (),
) -> Aggregate:
    """Return means and deviations of a store, or of its runs `ids`; none stand for all."""
    runs = store.read(
        ["id", *KEY_COLUMNS, "outcome", "metrics"],
        on_damage,
        dictionaries=True,
    )
    if ids:
        id_array = arrow_array(sorted(ids), pa.string())
        runs = runs.filter(pc.is_in(runs["id"], value_set=id_array))
    with store.adding_damage():
        timings = store.timings(
            on_damage, ("id", "timings"), runs["id"], dictionaries=True
        )
    return aggregate(runs, timings)


def _candidates(plans: Collection[Plan]) -> set[str]:
    """Return the runs that tuning compares, and that no experiment asks for."""
    candidates = {
        run for plan in plans if plan.experiment.endswith(TUNING) for run in plan.runs
    }
    selected = {
        run
        for plan in plans
        if not plan.experiment.endswith(TUNING)
        for run in plan.runs
    }
    return candidates - selected


class _Tuned(NamedTuple):
    """What tuning compared, and how what it chose was tuned, by key without protocol."""

    compared: set[SettingKey]
    chosen: dict[SettingKey, dict[str, Any]]


def _tuned(selections: Collection[Selection]) -> _Tuned:
    tuned = _Tuned(set(), {})
    for selection in selections:
        search = selection.definition["protocol"]
        # The protocol of the runs that a search compares.
        protocol = {
            "order": "permuted",
            "seed": search["seed"],
            "split": search["split"],
        }
        protocol |= {
            "split_seed": search["seed"],
            "folds": search["folds"],
        }
        for name in (
            "transforms_version",
            "weights",
            "weighted_measures",
        ):
            if name in search:
                protocol[name] = search[name]
        for point in selection.points:
            # A candidate has been on each rung of halving below its last one.
            for share in {
                candidate.share
                for candidate in selection.points
                if candidate.share <= point.share
            }:
                rung = canonical_json(
                    protocol | ({"share": share} if share < 1.0 else {})
                )
                tuned.compared.add(_key(selection, point.params, rung))
        tuned.chosen[_key(selection, selection.chosen, "")] = selection.summary()
    return tuned


def _key(selection: Selection, params: Mapping[str, Any], protocol: str) -> SettingKey:
    dataset = selection.definition["dataset"]
    learner = selection.definition["learner"]
    return SettingKey(
        dataset["name"],
        dataset["fingerprint"],
        tuple(selection.definition["transforms"]),
        learner["name"],
        str(learner["version"]),
        canonical_json(params),
        protocol,
    )


def _last_versions(
    store: Store,
    keys: Collection[SettingKey],
    on_damage: OnDamage,
) -> Mapping[str, str]:
    """Return, of learners that have several versions, the one whose run finished last.

    A user's own learner gets a version with each edit.
    """
    versions: dict[str, set[str]] = defaultdict(set)
    for key in keys:
        versions[key.learner].add(key.version)
    learners = [
        learner for learner, of_learner in versions.items() if len(of_learner) > 1
    ]
    if not learners:
        return {}
    with store.adding_damage():
        runs = store.read(("id", "learner", "version"), on_damage)
    with store.adding_damage():
        times = store.timings(on_damage, ("id", "finished_at"))
    names = arrow_array(learners, pa.string())
    runs = runs.filter(pc.is_in(runs["learner"], value_set=names))
    ids = times["id"].to_pylist()
    finished = dict(zip(ids, times_of(times["finished_at"]), strict=True))
    last: dict[str, tuple[Any, str]] = {}
    for run in runs.to_pylist():
        if run["id"] in finished:
            learner = run["learner"]
            version = (finished[run["id"]], run["version"])
            last[learner] = max(last.get(learner, version), version)
    return {learner: version for learner, (_, version) in last.items()}
