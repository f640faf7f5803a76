"""Plans kept in a store: which runs make up an experiment, and in which order and under which names people see them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from olscale.errors import StoreError
from olscale.results.json_files import read_json_files
from olscale.results.store import Store

__all__ = ["LeftOut", "Plan", "PlannedDataset", "PlannedLearner", "read_plans", "write_plan"]


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
class PlannedDataset:
    """A dataset of an experiment under its transforms.

    Parameters
    ----------
    name, fingerprint : str
    transforms : tuple of str
    label : str
        What tables and figures call it; empty for its name.
    """

    name: str
    fingerprint: str
    transforms: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class PlannedLearner:
    """A learner of an experiment in one of its settings.

    Parameters
    ----------
    name, version : str
    params : dict
        All parameters, resolved.
    datasets : tuple of int
        Which of the plan's datasets it meets in this setting, by position.
    label : str
        What tables and figures call it; empty for its name.
    """

    name: str
    version: str
    params: Mapping[str, Any] = field(hash=False)
    datasets: tuple[int, ...] = ()
    label: str = ""


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
    datasets : tuple of PlannedDataset
        In the order of the experiment; none in plans of olscale 0.1.0.
    learners : tuple of PlannedLearner
        Likewise.
    number : int
        Plans of a store are numbered from 1 in the order in which they were evaluated; 0 for those of olscale 0.1.0.
    """

    experiment: str
    runs: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    datasets: tuple[PlannedDataset, ...] = ()
    learners: tuple[PlannedLearner, ...] = ()
    number: int = 0


def write_plan(
    store: Store,
    experiment: str,
    runs: Iterable[str],
    left_out: Iterable[LeftOut] = (),
    datasets: Iterable[PlannedDataset] = (),
    learners: Iterable[PlannedLearner] = (),
) -> Plan:
    """Write ``plans/<name>-<hash>.json``; the same runs planned twice are one file, with the names and order given last.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    plan = Plan(experiment, tuple(sorted(set(runs))), tuple(left_out), tuple(datasets), tuple(learners))
    content: dict[str, Any] = {"experiment": plan.experiment, "runs": plan.runs}
    if plan.left_out:
        content["left_out"] = [{"kind": part.kind, "name": part.name} for part in plan.left_out]
    # Reasons, names and order are not in the hash: with others it is the same plan.
    digest = hashlib.sha256((json.dumps(content, indent=0) + "\n").encode()).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", experiment).strip("-.")[:60] or "plan"
    file = f"plans/{name}-{digest}.json"
    known = _read_one(store, file)
    if known is not None:
        plan = replace(plan, left_out=known.left_out)  # the reasons of the first time
        if not plan.datasets and not plan.learners:
            plan = replace(plan, datasets=known.datasets, learners=known.learners)
    plan = replace(plan, number=_number(store, plan, known))
    if plan != known:
        store.put(file, _text(plan).encode())
    return plan


def _number(store: Store, plan: Plan, known: Plan | None) -> int:
    """Return the number that `plan` has, or the next one, if the experiment was evaluated in another form since."""
    try:
        others = read_plans(store)
    except StoreError:  # whoever wants those plans will say which of them is damaged
        others = []
    newest = max((other.number for other in others if other.experiment == plan.experiment), default=0)
    if known is not None and 0 < newest <= known.number:
        return known.number
    return 1 + max((other.number for other in others), default=0)


def _text(plan: Plan) -> str:
    content: dict[str, Any] = {"experiment": plan.experiment, "runs": plan.runs}
    if plan.left_out:
        content["left_out"] = [asdict(part) for part in plan.left_out]
    if plan.learners:
        content["datasets"] = [asdict(dataset) for dataset in plan.datasets]
        content["learners"] = [asdict(learner) for learner in plan.learners]
    if plan.number:
        content["number"] = plan.number
    return json.dumps(content, indent=0) + "\n"


def _read_one(store: Store, file: str) -> Plan | None:
    [(_, data)] = store.files.read([file])
    try:
        return None if isinstance(data, Exception) else _plan(json.loads(data))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # damaged: it is written anew


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
    left_out = tuple(LeftOut(**part) for part in content.get("left_out", ()))
    datasets = tuple(
        PlannedDataset(str(one["name"]), str(one["fingerprint"]), tuple(map(str, one["transforms"])), str(one["label"]))
        for one in content.get("datasets", ())
    )
    learners = tuple(
        PlannedLearner(
            str(one["name"]),
            str(one["version"]),
            dict(one["params"]),
            tuple(map(int, one["datasets"])),
            str(one["label"]),
        )
        for one in content.get("learners", ())
    )
    if any(not 0 <= place < len(datasets) for learner in learners for place in learner.datasets):
        raise ValueError("a learner is said to meet a dataset that the plan has not")
    return Plan(str(content["experiment"]), runs, left_out, datasets, learners, int(content.get("number", 0)))
