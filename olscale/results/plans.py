"""Plans of experiments, as files of a store.

A plan lists which runs make up an experiment, in which order and under which names.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from olscale.errors import UnknownNameError
from olscale.results.json_files import read_json_file, read_json_files
from olscale.results.record import is_run_id
from olscale.results.store import OnDamage, Store
from olscale.storage.canonical_json import canonical_json
from olscale.storage.checked_json import json_bytes

TUNING = ": tuning"
"""The end of the name of a plan of tuning runs; the name of the experiment stands before it."""


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
        What reports say of it: ``rows`` by split, ``columns``, ``nonzeros``, and of up to 100
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


class PlannedNames:
    """The names under which a run is known: its own, and the labels of experiments.

    Parameters
    ----------
    plans : iterable of Plan
        Of the store.
    """

    def __init__(self, plans: Iterable[Plan]) -> None:
        self._datasets: dict[tuple[Any, ...], set[str]] = {}
        self._learners: dict[tuple[str, str, str], set[str]] = {}
        for plan in plans:
            for dataset in plan.datasets:
                key = (dataset.name, dataset.fingerprint, dataset.transforms)
                self._datasets.setdefault(key, set()).add(dataset.label)
            for learner in plan.learners:
                params = canonical_json(dict(learner.params))
                setting = (learner.name, learner.version, params)
                self._learners.setdefault(setting, set()).add(learner.label)

    def learner(self, run: Mapping[str, Any]) -> set[str]:
        """Return the names of the learner of a run, a row of the store."""
        key = (run["learner"], run["version"], run["params"])
        return {run["learner"], *self._learners.get(key, ())} - {""}

    def dataset(self, run: Mapping[str, Any]) -> set[str]:
        """Return the names of the dataset of a run, a row of the store."""
        key = (run["dataset"], run["fingerprint"], tuple(run["transforms"]))
        return {run["dataset"], *self._datasets.get(key, ())} - {""}


def own_names(plans: Iterable[Plan]) -> dict[str, Plan]:
    """Return plans by a name of their own: that of the experiment, numbered where several share it.

    The first that was evaluated is number 1.

    Examples
    --------
    >>> list(own_names([Plan("letter", ("b",), number=2), Plan("letter", ("a",), number=1)]))
    ['letter #2', 'letter #1']
    """
    plans = list(plans)
    numbered: dict[str, list[Plan]] = {}
    for plan in sorted(plans, key=lambda plan: plan.number):
        numbered.setdefault(plan.experiment, []).append(plan)
    names = {}
    for plan in plans:
        name = plan.experiment
        if len(numbered[name]) > 1:
            number = 1 + next(
                i for i, namesake in enumerate(numbered[name]) if namesake is plan
            )
            # The end of the name says what is tuning, and stays the end.
            end = TUNING if name.endswith(TUNING) else ""
            name = f"{name.removesuffix(TUNING)} #{number}{end}"
        names[name] = plan
    return names


def plans_of(plans: Iterable[Plan], names: Iterable[str]) -> dict[str, Plan]:
    """Return the plans of experiments, given by name or by the own name of a plan, by own name.

    Raises
    ------
    UnknownNameError
        If there is no such plan.
    """
    by_own_name = own_names(plans)
    by_name: dict[str, list[str]] = {}
    for own_name, plan in by_own_name.items():
        for name in dict.fromkeys((plan.experiment, own_name)):
            by_name.setdefault(name, []).append(own_name)
    chosen: dict[str, Plan] = {}
    for name in names:
        if name not in by_name:
            raise UnknownNameError("experiment in this store", name, by_name)
        chosen |= {own_name: by_own_name[own_name] for own_name in by_name[name]}
    return chosen


def write_plan(
    store: Store,
    experiment: str,
    runs: Iterable[str],
    left_out: Iterable[LeftOut] = (),
    datasets: Iterable[PlannedDataset] = (),
    learners: Iterable[PlannedLearner] = (),
    tell_damage: Callable[[str], None] = lambda name: None,
) -> Plan:
    """Write ``plans/<name>-<hash>.json``; the same runs planned twice are one file.

    It has the names and the order of the second time.

    Parameters
    ----------
    store : Store
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
        experiment,
        tuple(sorted(set(runs))),
        tuple(left_out),
        tuple(datasets),
        tuple(learners),
    )
    file = plan_file(plan)
    stored, is_set_aside = read_json_file(store, file, _plan)
    if is_set_aside:
        tell_damage(file)
    if stored is not None:
        plan = replace(plan, left_out=stored.left_out)  # the reasons of the first time
        if not plan.datasets and not plan.learners:
            plan = replace(plan, datasets=stored.datasets, learners=stored.learners)
    plan = replace(plan, number=_number(store, plan, stored))
    if plan != stored:
        store.put(file, json_bytes(_content(plan), indent=1))
    return plan


