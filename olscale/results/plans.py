"""Plans kept in a store: which runs make up an experiment, so that progress can be told as done of total."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from olscale.errors import StoreError
from olscale.results.store import Store

__all__ = ["Plan", "read_plans", "write_plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of one experiment.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    runs : tuple of str
        Run ids, sorted.
    """

    experiment: str
    runs: tuple[str, ...]


def write_plan(store: Store, experiment: str, runs: Iterable[str]) -> Plan:
    """Write ``plans/<name>-<hash>.json``; the same plan written twice is one file.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    plan = Plan(experiment, tuple(sorted(set(runs))))
    text = json.dumps({"experiment": plan.experiment, "runs": plan.runs}, indent=0) + "\n"
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", experiment).strip("-.")[:60] or "plan"
    file = f"plans/{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    if not store.files.exists(file):
        store.put(file, text.encode())
    return plan


def read_plans(store: Store) -> list[Plan]:
    """Return the store's plans, sorted by the names of their files.

    Raises
    ------
    StoreError
        If a plan cannot be read (its file is named).
    """
    plans = []
    names = [name for name in store.files.names("plans") if name.endswith(".json")]
    for name, data in store.files.read(names):
        try:
            if isinstance(data, Exception):
                raise data
            plan = json.loads(data)
            plans.append(Plan(str(plan["experiment"]), tuple(sorted({str(id) for id in plan["runs"]}))))
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise StoreError(f"damaged plan {name} in the metrics store {store.path}: delete it ({fault!r})") from fault
    return plans
