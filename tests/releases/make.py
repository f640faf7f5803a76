"""Files of a release, which every later one must read.

``python -m tests.releases.make`` writes those of this version of olscale to a folder of that name
beside this file, once, when it is released: two datasets, a store with kept models, the results
that it shows, a model with its predictions, and a checkpoint in mid-stream.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np

import olscale
from olscale import Experiment, evaluate
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.execution.resumable_pass import ResumablePass
from olscale.models.file import load_model
from olscale.results.compact import compact
from olscale.results.opening import open_store
from olscale.results.store import Store, model_file

HERE = Path(__file__).parent
LAYOUTS = ("parquet", "zarr")
CHUNKS = 3
"""Chunks of six after which the checkpoint is written."""


def rows() -> str:
    """Return the rows of both datasets as CSV: two numbers, one of three words, two classes."""
    lines = ["size,share,colour,class"]
    for i in range(60):
        colour = ("red", "green", "blue")[i * i % 7 % 3]
        label = "yes" if (i * 7 + i % 3) % 5 < 2 else "no"
        lines.append(f"{i % 7},{i % 11 / 4},{colour},{label}")
    return "\n".join([*lines, ""])


def group_of(dataset: Path) -> RunGroup:
    """Return the run group whose checkpoint is kept: one learner, in time order."""
    content: dict[str, Any] = {
        "datasets": [{"path": str(dataset)}],
        "transforms": ["running-standardize", "bias"],
        "learners": [{"name": "pa1"}],
        "protocol": {"order": "time"},
    }
    plan = make_plan(parse_experiment(content))
    [group] = cut_groups(plan.runs, plan.sources, 1)
    return group


def shown(store: Store) -> dict[str, dict[str, float]]:
    """Return the metrics of each run of a store, by its id."""
    return {
        row["id"]: dict(row["metrics"])
        for row in store.read(["id", "metrics"]).to_pylist()
    }


def predictions(model: Path, dataset: Path) -> list[str]:
    """Return the classes that a model predicts for the rows of a dataset."""
    labels = load_model(model).predict(open_dataset(str(dataset)))
    return [str(label) for label in np.asarray(labels)]


def experiment(permutations: int) -> Experiment:
    """Return the experiment whose store is kept, on datasets in the working directory."""
    return Experiment(
        name="release",
        datasets=[{"path": layout, "label": layout} for layout in LAYOUTS],
        learners=[{"name": "pa1"}, {"name": "lol", "params": {"k": 3}}],
        transforms=["standardize", "bias"],
        protocol={"permutations": permutations, "keep_model": True},
    )


def make() -> None:
    """Write the files of this version into the working directory."""
    folder = Path()
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch, "rows.csv")
        table.write_text(rows(), encoding="utf-8")
        for layout in LAYOUTS:
            ingest(table, folder / layout, layout=layout, chunk_rows=10)
    # Half of the runs are in compacted files, the others in files of their own.
    evaluate(experiment(1), folder / "store", in_process=True, progress=False)
    store = open_store(str(folder / "store"))
    compact(store)
    evaluate(experiment(2), folder / "store", in_process=True, progress=False)
    (folder / "results.json").write_text(json.dumps(shown(store), indent=1) + "\n")
    run = min(store.model_ids())
    shutil.copy(folder / "store" / model_file(run), folder / "model.olm")
    classes = predictions(folder / "model.olm", folder / "parquet")
    (folder / "predictions.json").write_text(json.dumps(classes) + "\n")
    interrupted = folder / "interrupted"
    open_store(str(interrupted), create=True)
    [part] = group_of(folder / "parquet").parts()
    passage = ResumablePass(part, str(interrupted))
    for _ in range(CHUNKS):
        passage.group_pass.advance()
    passage.save()
    passage.close()
    shutil.rmtree(folder / "store" / "live", ignore_errors=True)


if __name__ == "__main__":
    version = HERE / olscale.__version__
    version.mkdir()
    # Stores and models keep the paths of datasets: those of a release lead nowhere else.
    with chdir(version):
        make()
