"""The driver on a cluster inside this process: it ends, with all the work done or with one line, whatever happens."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from distributed import Worker
from distributed.utils_test import gen_cluster

from olscale.errors import ExecutionError
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import RunGroup
from olscale.execution import compatibility as agreement
from olscale.execution import driver, group_calls, workers
from olscale.execution.checkpoints import Checkpoints
from olscale.execution.driver import drive, loss_text
from olscale.execution.on_worker import StreamActor
from olscale.execution.progress import LiveProgress
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import TaskReport
from olscale.results.opening import open_store

cluster = gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)] * 2,
    timeout=60,
    clean_kwargs={"threads": False},
)
one_worker = gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)],
    timeout=60,
    clean_kwargs={"threads": False},
)
empty_cluster = gen_cluster(
    client=True, nthreads=[], timeout=60, clean_kwargs={"threads": False}
)


@pytest.fixture
def packs(shelf: Path) -> dict[str, list[RunGroup]]:
    found = {}
    for order in ("time", "permuted"):
        content = {
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": [{"name": "pa"}, {"name": "pa1"}, {"name": "pa2"}],
            "protocol": {"order": order}
            | ({"permutations": 2} if order == "permuted" else {}),
        }
        plan = make_plan(parse_experiment(content))
        found[order] = cut_groups(plan.runs, plan.sources, 3)
    return found


@pytest.fixture
def store(tmp_path: Path) -> str:
    return open_store(str(tmp_path / "store"), create=True).path


def test_every_pack_is_run(packs: dict[str, list[RunGroup]], store: str) -> None:
    """More packs than slots, tasks and actors side by side, progress told."""

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        watched = LiveProgress()
        everything = packs["time"] + packs["permuted"]
        await drive(client, everything, store, watched)
        assert watched.evaluation.done == 9
        assert watched.evaluation.rows_done == 9 * 400
        assert not any(worker.state.actors for worker in (a, b)) or await _emptied(a, b)

    run()
    assert len(open_store(store).done()) == 9


def test_groups_line_up_in_their_order_however_long_their_files_take_to_look_at(
    packs: dict[str, list[RunGroup]], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest come first: one that came last would be worked on while all other workers have nothing."""
    groups = packs["permuted"]
    lined_up = []
    assert len(groups) > 1
    place = Checkpoints.place

    def slow(self: Checkpoints) -> Any:
        sleep(0.3 * (self._group == groups[0]))
        return place(self)

    async def run(group: RunGroup, alone: bool) -> TaskReport:
        lined_up.append(group)
        return TaskReport()

    async def all_of() -> None:
        drive = driver._Drive(None, store, LiveProgress(), Stop(), SETTINGS)
        monkeypatch.setattr(drive._calls, "run", run)
        await drive._run_all(groups)

    monkeypatch.setattr(Checkpoints, "place", slow)
    asyncio.run(all_of())
    assert lined_up == groups


async def _emptied(*workers: Any) -> bool:
    for _ in range(100):
        if not any(worker.state.actors for worker in workers):
            return True
        await asyncio.sleep(0.05)
    return False


