"""A wheel with machine code: installed elsewhere, read-only and without a home, it compiles nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clusters.conftest import records
from tests.house import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        sys.platform != "linux" or os.uname().machine != "x86_64",
        reason="wheels with machine code are for Linux on x86-64",
    ),
]

LEARNERS = ("pa1",)

COMMAND = """
import sys
from numba.core import event

class Compilation(event.Listener):
    def on_start(self, event):
        print("compiled", event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Compilation())
from olscale.cli import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what a wheel is built from, with the machine code of a learner."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("pyproject.toml", "README.md", "LICENSE", "machine_code_hook.py"):
        shutil.copy(ROOT / name, folder)
    for name in ("olscale", "pipelines", "cluster"):
        shutil.copytree(
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns("__pycache__", "machine_code"),
        )
    run(
        [sys.executable, "-m", "olscale", "warm", "--for-wheel", *LEARNERS],
        PYTHONPATH=str(folder),
    )
    return folder


@pytest.fixture(scope="module")
def wheel(sources: Path) -> Path:
    return build(sources)


def build(sources: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    run([*command, "--wheel-dir", str(sources / "dist"), str(sources)])
    return next((sources / "dist").glob("*.whl"))


def run(command: list[str], **more: str) -> str:
    """Run a command with none of numba's variables, and return what it prints."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NUMBA_")
    }
    done = subprocess.run(
        command,
        env=environment | more,
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_name_says_what_it_is_for(wheel):
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.endswith(f"-{version}-none-manylinux_2_28_x86_64.whl")


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_first_use_compiles_nothing(learner, wheel, tmp_path):
    place = tmp_path / "elsewhere"
    run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(place),
            str(wheel),
        ]
    )
    for path in place.rglob("*"):
        path.chmod(0o555)
    olscale = [sys.executable, "-P", "-c", COMMAND]
    home = {
        "PYTHONPATH": str(place),
        "HOME": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run([*olscale, "ingest", "sklearn:breast_cancer", str(tmp_path / "rows")], **home)
    table = tmp_path / "table.csv"
    # Longer than a block of text, which a library would read in the place of compiled loops.
    table.write_text("a,colour,y\n" + "1.5,red,0\n-2,blue,1\n" * (1 << 18))
    ingested = run([*olscale, "ingest", str(table), str(tmp_path / "table")], **home)
    assert "524,288" in ingested
    assert "compiled" not in ingested
    evaluate = [
        "evaluate",
        "--dataset",
        str(tmp_path / "rows"),
        "--learner",
        learner,
        "--permutations",
        "2",
    ]
    options = ["--transform", "standardize,bias", "--in-process", "--store"]
    words = [*olscale, *evaluate, *options]
    shipped = run([*words, str(tmp_path / "shipped")], **home)
    assert "compiled" not in shipped
    # Without it the same loops are compiled, here, and give the same figures.
    made = run(
        [*words, str(tmp_path / "made")],
        **home,
        OLSCALE_MACHINE_CODE="0",
        NUMBA_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert "compiled" in made
    shipped_records = records(tmp_path / "shipped")
    assert len(shipped_records) == 2
    assert shipped_records == records(tmp_path / "made")
    for path in place.rglob("*"):
        path.chmod(0o755)


def test_the_code_of_other_sources_is_refused(sources, wheel):
    edited = sources / "olscale" / "compiled" / "dot.py"
    text = edited.read_text()
    edited.write_text(text + "\n")
    try:
        with pytest.raises(
            AssertionError,
            match="is of other sources: make it anew with olscale warm --for-wheel",
        ):
            build(sources)
    finally:
        edited.write_text(text)
