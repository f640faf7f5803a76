"""The workers of a cluster: which exist, which have room, and calls that end with their worker."""

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, TypeVar

from olscale.errors import ExecutionError
from olscale.execution.settings import SETTINGS, ExecutionSettings

ACTORS_A_WORKER = 1
TASKS_A_THREAD = 2
"""Tasks per thread: the second one runs while the first result travels; a death would lose more."""


# Kept sorted rather than searched: looking at all 300 workers for each group, and waking all
# waiting calls at each end, took 5.9 ms a group, more than its messages.
class Room:
    """Which workers have room for a task or an actor.

    Attributes
    ----------
    threads : dict of str to int
        Threads of each worker that may get work; their sum is `total`.
    waiting : int
        Tasks that are waiting for room.
    alone : set of str
        Workers that get no more than the work that they were chosen for.

    Examples
    --------
    >>> room = Room()
    >>> room.put("a", 1)
    >>> room.put("b", 1)
    >>> room.take("a", actor=False)
    >>> room.first(actor=False)
    'b'
    """

    def __init__(self) -> None:
        self.threads: dict[str, int] = {}
        self.total = self.waiting = 0
        self.alone: set[str] = set()
        self._tasks: Counter[str] = Counter()
        self._actors: Counter[str] = Counter()
        self._ahead = 1
        self._open = {False: _ByLoad(), True: _ByLoad()}

    def put(self, worker: str, threads: int) -> None:
        """Add a worker."""
        self.total += threads - self.threads.get(worker, 0)
        self.threads[worker] = threads
        self._sort(worker)
        self.wait(0)

    def remove(self, worker: str) -> None:
        """Remove a worker."""
        self.total -= self.threads.pop(worker, 0)
        self._sort(worker)
        self.wait(0)

    def wait(self, more: int) -> None:
        """Add `more` tasks that wait for room; a negative number removes them."""
        self.waiting += more
        # The last tasks are not handed out ahead: they would wait for the task before while other
        # threads are idle.
        per_thread = 1
        if self.waiting > self.total:
            per_thread = TASKS_A_THREAD
        if per_thread != self._ahead:
            self._ahead = per_thread
            for worker in self.threads:
                self._sort(worker)

    def take(self, worker: str, actor: bool, count: int = 1) -> None:
        """Give a worker a task or an actor; a `count` of -1 takes it away again."""
        (self._actors if actor else self._tasks)[worker] += count
        self._sort(worker)

    def keep_alone(self, worker: str, alone: bool = True) -> None:
        """Exclude a worker from further work, or include it again."""
        (self.alone.add if alone else self.alone.discard)(worker)
        self._sort(worker)

    def load(self, worker: str) -> int:
        """Return the load of a worker."""
        return self._actors[worker] + self._tasks[worker]

    def first(self, actor: bool) -> str | None:
        """Return the worker with room and the least load, or None."""
        return self._open[actor].first()

    def _sort(self, worker: str) -> None:
        load = self.load(worker)
        threads = 0
        if worker not in self.alone:
            threads = self.threads.get(worker, 0)
        self._open[False].put(
            worker, load if self._tasks[worker] < self._ahead * threads else None
        )
        self._open[True].put(
            worker, load if threads and self._actors[worker] < ACTORS_A_WORKER else None
        )


class _ByLoad:
    """Workers by load; loads take few values, no matter how many workers there are."""

    def __init__(self) -> None:
        self._loads: dict[str, int] = {}
        self._workers: defaultdict[int, dict[str, None]] = defaultdict(dict)

    def put(self, worker: str, load: int | None) -> None:
        """Set the load of a worker; None removes it."""
        before = self._loads.get(worker)
        if before == load:
            return
        if before is not None:
            del self._workers[before][worker], self._loads[worker]
        if load is not None:
            self._workers[load][worker] = None
            self._loads[worker] = load

    def first(self) -> str | None:
        least = min(
            (load for load, workers in self._workers.items() if workers), default=None
        )
        if least is None:
            return None
        return next(iter(self._workers[least]))


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
        # all workers, some of which may not get work
        self._threads_of: dict[str, int] = {}
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
            # counts at most
            self._deserted += min(passed, 5 * self._settings.watch_seconds)
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
        for worker in [
            worker for worker in self._threads_of if worker not in self._joined
        ]:
            self._joined[worker] = asyncio.ensure_future(self._ask(worker))
        for worker in self._threads_of:
            self._let_in(worker)

    def _let_in(self, worker: str) -> None:
        """Give a worker work from now on, if it is present and fits."""
        threads = self._threads_of.get(worker)
        unchanged = self._room.threads.get(worker) == threads
        if (
            threads
            and not unchanged
            and worker in self._fitting
            and worker not in self._given_up
        ):
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
        return max(
            self._settings.report_seconds,
            self._room.total / self._settings.most_reports,
        )

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
        except (
            OSError,
            RuntimeError,
            KilledWorker,
            FutureCancelledError,
            _CallCancelledError,
        ):
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
