"""The watchdog of a worker: ends a process whose learner is over its budget and does not return.

Nothing else ends a kernel that runs for ever. Before it does, it leaves a verdict beside the pack's checkpoints, so that
whoever goes on with the pack gives that run its outcome and the others their results.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from olscale.evaluation.budget import Excess, Meter, resident_bytes
from olscale.evaluation.fold import Fold

__all__ = ["watching"]

POLL_SECONDS = 0.05
FULL = 0.9
"""Share of the worker's memory limit beyond which it is taken to be full; its nanny ends it at 0.95."""

Condemn = Callable[[Sequence[Fold], Excess], None]


@contextmanager
def watching(meter: Meter, memory_limit: int, alone: bool, condemn: Condemn) -> Iterator[None]:
    """Watch the calls into learners made in the block, from a thread of its own.

    Parameters
    ----------
    meter : Meter
        Tells which learner is being called, and whether it is over its budget.
    memory_limit : int
        Bytes that the process may hold; 0 for any number.
    alone : bool
        Whether the pack has one run: only then is a full process that run's fault.
    condemn : callable
        Writes the verdict on runs.
    """
    over = threading.Event()
    thread = threading.Thread(
        target=_watch, args=(meter, memory_limit, alone, condemn, over), name="olscale-watchdog", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(meter: Meter, memory_limit: int, alone: bool, condemn: Condemn, over: threading.Event) -> None:
    seconds = meter.budget.max_seconds or 0.0
    # A call that is only slow is left to return: ending the process costs the others what they did since their checkpoint.
    grace = max(2.0, 0.1 * seconds)
    while not over.wait(POLL_SECONDS):
        found = meter.excess(grace)
        if found is None and alone and memory_limit and meter.running and resident_bytes() > FULL * memory_limit:
            found = meter.running, Excess("oom", "filled the memory of its worker")
        if found is not None:
            runs, excess = found
            condemn([run for run in runs if isinstance(run, Fold)], excess)
            os.kill(os.getpid(), signal.SIGKILL)
