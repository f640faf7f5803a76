"""What drivers could use, told to the scheduler: Dask's adaptive scaling knows nothing of a queue that the driver keeps.

By itself the scheduler sees at most two tasks a thread, and no actor at work: a cluster would never
grow, and be taken from under its streams. So each driver says once a second how many workers it
could use and which are at work for it.
"""

from collections.abc import Collection, Mapping
from time import monotonic
from typing import Any

from distributed import SchedulerPlugin

_NAME = "olscale-demand"


class _Demand(SchedulerPlugin):
    """Adds what drivers have asked for to what the scheduler would ask for."""

    name = _NAME

    def __init__(self, scheduler: Any) -> None:
        self.asked: dict[str, tuple[float, int, frozenset[str]]] = {}
        self._of_dask = scheduler.adaptive_target
        scheduler.adaptive_target = scheduler.handlers["adaptive_target"] = self.target

    def target(self, *args: Any, **options: Any) -> int:
        """Return how many workers there should be, in place of `Scheduler.adaptive_target`."""
        wanted: int = max(
            self._of_dask(*args, **options), sum(workers for workers, _ in self._now())
        )
        return wanted

    def valid_workers_downscaling(self, scheduler: Any, workers: list[Any]) -> list[Any]:
        busy = {address for _, addresses in self._now() for address in addresses}
        return [worker for worker in workers if worker.address not in busy]

    def _now(self) -> list[tuple[int, frozenset[str]]]:
        """Return what counts: a driver that is gone says nothing more."""
        return [
            (workers, busy) for until, workers, busy in self.asked.values() if monotonic() < until
        ]


def ask_for_workers(
    driver: str, workers: int, busy: Collection[str], seconds: float, dask_scheduler: Any = None
) -> None:
    """Have the scheduler count on `workers` for a driver, and keep those that are `busy`; called on the scheduler.

    Parameters
    ----------
    driver : str
        Its name; what it asked for before is replaced.
    workers : int
        How many it could use.
    busy : collection of str
        Addresses of those that are at work for it.
    seconds : float
        After which this is forgotten.
    dask_scheduler : distributed.Scheduler
        Dask gives it.
    """
    plugins: Mapping[str, Any] = dask_scheduler.plugins
    if _NAME not in plugins:
        dask_scheduler.add_plugin(_Demand(dask_scheduler), name=_NAME)
    asked = plugins[_NAME].asked
    asked[driver] = monotonic() + seconds, workers, frozenset(busy)
    for gone in [
        name for name, (until, *_) in asked.items() if until < monotonic() and name != driver
    ]:
        del asked[gone]
    dask_scheduler.idle_since = None  # an idle-timeout would not see actors at work
