"""Whole processes of Python, as a user starts them, and the processor time that they and all below them take."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def run_python(folder: Path, arguments: Sequence[str]) -> None:
    """Run this Python with `arguments` in `folder`; what it prints is thrown away, and a failure is an error."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # who has installed a package does not compile it at each start
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=True)


def children_seconds() -> float:
    """Return the processor seconds, of programs and system, of all processes below this one that have ended.

    Unlike wall time they are the same on a machine that others use.
    """
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
