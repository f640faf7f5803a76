"""The driver on Dask: gives packs to workers, counts their attempts, tells of progress.

A pack in time order is an actor that is fed chunk references; a permuted one is a task, and so is each class shard of a run;
when all shards of the run have ended, one more task merges them. The driver holds at most two tasks
a worker thread and one actor a worker on the cluster, so that the death of a worker takes little with it.

No wait is without an end. A watch asks the scheduler once a second which workers there are: a call to a worker that has
left is given up at once, and the drive ends with one line when the scheduler stops answering, when there has been no
worker for a minute, or when nothing was heard from any pack for an hour. The store remembers what is done: a driver that
dies is simply started again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

from olscale.errors import ExecutionError
from olscale.evaluation.pack import Pack
from olscale.execution.passages import TOPIC, Envelope, StreamActor, clear_scratch, merge_pack, run_pack, write_lost
from olscale.execution.progress import Progress

__all__ = ["drive"]

T = TypeVar("T")

ATTEMPTS = 3
WATCH_SECONDS = 1.0
ANSWER_SECONDS = 60.0
NO_WORKER_SECONDS = 60.0
SILENCE_SECONDS = 3600.0
_CALL_SECONDS = 0.5


async def drive(client: Any, packs: Sequence[Pack], store: str, progress: Progress) -> None:
    """Run `packs` on the cluster behind `client`; when it returns, each run has a record in the store.

    A pack that is lost with its worker `ATTEMPTS` times is recorded as ``lost``; the others go on.

    Raises
    ------
    ExecutionError
        If there are no workers, if the scheduler goes away, or if a worker reports a fault of the data or the store.
    """
    await _Drive(client, store, progress).run(packs)


class _WorkerLostError(Exception):
    """What a worker was doing is gone."""


class _Drive:
    def __init__(self, client: Any, store: str, progress: Progress) -> None:
        self._client, self._store, self._progress = client, store, progress
        self._threads: dict[str, int] = {}
        self._actors: Counter[str] = Counter()
        self._tasks = 0
        self._changed = asyncio.Condition()
        self._peopled = self._heard = monotonic()

    async def run(self, packs: Sequence[Pack]) -> None:
        for part in (part for pack in packs for part in pack.parts()):
            self._tell(part.name, 0, 0.0)
        self._client.subscribe_topic(TOPIC, self._hear)
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch())
                group.create_task(self._run_all(packs)).add_done_callback(lambda _: watch.cancel())
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            with contextlib.suppress(Exception):
                self._client.unsubscribe_topic(TOPIC)

    async def _run_all(self, packs: Sequence[Pack]) -> None:
        async with asyncio.TaskGroup() as group:
            for pack in packs:
                group.create_task(self._run(pack))

    def _hear(self, event: Any) -> None:
        _, message = event
        self._tell(message["pack"], message["rows"], message["error"])

    def _tell(self, pack: str, rows: int, error: float) -> None:
        self._heard = monotonic()
        self._progress.advance(pack, rows, error)

    async def _watch(self) -> None:
        """Follow the workers that come and go; raise when there is nothing left to wait for."""
        while True:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    self._threads = await self._client.scheduler.ncores()
            except (OSError, TimeoutError):
                raise ExecutionError(
                    "the Dask scheduler went away; start it and run the same command again: finished runs are in the store"
                ) from None
            if self._threads:
                self._peopled = monotonic()
            elif monotonic() - self._peopled > NO_WORKER_SECONDS:
                raise ExecutionError(
                    f"the cluster has had no worker for {NO_WORKER_SECONDS:.0f} s; start one and run the same command again"
                )
            if monotonic() - self._heard > SILENCE_SECONDS:
                raise ExecutionError(
                    f"nothing was heard from any worker for {SILENCE_SECONDS:.0f} s; see their logs, and run the same "
                    "command again: finished runs are in the store"
                )
            async with self._changed:
                self._changed.notify_all()
            await asyncio.sleep(WATCH_SECONDS)

    async def _until(self, true: Callable[[], bool]) -> None:
        """Wait for a condition on the workers; the watch looks at it again and again, and ends hopeless waits."""
        async with self._changed:
            await self._changed.wait_for(true)

    async def _run(self, pack: Pack) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                going = [group.create_task(self._attempt(part)) for part in pack.parts()]
            ended = all(task.result() for task in going)
            if ended and pack.shards:
                ended = await self._attempt(pack)
            if not ended:
                reason = f"lost with its worker {ATTEMPTS} times"
                for run in await asyncio.to_thread(write_lost, pack, self._store, reason):
                    self._progress.finish(run, "lost")
        finally:
            await asyncio.to_thread(clear_scratch, pack, self._store)

    async def _attempt(self, pack: Pack) -> bool:
        """Run a pack, a class shard or the merge of one; return False if it was lost with its worker each time."""
        for attempt in range(ATTEMPTS):
            try:
                envelope = await self._once(pack)
            except _WorkerLostError:
                if pack.shard is not None or not pack.shards:
                    self._tell(pack.name, 0, 0.0)
                # Until the scheduler has noticed, it would send the pack to the dead worker again, attempt by attempt.
                await asyncio.sleep(2**attempt * WATCH_SECONDS)
                continue
            if envelope.fault:
                raise ExecutionError(envelope.fault)
            for run, outcome in envelope.outcomes.items():
                self._progress.finish(run, outcome)
            return True
        return False

    async def _once(self, pack: Pack) -> Envelope:
        if pack.shards and pack.shard is None:
            return await self._as_task(pack, merge_pack)
        if not (pack.shuffled or pack.shards):
            return await self._as_actor(pack)
        envelope = await self._as_task(pack, run_pack)
        self._tell(pack.name, envelope.rows, envelope.error)
        return envelope

    async def _as_task(self, pack: Pack, job: Callable[[Pack, str], Envelope]) -> Envelope:
        await self._until(lambda: self._tasks < 2 * sum(self._threads.values()))
        self._tasks += 1
        try:
            envelope: Envelope = await self._answer(pack, self._client.submit(job, pack, self._store, pure=False))
            return envelope
        finally:
            self._tasks -= 1
            await self._notify()

    async def _as_actor(self, pack: Pack) -> Envelope:
        await self._until(lambda: any(not self._actors[worker] for worker in self._threads))
        worker = next(worker for worker in self._threads if not self._actors[worker])
        self._actors[worker] += 1
        submitted = self._client.submit(StreamActor, pack, self._store, actor=True, workers=[worker], pure=False)
        try:
            actor = await self._answer(pack, submitted, worker)
            position, span, chunks = 0, 1, 1
            while position < chunks:
                start = monotonic()
                envelope: Envelope = await self._answer(pack, actor.advance(position, position + span), worker)
                if envelope.fault:
                    return envelope
                if envelope.position <= position < envelope.chunks:
                    raise _WorkerLostError  # Dask has made the actor anew: it stands at another chunk and fed nothing
                position, chunks = envelope.position, envelope.chunks
                self._tell(pack.name, envelope.rows, envelope.error)
                # Half a second of work a call: the call itself then costs nothing, and progress is seen.
                span = max(1, min(4 * span, round(span * _CALL_SECONDS / max(monotonic() - start, 1e-3))))
            finished: Envelope = await self._answer(pack, actor.finish(position), worker)
            if finished.position != position:
                raise _WorkerLostError
            return finished
        except _WorkerLostError:
            self._threads.pop(worker, None)  # the watch brings it back if it lives
            raise
        finally:
            with contextlib.suppress(Exception):  # or the worker would keep the models for as long as we live
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._client.cancel([submitted], force=True)
            self._actors[worker] -= 1
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _answer(self, pack: Pack, call: Awaitable[Any], worker: str | None = None) -> Any:
        """Await `call`; whatever Dask makes of a lost worker, and the worker's leaving, is `_WorkerLostError`."""
        from distributed import KilledWorker

        answer = asyncio.ensure_future(_value(call))
        waits: set[asyncio.Future[Any]] = {answer}
        if worker is not None:
            # A call to a frozen or vanished worker may never come back: its leaving the cluster ends the wait.
            waits.add(asyncio.ensure_future(self._until(lambda: worker not in self._threads)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise _WorkerLostError
            return answer.result()
        except (OSError, RuntimeError, KilledWorker, _CallCancelledError):
            raise _WorkerLostError from None
        except _WorkerLostError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise ExecutionError(
                f"{pack.name} cannot run on the workers ({reason}); do they have the same olscale and the same modules?"
            ) from None
        finally:
            for wait in waits:
                wait.cancel()


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


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of a group of groups."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
