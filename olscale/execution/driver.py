"""The driver on Dask: gives run groups to workers, supervises them and reports progress.

A group in time order is an actor that is fed chunk references. A permuted one is a task, and so is
each class shard of a run; when all shards of a run have ended, another task merges them. A group
whose worker dies continues elsewhere from its newest checkpoint. A group that dies several times at
the same place, the last time alone on its worker, is split in halves, repeatedly, until the single
run that kills its workers is found; that run is recorded as ``lost``.

Every wait ends. A watch asks the scheduler once per second for its workers: a call to a worker that
has left is abandoned at once, a worker that is silent for an hour is ended, and the drive ends with
a one-line error when the scheduler stops answering or there has been no worker for three minutes.
The store remembers what is complete and how far the rest has come, so a driver that dies can simply
be restarted.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from math import nan
from time import monotonic
from typing import Any

from olscale.errors import ExecutionError
from olscale.evaluation.cut_groups import bundles_of, halves_of
from olscale.evaluation.run_group import RunGroup
from olscale.execution.checkpoints import Checkpoints, row_of
from olscale.execution.compatibility import misfit, modules_of
from olscale.execution.demand import ask_for_workers
from olscale.execution.group_calls import GroupCalls, bundle_name
from olscale.execution.group_records import (
    clear_scratch,
    finished_outcomes,
    outcomes_of_each,
    write_lost,
)
from olscale.execution.on_worker import TOPIC, stop_tasks
from olscale.execution.progress import Progress
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import Stand, TaskReport
from olscale.execution.workers import ClosedError, WorkerLostError, Workers
from olscale.results.opening import open_store


async def drive(
    client: Any,
    groups: Sequence[RunGroup],
    store: str,
    progress: Progress,
    stop: Stop | None = None,
    settings: ExecutionSettings = SETTINGS,
) -> None:
    """Run `groups` on the cluster behind `client`; afterwards each run has a record in the store.

    Raises
    ------
    StoppedError
        If `stop` was requested; work in progress is saved.
    ExecutionError
        If there are no workers, if the scheduler disappears, or if a worker reports a fault of the
        data or the store.
    """
    await _Drive(client, store, progress, stop or Stop(), settings).run(groups)


class _End(Enum):
    """How an attempt at a group ended."""

    OK, DIED, STOPPED = range(3)


class _Drive:
    def __init__(
        self,
        client: Any,
        store: str,
        progress: Progress,
        stop: Stop,
        settings: ExecutionSettings,
    ) -> None:
        self._client = client
        self._store = store
        self._progress = progress
        self._stop = stop
        self._settings = settings
        self._turn = asyncio.Event()
        self._turn.set()
        self._workers = Workers(client, self._fits, settings)
        self._calls = GroupCalls(client, store, self._workers, progress, stop, settings)
        self._learners: tuple[str, ...] = ()
        self._left = 0
        self._asks = True

    async def run(self, groups: Sequence[RunGroup]) -> None:
        # The time of the work begins now, not with its first rows. One group of a bundle says so:
        # thousands would only make the journal longer.
        for first_group, *_ in bundles_of(groups):
            for part in first_group.parts():
                self._calls.tell(part.name, Stand())
        self._learners = modules_of(
            run.learner for group in groups for run in group.runs
        )
        self._client.subscribe_topic(TOPIC, self._calls.hear)
        try:
            async with asyncio.TaskGroup() as tasks:
                watches = [
                    tasks.create_task(self._watch()),
                    tasks.create_task(self._until_stopped()),
                ]
                running = tasks.create_task(self._run_all(groups))
                running.add_done_callback(
                    lambda _: [watch.cancel() for watch in watches]
                )
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            self._workers.close()
            with contextlib.suppress(Exception):
                self._client.unsubscribe_topic(TOPIC)

    async def _run_all(self, groups: Sequence[RunGroup]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for bundle in bundles_of(groups):
                tasks.create_task(self._run_bundle(bundle))
        if self._left:
            raise self._stop.error("work in progress is saved")

    # Silent workers.

    async def _watch(self) -> None:
        """Follow workers that join and leave, and end those that have gone silent."""
        while True:
            await self._workers.look()
            await self._ask()
            limit = self._settings.silence_seconds
            for worker in {
                worker
                for worker, last in self._calls.last_words.values()
                if monotonic() - last > limit
            }:
                self._progress.note(
                    f"nothing was heard from worker {worker} for {limit:.0f} s: it is ended"
                )
                await self._workers.give_up(worker)
            await asyncio.sleep(self._settings.watch_seconds)

    async def _ask(self) -> None:
        """Tell the scheduler how many workers could be used, in case it scales the cluster."""
        if self._asks:
            demand = self._calls.demand()
            seconds = 10 * self._settings.watch_seconds
            try:
                async with asyncio.timeout(self._settings.answer_seconds):
                    await self._client.run_on_scheduler(
                        ask_for_workers, self._calls.name, *demand, seconds
                    )
            except TimeoutError:  # it is busy, and is asked again later
                pass
            except Exception:
                # its olscale is older or missing: then our demand scales nothing
                self._asks = False

    async def _fits(self, worker: str) -> bool:
        """Compare a new worker with this process; a different one could give other results."""
        why = await misfit(self._client, worker, self._learners)
        if why:
            self._progress.note(
                f"{why}; it gets no work: start it in the driver's environment"
            )
        return not why

    # Stopping.

    async def _until_stopped(self) -> None:
        """Wait for a request to stop; then have all work saved, and end what takes too long."""
        while not self._stop.asked:
            await asyncio.sleep(0.1)
        self._progress.note(
            "stopping: work in progress is being saved; Ctrl-C again ends it at once"
        )
        await self._workers.close_queues()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._settings.stop_seconds):
                await self._client.run(stop_tasks, self._calls.name, on_error="ignore")
        await asyncio.sleep(self._settings.stop_seconds)
        raise self._stop.error(
            f"not everything was saved within {self._settings.stop_seconds:.0f} s"
        )

    # Run groups.

    async def _run_bundle(self, bundle: Sequence[RunGroup]) -> None:
        """Run groups as one task; halve those left undone, and run those of a dead worker apart."""
        if len(bundle) == 1:
            await self._run(bundle[0])
            return
        async with self._in_turn():
            pass
        try:
            reports = await self._calls.run_bundle(bundle)
        except ClosedError:
            self._left += 1
            return
        except WorkerLostError as lost:
            await self._run_apart(bundle, lost.worker)
            return
        for report in reports:
            self._note(report)
        remaining = bundle[sum(not report.stopped for report in reports) :]
        if remaining and self._stop.asked:
            self._left += 1
            return
        async with asyncio.TaskGroup() as tasks:
            for half in halves_of(remaining):
                tasks.create_task(self._run_bundle(half))

    async def _run_apart(self, bundle: Sequence[RunGroup], worker: str) -> None:
        """Run each group of a bundle whose worker died by itself: only the culprit is to end."""
        for group in bundle:
            self._calls.tell(group.name, Stand())
        await asyncio.sleep(self._settings.watch_seconds)
        await self._workers.look()  # the scheduler may be gone instead
        groups = []
        ends = await asyncio.to_thread(outcomes_of_each, bundle, self._store)
        for group, outcomes in zip(bundle, ends, strict=True):
            if outcomes:
                self._note(TaskReport(outcomes=outcomes))
                self._calls.tell(
                    group.name, Stand(group.rows * len(group.runs), nan, scoring=(1, 1))
                )
            else:
                groups.append(group)
        self._progress.note(
            f"worker {worker} was lost while it had {bundle_name(bundle)}, of which {len(groups)} "
            "are run apart"
        )
        async with asyncio.TaskGroup() as tasks:
            for group in groups:
                tasks.create_task(self._run(group))

    def _note(self, report: TaskReport) -> None:
        """Pass on the messages of a report."""
        for note in report.notes:
            self._progress.note(note)
        if report.fault:
            raise ExecutionError(report.fault)
        for run, outcome in report.outcomes.items():
            self._progress.finish(run, outcome)

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Leave the block in the order of entry, so that groups queue with the longest first."""
        turn = self._turn
        self._turn = (next_turn := asyncio.Event())
        try:
            yield
            await turn.wait()
        finally:  # a group whose files could not be read must not block the others
            next_turn.set()

    async def _run(self, group: RunGroup, suspect: bool = False) -> None:
        """Run a group to its records, whatever happens to its workers."""
        try:
            async with asyncio.TaskGroup() as tasks:
                attempts = [
                    tasks.create_task(self._attempt(part, suspect))
                    for part in group.parts()
                ]
            ends = {task.result() for task in attempts}
            if ends == {_End.OK} and group.shards:
                ends = {await self._attempt(group)}
        except Exception:
            await asyncio.to_thread(clear_scratch, group, self._store)
            raise
        if _End.STOPPED in ends:
            self._left += 1
            return
        if _End.DIED in ends:
            await self._without_the_guilty(group)
        await asyncio.to_thread(clear_scratch, group, self._store)

    async def _without_the_guilty(self, group: RunGroup) -> None:
        """Run the halves of a group that died repeatedly; give a single run up."""
        self._calls.tell(group.name, Stand())
        if len(group.runs) > 1:
            async with asyncio.TaskGroup() as tasks:
                for half in group.halves():
                    tasks.create_task(self._run(half, suspect=True))
            return
        reason = (
            f"its workers died {self._settings.attempts} times at the same place, the last "
            "time with nothing else to do"
        )
        for run in await asyncio.to_thread(write_lost, group, self._store, reason):
            self._progress.finish(run, "lost")

    async def _attempt(self, group: RunGroup, suspect: bool = False) -> _End:
        """Run a group, class shard or merge until it ends or has died repeatedly at the same place.

        Half of a group that died is run alone at once, and one more death suffices to examine its
        own halves.
        """
        last = 1
        if not (suspect and len(group.runs) > 1):
            last = self._settings.attempts
        async with self._in_turn():  # however long reading their files takes
            checkpoints = Checkpoints(
                await asyncio.to_thread(open_store, self._store), group
            )
            deaths = 0
            place = await asyncio.to_thread(checkpoints.place)
        while deaths < last:
            try:
                report = await self._calls.run(
                    group, alone=deaths == last - 1 and (suspect or deaths > 0)
                )
            except ClosedError:
                return _End.STOPPED
            except WorkerLostError as lost:
                before = place
                place = await asyncio.to_thread(checkpoints.place)
                deaths = deaths + 1 if place == before else 1
                if group.shard is not None or not group.shards:
                    self._calls.tell(group.name, Stand())
                # Until the scheduler notices, it would send the group to the dead worker again,
                # attempt by attempt.
                await asyncio.sleep(2 ** (deaths - 1) * self._settings.watch_seconds)
                await self._workers.look()  # the scheduler may be gone instead
                exceeded = await asyncio.to_thread(checkpoints.exceeded)
                ended = [
                    end.reason
                    for run, end in exceeded.items()
                    if run in place and run not in before
                ]
                outcomes: dict[str, str] = {}
                if group.shard is None:
                    outcomes = await asyncio.to_thread(
                        finished_outcomes, group, self._store
                    )
                if not outcomes:
                    self._progress.note(
                        loss_text(group, lost.worker, ended, place, deaths == last)
                    )
                    continue
                report = TaskReport(outcomes=outcomes)
                if not group.shards:
                    self._calls.tell(
                        group.name,
                        Stand(group.rows * len(group.runs), nan, scoring=(1, 1)),
                    )
            self._note(report)
            if report.stopped:
                return _End.STOPPED
            return _End.OK
        return _End.DIED


def loss_text(
    group: RunGroup,
    worker: str,
    ended: Sequence[str],
    place: Sequence[str],
    again: bool,
) -> str:
    """Return a line on a lost worker: its work, and how that continues."""
    what = "was lost"
    if ended:
        what = f"was ended, as a learner {' and one '.join(ended)}"
    rows = [row_of(name, group.chunk_rows) for name in place if name.endswith(".npz")]
    where = "from the start"
    if group.chunk_rows and any(rows):
        where = f"from row {rows[0]:,} on"
    how = "died at the same place again: its runs are run apart"
    if not again:
        how = f"resumes {where}"
    return f"worker {worker} {what} while it had {group.name}, which {how}"


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of a group of groups."""
    first = errors.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _first(first)
    return first
