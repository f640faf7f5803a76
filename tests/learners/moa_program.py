"""MOA's own learners, run by a program in Java."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest


def mistakes_of_moa(source: str, learner: str, rows: int, *seed: int) -> int:
    """Return the mistakes of a learner of MOA on so many rows, or skip the test where there is no MOA."""
    package = importlib.util.find_spec("capymoa")
    if shutil.which("java") is None or package is None or package.origin is None:
        pytest.skip("java and the package capymoa")
    jar = Path(package.origin).parent / "jar" / "moa.jar"
    program = Path(__file__).with_name("MoaMistakes.java")
    form = [learner, str(rows), *map(str, seed)]
    done = subprocess.run(
        ["java", "-cp", jar, program, source, *form],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)
