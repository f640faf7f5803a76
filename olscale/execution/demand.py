"""The demand of drivers for workers, reported to the scheduler for Dask's adaptive scaling.

By itself the scheduler sees at most two tasks per thread, and no busy actors, since drivers keep
the queue: a cluster would never grow, and shrink under its streams. So each driver reports once per
second how many workers it could use and which are working for it.
"""

from collections.abc import Collection, Mapping
from time import monotonic
from typing import Any

from distributed import SchedulerPlugin

_NAME = "olscale-demand"


class _Demand(SchedulerPlugin):
    """Adds the demand of drivers to that of the scheduler."""

    name = _NAME

    def __init__(self, scheduler: Any) -> None:
        self.asked: dict[str, tuple[float, int, frozenset[str]]] = {}
        self._of_dask = scheduler.adaptive_target
        scheduler.adaptive_target = scheduler.handlers["adaptive_target"] = self.target

    def target(self, *args: Any, **options: Any) -> int:
        """Return the target number of workers, in place of `Scheduler.adaptive_target`."""
        target: int = max(
            self._of_dask(*args, **options), sum(workers for workers, _ in self._now())
        )
        return target

    def valid_workers_downscaling(
        self, scheduler: Any, workers: list[Any]
    ) -> list[Any]:
        busy = {address for _, addresses in self._now() for address in addresses}
        return [worker for worker in workers if worker.address not in busy]

    def _now(self) -> list[tuple[int, frozenset[str]]]:
        """Return the current demand, without that of drivers that are gone."""
        return [
            (workers, busy)
            for until, workers, busy in self.asked.values()
            if monotonic() < until
        ]


def ask_for_workers(
    driver: str,
    workers: int,
    busy: Collection[str],
    seconds: float,
    dask_scheduler: Any = None,
) -> None:
    """Set a driver's demand for `workers`, and keep those that are `busy`; runs on the scheduler.

    Parameters
    ----------
    driver : str
        Name of the driver; replaces its earlier demand.
    workers : int
        Number of workers that it could use.
    busy : collection of str
        Addresses of the workers that work for it.
    seconds : float
        Time after which the demand expires.
    dask_scheduler : distributed.Scheduler
        Passed by Dask.
    """
    plugins: Mapping[str, Any] = dask_scheduler.plugins
    if _NAME not in plugins:
        dask_scheduler.add_plugin(_Demand(dask_scheduler), name=_NAME)
    demands = plugins[_NAME].asked
    demands[driver] = monotonic() + seconds, workers, frozenset(busy)
    for gone in [
        name
        for name, (until, *_) in demands.items()
        if until < monotonic() and name != driver
    ]:
        del demands[gone]
    dask_scheduler.idle_since = None  # an idle-timeout ignores busy actors
