"""The workers of a cluster: which exist, which have room, and calls that end with their worker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, TypeVar

from olscale.errors import ExecutionError
from olscale.execution.room import Room
from olscale.execution.settings import SETTINGS, ExecutionSettings

T = TypeVar("T")


class WorkerLostError(ExecutionError):
    """The work of a worker is lost.

    Attributes
    ----------
    worker : str
        Address of the worker.
    """

    worker = ""


class ClosedError(ExecutionError):
    """The workers accept nothing more."""


class Workers:
    """The workers behind `client`, as last reported by the scheduler.

    The driver itself assigns work, so that it knows what ran on a worker that died.

    Parameters
    ----------
    client : distributed.Client
        Asynchronous client.
    fits : callable, optional
        Returns whether a worker that joins fits, before it gets any work; all fit by default.
    settings : ExecutionSettings
    """

    def __init__(
        self,
        client: Any,
        fits: Callable[[str], Awaitable[bool]] | None = None,
        settings: ExecutionSettings = SETTINGS,
    ) -> None:
        self._client = client
        self._fits = fits or _any_fits
        self._settings = settings
        self._threads_of: dict[str, int] = {}  # all workers, some of which may not get work
        self._room = Room()
        self._departures: dict[str, asyncio.Event] = {}
        self._joined: dict[str, asyncio.Task[None]] = {}
        self._fitting: set[str] = set()
        self._given_up: set[str] = set()
        self._changed = asyncio.Condition()
        # Waiters stand in two queues, for tasks and for actors: after a change only the first one
        # checks for room.
        self._queues = {actor: asyncio.Lock() for actor in (False, True)}
        self._closed = False
        # Seconds for which the cluster was seen without a worker, query by query. A clock would
        # also count time without queries: a suspended or overloaded machine is not a cluster
        # without workers.
        self._deserted = 0.0
        self._looked = monotonic()

    async def look(self) -> None:
        """Ask the scheduler for the current workers; raise when there is nothing left to wait for.

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
                "the Dask scheduler went away; start it and run the same command again: finished "
                "runs are in the store"
            ) from None
        passed = monotonic() - self._looked
        self._looked = monotonic()
        self._threads_of = dict(threads)
        self._admit()
        if self._room.threads:
            self._deserted = 0.0
        else:
            self._deserted += min(passed, 5 * self._settings.watch_seconds)  # counts at most
        if self._deserted > self._settings.no_worker_seconds:
            fitting = ""
            if threads.keys() - self._given_up:
                fitting = "that fits "
            raise ExecutionError(
                f"the cluster has had no worker {fitting}for "
                f"{self._settings.no_worker_seconds:.0f} s; "
                "start one and run the same command again"
            )
        await self.notify()

    def _admit(self) -> None:
        """Check whether the workers that have joined fit; those that do may get work."""
        # Another worker may get the address of one that has left, and must be checked anew.
        for worker in self._joined.keys() - self._threads_of.keys():
            self._forget(worker)
        for worker in [worker for worker in self._threads_of if worker not in self._joined]:
            self._joined[worker] = asyncio.ensure_future(self._ask(worker))
        for worker in self._threads_of:
            self._let_in(worker)

    def _let_in(self, worker: str) -> None:
        """Give a worker work from now on, if it is present and fits."""
        threads = self._threads_of.get(worker)
        unchanged = self._room.threads.get(worker) == threads
        if threads and not unchanged and worker in self._fitting and worker not in self._given_up:
            self._room.put(worker, threads)

    async def _ask(self, worker: str) -> None:
        """Find out whether a worker fits; ask again while one that does not answer is present."""
        while True:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(self._settings.answer_seconds):
                    if await self._fits(worker):
                        self._fitting.add(worker)
                        self._deserted = 0.0
                break
            await asyncio.sleep(self._settings.watch_seconds)
        self._let_in(worker)
        await self.notify()

    def _forget(self, worker: str) -> None:
        self._fitting.discard(worker)
        self._room.remove(worker)
        if departure := self._departures.pop(worker, None):
            departure.set()
        if check := self._joined.pop(worker, None):
            check.cancel()

    def close(self) -> None:
        """Stop checking workers."""
        for check in self._joined.values():
            check.cancel()

    async def close_queues(self) -> None:
        """Stop giving room to waiters."""
        self._closed = True
        await self.notify()

    async def notify(self) -> None:
        """Wake all waiters to check again."""
        async with self._changed:
            self._changed.notify_all()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for a condition, checked when the workers change and once per second."""
        async with self._changed:
            await self._changed.wait_for(true)

    @asynccontextmanager
    async def place(self, actor: bool, alone: bool) -> AsyncIterator[str]:
        """Wait for room for an actor or a task, and yield its worker.

        With `alone` the worker gets nothing else.

        Raises
        ------
        ClosedError
            If the queues were closed before there was room.
        """
        room = self._room
        if alone:
            worker = await self._take_alone()
            room.take(worker, actor)
        else:
            room.wait(int(not actor))
            try:
                if room.waiting == room.total + 1:
                    await self.notify()  # from now on tasks are handed out ahead
                async with self._queues[actor]:
                    worker = await self._take(actor)
                    room.take(worker, actor)
            finally:
                room.wait(-int(not actor))
        try:
            yield worker
        finally:
            room.take(worker, actor, -1)
            if alone:
                room.keep_alone(worker, False)
            await self.notify()

    @property
    def threads(self) -> float:
        """Mean number of threads per worker; 1 without workers."""
        if self._room.threads:
            return self._room.total / len(self._room.threads)
        return 1.0

    @property
    def report_seconds(self) -> float:
        """Seconds between two reports of a worker, so that the scheduler can handle all reports."""
        return max(self._settings.report_seconds, self._room.total / self._settings.most_reports)

    async def _take(self, actor: bool) -> str:
        while (worker := self._room.first(actor)) is None:
            await self._until_open(lambda: self._room.first(actor) is not None)
        if self._closed:
            raise ClosedError
        return worker

    async def _until_open(self, true: Callable[[], bool]) -> None:
        await self.until(lambda: self._closed or true())
        if self._closed:
            raise ClosedError

    async def _take_alone(self) -> str:
        """Keep a worker from getting more work, and wait until it has none."""
        room = self._room
        while True:
            await self._until_open(lambda: bool(room.threads.keys() - room.alone))
            worker = min(sorted(room.threads.keys() - room.alone), key=room.load)
            room.keep_alone(worker)
            try:
                await self._until_open(
                    lambda: worker not in room.threads or not room.load(worker)  # noqa: B023
                )
            except BaseException:
                room.keep_alone(worker, False)
                raise
            if worker in room.threads:
                return worker
            room.keep_alone(worker, False)

    def forget(self, worker: str) -> None:
        """Take a worker for dead until the scheduler reports it again; it is then checked anew."""
        self._forget(worker)
        self._deserted = 0.0  # it was present until now

    async def give_up(self, worker: str) -> None:
        """Never use a worker again, and have its nanny end it: it does not answer."""
        self._given_up.add(worker)
        self.forget(worker)
        await self.notify()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._settings.answer_seconds):
                await self._client.restart_workers([worker], raise_for_error=False)

    def _departure(self, worker: str) -> asyncio.Event:
        """Return the event of a worker's departure: calls only wake for their own worker."""
        if worker in self._room.threads:
            return self._departures.setdefault(worker, asyncio.Event())
        gone = asyncio.Event()
        gone.set()
        return gone

    async def answer(self, what: str, call: Awaitable[Any], worker: str) -> Any:
        """Await `call` to `worker`.

        Raises
        ------
        WorkerLostError
            If the worker leaves the cluster, whatever Dask reports.
        ExecutionError
            If the call fails otherwise: code on workers lets no exception out.
        """
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        answer = asyncio.ensure_future(_value(call))
        # A call to a frozen or vanished worker may never return: the worker's departure ends the
        # wait.
        departure = asyncio.ensure_future(self._departure(worker).wait())
        try:
            await asyncio.wait({answer, departure}, return_when=asyncio.FIRST_COMPLETED)
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
                f"{what} cannot run on worker {worker} ({reason}); does it have the driver's "
                "olscale and the same modules?"
            ) from None
        finally:
            answer.cancel()
            departure.cancel()


async def _any_fits(worker: str) -> bool:
    return True


class _CallCancelledError(Exception):
    """Dask has cancelled a call; distinct from a cancellation of our own."""


async def _value(call: Awaitable[T]) -> T:
    try:
        return await call
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _CallCancelledError(str(error)) from None
