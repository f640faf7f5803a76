"""Whole Python processes, as a user starts them, and the processor time of them and children."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def run_python(folder: Path, arguments: Sequence[str]) -> None:
    """Run this Python with `arguments` in `folder`, discard its output, and raise if it fails."""
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        check=True,
    )


def python_usage(folder: Path, arguments: Sequence[str]) -> tuple[float, float]:
    """Run as `run_python`; return the processor seconds, and the largest process's megabytes."""
    command = [sys.executable, *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=_environment(), stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )


def children_seconds() -> float:
    """Return the user and system seconds of all processes below this one that have ended.

    Unlike wall time they are the same on a machine that others use.
    """
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _environment() -> dict[str, str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    # who has installed a package does not compile it at each start
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment
