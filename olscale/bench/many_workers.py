"""What the driver does for a group beside its messages, by the number of workers: the forecast takes it for the same."""

import asyncio
from collections import deque
from time import process_time
from typing import Any

from olscale.bench.base import Figure
from olscale.execution.workers import Workers

_GROUPS = 200


class _Scheduler:
    """Says that there are so many workers."""

    def __init__(self, count: int) -> None:
        self.scheduler = self
        self._workers = {
            f"tcp://10.{i >> 16}.{i >> 8 & 255}.{i & 255}:40000": 1 for i in range(count)
        }

    async def ncores(self) -> dict[str, int]:
        return self._workers


def figures(counts: tuple[int, ...] = (10, 100, 1_000, 10_000)) -> list[Figure]:
    """Return the processor time from the answer to a group until its worker has another, two being out on each."""
    return [
        Figure(
            f"driver, choice among {count} workers",
            1e3 * asyncio.run(_seconds_a_group(count)),
            "ms",
        )
        for count in counts
    ]


async def _seconds_a_group(count: int) -> float:
    workers = Workers(_Scheduler(count))
    out: deque[asyncio.Future[None]] = deque()
    ended = 0

    async def group() -> None:
        nonlocal ended
        async with workers.place(actor=False, alone=False) as worker:
            out.append(asyncio.get_running_loop().create_future())
            await workers.answer("a group", out[-1], worker)
        ended += 1

    await workers.look()
    waiting: list[asyncio.Task[Any]] = [
        asyncio.create_task(group()) for _ in range(3 * count + 2 * _GROUPS)
    ]
    while len(out) < 2 * count:
        await asyncio.sleep(0)
    start = process_time()
    for number in range(_GROUPS):
        out.popleft().set_result(None)
        while ended <= number or len(out) < 2 * count:
            await asyncio.sleep(0)
    spent = process_time() - start
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    workers.close()
    return spent / _GROUPS
