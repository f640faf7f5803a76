"""The sections of the gate: each makes something in a folder and returns its digests by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from olscale.data.generators import GENERATORS, generate
from olscale.data.ingest.ingest import ingest
from olscale.learners.registry import learner_class, learner_names, make_learner
from olscale.task import TASKS
from tests.golden.evaluated import ROWS, Digests, evaluated, files, plan, reproduced
from tests.golden.night import night
from tests.golden.resume import resume


def data(folder: Path) -> Digests:
    """Data sets that packages bring along or that are generated: their files."""
    for name in ("digits", "breast_cancer", "diabetes"):
        ingest(f"sklearn:{name}", str(folder / name))
    for name in ("rotating-xor", "noisy-sines", "gaussian-novelties"):
        generate(name, str(folder / name), seed=0)
    return files(folder, "**/*")


def quickstart(folder: Path) -> Digests:
    """What the README prints, and the JSON of its tables."""
    ingest("sklearn:digits", str(folder / "digits"))
    ingest("sklearn:breast_cancer", str(folder / "breast_cancer"))
    return evaluated(folder, plan("quickstart", folder))


def rotating_xor(folder: Path) -> Digests:
    """A generated stream that drifts, with tuning."""
    generate("rotating-xor", str(folder / "rotating-xor"), seed=0)
    return evaluated(folder, plan("rotating-xor", folder))


def learners(folder: Path) -> Digests:
    """Each learner in time order and permuted, and its model at the end."""
    ingest("sklearn:digits", str(folder / "classification"))
    generate("noisy-sines", str(folder / "regression"), seed=0)
    generate("gaussian-novelties", str(folder / "novelty"), seed=0)
    digests: Digests = {}
    for task in TASKS:
        named = [
            # Standardized rows have values below 0.
            {"name": name}
            | ({} if learner_class(name).takes_negative else {"transforms": ["bias"]})
            for name in learner_names(task)
            if make_learner(name, {}).task == task
        ]
        for order in (
            {"order": "time", "keep_model": True},
            {"order": "permuted", "permutations": 2},
        ):
            content = {
                "name": f"{task}-{order['order']}",
                "datasets": [{"path": str(folder / task)}],
                "transforms": ["standardize", "bias"],
                "learners": named,
                "protocol": order,
            }
            digests |= evaluated(folder, content)
    return digests


def paper(name: str) -> Callable[[Path], Digests]:
    """Return the section of a pipeline on the first rows of each data set that can be had."""

    def section(folder: Path) -> Digests:
        content = plan(name, folder)
        return _first_rows(folder, content) | reproduced(folder, content)

    return section


def grand(folder: Path) -> Digests:
    """The grand comparison on one data set of each kind, with one permutation and one fold."""
    content = plan("grand", folder)
    content["protocol"]["permutations"] = 1
    content["tuning"]["folds"] = 1
    content["datasets"] = [
        dataset for dataset in content["datasets"] if dataset["name"] in GRAND_DATASETS
    ]
    return _first_rows(folder, content) | reproduced(folder, content)


GRAND_DATASETS = (
    *("electricity", "two-gaussians", "a1a", "usps", "secom", "arcene"),
    *("noisy-sines", "gaussian-novelties"),
)

PAPERS: dict[str, Callable[[Path], Digests]] = {
    "lol-2016-quick": paper("lol-2016-quick"),
    "pamo-2018-quick": paper("pamo-2018-quick"),
    "networks": paper("networks"),
    "ollc": paper("ollc"),
    "grand": grand,
}
"""Sections that need the real data sets, which ``OLSCALE_DATA`` names the folder of."""

SECTIONS: dict[str, Callable[[Path], Digests]] = {
    "data": data,
    "quickstart": quickstart,
    "rotating-xor": rotating_xor,
    "learners": learners,
    "night": night,
    "resume": resume,
    **PAPERS,
}


def _first_rows(folder: Path, content: dict[str, Any]) -> Digests:
    """Evaluate an experiment, which becomes that on the first rows of each data set at hand."""
    os.environ["OLSCALE_DATASETS"] = str(folder / "datasets")
    shelf = Path(os.environ["OLSCALE_DATA"])
    # What cannot be had is said with the address that was tried, and the folder of the day.
    at_hand = {*GENERATORS, *(path.name for path in shelf.iterdir())}
    content["datasets"] = [
        dataset
        for dataset in content["datasets"]
        if dataset["name"].removesuffix("-joined") in at_hand
    ]
    names = [dataset["name"] for dataset in content["datasets"]]
    for dataset in content["datasets"]:
        dataset |= {"rows": ROWS}
    for learner in content["learners"]:
        if "datasets" in learner:
            learner["datasets"] = [
                f"{name}-{ROWS}" for name in learner["datasets"] if name in names
            ]
    content["learners"] = [
        learner for learner in content["learners"] if learner.get("datasets", names)
    ]
    return evaluated(folder, content)
