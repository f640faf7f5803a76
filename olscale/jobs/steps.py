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
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.jobs.home import JobHome, read_json, write_json
from olscale.jobs.job_file import BenchStep, EvaluateStep, IngestStep


def ingest_step(step: IngestStep, home: JobHome, result_file: Path) -> dict[str, Any]:
    """Ingest sources anew if they or the options have changed, and return the row of history.

    The new dataset is made in a staging folder and replaces the old one by a rename.
    """
    request = redacted_parts(
        {"source": list(step.sources), "dest": step.dest, "options": step.options}
    )
    # Within a night the job file may be edited: a step counts as done for its request only.
    if (before := read_json(result_file)).get("asked") == request:
        row: dict[str, Any] = before["row"]
        return row
    dest = Path(step.dest)
    ingested = _ingested(home)
    if step.dest not in ingested:
        if dest.exists():
            raise DatasetError(
                f"{dest} exists and was not made by this job; remove it, or name another dest"
            )
        ingested[step.dest] = {}  # from here on what is there is ours to replace
        write_json(home.path / "ingested.json", ingested)
    previous = ingested[step.dest]
    options = redacted_parts(step.options)
    sources = expand([*step.sources, *step.tests])
    stamps = [
        [redacted(source.path), source.file and stamp(source.file)]
        for source in sources
    ]
    is_ingested = (dest / MANIFEST).exists()
    # Reading sources of gigabytes every night takes long: their size and time of change suffice.
    key = previous.get("key", "")
    if previous.get("stamps") != stamps or previous.get("options") != options:
        key = _key(step)
    seconds = None
    if not is_ingested or previous.get("key") != key:
        start = perf_counter()
        _replace(step, dest, key)
        seconds = perf_counter() - start
    # After the dataset, so that a process killed in between ingests again rather than never.
    write_json(
        home.path / "ingested.json",
        ingested | {step.dest: {"key": key, "stamps": stamps, "options": options}},
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
    write_json(result_file, {"asked": request, "row": row})
    return row


def _ingested(home: JobHome) -> dict[str, Any]:
    """Return what this job has ingested, by destination; from its nights if the file is damaged."""
    file = home.path / "ingested.json"
    ingested = read_json(file)
    if not ingested and file.exists():
        requests = [
            read_json(result_file).get("asked", {})
            for result_file in sorted(home.path.glob("nights/*/ingest-*.json"))
        ]
        ingested = {request["dest"]: {} for request in requests if "dest" in request}
    return ingested


def _key(step: IngestStep) -> str:
    """Return a digest of what makes a dataset: names and bytes of its sources, and the options."""
    sources = [
        [source.name, source.file and sha256_and_size(source.file)[0]]
        for source in expand([*step.sources, *step.tests])
    ]
    content = json.dumps([sources, redacted_parts(step.options)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _replace(step: IngestStep, dest: Path, key: str) -> None:
    staging = dest.parent / f".{dest.name}-ingest"
    new = staging / key / dest.name
    old = staging / "old" / dest.name
    if old.exists() and not dest.exists():
        old.rename(dest)  # killed between two renames
    for folder in staging.glob("*"):
        # Of sources that have changed again since, or the dataset that was replaced.
        if folder.name != key:
            shutil.rmtree(folder)
    if not (new / MANIFEST).exists():
        ingest(step.sources, new, **step.options)
    if dest.exists():
        old.parent.mkdir(parents=True)
        dest.rename(old)
    new.rename(dest)
    shutil.rmtree(staging)


def evaluate_step(
    step: EvaluateStep,
    folder: Path,
    progress: Progress,
    scheduler: str | None = None,
    settings: ExecutionSettings = SETTINGS,
) -> list[str]:
    """Evaluate an experiment into the night's store and one per repetition; return failures."""
    experiment = load_experiment(step.experiment)
    failures = []
    where = {name: value for name, value in step.where.model_dump().items() if value}
    if scheduler is not None:
        where = {name: value for name, value in where.items() if name == "tls"}
        where["scheduler"] = scheduler
    for number in range(step.repeat):
        evaluation = evaluate(
            experiment,
            store_of(folder, number),
            progress=progress,
            settings=settings,
            **where,
        )
        try:
            evaluation.check()
        except ExecutionError as fault:
            failures.append(f"{experiment.name}: {fault}")
        # Lost runs are no error of an evaluation: it computes them when it is called again.
        if lost := evaluation.outcomes.get("lost", 0):
            failures.append(
                f"{experiment.name}: {lost} runs were lost with their workers"
            )
    return failures


def store_of(folder: Path, number: int) -> Path:
    """Return the store of a pass."""
    if not number:
        return folder / "store"
    return folder / f"repeat-{number}"


def bench_step(step: BenchStep, result_file: Path) -> list[dict[str, Any]]:
    """Run benchmarks, and return a row of history for each figure."""
    request = step.model_dump(mode="json")
    before = read_json(result_file)
    rows: list[dict[str, Any]] = []
    if before.get("asked") == request:
        rows = before["figures"]
    if not rows:
        for name, figures in run_benchmarks(step.names, step.rows).items():
            for figure in map(asdict, figures):
                row = {"kind": "bench", "benchmark": name, "figure": figure["name"]}
                rows.append(
                    row
                    | {
                        part: figure[part]
                        for part in ("value", "unit", "ratio", "peer")
                    }
                )
        write_json(result_file, {"asked": request, "figures": rows})
    return rows
