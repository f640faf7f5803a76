"""The settings of an experiment: which groups of runs in a store belong to it, found without its datasets."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olscale.analysis.summary import REPLICATES, Summary
from olscale.errors import OlscaleError, StoreError
from olscale.evaluation.experiment import DatasetSpec, Experiment, LearnerSpec
from olscale.evaluation.run import Run
from olscale.evaluation.streams import stream_keys
from olscale.learners.registry import learner_class, make_learner
from olscale.results.record import canonical_json
from olscale.results.selections import Selection

__all__ = ["Figures", "Setting", "figures", "settings"]

Figures = Mapping[tuple[str, ...], Mapping[str, Summary]]
"""The summaries of a store: of each setting, by metric."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A learner with its parameters on a dataset under its transforms, in one protocol.

    Parameters
    ----------
    dataset : str
    transforms : tuple of str
    label : str
        What published tables call the learner: its label in the experiment, or its name.
    learner, version : str
        Registry name, and version of its update rule; the version is empty if there is no such learner.
    params : dict or None
        All parameters; None if they are still to be chosen by tuning.
    protocol : dict
        Without the number of the permutation.
    tuned : dict, optional
        Grid and protocol of the tuning that chose `params`.
    """

    dataset: str
    transforms: tuple[str, ...]
    label: str
    learner: str
    version: str
    params: Mapping[str, Any] | None
    protocol: Mapping[str, Any]
    tuned: Mapping[str, Any] | None = None

    def same_runs(self, other: Setting | None) -> bool:
        """Return whether the other setting stands for the same runs."""
        return other is not None and self._key() == other._key()

    def of(self, found: Figures) -> Mapping[str, Summary]:
        """Return this setting's summaries by metric; empty if it was not run."""
        return found.get(self._key(), {})

    def _key(self) -> tuple[str, ...]:
        params = canonical_json(dict(self.params or {}))
        return _key(self.dataset, self.transforms, self.learner, self.version, params, self.protocol)


def settings(experiment: Experiment, selections: Iterable[Selection]) -> list[Setting]:
    """Return the settings of an experiment, in its order; no dataset is opened.

    Parameters
    ----------
    experiment : Experiment
    selections : iterable of Selection
        What tuning chose, as a store has it.

    Raises
    ------
    UnknownNameError, ParameterError
        If a learner that is not optional does not exist, or a parameter is wrong.
    """
    chosen = list(selections)
    found = []
    for dataset in experiment.datasets:
        name = dataset_name(dataset)
        transforms = experiment.transforms if dataset.transforms is None else dataset.transforms
        for spec in experiment.learners:
            if spec.meets(name):
                for version, params, tuned in _choices(experiment, spec, name, transforms, chosen):
                    found += [
                        Setting(name, transforms, spec.label or spec.name, spec.name, version, params, protocol, tuned)
                        for protocol in _protocols(experiment, dataset, name, transforms)
                    ]
    return found


def dataset_name(spec: DatasetSpec) -> str:
    """Return the name under which runs on the dataset are in a store: that of the catalogue, or of its directory."""
    return spec.name or str(spec.path).rstrip("/").rpartition("/")[2]


def _choices(
    experiment: Experiment, spec: LearnerSpec, dataset: str, transforms: tuple[str, ...], selections: list[Selection]
) -> Iterator[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Yield version, parameters and how they were tuned, for each of a learner's settings."""
    try:
        learner_class(spec.name)
    except OlscaleError:
        if not spec.optional:
            raise
        yield "", None, None
        return
    for given in spec.settings():
        if not spec.tune:
            learner = make_learner(spec.name, given)
            yield str(learner.version), learner.resolved_params(), None
            continue
        version = make_learner(spec.name, given | spec.points()[0]).version
        searched = {
            "transforms": list(transforms),
            "learner": {"name": spec.name, "version": version, "params": given},
            "grid": spec.tune,
            "protocol": experiment.tuning.definition(experiment.seed),
        }
        matching = [
            selection
            for selection in selections
            if selection.definition["dataset"]["name"] == dataset
            and canonical_json(_of_any_version({key: selection.definition[key] for key in searched}))
            == canonical_json(searched)
        ]
        newest = max(matching, key=lambda one: one.definition["protocol"].get("transforms_version", 1), default=None)
        yield str(version), newest.chosen if newest else None, newest.summary() if newest else None


def _protocols(
    experiment: Experiment, dataset: DatasetSpec, name: str, transforms: tuple[str, ...]
) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key in stream_keys(name, "", transforms, dataset.protocol or experiment.protocol, experiment.seed):
        definition = Run(key, "", 1, {}).definition()
        protocol = {key: value for key, value in definition["protocol"].items() if key not in REPLICATES}
        found[canonical_json(protocol)] = protocol
    return list(found.values())


def figures(summaries: Iterable[Summary]) -> Figures:
    """Arrange the summaries of a store by setting and metric.

    Raises
    ------
    StoreError
        If the store has results on two datasets of one name: figures of both would be taken for one.
    """
    fingerprints: dict[str, str] = {}
    found: dict[tuple[str, ...], dict[str, Summary]] = defaultdict(dict)
    for s in summaries:
        if fingerprints.setdefault(s.dataset, s.fingerprint) != s.fingerprint:
            raise StoreError(
                f"the store has results on two different datasets called {s.dataset} (fingerprints "
                f"{fingerprints[s.dataset][:12]} and {s.fingerprint[:12]}): take a store of its own"
            )
        key = _key(s.dataset, s.transforms, s.learner, s.version, canonical_json(dict(s.params)), s.protocol)
        other = found[key].setdefault(s.metric, s)
        if _version(other) != _version(s):
            found[key][s.metric] = max(s, other, key=_version)
        elif other.protocol != s.protocol:
            raise StoreError(
                f"the store has results on {s.dataset} with two columns called {s.protocol['delay']} (numbers "
                f"{other.protocol.get('delay_position')} and {s.protocol.get('delay_position')}): take a store of its own"
            )
    return dict(found)


def _key(
    dataset: str, transforms: tuple[str, ...], learner: str, version: str, params: str, protocol: Mapping[str, Any]
) -> tuple[str, ...]:
    # A setting names the column of delays; where it is, and of what version its transforms are, only a dataset knows.
    named = {name: value for name, value in protocol.items() if name not in ("delay_position", "transforms_version")}
    return dataset, json.dumps(transforms), learner, str(version), params, canonical_json(named)


def _version(s: Summary) -> int:
    return int(s.protocol.get("transforms_version", 1))


def _of_any_version(search: dict[str, Any]) -> dict[str, Any]:
    how = {name: value for name, value in search["protocol"].items() if name != "transforms_version"}
    return {**search, "protocol": how}
