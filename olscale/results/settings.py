"""Settings: a learner with its parameters on a dataset in a protocol; the runs are replicates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from olscale.learners.adapter_version import own_version
from olscale.storage.canonical_json import ParsedJson, canonical_json

REPLICATES = ("permutation", "fold", "projection")
"""Keys of a protocol in which the runs of a setting differ."""

_DIGITS = re.compile("([0-9]+)")

# Keys of a protocol that only a dataset knows: the column of delays, the version of transforms.
_OF_DATASET = ("delay_position", "transforms_version")


class SettingKey(NamedTuple):
    """What the runs of a setting have in common, as a store's columns of these names have it.

    Parameters
    ----------
    dataset, fingerprint : str
        Name, and digest of the content.
    transforms : tuple of str
    learner, version : str
        Registry name, and version of its update rule.
    params : str
        All parameters, as canonical JSON.
    protocol : str
        The protocol without `REPLICATES`, as canonical JSON.
    """

    dataset: str
    fingerprint: str
    transforms: tuple[str, ...]
    learner: str
    version: str
    params: str
    protocol: str

    def order(self) -> tuple[Any, ...]:
        """Return what settings are sorted by; numbers, also in names, by their values."""
        natural = (natural_order(self.params), self.params)
        return (
            natural_name(self.dataset),
            *self[:3],
            natural_name(self.learner),
            *self[3:5],
            *natural,
            natural_order(self.protocol),
            self.protocol,
        )

    def as_asked(self) -> SettingKey:
        """Return the key of an experiment that asks for these runs without opening the dataset."""
        return self._replace(
            fingerprint="",
            version=own_version(self.version),
            protocol=_asked_text(self.protocol),
        )


KEY_COLUMNS = SettingKey._fields
"""Columns of a store that have the key of a run; its protocol has the replicate in it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that an experiment asks for.

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
        """What its runs have in common, as far as the experiment knows."""
        return SettingKey(
            dataset=self.dataset,
            fingerprint="",
            transforms=self.transforms,
            learner=self.learner,
            version=self.version,
            params=canonical_json(dict(self.params or {})),
            protocol=canonical_json(asked_protocol(self.protocol)),
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
    streams : dict of str to str
        By the name of a dataset that is generated with a seed of the experiment: what it is a
        seed of.
    """

    name: str
    labels: frozenset[str]
    settings: tuple[Setting, ...]
    streams: Mapping[str, str] = field(default_factory=dict)


def asked_protocol(protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Return a protocol as an experiment asks for it, without what only a dataset knows."""
    return {name: value for name, value in protocol.items() if name not in _OF_DATASET}


def asked_text(protocol: Mapping[str, Any]) -> str:
    """Return the canonical JSON of `asked_protocol`; settings that share a protocol share it."""
    if isinstance(protocol, ParsedJson):
        return _asked_text(protocol.text)
    return canonical_json(asked_protocol(protocol))


@cache
def _asked_text(protocol: str) -> str:
    return canonical_json(asked_protocol(json.loads(protocol)))


@cache
def without_replicate(protocol: str) -> str:
    """Return the text of a protocol without the keys in which replicates differ."""
    options = json.loads(protocol)
    return canonical_json(
        {key: options[key] for key in options if key not in REPLICATES}
    )


@cache
def replicate_text(protocol: str) -> str:
    """Return, as canonical JSON, the part of a protocol in which replicates differ."""
    options = json.loads(protocol)
    return canonical_json({key: options[key] for key in options if key in REPLICATES})


@cache
def natural_name(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key of a name that orders the numbers in it by value.

    Examples
    --------
    >>> natural_name("night-2") < natural_name("night-10") < natural_name("nights")
    True
    """
    order = []
    for part in _DIGITS.split(name):
        if _DIGITS.fullmatch(part):
            # Of two numbers the one with more digits is the larger, however long they are.
            digits = part.lstrip("0")
            order.append((0, len(digits), digits))
        elif part:
            order.append((1, 0, part))
    return tuple(order)


@cache
def natural_order(text: str) -> tuple[tuple[str, int, float, str], ...]:
    """Return a sort key of a JSON object's text that orders numbers by value.

    Examples
    --------
    >>> natural_order('{"C":2}') < natural_order('{"C":10}') < natural_order('{"C":"auto"}')
    True
    """
    order: list[tuple[str, int, float, str]] = []
    for name, value in sorted(json.loads(text).items()):
        if isinstance(value, int | float) and not isinstance(value, bool):
            order.append((name, 0, float(value), ""))
        else:
            order.append((name, 1, 0.0, canonical_json(value)))
    return tuple(order)
