"""Settings of an experiment: what groups of runs in a store are known by, whoever looks for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olscale.results.record import canonical_json

REPLICATES = ("permutation", "fold", "projection")
"""Keys of a protocol in which the runs of a setting differ."""

SettingKey = tuple[str, ...]


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
        Registry name, and version of its update rule; the version is empty if there is no such
        learner.
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
        return other is not None and self.key == other.key

    @property
    def key(self) -> SettingKey:
        """What its runs have in common."""
        params = canonical_json(dict(self.params or {}))
        return setting_key(
            self.dataset, self.transforms, self.learner, self.version, params, self.protocol
        )


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """All settings of an experiment.

    Parameters
    ----------
    name : str
        Of the experiment.
    labels : frozenset of str
        What published tables call its learners.
    settings : tuple of Setting
        In its order.
    """

    name: str
    labels: frozenset[str]
    settings: tuple[Setting, ...]


def setting_key(
    dataset: str,
    transforms: tuple[str, ...],
    learner: str,
    version: str,
    params: str,
    protocol: Mapping[str, Any],
) -> SettingKey:
    """Return what the runs of a setting have in common."""
    return (
        dataset,
        json.dumps(transforms),
        learner,
        str(version),
        params,
        canonical_json(asked_protocol(protocol)),
    )


def asked_protocol(protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Return a protocol as an experiment asks for it, without what only a dataset knows.

    That is where the column of delays is, and of what version the transforms are.
    """
    return {
        name: value
        for name, value in protocol.items()
        if name not in ("delay_position", "transforms_version")
    }