def test_without_workers_it_ends_with_one_line(
    packs: dict[str, list[RunGroup]], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = ExecutionSettings(no_worker_seconds=0.3, watch_seconds=0.1)

    @empty_cluster
    async def run(client: Any, scheduler: Any) -> None:
        for order in packs:
            with pytest.raises(ExecutionError, match="no worker for"):
                await drive(
                    client, packs[order], store, LiveProgress(), settings=impatient
                )

    run()


def test_workers_that_come_later_are_used(
    packs: dict[str, list[RunGroup]], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ExecutionSettings(watch_seconds=0.1)

    @empty_cluster
    async def run(client: Any, scheduler: Any) -> None:
        going = asyncio.create_task(
            drive(client, packs["time"], store, LiveProgress(), settings=settings)
        )
        await asyncio.sleep(0.3)
        async with Worker(scheduler.address, nthreads=1):
            await going

    run()
    assert len(open_store(store).done()) == 3


class Sleeps(StreamActor):
    """Never answers."""

    async def advance(self, first: int, last: int) -> TaskReport:
        await asyncio.sleep(1000)
        return TaskReport()


goes_on: list[bool] = []


class Waits(StreamActor):
    """Feeds nothing before it is told to."""

    async def advance(self, first: int, last: int) -> TaskReport:  # type: ignore[override]
        while not goes_on:
            await asyncio.sleep(0.01)
        return super().advance(first, last)


def test_a_worker_of_another_olscale_that_joins_later_gets_no_work(
    packs: dict[str, list[RunGroup]], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ExecutionSettings(watch_seconds=0.02)
    ours = agreement.software()

    def software(dask_worker: Any = None) -> dict[str, Any]:
        return ours | (
            {"sources": "another"}
            if dask_worker is not None and dask_worker.name == "late"
            else {}
        )

    monkeypatch.setattr(agreement, "software", software)
    notes = list[str]()
    goes_on.clear()

    class Notes(LiveProgress):
        def note(self, line: str) -> None:
            notes.append(line)

    monkeypatch.setattr(group_calls, "StreamActor", Waits)

    @one_worker
    async def run(client: Any, scheduler: Any, a: Any) -> None:
        going = asyncio.create_task(
            drive(client, packs["time"], store, Notes(), settings=settings)
        )
        async with Worker(scheduler.address, name="late") as late:
            while not (a.state.actors and notes):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)  # two packs wait for room
            assert not late.state.actors
            goes_on.append(True)
            await going
            assert not late.state.tasks

    run()
    [line] = notes
    assert line.startswith("worker tcp://127.0.0.1:")
    assert line.endswith(
        "has other sources of olscale; it gets no work: start it in the driver's environment"
    )
    assert len(open_store(store).done()) == 3


class Elsewhere:
    """Where the scheduler says that workers are."""

    def __init__(self, there: list[dict[str, int]]) -> None:
        self.there = there
        self.scheduler = self

    async def ncores(self) -> dict[str, int]:
        return self.there.pop(0)


def test_a_time_in_which_nobody_looked_is_no_time_without_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The machine was suspended, or overloaded, and its only worker has just been ended for its budget."""
    now = [0.0]
    monkeypatch.setattr(workers, "monotonic", lambda: now[0])

    async def run(there: list[dict[str, int]], times: list[float]) -> float:
        now[0] = 0.0
        known = workers.Workers(Elsewhere(there))
        for time in times:
            now[0] = time
            await known.look()
            await asyncio.sleep(0)  # those that have joined are asked
            if known._room.threads and there and not there[0]:
                known.forget("a")
        return now[0]

    there: list[dict[str, int]] = [{"a": 1}, {"a": 1}]
    assert (
        asyncio.run(run([*there, {}, {}, {}], [1.0, 2.0, 500.0, 1000.0, 1001.0]))
        == 1001.0
    )
    with pytest.raises(ExecutionError, match="no worker for 180 s"):
        asyncio.run(
            run(
                [*there, *({} for _ in range(400))],
                [1.0, 2.0, *(3.0 + i for i in range(400))],
            )
        )
    assert now[0] > 182.0  # none of the seconds before it was seen to be gone


def test_with_no_worker_that_fits_it_ends_with_one_line(
    packs: dict[str, list[RunGroup]], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = ExecutionSettings(no_worker_seconds=0.3, watch_seconds=0.1)
    monkeypatch.setattr(driver, "misfit", no_olscale)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        with pytest.raises(ExecutionError, match="no worker that fits for"):
            await drive(
                client, packs["time"], store, LiveProgress(), settings=impatient
            )

    run()


async def no_olscale(client: Any, worker: str, learners: Any) -> str:
    return f"worker {worker} has no olscale"


@pytest.mark.parametrize("order", ["time"])
def test_a_call_to_a_worker_that_leaves_is_given_up(
    packs: dict[str, list[RunGroup]],
    store: str,
    monkeypatch: pytest.MonkeyPatch,
    order: str,
) -> None:
    """A frozen worker answers nothing and closes nothing; the scheduler's forgetting it is what ends the wait."""
    settings = ExecutionSettings(watch_seconds=0.1)
    monkeypatch.setattr(group_calls, "StreamActor", Sleeps)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        going = asyncio.create_task(
            drive(client, packs[order][:1], store, LiveProgress(), settings=settings)
        )
        while not (a.state.actors or b.state.actors):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        monkeypatch.setattr(group_calls, "StreamActor", StreamActor)
        holder = a if a.state.actors else b
        await scheduler.remove_worker(holder.address, stimulus_id="frozen", close=False)
        await going

    run()
    assert len(open_store(store).done()) == len(packs[order][0].runs)


def test_silence_has_an_end(
    packs: dict[str, list[RunGroup]], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker from which nothing is heard is given up, and its pack goes on elsewhere."""
    impatient = ExecutionSettings(
        watch_seconds=0.1, silence_seconds=0.5, no_worker_seconds=0.3
    )
    monkeypatch.setattr(group_calls, "StreamActor", Sleeps)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        watched = Noted()
        with pytest.raises(ExecutionError, match="no worker for"):
            await drive(client, packs["time"][:1], store, watched, settings=impatient)
        assert sorted(note for note in watched.notes if note.startswith("nothing")) == [
            f"nothing was heard from worker {address} for 0 s: it is ended"
            for address in sorted((a.address, b.address))
        ]

    run()


class Noted(LiveProgress):
    """Keeps what is noted."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, line: str) -> None:
        self.notes.append(line)


def test_a_scheduler_that_goes_away_is_one_line(
    packs: dict[str, list[RunGroup]], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask then cancels all futures, which must not pass for the driver's own being cancelled."""
    impatient = ExecutionSettings(watch_seconds=0.1, answer_seconds=1.0)
    monkeypatch.setattr(group_calls, "StreamActor", Sleeps)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        going = asyncio.create_task(
            drive(client, packs["time"], store, LiveProgress(), settings=impatient)
        )
        await asyncio.sleep(0.5)
        await scheduler.close()
        with pytest.raises(ExecutionError, match="scheduler went away"):
            await going

    run()


def test_an_actor_made_anew_is_noticed(
    packs: dict[str, list[RunGroup]], store: str
) -> None:
    """A stream that stands elsewhere feeds nothing and writes nothing."""
    actor = StreamActor(packs["time"][0], store)
    assert actor.begin().position == 0
    assert actor.advance(3, 5).position == 0
    assert actor.finish(7).outcomes == {}
    assert actor.advance(0, 2).position == 2
    assert open_store(store).done() == set()


def test_a_lost_worker_is_noted_with_the_row_of_the_newest_checkpoint(
    tmp_path: Path,
) -> None:
    """Also within a chunk, whose checkpoint is named by two numbers."""
    run = Run(StreamKey("dense", "", (), None), "pa", 1, {})
    group = RunGroup(str(tmp_path), 1000, (run,), chunk_rows=64)
    for place, where in (
        ((), "from the start"),
        (("000000003.npz",), "from row 192 on"),
        (("000000003_000000040.npz", "000000003.npz"), "from row 232 on"),
    ):
        assert loss_text(group, "w", [], place, False).endswith(
            f"which resumes {where}"
        )
