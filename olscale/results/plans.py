"""Plans kept in a store: which runs make up an experiment, and in which order and under which names people see them."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from olscale.errors import StoreError
from olscale.results.json_files import read_json_files
from olscale.results.record import canonical_json, is_run_id
from olscale.results.single import why
from olscale.results.store_runs import OnDamage, StoreRuns
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content


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
    facts : dict
        What reports tell of it: ``rows`` by split, ``columns``, ``nonzeros``, and of up to 100
        classes ``classes`` and ``class_rows``, the rows of each in the training split. Empty in
        older plans.
    """

    name: str
    fingerprint: str
    transforms: tuple[str, ...] = ()
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


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


TUNING = ": tuning"
"""What the name of an experiment is followed by in that of the plan of its tuning."""


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
        Plans of a store are numbered from 1 in the order in which they were evaluated; 0 for those
        of olscale 0.1.0.
    """

    experiment: str
    runs: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    datasets: tuple[PlannedDataset, ...] = ()
    learners: tuple[PlannedLearner, ...] = ()
    number: int = 0


def write_plan(
    store: StoreRuns,
    experiment: str,
    runs: Iterable[str],
    left_out: Iterable[LeftOut] = (),
    datasets: Iterable[PlannedDataset] = (),
    learners: Iterable[PlannedLearner] = (),
    tell_damage: Callable[[str], None] = lambda name: None,
) -> Plan:
    """Write ``plans/<name>-<hash>.json``; the same runs planned twice are one file, with the names and order given last.

    Parameters
    ----------
    store : StoreRuns
    experiment : str
        Name of the experiment.
    runs : iterable of str
        Run ids.
    left_out : iterable of LeftOut
        What could not be had.
    tell_damage : callable, optional
        Takes the name of the file, where it was damaged and set aside.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    plan = Plan(
        experiment, tuple(sorted(set(runs))), tuple(left_out), tuple(datasets), tuple(learners)
    )
    file = plan_file(plan)
    known = _read_one(store, file, tell_damage)
    if known is not None:
        plan = replace(plan, left_out=known.left_out)  # the reasons of the first time
        if not plan.datasets and not plan.learners:
            plan = replace(plan, datasets=known.datasets, learners=known.learners)
    plan = replace(plan, number=_number(store, plan, known))
    if plan != known:
        store.put(file, json_bytes(_content(plan), indent=1))
    return plan


def _number(store: StoreRuns, plan: Plan, known: Plan | None) -> int:
    """Return the number that `plan` has, or the next one, if the experiment was evaluated in another form since."""
    others = read_plans(
        store, "skip"
    )  # whoever wants those plans will say which of them is damaged
    newest = max(
        (other.number for other in others if other.experiment == plan.experiment), default=0
    )
    if known is not None and 0 < newest <= known.number:
        return known.number
    return 1 + max((other.number for other in others), default=0)


def _content(plan: Plan) -> dict[str, Any]:
    content: dict[str, Any] = {"experiment": plan.experiment, "runs": plan.runs}
    if plan.left_out:
        content["left_out"] = [asdict(part) for part in plan.left_out]
    if plan.learners:
        content["datasets"] = [asdict(dataset) for dataset in plan.datasets]
        for dataset in content["datasets"]:
            if not dataset["facts"]:
                del dataset["facts"]
        content["learners"] = [asdict(learner) for learner in plan.learners]
    if plan.number:
        content["number"] = plan.number
    return content


def _read_one(store: StoreRuns, file: str, tell_damage: Callable[[str], None]) -> Plan | None:
    """Return the plan in a file, if there is one; a damaged one is set aside."""
    [(_, data)] = store.files.read_many([file])
    if isinstance(data, FileNotFoundError):
        return None
    if isinstance(data, Exception):
        raise StoreError(
            f"cannot read {file} of the metrics store {store.path}: {why(data)}; check its "
            "permissions and its disk"
        ) from data
    try:
        return _plan(json_content(data, store.checked), file)
    except DAMAGE:
        store.set_aside(file)
        tell_damage(file)
        return None


def plan_file(plan: Plan) -> str:
    """Return the file of a plan; its name ends in a hash of its runs and of what was left out.

    Reasons, names and order are not in the hash: with others it is the same plan.
    """
    content: dict[str, Any] = {"experiment": plan.experiment, "runs": plan.runs}
    if plan.left_out:
        content["left_out"] = [{"kind": part.kind, "name": part.name} for part in plan.left_out]
    digest = hashlib.sha256((json.dumps(content, indent=0) + "\n").encode()).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plan.experiment).strip("-.")[:60] or "plan"
    return f"plans/{name}-{digest}.json"


def read_plans(store: StoreRuns, on_damage: OnDamage = "raise") -> list[Plan]:
    """Return the store's plans, sorted by the names of their files.

    Parameters
    ----------
    store : StoreRuns
    on_damage : {"raise", "skip"}
        What to do about a damaged plan: raise, or leave it out and add it to ``store.damaged``.

    Raises
    ------
    StoreError
        If a plan is damaged or cannot be read (its file is named).
    """
    return read_json_files(store, "plans", _plan, on_damage)


def _plan(content: Any, file: str) -> Plan:
    runs = tuple(sorted({str(id) for id in content["runs"]}))
    left_out = tuple(LeftOut(**part) for part in content.get("left_out", ()))
    datasets = tuple(
        PlannedDataset(
            str(one["name"]),
            str(one["fingerprint"]),
            tuple(map(str, one["transforms"])),
            str(one["label"]),
            dict(one.get("facts", {})),
        )
        for one in content.get("datasets", ())
    )
    learners = tuple(map(_learner, content.get("learners", ())))
    if any(not 0 <= place < len(datasets) for learner in learners for place in learner.datasets):
        raise ValueError("a learner is said to meet a dataset that the plan has not")
    plan = Plan(
        str(content["experiment"]),
        runs,
        left_out,
        datasets,
        learners,
        _whole(content.get("number", 0)),
    )
    texts = (text for part in left_out for text in (part.kind, part.name, part.reason))
    if (
        not all(map(is_run_id, runs))
        or not all(isinstance(text, str) for text in texts)
        or plan_file(plan) != file
    ):
        raise ValueError("is not the plan that its name tells of")
    return plan


def _learner(one: Any) -> PlannedLearner:
    params = json.loads(canonical_json(dict(one["params"])))  # what is no plain JSON is refused
    places = tuple(map(_whole, one["datasets"]))
    return PlannedLearner(str(one["name"]), str(one["version"]), params, places, str(one["label"]))


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value
