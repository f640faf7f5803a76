"""Calls to workers: a run group as a task, or as an actor that is fed chunk references."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from time import monotonic
from typing import Any
from uuid import uuid4

from olscale.evaluation.run_group import RunGroup
from olscale.execution.group_records import merge_group
from olscale.execution.on_worker import StreamActor, run_as_task, run_bundle_as_task
from olscale.execution.progress import Progress, tell
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import Stand, TaskReport
from olscale.execution.workers import WorkerLostError, Workers


class GroupCalls:
    """One attempt at a group, on one worker.

    Attributes
    ----------
    name : str
        Part of the keys of its tasks that no other driver uses.
    last_words : dict of str to (str, float)
        Worker of each running group or bundle, and the time of its last report.
    """

    def __init__(
        self,
        client: Any,
        store: str,
        workers: Workers,
        progress: Progress,
        stop: Stop,
        settings: ExecutionSettings,
    ) -> None:
        self._client = client
        self._store = store
        self._workers = workers
        self._progress = progress
        self._stop = stop
        self._settings = settings
        self.name = uuid4().hex[:12]
        self.last_words: dict[str, tuple[str, float]] = {}
        self._bundles: dict[str, str] = {}  # name of the bundle of each group
        # Actors (True) and tasks (False) that are running or waiting for room.
        self._groups: Counter[bool] = Counter()

    def demand(self) -> tuple[int, set[str]]:
        """Return how many workers could be used, and which are in use."""
        workers = self._groups[True] + ceil(self._groups[False] / self._workers.threads)
        return workers, {worker for worker, _ in self.last_words.values()}

    def hear(self, event: Any) -> None:
        """Pass on a task's progress report."""
        _, message = event
        group = message["group"]
        # Other drivers on this cluster report to the same topic.
        if self._bundles.get(group, group) in self.last_words:
            self.tell(group, Stand(*message["stand"]))

    def tell(self, group: str, stand: Stand) -> None:
        """Report where a group stands."""
        call = self._bundles.get(group, group)
        worker, _ = self.last_words.get(call, ("", 0.0))
        if worker:
            self.last_words[call] = worker, monotonic()
        tell(self._progress, group, stand, worker)

    async def run(self, group: RunGroup, alone: bool) -> TaskReport:
        """Run a group on a worker, starting at its newest checkpoint.

        Raises
        ------
        WorkerLostError
            If the worker dies or leaves.
        ClosedError
            If the workers accept nothing more.
        """
        if group.shards and group.shard is None:
            return await self._as_task(group, merge_group, alone)
        if not (group.shuffled or group.shards):
            return await self._as_actor(group, alone)
        report = await self._as_task(group, self._with_settings(run_as_task), alone)
        self.tell(group.name, report.stand)
        return report

    async def run_bundle(self, bundle: Sequence[RunGroup]) -> list[TaskReport]:
        """Run groups on a worker, one after another; return the reports of those that were begun.

        Raises
        ------
        WorkerLostError
            If the worker dies; the store has what it wrote about the groups.
        ClosedError
            If the workers accept nothing more.
        """
        name = bundle_name(bundle)
        self._bundles |= {group.name: name for group in bundle}
        try:
            async with self._placed(name, actor=False, alone=False) as worker:
                reports: list[TaskReport] = await self._answer(
                    name,
                    self._with_settings(run_bundle_as_task),
                    bundle,
                    self._key(bundle[0]),
                    worker,
                )
                if reports[-1].stopped and not self._stop.asked:
                    self._workers.forget(worker)  # it is leaving
            # The worker gets its next bundle before the reports of this one are passed on.
            await asyncio.sleep(0)
            for group, report in zip(bundle, reports, strict=False):
                tell(self._progress, group.name, report.stand, worker)
            return reports
        finally:
            for group in bundle:
                self._bundles.pop(group.name, None)

    def _with_settings(self, job: Callable[..., Any]) -> Callable[..., Any]:
        """Return `job` with the settings of this cluster."""
        settings = replace(self._settings, report_seconds=self._workers.report_seconds)
        if settings == SETTINGS:
            return job
        return partial(job, settings=settings)

    def _key(self, group: RunGroup) -> str:
        return f"{key_prefix(group)}-{self.name}-{uuid4().hex}"

    async def _as_task(
        self, group: RunGroup, job: Callable[[RunGroup, str], TaskReport], alone: bool
    ) -> TaskReport:
        async with self._placed(group.name, actor=False, alone=alone) as worker:
            report: TaskReport = await self._answer(
                group.name, job, group, self._key(group), worker
            )
            if report.stopped and not self._stop.asked:
                self._workers.forget(worker)
                raise WorkerLostError  # it is leaving and has saved the group
            return report

    async def _answer(
        self, name: str, job: Callable[..., Any], work: Any, key: str, worker: str
    ) -> Any:
        """Return the answer of a task on a worker."""
        future = self._client.submit(
            job, work, self._store, key=key, workers=[worker], pure=False
        )
        try:
            return await self._workers.answer(name, future, worker)
        except WorkerLostError:
            self._workers.forget(worker)  # the watch restores it if it lives
            await self._cancel(future)
            raise

    async def _as_actor(self, group: RunGroup, alone: bool) -> TaskReport:
        async with self._placed(group.name, actor=True, alone=alone) as worker:
            options = {
                "key": self._key(group),
                "actor": True,
                "workers": [worker],
                "pure": False,
            }
            submitted = self._client.submit(
                StreamActor, group, self._store, self._settings, **options
            )
            try:
                return await self._through(
                    group,
                    worker,
                    await self._workers.answer(group.name, submitted, worker),
                )
            except WorkerLostError:
                self._workers.forget(worker)  # the watch restores it if it lives
                raise
            finally:
                # otherwise the worker would keep the models as long as this process lives
                await self._cancel(submitted)

    async def _through(self, group: RunGroup, worker: str, actor: Any) -> TaskReport:
        """Feed a stream to its end; the actor may start at a checkpoint."""
        report: TaskReport = await self._workers.answer(
            group.name, actor.begin(), worker
        )
        span = 1
        while not report.fault and report.position < report.chunks:
            start = monotonic()
            position = report.position
            rows = report.stand.rows
            self.tell(group.name, report.stand)
            if self._stop.asked:
                saved: TaskReport = await self._workers.answer(
                    group.name, actor.save(), worker
                )
                return saved
            for note in report.notes:
                self._progress.note(note)
            report = await self._workers.answer(
                group.name, actor.advance(position, position + span), worker
            )
            if report.stand.rows <= rows and not report.fault:
                # Dask restarted the actor: it stands at another chunk and fed nothing.
                raise WorkerLostError
            # Calls of half a second make their own cost negligible, and progress stays visible.
            span = max(
                1,
                min(
                    4 * span,
                    round(
                        span
                        * self._workers.report_seconds
                        / max(monotonic() - start, 1e-3)
                    ),
                ),
            )
        if report.fault:
            return report
        self.tell(group.name, report.stand)
        finished: TaskReport = await self._workers.answer(
            group.name, actor.finish(report.position), worker
        )
        was_stopped = finished.stopped and self._stop.asked
        if not finished.fault and not finished.outcomes and not was_stopped:
            raise WorkerLostError
        if not finished.fault:
            self.tell(group.name, finished.stand)
        return finished

    @contextlib.asynccontextmanager
    async def _placed(self, name: str, actor: bool, alone: bool) -> AsyncIterator[str]:
        """Yield a worker with room for a group or bundle, and expect its reports from then on."""
        self._groups[actor] += 1
        try:
            async with self._workers.place(actor, alone) as worker:
                self.last_words[name] = worker, monotonic()
                try:
                    yield worker
                except WorkerLostError as lost:
                    lost.worker = worker
                    raise
                finally:
                    self.last_words.pop(name, None)
        finally:
            self._groups[actor] -= 1

    async def _cancel(self, future: Any) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._settings.answer_seconds):
                await self._client.cancel([future], force=True)


def bundle_name(bundle: Sequence[RunGroup]) -> str:
    """Return the name of a bundle in messages."""
    return f"{bundle[0].name} and {len(bundle) - 1} other short groups"


def key_prefix(group: RunGroup) -> str:
    """Return the key that groups a run group's tasks on Dask's dashboard.

    It has the first learner, the number of others and the dataset.
    """
    first, *further = sorted({run.learner for run in group.runs})
    text = (
        f"{first}{f'+{len(further)}' if further else ''}_{group.runs[0].stream.dataset}"
    )
    return re.sub(r"[^A-Za-z0-9_.+-]+", "_", text)
