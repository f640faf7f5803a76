"""The summaries of a store, arranged by setting: ready for whoever knows which settings to look for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from olscale.analysis.summary import Summary
from olscale.errors import StoreError
from olscale.results.record import canonical_json
from olscale.results.settings import SettingKey, setting_key

Figures = Mapping[SettingKey, Mapping[str, Summary]]
"""The summaries of a store: of each setting, by metric."""


def figures(summaries: Iterable[Summary]) -> Figures:
    """Arrange the summaries of a store by setting and metric.

    Raises
    ------
    StoreError
        If the store has results on two datasets of one name: figures of both would be taken for one.
    """
    fingerprints: dict[str, str] = {}
    found: dict[SettingKey, dict[str, Summary]] = defaultdict(dict)
    for s in summaries:
        if fingerprints.setdefault(s.dataset, s.fingerprint) != s.fingerprint:
            raise StoreError(
                f"the store has results on two different datasets called {s.dataset} (fingerprints "
                f"{fingerprints[s.dataset][:12]} and {s.fingerprint[:12]}): take a store of its own"
            )
        key = setting_key(s.dataset, s.transforms, s.learner, s.version, canonical_json(dict(s.params)), s.protocol)
        other = found[key].setdefault(s.metric, s)
        if _version(other) != _version(s):
            found[key][s.metric] = max(s, other, key=_version)
        elif other.protocol != s.protocol:
            raise StoreError(
                f"the store has results on {s.dataset} with two columns called {s.protocol['delay']} (numbers "
                f"{other.protocol.get('delay_position')} and {s.protocol.get('delay_position')}): take a store of its own"
            )
    return dict(found)


def _version(s: Summary) -> int:
    return int(s.protocol.get("transforms_version", 1))
