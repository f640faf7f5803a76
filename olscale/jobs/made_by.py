"""What a night is made by: code, versions of libraries, and the machine with its load."""

import os
import socket
import subprocess
from importlib.metadata import version
from pathlib import Path

import olscale
from olscale.bench.table import machine
from olscale.system.memory import memory_bytes
from olscale.system.source_digest import package_digest

# BLAS sums in another order, and so to other bits, on another number of threads.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def made_by() -> dict[str, str]:
    """Return what this process's results and speeds are made by, all as text.

    Examples
    --------
    >>> sorted(made_by().keys() & {"code", "machine", "numpy", "olscale", "host"})
    ['code', 'host', 'machine', 'numpy', 'olscale']
    """
    host = machine()
    # A digest of olscale's files says what a commit does not: an edited checkout keeps its commit.
    facts = {
        "code": package_digest()[:16],
        **_commit(),
        "python": host["python"],
        **host["versions"],
    }
    facts |= {"pyarrow": version("pyarrow"), "blas": _blas()}
    facts |= {name: os.environ[name] for name in _THREADS if name in os.environ}
    # Containers and batch systems may allow fewer cores than the machine has.
    cores = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):  # which macOS lacks
        cores = len(os.sched_getaffinity(0))
    return facts | {
        "machine": f"{host['processor']}, {host['cores']} cores",
        "memory": f"{memory_bytes() / 2**30:.0f} GiB",
        "system": host["system"],
        "usable cores": str(cores),
        "host": socket.gethostname(),
        "container": "yes" if _in_container() else "no",
    }


def load_of_a_core() -> float:
    """Return the load per core of the last minute; 0 if the system does not report it."""
    if hasattr(os, "getloadavg"):
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    return 0.0


def unlike(before: dict[str, str], now: dict[str, str]) -> str:
    """Return what differs between what two nights were made by, as text.

    Examples
    --------
    >>> unlike({"numpy": "2.0", "host": "a"}, {"numpy": "2.1", "host": "a"})
    'numpy 2.0 -> 2.1'
    """
    names = [name for name in before | now if before.get(name) != now.get(name)]
    return ", ".join(
        f"{name} {before.get(name, 'none')} -> {now.get(name, 'none')}"
        for name in names
    )


def _commit() -> dict[str, str]:
    """Return the commit of a checkout and whether it has changes; nothing if installed."""
    root = Path(olscale.__file__).parents[1]
    if not (root / ".git").exists():
        return {}
    try:
        answers = [
            subprocess.run(
                ["git", "-C", str(root), *words],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            ).stdout
            for words in (
                ["rev-parse", "HEAD"],
                ["status", "--porcelain", "--", "olscale"],
            )
        ]
    except (OSError, subprocess.SubprocessError):
        return {}
    commit, changes = answers
    return {"commit": commit.strip()[:12] + "+" * bool(changes.strip())}


def _blas() -> str:
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool.get("user_api") == "blas"]
    return ", ".join(
        sorted({f"{pool['internal_api']} {pool.get('version')}" for pool in pools})
    )


def _in_container() -> bool:
    marks = ("/.dockerenv", "/run/.containerenv")
    return (
        any(Path(mark).exists() for mark in marks)
        or "KUBERNETES_SERVICE_HOST" in os.environ
    )
