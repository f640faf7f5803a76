"""A small project with every kind of file that olscale writes, for bits to be flipped in."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.code_files import CheckedCodeFile
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import load_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.settings import SETTINGS
from olscale.results.compact import compact
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from tests.cli.command import run
from tests.fuzz import begun
from tests.fuzz.target import write

NIGHT = "1"
LOADS = b"machine code", "of a loop"

_EXPERIMENT = """
name = "flips"
transforms = ["standardize", "bias"]
[protocol]
permutations = 2
{more}
[[datasets]]
path = "rows"
[[learners]]
name = "pa1"
{parameter}
[[learners]]
name = "perceptron"
"""

_JOB = """
name = "flips"
home = "home"
[[ingest]]
source = "rows.csv"
dest = "nightly"
[[bench]]
names = ["linear"]
[[evaluate]]
experiment = "nightly.toml"
where = { in_process = true }
[[notify]]
command = ["true"]
"""


def make_project(folder: Path) -> None:
    """Fill an empty folder."""
    with chdir(folder):
        _write_sources()
        for name, layout in (("rows", "parquet"), ("grid", "zarr")):
            _call("ingest", "rows.csv", name, "--test", "test.csv", "--layout", layout)
        _interrupt_ingest()
        # A file a run, as of runs that were computed one by one.
        loose = replace(SETTINGS, shared_runs=1_000)
        asked = load_experiment("experiment.toml")
        evaluate(asked, "store", in_process=True, progress=False, settings=loose)
        shutil.copytree("store", "packed")
        compact(open_store(Path("packed")))
        _lose_a_run()
        Path("saved").mkdir()
        _call("models", "save", "store", kept_runs()[0], "saved/pa1.olm")
        _call("jobs", "run", "job.toml", "--night", NIGHT)
        for number, files in enumerate(begun.begun()):
            for name, data in files.items():
                write(Path(f"begun{number}", name), data)
        for name, data in begun.scratch()[0].items():
            write(Path("scratch", name), data)
        Path("code").mkdir()
        CheckedCodeFile("code", "loop", "stamp").save("signature", LOADS)


def kept_runs() -> list[str]:
    """Return the runs of the store whose models are kept there."""
    return sorted(file.stem for file in Path("store/models").iterdir())


def _call(*words: str) -> None:
    done = run(*words)
    assert done.returncode == 0, done.stderr


def _write_sources() -> None:
    rng = np.random.default_rng(0)
    for name, rows in (("rows", 80), ("test", 20)):
        y = rng.integers(0, 2, rows)
        x = rng.normal(size=(rows, 3)) + 0.6 * (2 * y - 1)[:, None]
        lines = [
            ",".join([*(f"{value:.3f}" for value in values), "ny"[label]])
            for values, label in zip(x, y, strict=True)
        ]
        Path(f"{name}.csv").write_text("\n".join(["a,b,c,label", *lines, ""]))
    text = Path("rows.csv").read_bytes()
    Path("tables").mkdir()
    Path("tables/rows.csv.gz").write_bytes(gzip.compress(text))
    with zipfile.ZipFile("tables/rows.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", text)
    tuned = "tune = { C = [0.01, 1.0] }"
    more = "keep_model = true\n[tuning]\nfolds = 2"
    Path("experiment.toml").write_text(_EXPERIMENT.format(more=more, parameter=tuned))
    Path("nightly.toml").write_text(_EXPERIMENT.format(more="", parameter=""))
    Path("job.toml").write_text(_JOB)


def _interrupt_ingest() -> None:
    Path("days").mkdir()
    for day in range(4):
        lines = [f"+1 {day + 1}:1 {row + 9}:2\n-1 {row + 1}:1\n" for row in range(10)]
        Path(f"days/Day{day}.svm").write_text("".join(lines))
    names = set()

    def progress(name: str, rows: int, size: int) -> None:
        names.add(name)
        if len(names) == 3:
            raise SystemExit  # which nothing clears up after

    with pytest.raises(SystemExit):
        ingest("days", "half", segments="files", chunk_rows=16, progress=progress)


def _lose_a_run() -> None:
    shutil.copytree("store", "lost")
    store = open_store(Path("lost"))
    id = kept_runs()[0]
    kept = store.get(id)
    record = Record(
        run=kept.run, id=id, outcome="lost", reason="its worker died three times"
    )
    Path(f"lost/runs/{id[:2]}/{id}.parquet").unlink()
    store.put(f"lost/{id[:2]}/{id}.parquet", run_bytes(record))
