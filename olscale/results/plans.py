"""Plans kept in a store: which runs make up an experiment, so that progress can be told as done of total."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from olscale.results.json_files import read_json_files
from olscale.results.store import Store

__all__ = ["LeftOut", "Plan", "read_plans", "write_plan"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An optional part of an experiment that could not be had.

    Parameters
    ----------
    kind : str
        ``"dataset"`` or ``"learner"``.
    name : str
        As the experiment names it.
    reason : str
        Why, on one line.
    """

    kind: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} is left out: {self.reason}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of one experiment.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    runs : tuple of str
        Run ids, sorted.
    left_out : tuple of LeftOut
        What could not be had when the plan was first written.
    """

    experiment: str
    runs: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()


def write_plan(store: Store, experiment: str, runs: Iterable[str], left_out: Iterable[LeftOut] = ()) -> Plan:
    """Write ``plans/<name>-<hash>.json``; the same plan written twice is one file, whatever the reasons in `left_out`.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    plan = Plan(experiment, tuple(sorted(set(runs))), tuple(left_out))
    content: dict[str, Any] = {"experiment": plan.experiment, "runs": plan.runs}
    if plan.left_out:
        content["left_out"] = [{"kind": part.kind, "name": part.name} for part in plan.left_out]
    text = json.dumps(content, indent=0) + "\n"
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", experiment).strip("-.")[:60] or "plan"
    file = f"plans/{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    if not store.files.exists(file):
        if plan.left_out:
            content["left_out"] = [asdict(part) for part in plan.left_out]
        store.put(file, (json.dumps(content, indent=0) + "\n").encode())
    return plan


def read_plans(store: Store) -> list[Plan]:
    """Return the store's plans, sorted by the names of their files.

    Raises
    ------
    StoreError
        If a plan cannot be read (its file is named).
    """
    return read_json_files(store, "plans", "plan", _plan)


def _plan(content: Any) -> Plan:
    runs = tuple(sorted({str(id) for id in content["runs"]}))
    return Plan(str(content["experiment"]), runs, tuple(LeftOut(**part) for part in content.get("left_out", ())))
