"""What the driver does for each of many workers: reports, room, calls."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest import mock

import pytest

from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.execution.on_worker import run_as_task
from olscale.execution.settings import ExecutionSettings
from olscale.execution.workers import ClosedError, Room, WorkerLostError, Workers
from olscale.results.opening import open_store


class Scheduler:
    """Says which workers there are."""

    def __init__(self, workers: dict[str, int]) -> None:
        self.workers = workers
        self.scheduler = self

    async def ncores(self) -> dict[str, int]:
        return dict(self.workers)


@pytest.mark.parametrize(("count", "seconds"), [(2, 0.5), (250, 0.5), (1_000, 2.0)])
def test_many_workers_report_less_often(count: int, seconds: float) -> None:
    workers = Workers(Scheduler({f"w{i}": 1 for i in range(count)}))
    asyncio.run(workers.look())
    assert workers.report_seconds == seconds


def test_a_pack_reports_as_seldom_as_it_is_told(shelf: Path, tmp_path: Path) -> None:
    open_store(tmp_path, create=True)
    plan = make_plan(
        parse_experiment(
            {"datasets": [{"path": str(shelf / "dense")}], "learners": [{"name": "pa"}]}
        )
    )
    pack = cut_groups(plan.runs, plan.sources, 1)[0]
    told: dict[float, int] = {}
    for seconds in (0.0, 60.0):
        reports: list[int] = []
        run_as_task(
            pack,
            str(tmp_path),
            lambda stand: reports.append(stand.rows),  # noqa: B023
            settings=ExecutionSettings(report_seconds=seconds),
        )
        told[seconds] = len(reports)
    # seven chunks, the two of held-out rows and the end
    assert told == {0.0: 10, 60.0: 1}


def test_room_on_workers() -> None:
    """One actor a worker, two tasks a thread but at the end; who must be alone gets an idle worker, and keeps it so."""

    async def run() -> None:
        workers = Workers(Scheduler({"a": 1, "b": 1}))
        await workers.look()
        places = [workers.place(actor=True, alone=False) for _ in range(3)]
        assert {await places[0].__aenter__(), await places[1].__aenter__()} == {
            "a",
            "b",
        }
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await places[2].__aenter__()
        alone = workers.place(actor=False, alone=True)
        waiting = asyncio.create_task(alone.__aenter__())
        await asyncio.sleep(0.02)
        assert not waiting.done()
        await places[0].__aexit__(None, None, None)
        assert await waiting == "a"
        tasks = [workers.place(actor=False, alone=False) for _ in range(7)]
        given = [asyncio.create_task(task.__aenter__()) for task in tasks]
        await asyncio.sleep(0.02)
        assert [task.result() for task in given if task.done()] == ["b", "b"]
        await alone.__aexit__(None, None, None)
        await asyncio.sleep(0.02)
        assert [task.result() for task in given if task.done()] == ["b", "b", "a", "a"]
        for task, done in zip(tasks[:5], (5, 5, 5, 6, 7), strict=True):
            # Three wait, then two: no more than there are threads, so each goes to a thread that
            # has nothing.
            await task.__aexit__(None, None, None)
            await asyncio.sleep(0.02)
            assert sum(task.done() for task in given) == done

    asyncio.run(run())


def test_of_all_that_wait_for_room_only_the_first_looks() -> None:
    """With thousands of packs the driver would otherwise do nothing else."""

    async def run() -> None:
        workers = Workers(Scheduler({"a": 1}))
        places = [workers.place(actor=False, alone=False) for _ in range(100)]
        waiting = [asyncio.create_task(place.__aenter__()) for place in places]
        await asyncio.sleep(0)
        with mock.patch.object(
            Room, "first", autospec=True, side_effect=Room.first
        ) as look:
            await workers.look()
            await asyncio.sleep(0.02)
            # in the order in which they came
            assert [task.done() for task in waiting] == [True, True] + 98 * [False]
            for _ in range(5):
                await workers.notify()
                await asyncio.sleep(0.02)
        assert look.call_count < 20
        await workers.close_queues()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(end) for end in ends] == 2 * [str] + 98 * [ClosedError]

    asyncio.run(run())


def test_a_group_costs_the_driver_as_much_with_a_thousand_workers_as_with_two() -> None:
    """Nobody is looked at, or woken up, but for the worker that has something to do, or nothing any more."""

    async def run(count: int) -> float:
        workers = Workers(Scheduler({f"w{i}": 1 for i in range(count)}))
        await workers.look()
        await asyncio.sleep(0.02)
        calls = [asyncio.get_running_loop().create_future() for _ in range(3 * count)]

        async def group(call: asyncio.Future[None]) -> None:
            async with workers.place(actor=False, alone=False) as worker:
                await workers.answer("", call, worker)

        with mock.patch.object(
            Room, "_sort", autospec=True, side_effect=Room._sort
        ) as sort:
            groups = [asyncio.create_task(group(call)) for call in calls]
            await asyncio.sleep(0)
            with mock.patch.object(
                Workers, "until", autospec=True, side_effect=Workers.until
            ) as until:
                for call in calls:
                    call.set_result(None)
                await asyncio.gather(*groups)
        return (sort.call_count + until.call_count) / count

    few, many = (asyncio.run(run(count)) for count in (2, 1000))
    assert many <= few + 4


def test_only_the_calls_to_a_worker_that_leaves_are_lost() -> None:
    async def run() -> None:
        scheduler = Scheduler({"a": 1, "b": 1})
        workers = Workers(scheduler)
        await workers.look()
        await asyncio.sleep(0.02)
        calls = {name: asyncio.get_running_loop().create_future() for name in "ab"}
        answers = {
            name: asyncio.create_task(workers.answer("", call, name))
            for name, call in calls.items()
        }
        await asyncio.sleep(0)
        del scheduler.workers["a"]
        await workers.look()
        with pytest.raises(WorkerLostError):
            await answers["a"]
        calls["b"].set_result(1)
        assert await answers["b"] == 1
        with pytest.raises(WorkerLostError):
            await workers.answer("", asyncio.get_running_loop().create_future(), "a")

    asyncio.run(run())


@pytest.mark.parametrize("busy", [False, True])
def test_who_waits_for_a_worker_of_its_own_hears_that_there_is_none_any_more(
    busy: bool,
) -> None:
    async def run() -> None:
        workers = Workers(Scheduler({"a": 1} if busy else {}))
        await workers.look()
        task = workers.place(actor=False, alone=False)
        if busy:
            await task.__aenter__()
        waiting = asyncio.create_task(
            workers.place(actor=False, alone=True).__aenter__()
        )
        await asyncio.sleep(0.02)
        await workers.close_queues()
        with pytest.raises(ClosedError):
            await waiting

    asyncio.run(run())
