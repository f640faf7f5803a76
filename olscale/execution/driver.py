"""The driver on Dask: gives packs to workers, counts their attempts, tells of progress.

A pack in time order is an actor that is fed chunk references; a permuted one is a task. The driver holds at most two packs
a worker thread on the cluster, so that the death of a worker takes little with it, and guards every await with a deadline.
The store remembers what is done: a driver that dies is simply started again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from time import monotonic
from typing import Any

from olscale.errors import ExecutionError
from olscale.evaluation.pack import Pack
from olscale.execution.passages import TOPIC, Envelope, StreamActor, run_pack
from olscale.execution.progress import Progress

__all__ = ["drive"]

ATTEMPTS = 3
_CALL_SECONDS = 0.5
_DEADLINE_SECONDS = 3600.0


async def drive(client: Any, packs: Sequence[Pack], store: str, progress: Progress) -> None:
    """Run `packs` on the cluster behind `client`; records are in the store when it returns.

    Raises
    ------
    ExecutionError
        If a pack was lost with its worker `ATTEMPTS` times, if there are no workers, or if a worker reports a fault of the
        data or the store.
    """
    await _Drive(client, store, progress).run(packs)


class _Drive:
    def __init__(self, client: Any, store: str, progress: Progress) -> None:
        self._client, self._store, self._progress = client, store, progress

    async def run(self, packs: Sequence[Pack]) -> None:
        try:
            await self._client.wait_for_workers(1, timeout=60)
        except TimeoutError:
            raise ExecutionError("the cluster has no worker after 60 s; start one and try again") from None
        # An asynchronous client's scheduler_info() knows no workers: ask the scheduler.
        workers = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        self._task_slots = asyncio.Semaphore(2 * sum(worker["nthreads"] for worker in workers.values()))
        self._free_workers: asyncio.Queue[str] = asyncio.Queue()
        for address in workers:
            self._free_workers.put_nowait(address)

        def heard(event: Any) -> None:
            _, message = event
            self._progress.advance(message["pack"], message["rows"], message["error"])

        self._client.subscribe_topic(TOPIC, heard)
        try:
            async with asyncio.TaskGroup() as group:
                for pack in packs:
                    group.create_task(self._attempt(pack))
        except BaseExceptionGroup as errors:
            first = next((error for error in errors.exceptions if isinstance(error, Exception)), errors)
            raise first from None
        finally:
            with contextlib.suppress(Exception):
                self._client.unsubscribe_topic(TOPIC)

    async def _attempt(self, pack: Pack) -> None:
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                envelope = await (self._as_task(pack) if pack.shuffled else self._as_actor(pack))
            except ExecutionError:
                raise
            except Exception as error:  # whatever Dask makes of a lost worker: OSError, RuntimeError, KilledWorker ...
                reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
                continue
            if envelope.fault:
                raise ExecutionError(envelope.fault)
            for run, outcome in envelope.outcomes.items():
                self._progress.finish(run, outcome)
            return
        raise ExecutionError(f"{pack.name} was lost with its worker {ATTEMPTS} times ({reason}); see the workers' logs")

    async def _as_task(self, pack: Pack) -> Envelope:
        async with self._task_slots, asyncio.timeout(_DEADLINE_SECONDS):
            envelope: Envelope = await self._client.submit(run_pack, pack, self._store, pure=False)
            self._progress.advance(pack.name, envelope.rows, envelope.error)
            return envelope

    async def _as_actor(self, pack: Pack) -> Envelope:
        worker = await self._free_workers.get()
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                submitted = self._client.submit(
                    StreamActor, pack, self._store, actor=True, workers=[worker], allow_other_workers=True, pure=False
                )
                actor = await submitted
            position, span, chunks = 0, 1, 1
            while position < chunks:
                start = monotonic()
                async with asyncio.timeout(_DEADLINE_SECONDS):
                    envelope: Envelope = await actor.advance(position, position + span)
                if envelope.fault:
                    return envelope
                position, chunks = envelope.position, envelope.chunks
                self._progress.advance(pack.name, envelope.rows, envelope.error)
                # Half a second of work a call: the call itself then costs nothing, and progress is seen.
                span = max(1, min(4 * span, round(span * _CALL_SECONDS / max(monotonic() - start, 1e-3))))
            async with asyncio.timeout(_DEADLINE_SECONDS):
                finished: Envelope = await actor.finish()
            return finished
        finally:
            self._free_workers.put_nowait(worker)
