"""Which version of a learner a store had last, where it has several: a user's own gets another with each edit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from olscale.results import Store
from olscale.results.store import OnDamage


def last_versions(
    store: Store, versions: Iterable[tuple[str, str]], on_damage: OnDamage = "raise"
) -> Mapping[str, str]:
    """Return the version whose run finished last, of each learner that has several.

    Parameters
    ----------
    store : Store
    versions : iterable of (learner, version)
        What the store has.
    on_damage : {"raise", "skip"}
    """
    found: dict[str, set[str]] = defaultdict(set)
    for learner, version in versions:
        found[learner].add(version)
    several = [learner for learner, those in found.items() if len(those) > 1]
    if not several:
        return {}
    runs = store.read(("id", "learner", "version"), on_damage)
    runs = runs.filter(pc.is_in(runs["learner"], value_set=pa.array(several)))
    finished = dict(
        zip(*(column.to_pylist() for column in store.timings(on_damage, ("id", "finished_at"))), strict=True)
    )
    last: dict[str, tuple[Any, str]] = {}
    for run in runs.to_pylist():
        when = finished.get(run["id"])
        if when is not None:
            last[run["learner"]] = max(last.get(run["learner"], (when, "")), (when, run["version"]))
    return {learner: version for learner, (_, version) in last.items()}
