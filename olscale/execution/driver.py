"""The driver on Dask: gives packs to workers, supervises them, tells of progress.

A pack in time order is an actor that is fed chunk references; a permuted one is a task, and so is each class shard of a run;
when all shards of the run have ended, one more task merges them. What dies with its worker goes on elsewhere, from its
newest checkpoint. A pack that dies several times at the same place, the last time alone on its worker, is split in
halves, and again, until the one run is found that takes its workers along; that run is recorded as ``lost``.

No wait is without an end. A watch asks the scheduler once a second which workers there are: a call to a worker that has
left is given up at once, a worker from which nothing is heard for an hour is ended, and the drive ends with one line when
the scheduler stops answering or when there has been no worker for three minutes. The store remembers what is done and how
far the rest has come: a driver that dies is simply started again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from time import monotonic
from typing import Any
from uuid import uuid4

from olscale.errors import ExecutionError
from olscale.evaluation.run_group import RunGroup
from olscale.execution.checkpoints import Checkpoints
from olscale.execution.compatibility import misfit, modules_of
from olscale.execution.group_records import clear_scratch, finished_outcomes, merge_group, write_lost
from olscale.execution.on_worker import TOPIC, StreamActor, run_as_task, stop_tasks
from olscale.execution.progress import Progress
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import TaskReport
from olscale.execution.workers import ClosedError, WorkerLostError, Workers
from olscale.results.store import open_store

__all__ = ["drive"]


async def drive(
    client: Any,
    packs: Sequence[RunGroup],
    store: str,
    progress: Progress,
    stop: Stop | None = None,
    settings: ExecutionSettings = SETTINGS,
) -> None:
    """Run `packs` on the cluster behind `client`; when it returns, each run has a record in the store.

    Raises
    ------
    StoppedError
        If `stop` was asked for; what was going on is saved.
    ExecutionError
        If there are no workers, if the scheduler goes away, or if a worker reports a fault of the data or the store.
    """
    await _Drive(client, store, progress, stop or Stop(), settings).run(packs)


class _End(Enum):
    """How an attempt at a pack ended."""

    OK, DIED, STOPPED = range(3)


class _Drive:
    def __init__(self, client: Any, store: str, progress: Progress, stop: Stop, settings: ExecutionSettings) -> None:
        self._client, self._store, self._progress, self._stop = client, store, progress, stop
        self._settings = settings
        self._name = f"olscale-{uuid4().hex[:12]}"
        self._workers = Workers(client, self._fits, settings)
        self._learners: tuple[str, ...] = ()
        self._heard: dict[str, tuple[str, float]] = {}
        self._left = 0

    async def run(self, packs: Sequence[RunGroup]) -> None:
        for part in (part for pack in packs for part in pack.parts()):
            self._tell(part.name, 0, 0.0)
        self._learners = modules_of(run.learner for pack in packs for run in pack.runs)
        self._client.subscribe_topic(TOPIC, self._hear)
        try:
            async with asyncio.TaskGroup() as group:
                watches = [group.create_task(self._watch()), group.create_task(self._until_stopped())]
                going = group.create_task(self._run_all(packs))
                going.add_done_callback(lambda _: [watch.cancel() for watch in watches])
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            self._workers.close()
            with contextlib.suppress(Exception):
                self._client.unsubscribe_topic(TOPIC)

    async def _run_all(self, packs: Sequence[RunGroup]) -> None:
        async with asyncio.TaskGroup() as group:
            for pack in packs:
                group.create_task(self._run(pack))
        if self._left:
            raise self._stop.error("what was going on is saved")

    # What is heard, and what is done about silence.

    def _hear(self, event: Any) -> None:
        _, message = event
        if message["group"] in self._heard:  # and not that of another driver on this cluster
            self._tell(message["group"], message["rows"], message["error"])

    def _tell(self, pack: str, rows: int, error: float) -> None:
        if pack in self._heard:
            self._heard[pack] = self._heard[pack][0], monotonic()
        self._progress.advance(pack, rows, error)

    async def _watch(self) -> None:
        """Follow the workers that come and go, and end those that say nothing any more."""
        while True:
            await self._workers.look()
            silent = {
                worker for worker, last in self._heard.values() if monotonic() - last > self._settings.silence_seconds
            }
            for worker in silent:
                self._progress.note(
                    f"nothing was heard from worker {worker} for {self._settings.silence_seconds:.0f} s: it is ended"
                )
                await self._workers.give_up(worker)
            await asyncio.sleep(self._settings.watch_seconds)

    async def _fits(self, worker: str) -> bool:
        """Compare a worker that has joined with this process; one that differs would give other results without a word."""
        why = await misfit(self._client, worker, self._learners)
        if why:
            self._progress.note(f"{why}; it gets no work: start it in the driver's environment")
        return not why

    # Stopping.

    async def _until_stopped(self) -> None:
        """Wait until somebody asks to stop; have everything saved then, and end what takes too long to be."""
        while not self._stop.asked:
            await asyncio.sleep(0.1)
        self._progress.note("stopping: what is going on is being saved; Ctrl-C again ends it at once")
        await self._workers.close_queues()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._settings.stop_seconds):
                await self._client.run(stop_tasks, self._name, on_error="ignore")
        await asyncio.sleep(self._settings.stop_seconds)
        raise self._stop.error(f"not everything was saved within {self._settings.stop_seconds:.0f} s")

    # Packs.

    async def _run(self, pack: RunGroup, suspect: bool = False) -> None:
        """Run a pack to its records, whatever happens to its workers."""
        try:
            async with asyncio.TaskGroup() as group:
                going = [group.create_task(self._attempt(part, suspect)) for part in pack.parts()]
            ends = {task.result() for task in going}
            if ends == {_End.OK} and pack.shards:
                ends = {await self._attempt(pack)}
        except Exception:
            await asyncio.to_thread(clear_scratch, pack, self._store)
            raise
        if _End.STOPPED in ends:
            self._left += 1
            return
        if _End.DIED in ends:
            await self._without_the_guilty(pack)
        await asyncio.to_thread(clear_scratch, pack, self._store)

    async def _without_the_guilty(self, pack: RunGroup) -> None:
        """Run the halves of a pack that died again and again; give a single run up."""
        self._tell(pack.name, 0, 0.0)
        if len(pack.runs) > 1:
            async with asyncio.TaskGroup() as group:
                for half in pack.halves():
                    group.create_task(self._run(half, suspect=True))
            return
        reason = (
            f"its workers died {self._settings.attempts} times at the same place, the last time with nothing else to do"
        )
        for run in await asyncio.to_thread(write_lost, pack, self._store, reason):
            self._progress.finish(run, "lost")

    async def _attempt(self, pack: RunGroup, suspect: bool = False) -> _End:
        """Run a pack, a class shard or the merge of one, until it ends or has died again and again at the same place.

        Half of a pack that did is run alone at once, and one more death is enough to look into its own halves.
        """
        last = 1 if suspect and len(pack.runs) > 1 else self._settings.attempts
        checkpoints = Checkpoints(await asyncio.to_thread(open_store, self._store), pack)
        deaths, place = 0, await asyncio.to_thread(checkpoints.place)
        while deaths < last:
            try:
                envelope = await self._once(pack, alone=deaths == last - 1 and (suspect or deaths > 0))
            except ClosedError:
                return _End.STOPPED
            except WorkerLostError as lost:
                before, place = place, await asyncio.to_thread(checkpoints.place)
                deaths = deaths + 1 if place == before else 1
                if pack.shard is not None or not pack.shards:
                    self._tell(pack.name, 0, 0.0)
                # Until the scheduler has noticed, it would send the pack to the dead worker again, attempt by attempt.
                await asyncio.sleep(2 ** (deaths - 1) * self._settings.watch_seconds)
                await self._workers.look()  # it may be the scheduler that is gone
                verdicts = await asyncio.to_thread(checkpoints.exceeded)
                ended = [end.reason for run, end in verdicts.items() if run in place and run not in before]
                outcomes = (
                    {} if pack.shard is not None else await asyncio.to_thread(finished_outcomes, pack, self._store)
                )
                if not outcomes:
                    self._progress.note(_loss(pack, lost.worker, ended, place, deaths == last))
                    continue
                envelope = TaskReport(outcomes=outcomes)
                if not pack.shards:
                    self._tell(pack.name, pack.rows * len(pack.runs), float("nan"))
            for note in envelope.notes:
                self._progress.note(note)
            if envelope.fault:
                raise ExecutionError(envelope.fault)
            if envelope.stopped:
                return _End.STOPPED
            for run, outcome in envelope.outcomes.items():
                self._progress.finish(run, outcome)
            return _End.OK
        return _End.DIED

    async def _once(self, pack: RunGroup, alone: bool) -> TaskReport:
        """Run a pack on a worker, from its newest checkpoint on."""
        if pack.shards and pack.shard is None:
            return await self._as_task(pack, merge_group, alone)
        if not (pack.shuffled or pack.shards):
            return await self._as_actor(pack, alone)
        settings = replace(self._settings, report_seconds=self._workers.report_seconds)
        job = run_as_task if settings == SETTINGS else partial(run_as_task, settings=settings)
        envelope = await self._as_task(pack, job, alone)
        self._tell(pack.name, envelope.rows, envelope.error)
        return envelope

    async def _as_task(self, pack: RunGroup, job: Callable[[RunGroup, str], TaskReport], alone: bool) -> TaskReport:
        async with self._placed(pack, actor=False, alone=alone) as worker:
            key = f"{self._name}-{uuid4().hex}"
            future = self._client.submit(job, pack, self._store, key=key, workers=[worker], pure=False)
            try:
                envelope: TaskReport = await self._workers.answer(pack.name, future, worker)
                if envelope.stopped and not self._stop.asked:
                    raise WorkerLostError  # it is leaving and has saved the pack
                return envelope
            except WorkerLostError:
                self._workers.forget(worker)  # the watch brings it back if it lives
                await self._cancel(future)
                raise

    async def _as_actor(self, pack: RunGroup, alone: bool) -> TaskReport:
        async with self._placed(pack, actor=True, alone=alone) as worker:
            submitted = self._client.submit(
                StreamActor, pack, self._store, self._settings, actor=True, workers=[worker], pure=False
            )
            try:
                return await self._through(pack, worker, await self._workers.answer(pack.name, submitted, worker))
            except WorkerLostError:
                self._workers.forget(worker)  # the watch brings it back if it lives
                raise
            finally:  # or the worker would keep the models for as long as we live
                await self._cancel(submitted)

    async def _through(self, pack: RunGroup, worker: str, actor: Any) -> TaskReport:
        """Feed a stream to its end; the actor may stand at a checkpoint when it begins."""
        envelope: TaskReport = await self._workers.answer(pack.name, actor.begin(), worker)
        span = 1
        while not envelope.fault and envelope.position < envelope.chunks:
            start, position, rows = monotonic(), envelope.position, envelope.rows
            self._tell(pack.name, envelope.rows, envelope.error)
            if self._stop.asked:
                saved: TaskReport = await self._workers.answer(pack.name, actor.save(), worker)
                return saved
            for note in envelope.notes:
                self._progress.note(note)
            envelope = await self._workers.answer(pack.name, actor.advance(position, position + span), worker)
            if envelope.rows <= rows and not envelope.fault:
                raise WorkerLostError  # Dask has made the actor anew: it stands at another chunk and fed nothing
            # Half a second of work a call: the call itself then costs nothing, and progress is seen.
            span = max(1, min(4 * span, round(span * self._workers.report_seconds / max(monotonic() - start, 1e-3))))
        if envelope.fault:
            return envelope
        self._tell(pack.name, envelope.rows, envelope.error)
        finished: TaskReport = await self._workers.answer(pack.name, actor.finish(envelope.position), worker)
        if not finished.fault and not finished.outcomes:
            raise WorkerLostError
        return finished

    @contextlib.asynccontextmanager
    async def _placed(self, pack: RunGroup, actor: bool, alone: bool) -> AsyncIterator[str]:
        """Yield a worker that has room for the pack, and listen for it from then on."""
        async with self._workers.place(actor, alone) as worker:
            self._heard[pack.name] = worker, monotonic()
            try:
                yield worker
            except WorkerLostError as lost:
                lost.worker = worker
                raise
            finally:
                self._heard.pop(pack.name, None)

    async def _cancel(self, future: Any) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._settings.answer_seconds):
                await self._client.cancel([future], force=True)


def _loss(pack: RunGroup, worker: str, ended: Sequence[str], place: Sequence[str], again: bool) -> str:
    """Return a line on a worker that was lost: what it was at, and how that goes on."""
    what = f"was ended, as a learner {' and one '.join(ended)}" if ended else "was lost"
    chunk = next((int(name.removesuffix(".npz")) for name in place if name.endswith(".npz")), 0)
    where = f"from row {chunk * pack.chunk_rows:,} on" if chunk and pack.chunk_rows else "from the start"
    how = f"goes on {where}" if not again else "died at the same place again: its runs are run apart"
    return f"worker {worker} {what} while it had {pack.name}, which {how}"


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of a group of groups."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
