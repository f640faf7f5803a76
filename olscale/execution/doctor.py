"""Checks of the environment for problems that an evaluation would meet.

A check is a function that returns its finding, and raises `OlscaleError` where an evaluation would
fail.
"""

import asyncio
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np

from olscale import __version__
from olscale.addresses import redacted
from olscale.compiled.class_totals import add_class_totals
from olscale.compiled.code_files import shipped_folder
from olscale.compiled.csr import to_csr
from olscale.compiled.decorator import machine_code_folder
from olscale.data.catalogue.fetch import HOME, MIRROR, data_home
from olscale.data.shuffle.spill_file import scratch_folder
from olscale.errors import ExecutionError, OlscaleError
from olscale.execution.cluster import connect
from olscale.execution.settings import ClusterOptions
from olscale.learners.registry import make_learner
from olscale.storage.open import open_storage
from olscale.system.interrupts import text_of
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text

_LEAST_FREE = 1 << 30
_LEAST_MEMORY = 1 << 30
_LEAST_FILES = 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Attributes
    ----------
    name : str
        Subject of the check.
    fine : bool
        Whether an evaluation can run with it.
    says : str
        The finding; if it is not fine, also what was expected and what to do.
    """

    name: str
    fine: bool
    says: str


def examine() -> Iterator[Finding]:
    """Yield the finding of each check, quick ones first; no check changes anything."""
    for name, check in CHECKS.items():
        try:
            yield Finding(name, True, redacted(check()))
        except OlscaleError as fault:
            yield Finding(name, False, str(fault))
        except Exception as fault:
            # a check that fails is a finding; the others run as usual
            yield Finding(name, False, text_of(fault))


def _versions() -> str:
    names = (
        "numpy",
        "scipy",
        "scikit-learn",
        "numba",
        "pyarrow",
        "zarr",
        "dask",
        "distributed",
    )
    packages = [f"{name} {version(name)}" for name in names]
    return ", ".join(
        [f"olscale {__version__}", f"python {platform.python_version()}", *packages]
    )


def _machine() -> str:
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count()
    )
    memory = memory_bytes()
    if memory < _LEAST_MEMORY:
        raise ExecutionError(
            f"{size_text(memory)} of memory, expected {size_text(_LEAST_MEMORY)}: give it more"
        )
    return f"{cores} cores, {size_text(memory)} of memory"


def _open_files() -> str:
    if os.name != "posix":
        return "as many as the system allows"
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most < _LEAST_FILES:
        raise ExecutionError(
            f"{most} open files a process, expected {_LEAST_FILES}; raise it with ulimit -n"
        )
    return f"{most} a process"


def _temporary_files() -> str:
    folder = scratch_folder()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"0")
        free = shutil.disk_usage(folder).free
    except OSError as fault:
        raise ExecutionError(
            f"{folder} cannot be written to ({text_of(fault)}); name another folder in "
            "OLSCALE_SCRATCH or TMPDIR"
        ) from None
    if free < _LEAST_FREE:
        raise ExecutionError(
            f"{folder} has {size_text(free)} left, expected {size_text(_LEAST_FREE)} for "
            "permutations that do not fit "
            "in memory; name another folder in OLSCALE_SCRATCH"
        )
    return f"{folder}, {size_text(free)} left"


def _data_home() -> str:
    mirror = os.environ.get(MIRROR)
    if mirror and not Path(mirror).is_dir():
        raise ExecutionError(
            f"{MIRROR} is {mirror}, expected a folder; mend the variable or leave it out"
        )
    home = data_home()
    files = ""
    if mirror:
        files = f", files of {mirror}"
    if "://" in home:
        open_storage(home).names("")
        return home + files
    nearest = next(
        folder
        for folder in (Path(home), *Path(home).absolute().parents)
        if folder.exists()
    )
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        raise ExecutionError(
            f"{home} cannot be written to; name another folder in {HOME}"
        )
    return home + files


def _machine_code() -> str:
    """Learn the same rows dense and sparse, by compiled loops and in plain Python."""
    rng = np.random.default_rng(0)
    start = perf_counter()
    X = rng.normal(size=(200, 8)) * (rng.random((200, 8)) < 0.5)
    y = (X @ rng.normal(size=8) > 0.0).astype(np.int64)
    w = np.zeros(8)
    mistakes = 0
    # Passive-aggressive learning in plain Python is the reference for the compiled loops.
    for x, target in zip(X, 2.0 * y - 1.0, strict=True):
        f = x @ w
        square = x @ x
        mistakes += (f >= 0.0) != (target > 0.0)
        if square > 0.0:
            w += min(1.0, max(0.0, 1.0 - target * f) / square) * target * x
    counts = []
    for rows in (X, to_csr(X)):
        learner = make_learner("pa1", {"C": 1.0})
        learner.begin(8, 2)
        counts.append(
            int(np.count_nonzero((learner.learn(rows, y)[:, 0] >= 0.0) != (y == 1)))
        )
    if counts != [mistakes, mistakes]:
        raise ExecutionError(
            f"compiled pa1 made {counts[0]} and {counts[1]} mistakes on dense and sparse rows, "
            f"expected {mistakes}; "
            "make the machine code anew (NUMBA_CACHE_DIR names another folder for it) and report "
            "this if it stays"
        )
    location = "shipped with the package"
    if not shipped_folder():
        location = f"kept in {machine_code_folder(add_class_totals)}"
    return (
        f"right on dense and sparse rows, in {perf_counter() - start:.1f} s; {location}"
    )


def _workers() -> str:
    async def start() -> None:
        async with connect(ClusterOptions(workers=1)) as client:
            await client.submit(os.getpid)

    begin = perf_counter()
    asyncio.run(start())
    return f"one started, answered and ended, in {perf_counter() - begin:.1f} s"


CHECKS: dict[str, Callable[[], str]] = {
    "versions": _versions,
    "machine": _machine,
    "open files": _open_files,
    "temporary files": _temporary_files,
    "data home": _data_home,
    "machine code": _machine_code,
    "local workers": _workers,
}
"""Subject -> check."""
