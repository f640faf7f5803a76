"""What the figures were measured on."""

import os
import platform
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "olscale",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "dask",
    "distributed",
    "vowpalwabbit",
    "river",
)


def machine() -> dict[str, Any]:
    """Return processor, cores, load, system and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES if list(distributions(name=name))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
