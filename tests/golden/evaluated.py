"""An experiment evaluated in process, as digests of what it leaves."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from olscale.analysis.ledger import make_ledger
from olscale.analysis.published import read_published
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.settings import settings
from olscale.execution.evaluate import evaluate
from olscale.report.markdown import page
from olscale.results.compact import compact
from olscale.results.opening import open_store
from olscale.results.selections import read_selections

Digests = dict[str, str]

ROOT = Path(__file__).parents[2]
PIPELINES = ROOT / "pipelines"
ROWS = 500
"""Of each split of a data set of a paper."""


def plan(name: str, folder: Path) -> dict[str, Any]:
    """Return the content of a pipeline, its data sets in `folder`."""
    content = tomllib.loads((PIPELINES / f"{name}.toml").read_text())
    for dataset in content["datasets"]:
        if "path" in dataset:
            dataset["path"] = str(folder / Path(dataset["path"]).name)
    return content


def evaluated(folder: Path, content: dict[str, Any]) -> Digests:
    """Run an experiment in process; return the digests of its compacted store and of its tables as JSON."""
    name = content["name"]
    path = folder / "stores" / name
    evaluate(parse_experiment(content), str(path), in_process=True, progress=False)
    compact(open_store(str(path)))
    digests = {
        f"{name}/{file}": digest
        for kind in ("compacted/runs", "plans", "selections", "models")
        for file, digest in files(path, f"{kind}/**/*").items()
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
        digests[f"{name}/{command}"] = digest_of(
            f"{shown}{done.stderr}".replace(str(folder), "").encode()
        )
    return digests


def reproduced(folder: Path, content: dict[str, Any]) -> Digests:
    """Return the digest of the page that ``olscale reproduce --markdown`` makes of an experiment.

    It has been evaluated in `folder`. Published cells are those of whole data sets; here they stand
    beside the figures of the first rows.
    """
    store = open_store(str(folder / "stores" / content["name"]))
    asked = settings(parse_experiment(content), read_selections(store))
    published = [
        replace(cell, dataset=f"{cell.dataset}-{ROWS}")
        for cell in read_published()
        if cell.source == content["name"].removesuffix("-quick")
    ]
    text = page(
        store, [(asked, make_ledger(store, asked, published))], [content["name"]]
    )
    return {
        f"{content['name']}/reproduce": digest_of(
            text.replace(str(folder), "").encode()
        )
    }


def _without_speeds(text: str) -> str:
    """Return the JSON of a table without the figures that a clock has measured."""
    table = json.loads(text)
    if isinstance(table, list):
        table = [row for row in table if "second" not in row["metric"]]
    return json.dumps(table, sort_keys=True)


def files(folder: Path, pattern: str) -> Digests:
    """Return the digests of the files in a folder that match a pattern, by their paths in it."""
    paths = (path for path in sorted(folder.glob(pattern)) if path.is_file())
    return {
        str(path.relative_to(folder)): digest_of(path.read_bytes()) for path in paths
    }


def digest_of(content: bytes) -> str:
    """Return a digest of bytes."""
    return hashlib.sha256(content).hexdigest()[:16]