def _number(store: Store, plan: Plan, stored: Plan | None) -> int:
    """Return the number of a plan, or the next one if it is not the newest of its experiment."""
    # A damaged plan is named by those who need it.
    plans = read_plans(store, "skip")
    numbers = [
        planned.number for planned in plans if planned.experiment == plan.experiment
    ]
    newest = max(numbers, default=0)
    if stored is not None and 0 < newest <= stored.number:
        return stored.number
    return 1 + max((planned.number for planned in plans), default=0)


# A report states rows, features and classes of data sets that may be gone by then: a plan keeps
# them as `facts`, outside of its hash.
def _content(plan: Plan) -> dict[str, Any]:
    content: dict[str, Any] = {
        "experiment": plan.experiment,
        "runs": plan.runs,
    }
    if plan.left_out:
        content["left_out"] = [asdict(part) for part in plan.left_out]
    if plan.learners:
        content["datasets"] = [asdict(dataset) for dataset in plan.datasets]
        # Without facts the bytes are those of plans that had none yet.
        for dataset in content["datasets"]:
            if not dataset["facts"]:
                del dataset["facts"]
        content["learners"] = [asdict(learner) for learner in plan.learners]
    if plan.number:
        content["number"] = plan.number
    return content


def plan_file(plan: Plan) -> str:
    """Return the file of a plan; its name ends in a hash of its runs and of what was left out.

    Reasons, names and order are not in the hash: with others it is the same plan.
    """
    content: dict[str, Any] = {
        "experiment": plan.experiment,
        "runs": plan.runs,
    }
    if plan.left_out:
        content["left_out"] = [
            {"kind": part.kind, "name": part.name} for part in plan.left_out
        ]
    # Stores have files of these names: the text that is hashed stays what it is.
    text = json.dumps(content, indent=0) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plan.experiment).strip("-.")[:60] or "plan"
    return f"plans/{name}-{digest}.json"


def read_plans(store: Store, on_damage: OnDamage = "raise") -> list[Plan]:
    """Return the store's plans, sorted by the names of their files.

    Parameters
    ----------
    store : Store
    on_damage : {"raise", "skip"}
        What to do about a damaged plan: raise, or leave it out and add it to ``store.damaged``.

    Raises
    ------
    StoreError
        If a plan is damaged or cannot be read (its file is named).
    """
    return read_json_files(store, "plans", _plan, on_damage)


def _plan(content: Any, file: str) -> Plan:
    datasets = tuple(map(_dataset, content.get("datasets", ())))
    learners = tuple(map(_learner, content.get("learners", ())))
    # What a damaged or hostile file says is compared before it is used as an index.
    if any(
        not 0 <= place < len(datasets)
        for learner in learners
        for place in learner.datasets
    ):
        raise ValueError("a learner meets a dataset that the plan has not")
    plan = Plan(
        experiment=str(content["experiment"]),
        runs=tuple(sorted({str(id) for id in content["runs"]})),
        left_out=tuple(LeftOut(**part) for part in content.get("left_out", ())),
        datasets=datasets,
        learners=learners,
        number=_integer(content.get("number", 0)),
    )
    texts = [
        text for part in plan.left_out for text in (part.kind, part.name, part.reason)
    ]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("what was left out is no text")
    if not all(map(is_run_id, plan.runs)) or plan_file(plan) != file:
        raise ValueError("is not the plan that its name says")
    return plan


def _dataset(content: Any) -> PlannedDataset:
    return PlannedDataset(
        str(content["name"]),
        str(content["fingerprint"]),
        tuple(map(str, content["transforms"])),
        str(content["label"]),
        dict(content.get("facts", {})),
    )


def _learner(content: Any) -> PlannedLearner:
    # What is no plain JSON is refused.
    params = json.loads(canonical_json(dict(content["params"])))
    return PlannedLearner(
        str(content["name"]),
        str(content["version"]),
        params,
        tuple(map(_integer, content["datasets"])),
        str(content["label"]),
    )


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value
