"""What Dask adds: a task, an actor call, and a stream through an actor beside the same fold in process."""

import asyncio
import statistics
from time import perf_counter
from typing import Any

from olscale.bench.base import Figure
from olscale.bench.linear import feed
from olscale.bench.workloads.url_like import chunks
from olscale.learners.registry import make_learner

_CALLS = 100
_ROWS, _STREAM_CALLS = 4_000, 20


class _Stream:
    """A learner with its rows on one worker; each call is one pass over them."""

    def __init__(self) -> None:
        self._rows = list(chunks(_ROWS, columns=100_000))
        self._learner = make_learner("lol", {"dtype": "float32"})
        self._learner.begin(100_000, 2)
        self.advance(0)

    def nothing(self, number: int) -> int:
        """Answer at once."""
        return number

    def advance(self, number: int) -> int:
        """Learn from the rows."""
        feed(self._learner, self._rows)
        return number


def _nothing(number: int) -> int:
    return number


def figures() -> list[Figure]:
    """Return the costs of one worker with one thread, started for this."""
    return asyncio.run(_measured())


async def _measured() -> list[Figure]:
    from olscale.execution.cluster import connect
    from olscale.execution.cluster_options import ClusterOptions

    async with connect(ClusterOptions(workers=1)) as client:
        actor: Any = await client.submit(_Stream, actor=True)
        await client.submit(_nothing, -1)
        await actor.nothing(-1)
        tasks, calls = [], []
        for number in range(_CALLS):
            start = perf_counter()
            await client.submit(_nothing, number, pure=False)
            middle = perf_counter()
            await actor.nothing(number)
            tasks.append(middle - start)
            calls.append(perf_counter() - middle)
        local = _Stream()
        shares, seconds = [], []
        for _ in range(4):
            start = perf_counter()
            for number in range(_STREAM_CALLS):
                local.advance(number)
            middle = perf_counter()
            for number in range(_STREAM_CALLS):
                await actor.advance(number)
            stop = perf_counter()
            shares.append((middle - start) / (stop - middle))
            seconds.append((stop - middle) / _STREAM_CALLS)
    call, share, note = (
        statistics.median(seconds[1:]),
        statistics.median(shares[1:]),
        "the longer a call, the nearer to 1",
    )
    return [
        Figure("task, there and back", 1e3 * statistics.median(tasks), "ms"),
        Figure("actor call, there and back", 1e3 * statistics.median(calls), "ms"),
        Figure(
            "stream on an actor",
            1e3 * call,
            "ms a call",
            share,
            "the same fold in process",
            note=note,
        ),
    ]
