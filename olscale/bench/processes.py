"""Whole Python processes, as a user starts them, and the processor time of them and children."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_LAUNCHER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
seconds = usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss]))
# So that its destructor does not wait for a process that has ended.
process.returncode = 0
"""


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
    # Linux counts what a process held before it became another program: a copy of a benchmark
    # that filled a store would count all of that, so a small process starts the measured one.
    command = [sys.executable, "-c", _LAUNCHER, sys.executable, *arguments]
    launched = subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, check=True
    )
    code, seconds, maximum = json.loads(launched.stdout)
    if code:
        raise subprocess.CalledProcessError(code, command[3:])
    return seconds, maximum / (1e6 if sys.platform == "darwin" else 1e3)


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
