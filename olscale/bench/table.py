"""Benchmark figures as a table and as JSON, with the machine that they are from."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

from olscale.bench.base import Figure

TITLES = ("what", "value", "unit", "ratio", "to", "target", "note")


def cells(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return a row of texts for each figure, below `TITLES`.

    Examples
    --------
    >>> slow = Figure("pa1", 3.9, "M rows/s", 0.95, "bare loop", ">= 0.9")
    >>> for line in cells([slow, Figure("peer", note="not installed")]):
    ...     print(line)
    ('pa1', '3.90', 'M rows/s', '0.95', 'bare loop', '>= 0.9 met', '')
    ('peer', '-', '', '', '', '', 'not installed')
    """
    verdict = {None: "", True: " met", False: " MISSED"}
    return [
        (
            figure.name,
            "-" if figure.value is None else _number(figure.value),
            figure.unit,
            "" if figure.ratio is None else _number(figure.ratio),
            figure.peer,
            figure.target + verdict[figure.met],
            figure.note,
        )
        for figure in figures
    ]


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    if 0.1 <= value < 10:
        return f"{value:.2f}"
    return f"{value:.3g}"


def as_json(
    figures_of: Mapping[str, Sequence[Figure]], machine: Mapping[str, Any]
) -> str:
    """Return the figures of all benchmarks with the machine they are from."""
    benchmarks = {
        name: [{**asdict(figure), "met": figure.met} for figure in figures]
        for name, figures in figures_of.items()
    }
    return json.dumps({"machine": machine, "benchmarks": benchmarks}, indent=1) + "\n"


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
        "versions": {
            name: version(name) for name in _PACKAGES if list(distributions(name=name))
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    # Processors other than Intel's and AMD's give no name there.
    return platform.machine()
