"""The steps of a night, each done once: ingest changed sources, run benchmarks, evaluate."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from olscale.addresses import redacted, redacted_parts
from olscale.bench import run as run_benchmarks
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.ingest.sources import expand, sha256_and_size, stamp
from olscale.data.manifest import MANIFEST
from olscale.errors import DatasetError, ExecutionError
from olscale.evaluation.experiment import load_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Progress
from olscale.jobs.home import JobHome, read_json, write_json
from olscale.jobs.job_file import BenchStep, EvaluateStep, IngestStep


def ingest_step(step: IngestStep, home: JobHome, done: Path) -> dict[str, Any]:
    """Ingest sources anew if they or the options have changed, and return the row of history.

    The dataset is made beside the one that is there and takes its place by a rename.
    """
    asked = redacted_parts(
        {"source": list(step.sources), "dest": step.dest, "options": step.options}
    )
    if (before := read_json(done)).get("asked") == asked:
        found: dict[str, Any] = before["row"]
        return found
    dest = Path(step.dest)
    known = _ingested(home)
    if step.dest not in known:
        if dest.exists():
            raise DatasetError(
                f"{dest} is there and was not made by this job; remove it, or name another dest"
            )
        known[step.dest] = {}  # from here on what is there is ours to replace
        write_json(home.path / "ingested.json", known)
    mine = known[step.dest]
    options = redacted_parts(step.options)
    sources = expand([*step.sources, *step.tests])
    stamps = [[redacted(source.path), source.file and stamp(source.file)] for source in sources]
    there = (dest / MANIFEST).exists()
    key = (
        mine.get("key", "")
        if mine.get("stamps") == stamps and mine.get("options") == options
        else _key(step)
    )
    seconds = None
    if not there or mine.get("key") != key:
        start = perf_counter()
        _replace(step, dest, key)
        seconds = perf_counter() - start
    write_json(
        home.path / "ingested.json",
        known | {step.dest: {"key": key, "stamps": stamps, "options": options}},
    )
    dataset = open_dataset(dest)
    rows = sum(dataset.rows(split) for split in dataset.splits)
    read = sum(entry.bytes or 0 for entry in dataset.manifest.sources)
    row = {
        "kind": "ingest",
        "dataset": dataset.name,
        "fingerprint": dataset.manifest.fingerprint,
        "rows": float(rows),
    }
    if seconds:
        row |= {
            "seconds": seconds,
            "rows_per_second": rows / seconds,
            "megabytes_per_second": read / 1e6 / seconds,
        }
    write_json(done, {"asked": asked, "row": row})
    return row


def _ingested(home: JobHome) -> dict[str, Any]:
    """Return what this job has ingested, by destination; from its nights if the file is damaged."""
    file = home.path / "ingested.json"
    known = read_json(file)
    if not known and file.exists():
        asked = [
            read_json(done).get("asked", {})
            for done in sorted(home.path.glob("nights/*/ingest-*.json"))
        ]
        known = {one["dest"]: {} for one in asked if "dest" in one}
    return known


def _key(step: IngestStep) -> str:
    """Return a digest of what makes a dataset: names and bytes of its sources, and the options."""
    found = [
        [source.name, source.file and sha256_and_size(source.file)[0]]
        for source in expand([*step.sources, *step.tests])
    ]
    return hashlib.sha256(
        json.dumps([found, redacted_parts(step.options)], sort_keys=True).encode()
    ).hexdigest()[:16]


def _replace(step: IngestStep, dest: Path, key: str) -> None:
    beside = dest.parent / f".{dest.name}-ingest"
    new = beside / key / dest.name
    old = beside / "old" / dest.name
    if old.exists() and not dest.exists():
        old.rename(dest)  # killed between two renames
    for other in beside.glob("*"):
        if other.name != key:
            shutil.rmtree(
                other
            )  # of sources that have changed again, or the dataset that was replaced
    if not (new / MANIFEST).exists():
        ingest(step.sources, new, **step.options)
    if dest.exists():
        old.parent.mkdir(parents=True)
        dest.rename(old)
    new.rename(dest)
    shutil.rmtree(beside)


def evaluate_step(step: EvaluateStep, folder: Path, progress: Progress) -> list[str]:
    """Evaluate an experiment into the night's store and one per repetition; return failures."""
    experiment = load_experiment(step.experiment)
    failures = []
    where = {name: value for name, value in step.where.model_dump().items() if value}
    for number in range(step.repeat):
        done = evaluate(experiment, store_of(folder, number), progress=progress, **where)
        try:
            done.check()
        except ExecutionError as fault:
            failures.append(f"{experiment.name}: {fault}")
        if lost := done.outcomes.get("lost", 0):
            failures.append(f"{experiment.name}: {lost} runs were lost with their workers")
    return failures


def store_of(folder: Path, number: int) -> Path:
    """Return the store of a pass."""
    return folder / (f"repeat-{number}" if number else "store")


def bench_step(step: BenchStep, done: Path) -> list[dict[str, Any]]:
    """Run benchmarks, and return a row of history for each figure."""
    asked = step.model_dump(mode="json")
    before = read_json(done)
    rows: list[dict[str, Any]] = before["figures"] if before.get("asked") == asked else []
    if not rows:
        for name, figures in run_benchmarks(step.names, step.rows).items():
            for figure in map(asdict, figures):
                row = {"kind": "bench", "benchmark": name, "figure": figure["name"]}
                rows.append(
                    row | {part: figure[part] for part in ("value", "unit", "ratio", "peer")}
                )
        write_json(done, {"asked": asked, "figures": rows})
    return rows
