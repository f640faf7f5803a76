"""The sections of the gate: each makes something in a folder and returns the digests of it by name."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from olscale.data.generators import GENERATORS, generate
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.registry import learner_names, make_learner
from olscale.results.compact import compact
from olscale.results.store import open_store
from olscale.task import TASKS

Digests = dict[str, str]

ROOT = Path(__file__).parents[2]
PIPELINES = ROOT / "pipelines"
ROWS = 500
"""Of each split of a data set of a paper."""


def data(folder: Path) -> Digests:
    """Data sets that packages bring along or that are generated: their files."""
    for name in ("digits", "breast_cancer", "diabetes"):
        ingest(f"sklearn:{name}", str(folder / name))
    for name in ("rotating-xor", "noisy-sines", "gaussian-novelties"):
        generate(name, str(folder / name), seed=0)
    return _files(folder, "**/*")


def quickstart(folder: Path) -> Digests:
    """What the README prints, and the JSON of its tables."""
    ingest("sklearn:digits", str(folder / "digits"))
    ingest("sklearn:breast_cancer", str(folder / "breast_cancer"))
    return _evaluated(folder, _plan("quickstart", folder))


def rotating_xor(folder: Path) -> Digests:
    """A generated stream that drifts, with tuning."""
    generate("rotating-xor", str(folder / "rotating-xor"), seed=0)
    return _evaluated(folder, _plan("rotating-xor", folder))


def learners(folder: Path) -> Digests:
    """Each learner in time order and permuted, and its model at the end."""
    ingest("sklearn:digits", str(folder / "classification"))
    generate("noisy-sines", str(folder / "regression"), seed=0)
    generate("gaussian-novelties", str(folder / "novelty"), seed=0)
    digests: Digests = {}
    for task in TASKS:
        named = [
            {"name": name} for name in learner_names(task) if make_learner(name, {}).task == task
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
            digests |= _evaluated(folder, content)
    return digests


def paper(name: str) -> Callable[[Path], Digests]:
    """Return the section of a pipeline of a paper on the first rows of each data set that can be had."""

    def section(folder: Path) -> Digests:
        os.environ["OLSCALE_DATASETS"] = str(folder / "datasets")
        content = _plan(name, folder)
        files = Path(os.environ["OLSCALE_DATA"])
        # What cannot be had is said with the address that was tried, and the folder of the day.
        at_hand = {*GENERATORS, *(path.name for path in files.iterdir())}
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
        return _evaluated(folder, content)

    return section


PAPERS = ("lol-2016-quick", "pamo-2018-quick", "networks", "ollc")
"""Sections that need the real data sets, which ``OLSCALE_DATA`` names the folder of."""

SECTIONS: dict[str, Callable[[Path], Digests]] = {
    "data": data,
    "quickstart": quickstart,
    "rotating-xor": rotating_xor,
    "learners": learners,
    **{name: paper(name) for name in PAPERS},
}


def _plan(name: str, folder: Path) -> dict[str, Any]:
    """Return the content of a pipeline, its data sets in `folder`."""
    content = tomllib.loads((PIPELINES / f"{name}.toml").read_text())
    for dataset in content["datasets"]:
        if "path" in dataset:
            dataset["path"] = str(folder / Path(dataset["path"]).name)
    return content


def _evaluated(folder: Path, content: dict[str, Any]) -> Digests:
    """Run an experiment in process; return the digests of its compacted store and of its tables as JSON."""
    name = content["name"]
    path = folder / "stores" / name
    evaluate(parse_experiment(content), str(path), in_process=True, progress=False)
    compact(open_store(str(path)))
    digests = {
        f"{name}/{file}": digest
        for kind in ("compacted/runs", "plans", "selections", "models")
        for file, digest in _files(path, f"{kind}/**/*").items()
    }
    for command in ("results", "compare"):
        done = subprocess.run(
            [sys.executable, "-m", "olscale", command, str(path), "--format", "json"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        shown = "" if done.returncode else _without_speeds(done.stdout)
        digests[f"{name}/{command}"] = _digest(
            f"{shown}{done.stderr}".replace(str(folder), "").encode()
        )
    return digests


def _without_speeds(text: str) -> str:
    """Return the JSON of a table without the figures that a clock has measured."""
    table = json.loads(text)
    if isinstance(table, list):
        table = [row for row in table if "second" not in row["metric"]]
    return json.dumps(table, sort_keys=True)


def _files(folder: Path, pattern: str) -> Digests:
    files = (path for path in sorted(folder.glob(pattern)) if path.is_file())
    return {str(path.relative_to(folder)): _digest(path.read_bytes()) for path in files}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
