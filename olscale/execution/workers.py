"""The workers of a cluster: who is there, who has room, and calls that end when their worker does."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from olscale.errors import ExecutionError
from olscale.execution.settings import SETTINGS, ExecutionSettings

T = TypeVar("T")

ACTORS_A_WORKER = 1
TASKS_A_THREAD = 2
"""The second keeps a thread busy while the first result travels; more would be lost with a worker that dies."""


class WorkerLostError(ExecutionError):
    """What a worker was doing is gone.

    Attributes
    ----------
    worker : str
        Its address.
    """

    worker = ""


class ClosedError(ExecutionError):
    """No worker takes anything more."""


class Workers:
    """The workers behind `client`, as the scheduler has told last.

    The driver itself says which worker gets what: it then knows who was at work where when a worker died.

    Parameters
    ----------
    client : distributed.Client
        Asynchronous.
    fits : callable, optional
        Says of each worker that joins, before it gets any work, whether it fits; all do by default.
    settings : ExecutionSettings
    """

    def __init__(
        self,
        client: Any,
        fits: Callable[[str], Awaitable[bool]] | None = None,
        settings: ExecutionSettings = SETTINGS,
    ) -> None:
        self._client, self._fits, self._settings = client, fits or _any_fits, settings
        self._there: dict[str, int] = {}  # all there are, and of these those that may get work
        self._threads: dict[str, int] = {}
        self._joined: dict[str, asyncio.Task[None]] = {}
        self._fitting: set[str] = set()
        self._given_up: set[str] = set()
        self._alone: set[str] = set()
        self._tasks: Counter[str] = Counter()
        self._actors: Counter[str] = Counter()
        self._changed = asyncio.Condition()
        # Who waits for room stands in a queue, one for tasks and one for actors: whatever changes, only the first looks.
        self._queues = {actor: asyncio.Lock() for actor in (False, True)}
        self._waiting = 0  # for room for a task
        self._closed = False
        # Seconds that the cluster was seen without a worker, look by look. A clock would also count the time in which nobody
        # looked: a machine that was suspended or overloaded is no cluster without workers.
        self._deserted, self._looked = 0.0, monotonic()

    async def look(self) -> None:
        """Ask the scheduler which workers there are; raise when there is nothing left to wait for.

        Raises
        ------
        ExecutionError
            If the scheduler does not answer, or there has been no worker for three minutes.
        """
        try:
            async with asyncio.timeout(self._settings.answer_seconds):
                threads = await self._client.scheduler.ncores()
        except (OSError, TimeoutError):
            raise ExecutionError(
                "the Dask scheduler went away; start it and run the same command again: finished runs are in the store"
            ) from None
        passed, self._looked = monotonic() - self._looked, monotonic()
        self._there = dict(threads)
        self._admit()
        if self._threads:
            self._deserted = 0.0
        else:
            self._deserted += min(passed, 5 * self._settings.watch_seconds)  # counts at most
        if self._deserted > self._settings.no_worker_seconds:
            fitting = "that fits " if threads.keys() - self._given_up else ""
            raise ExecutionError(
                f"the cluster has had no worker {fitting}for {self._settings.no_worker_seconds:.0f} s; "
                "start one and run the same command again"
            )
        await self.notify()

    def _admit(self) -> None:
        """Ask the workers that have joined whether they fit; those that do may get work."""
        for worker in self._joined.keys() - self._there.keys():  # another one may come back at this address
            self._forget(worker)
        for worker in self._there.keys() - self._joined.keys():
            self._joined[worker] = asyncio.ensure_future(self._ask(worker))
        fitting = self._fitting - self._given_up
        self._threads = {worker: count for worker, count in self._there.items() if worker in fitting}

    async def _ask(self, worker: str) -> None:
        """Find out whether a worker fits; one that does not answer is asked again, for as long as it is there."""
        while True:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(self._settings.answer_seconds):
                    if await self._fits(worker):
                        self._fitting.add(worker)
                        self._deserted = 0.0
                break
            await asyncio.sleep(self._settings.watch_seconds)
        self._admit()
        await self.notify()

    def _forget(self, worker: str) -> None:
        self._fitting.discard(worker)
        if asked := self._joined.pop(worker, None):
            asked.cancel()

    def close(self) -> None:
        """Ask nobody any more."""
        for asked in self._joined.values():
            asked.cancel()

    async def close_queues(self) -> None:
        """Give room to nobody any more."""
        self._closed = True
        await self.notify()

    async def notify(self) -> None:
        """Have everybody that waits look again."""
        async with self._changed:
            self._changed.notify_all()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for a condition; it is looked at whenever the workers have changed, and once a second."""
        async with self._changed:
            await self._changed.wait_for(true)

    @asynccontextmanager
    async def place(self, actor: bool, alone: bool) -> AsyncIterator[str]:
        """Wait for room for an actor or a task and yield the worker that has it; `alone`, for a worker of its own.

        Raises
        ------
        ClosedError
            If the queues were closed before there was room.
        """
        load = self._actors if actor else self._tasks
        if alone:
            worker = await self._take_alone()
            load[worker] += 1
        else:
            self._waiting += not actor
            try:
                if self._waiting == sum(self._threads.values()) + 1:
                    await self.notify()  # from now on they are handed out ahead
                async with self._queues[actor]:
                    worker = await self._take(actor)
                    load[worker] += 1
            finally:
                self._waiting -= not actor
        try:
            yield worker
        finally:
            load[worker] -= 1
            if alone:
                self._alone.discard(worker)
            await self.notify()

    @property
    def threads(self) -> float:
        """Threads of a worker, on average; one while there is none."""
        return sum(self._threads.values()) / len(self._threads) if self._threads else 1.0

    @property
    def report_seconds(self) -> float:
        """How long a worker keeps silent between two reports, so that all of them are not too many for the scheduler."""
        return max(self._settings.report_seconds, sum(self._threads.values()) / self._settings.most_reports)

    async def _take(self, actor: bool) -> str:
        def room() -> list[str]:
            return [worker for worker in self._threads if worker not in self._alone and self._has_room(worker, actor)]

        await self._until_open(lambda: bool(room()))
        return min(room(), key=self._load)

    async def _until_open(self, true: Callable[[], bool]) -> None:
        await self.until(lambda: self._closed or true())
        if self._closed:
            raise ClosedError

    def _has_room(self, worker: str, actor: bool) -> bool:
        if actor:
            return self._actors[worker] < ACTORS_A_WORKER
        # Of the last ones none is handed out ahead: it would wait for the one before while other threads have nothing.
        ahead = TASKS_A_THREAD if self._waiting > sum(self._threads.values()) else 1
        return self._tasks[worker] < ahead * self._threads[worker]

    def _load(self, worker: str) -> int:
        return self._actors[worker] + self._tasks[worker]

    async def _take_alone(self) -> str:
        """Keep a worker from getting more to do and wait until it has nothing."""
        while True:
            await self._until_open(lambda: bool(self._threads.keys() - self._alone))
            worker = min(sorted(self._threads.keys() - self._alone), key=self._load)
            self._alone.add(worker)
            try:
                await self._until_open(partial(self._idle_or_gone, worker))
            except BaseException:
                self._alone.discard(worker)
                raise
            if worker in self._threads:
                return worker
            self._alone.discard(worker)

    def _idle_or_gone(self, worker: str) -> bool:
        return worker not in self._threads or not self._load(worker)

    def forget(self, worker: str) -> None:
        """Take a worker for dead until the scheduler says again that it lives; whoever is there then is asked anew."""
        self._threads.pop(worker, None)
        self._forget(worker)
        self._deserted = 0.0  # it was there until now

    async def give_up(self, worker: str) -> None:
        """Never use a worker again, and have its nanny end it: it does not answer."""
        self._given_up.add(worker)
        self.forget(worker)
        await self.notify()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._settings.answer_seconds):
                await self._client.restart_workers([worker], raise_for_error=False)

    async def answer(self, what: str, call: Awaitable[Any], worker: str) -> Any:
        """Await `call` to `worker`.

        Raises
        ------
        WorkerLostError
            If the worker leaves the cluster, whatever Dask makes of that.
        ExecutionError
            If the call fails otherwise: nothing that runs on workers lets an exception out.
        """
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        answer = asyncio.ensure_future(_value(call))
        # A call to a frozen or vanished worker may never come back: its leaving the cluster ends the wait.
        left = asyncio.ensure_future(self.until(lambda: worker not in self._threads))
        try:
            await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise WorkerLostError
            return answer.result()
        except (OSError, RuntimeError, KilledWorker, FutureCancelledError, _CallCancelledError):
            raise WorkerLostError from None
        except WorkerLostError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise ExecutionError(
                f"{what} cannot run on worker {worker} ({reason}); does it have the driver's olscale and the same modules?"
            ) from None
        finally:
            answer.cancel()
            left.cancel()


async def _any_fits(worker: str) -> bool:
    return True


class _CallCancelledError(Exception):
    """Dask has cancelled a call; not to be taken for our own being cancelled."""


async def _value(call: Awaitable[T]) -> T:
    try:
        return await call
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _CallCancelledError(str(error)) from None
