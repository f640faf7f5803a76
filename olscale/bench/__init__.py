"""Speed benchmarks: figures as ratios against peers that run in turns with them in one process.

A benchmark is a module with a function ``figures()`` that returns `Figure` objects. To add one, name its module below.

A peer that is not installed is a line that says how to install it; a learner that is not registered likewise.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from olscale.bench.base import Figure, one_thread
from olscale.errors import UnknownNameError

__all__ = ["BENCHMARKS", "Figure", "run"]

BENCHMARKS = {
    "parse": "olscale.bench.parse",
    "linear": "olscale.bench.linear",
    "local": "olscale.bench.local",
    "dask": "olscale.bench.dask_costs",
    "store": "olscale.bench.store",
}


def run(names: Sequence[str] = ()) -> dict[str, list[Figure]]:
    """Run benchmarks one after another, on one thread.

    Parameters
    ----------
    names : sequence of str
        Which; all when empty.

    Returns
    -------
    dict of str to list of Figure

    Raises
    ------
    UnknownNameError
        If there is no such benchmark; nothing has run then.
    """
    for name in names:
        if name not in BENCHMARKS:
            raise UnknownNameError("benchmark", name, BENCHMARKS)
    found: dict[str, list[Figure]] = {}
    with one_thread():
        for name in names or BENCHMARKS:
            module: Any = importlib.import_module(BENCHMARKS[name])
            found[name] = module.figures()
    return found
