"""Machine code of learners, compiled ahead of time for images, nodes of a cluster and wheels.

Each learner is evaluated on a few generated rows: of two and three classes or of targets, dense and
sparse, in time order and permuted. This compiles the same loops as a first evaluation. A table that
is longer than a block of text compiles those of a first large ingest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numba.core.caching import UserProvidedCacheLocator
from sklearn.datasets import dump_svmlight_file

from olscale.compiled.code_files import FOLDER, LEVEL, PACKAGE, STAMP_FILE
from olscale.data.formats.table_parser import BLOCK_BYTES
from olscale.data.ingest.ingest import ingest
from olscale.errors import ExecutionError
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.registry import LEARNERS, learner_class
from olscale.system.source_digest import STAMPED, package_digest
from olscale.task import Task

_ROWS = 400
"""Rows that suffice to fill budgets, and so to compile the loops that run then."""

_COLUMNS = 5

_CLASSES: dict[Task, tuple[int, ...]] = {
    "classification": (2, 3),
    "regression": (0,),
    "novelty": (2,),
}


def warm(learners: Sequence[str] = ()) -> list[str]:
    """Compile the loops of learners (default: all) that the cache lacks; return their names.

    Raises
    ------
    UnknownNameError
        If a learner is not registered.
    """
    names = list(learners) or list(LEARNERS)
    _compile_text_loops()
    tasks = {name: learner_class(name).task for name in names}
    with tempfile.TemporaryDirectory() as folder:
        for task in dict.fromkeys(tasks.values()):
            datasets = list(_datasets(Path(folder), task))
            entries = [{"name": name} for name in names if tasks[name] == task]
            for order in ("time", "permuted"):
                content = {
                    "name": f"warm-{task}-{order}",
                    "protocol": {"order": order},
                    "transforms": ["standardize", "bias"],
                    "datasets": [{"path": str(path)} for path in datasets],
                    "learners": entries,
                }
                experiment = parse_experiment(content, "warm")
                evaluate(
                    experiment,
                    Path(folder) / f"{task}-{order}",
                    in_process=True,
                    progress=False,
                )
    return names


def _compile_text_loops() -> None:
    """Ingest a table of numbers and words that does not end within the first block."""
    line = b"0.25,red,1\n-1.5,blue,0\n"
    content = b"number,word,y\n" + line * (1 + BLOCK_BYTES // len(line))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        table.write_bytes(content)
        ingest([str(table)], str(Path(folder) / "dataset"))


def _datasets(folder: Path, task: Task) -> Iterator[Path]:
    """Yield dense and sparse datasets for a task, made from text of tables and of pairs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, _COLUMNS)) * (rng.random((_ROWS, _COLUMNS)) < 0.6)
    columns = ",".join(f"x{column}" for column in range(_COLUMNS))
    for classes in _CLASSES[task]:
        y = X[:, 0] - X[:, 1] if classes == 0 else np.arange(_ROWS) % classes
        name = f"{task}-{classes}"
        np.savetxt(
            folder / f"{name}.csv",
            np.column_stack([X, y]),
            delimiter=",",
            header=f"{columns},y",
            comments="",
        )
        dump_svmlight_file(X, y, str(folder / f"{name}.svm"), zero_based=False)
        target = None
        if classes == 0:
            target = "real"
        novel = None
        if task == "novelty":
            novel = 1
        for suffix in ("csv", "svm"):
            path = folder / f"{name}-{suffix}"
            label = None
            if suffix == "csv":
                label = "y"
            ingest(
                [str(folder / f"{name}.{suffix}")],
                str(path),
                target=target,
                novel=novel,
                label=label,
            )
            yield path


def ship(learners: Sequence[str] = ()) -> int:
    """Compile the machine code of a wheel into the package's folder; return how many files it has.

    Another process compiles for a generic processor level instead of this processor.

    Raises
    ------
    ExecutionError
        If that process fails.
    """
    folder = FOLDER / LEVEL
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("NUMBA_")
        }
        environment |= {
            "NUMBA_CPU_NAME": LEVEL,
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_CACHE_DIR": cache,
        }
        command = [sys.executable, "-m", "olscale", "warm", *learners]
        if subprocess.run(command, env=environment, check=False).returncode:
            raise ExecutionError(
                f"no machine code for {LEVEL}: {' '.join(command)} failed"
            )
        shutil.rmtree(FOLDER, ignore_errors=True)
        for source in sorted({path.parent for path in PACKAGE.rglob("*.py")}):
            cached = Path(cache) / UserProvidedCacheLocator.get_suitable_cache_subpath(
                str(source / "any.py")
            )
            if cached.is_dir():
                shutil.copytree(
                    cached,
                    folder / source.relative_to(PACKAGE),
                    ignore=shutil.ignore_patterns("*.lock"),
                )
    (folder / STAMP_FILE).write_text(package_digest(*STAMPED))
    return sum(path.is_file() for path in folder.rglob("*"))
