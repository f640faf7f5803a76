"""No command imports a heavy package that it does not use: imports creep back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import run

HEAVY = {
    "dask": "a cluster",
    "distributed": "a cluster",
    "duckdb": "nothing yet",
    "fsspec": "addresses of object stores",
    "jinja2": "a page",
    "matplotlib": "drawing here",
    "numba": "compiled loops",
    "pandas": "nothing of ours: pyarrow imports it",
    "pyarrow": "stores and Parquet",
    "pydantic": "experiments",
    "rich": "a terminal",
    "scipy.sparse": "sparse matrices of others",
    "sklearn": "estimators and bundled data",
    "zarr": "nothing yet",
}
RUN = """
import sys
from olscale.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(code, *sorted(sys.modules), file=sys.stderr)
"""


def imported(folder: Path, *arguments: str) -> set[str]:
    """Run a command in a process of its own and return the heavy packages that it imported."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return HEAVY.keys() & set(modules)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset, a store and a model."""
    made = tmp_path_factory.mktemp("imports")
    alone = (*EVALUATE[:-1], "alone", "--order", "time")
    learners = ("--learner", "perceptron", "--permutations", "2")
    for command in (
        ("datasets", "generate", "rotating-xor", "xor"),
        EVALUATE,
        alone,
        (*EVALUATE[:-1], "compared", *learners),
        ("models", "save", "alone", RUN_ID, "model.olm"),
    ):
        done = run(*command, cwd=made)
        assert done.returncode == 0, done.stderr
    shutil.copytree(made / "store", made / "forgotten")
    numbers = ["a,b,class", *(f"{i}.5,{i % 7},{i % 2}" for i in range(30))]
    words = ["a,b,class", *(f"{i}.5,{'xyz'[i % 3]},{i % 2}" for i in range(29)), ",x,0"]
    (made / "numbers.csv").write_text("\n".join(numbers))
    (made / "words.csv").write_text("\n".join(words))
    return made


RUN_ID = "91a6a17ad3a8"  # of the one run in `alone`
EVALUATE = ("evaluate", "--dataset", "xor", "--learner", "pa1", "--store", "store")
MAY = {
    ("--help",): set(),
    ("ingest", "numbers.csv", "numbers"): set(),
    ("ingest", "words.csv", "words"): set(),
    ("learners", "list"): {"numba"},
    ("datasets", "show", "xor"): {"rich"},
    ("results", "store"): {"pyarrow"},
    ("results", "store", "--format", "json"): {"pyarrow"},
    ("results", "store", "--curve", "cumulative_error"): {"pyarrow"},
    ("status", "store"): {"pyarrow"},
    ("compare", "compared", "--format", "json"): {"pyarrow"},
    ("compact", "store"): {"pyarrow"},
    ("store", "forget", "forgotten", "--learner", "pa1"): {"pyarrow"},
    EVALUATE: {"numba", "pyarrow", "pydantic"},
    ("models", "list", "store"): {"pyarrow"},
    ("models", "save", "alone", RUN_ID, "again.olm"): {"numba", "pyarrow", "pydantic"},
    ("models", "show", "model.olm"): {"numba", "pyarrow", "pydantic"},
    ("predict", "model.olm", "xor"): {"numba", "pyarrow", "pydantic"},
    ("report", "compared", "--out", "page"): {"jinja2", "matplotlib", "pyarrow"},
}
"""What each command may import; the report draws here, as it has few figures."""


@pytest.mark.parametrize("command", MAY, ids=" ".join)
def test_a_command_imports_what_it_uses(folder: Path, command: tuple[str, ...]) -> None:
    assert imported(folder, *command) <= MAY[command]


def test_numpy_starts_no_threads_where_nothing_is_multiplied() -> None:
    script = "import os, sys; from olscale.cli import main\n"
    script += "try: main([sys.argv[1], '--help'])\n"
    script += "except SystemExit: print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("OPENBLAS_NUM_THREADS", None)
    said = [
        subprocess.check_output(
            [sys.executable, "-c", script, command], env=environment, text=True
        ).split()[-1]
        for command in ("ingest", "evaluate")
    ]
    assert said == ["1", "None"]


def test_the_parts_of_numba_that_compile_are_not_loaded_with_machine_code(
    folder: Path,
) -> None:
    """SciPy's linear algebra comes with them, and takes as long to import as numba itself."""
    script = "import sys; from olscale.learners import PA1\n"
    script += "from olscale.learners.contract.compilation import compile_loops\n"
    script += "import numpy as np; from olscale.compiled.csr import read_only\n"
    script += (
        "learner = PA1(); learner.begin(2, 2); compile_loops(learner, "
        "read_only(np.zeros((1, 2))))\n"
    )
    script += (
        "assert 'sklearn' not in sys.modules; print('scipy.linalg' in sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.check_output(
            [sys.executable, "-c", script], env=environment, text=True
        )
        for _ in range(2)
    ]
    assert said[1] == "False\n"
