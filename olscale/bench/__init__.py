"""Speed benchmarks: figures as ratios against peers that run in turns with them in one process.

A benchmark is a function that returns `Figure` objects. To add one, name it below.

A peer that is not installed is a line that says how to install it; a learner that is not registered
likewise.
"""

import inspect
from collections.abc import Sequence
from pkgutil import resolve_name

from olscale.bench.base import Figure, one_thread
from olscale.errors import UnknownNameError

__all__ = ["BENCHMARKS", "ON_REQUEST", "Figure", "run"]

BENCHMARKS = {
    "parse": "olscale.bench.parse:figures",
    "tables": "olscale.bench.tables:figures",
    "linear": "olscale.bench.linear:figures",
    "regression": "olscale.bench.regression:figures",
    "kernel": "olscale.bench.kernel:figures",
    "onepass": "olscale.bench.onepass:figures",
    "networks": "olscale.bench.networks:figures",
    "local": "olscale.bench.local:figures",
    "soft-local": "olscale.bench.local:soft_figures",
    "soft-local-wide": "olscale.bench.local:wide_figures",
    "drift": "olscale.bench.drift:figures",
    "adapters": "olscale.bench.adapters:figures",
    "peers": "olscale.bench.peers:figures",
    "permute": "olscale.bench.permute:figures",
    "workers": "olscale.bench.workers:figures",
    "two-workers": "olscale.bench.two_workers:figures",
    "runs": "olscale.bench.runs:figures",
    "scale": "olscale.bench.scale:figures",
    "memory": "olscale.bench.memory:figures",
    "compare": "olscale.bench.compare:figures",
    "leaderboard": "olscale.bench.leaderboard:figures",
    "views": "olscale.bench.views:figures",
    "start": "olscale.bench.start:figures",
    "costs": "olscale.bench.costs:figures",
}

ON_REQUEST = {
    "costs",
    "memory",
    "peers",
    "soft-local-wide",
    "tables",
    "two-workers",
    "views",
}
"""Benchmarks that run only if they are named: they take long, or much memory or disk."""


def run(
    names: Sequence[str] = (), rows: int | None = None, python: str | None = None
) -> dict[str, list[Figure]]:
    """Run benchmarks one after another, on one thread.

    Parameters
    ----------
    names : sequence of str
        Which; all when empty, but for those in `ON_REQUEST`.
    rows : int, optional
        Rows of the streams of those benchmarks whose size can be chosen; their own when left out.
    python : str, optional
        Interpreter that has CapyMOA, for benchmarks that compare with it; this one when left out.

    Raises
    ------
    UnknownNameError
        If there is no such benchmark; nothing has run then.
    """
    for name in names:
        if name not in BENCHMARKS:
            raise UnknownNameError("benchmark", name, BENCHMARKS)
    results: dict[str, list[Figure]] = {}
    chosen = {"rows": rows, "python": python}
    chosen = {key: value for key, value in chosen.items() if value is not None}
    with one_thread():
        for name in names or [name for name in BENCHMARKS if name not in ON_REQUEST]:
            # Imported by name, since peers of one benchmark may be missing for another.
            figures = resolve_name(BENCHMARKS[name])
            known = inspect.signature(figures).parameters
            options = {key: value for key, value in chosen.items() if key in known}
            results[name] = figures(**options)
    return results
