"""Supervision on a cluster inside this process: who is blamed for a death, what goes on, and how an evaluation stops."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from distributed.utils_test import gen_cluster

from olscale.errors import StoppedError
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.execution import group_calls
from olscale.execution.driver import drive
from olscale.execution.evaluate import evaluate
from olscale.execution.group_calls import GroupCalls
from olscale.execution.on_worker import StreamActor, run_as_task
from olscale.execution.progress import LiveProgress
from olscale.execution.settings import ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import TaskReport
from olscale.execution.workers import Workers
from olscale.results.opening import open_store
from tests.record_bytes import record_bytes

LEARNERS = ("pa", "pa1", "pa2", "lol", "perceptron")
QUICK = ExecutionSettings(watch_seconds=0.02)
cluster = gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)] * 2,
    timeout=60,
    clean_kwargs={"threads": False},
)


def content(shelf: Path, order: str) -> Any:
    return parse_experiment(
        {
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": [{"name": name} for name in LEARNERS],
            "protocol": {"order": order}
            | ({"permutations": 1} if order == "permuted" else {}),
        }
    )


def one_pack(shelf: Path, order: str) -> RunGroup:
    plan = make_plan(content(shelf, order))
    (pack,) = cut_groups(plan.runs, plan.sources, 1)
    return pack


@pytest.fixture
def store(tmp_path: Path) -> str:
    return open_store(str(tmp_path / "store"), create=True).path


@pytest.fixture(scope="module")
def undisturbed(
    shelf: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    stores = {
        order: tmp_path_factory.mktemp("undisturbed") / order
        for order in ("time", "permuted")
    }
    for order, store in stores.items():
        evaluate(content(shelf, order), store, in_process=True)
    return stores


deaths: Counter[object] = Counter()


def death(pack: RunGroup) -> None:
    """Do to a call what the death of its worker does."""
    deaths[tuple(run.learner for run in pack.runs)] += 1
    raise OSError("worker is gone")


class DeadlyActor(StreamActor):
    """Loses its worker wherever `pa2` has come to chunk 3."""

    def advance(self, first: int, last: int) -> TaskReport:
        if any(run.learner == "pa2" for run in self._group.runs) and last > 3:
            death(self._group)
        return super().advance(first, last)


def deadly_task(pack: RunGroup, store: str, **options: Any) -> TaskReport:
    if any(run.learner == "pa2" for run in pack.runs):
        death(pack)
    return run_as_task(pack, store, **options)


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_the_one_run_that_takes_its_workers_along_is_found_and_the_rest_go_on(
    shelf: Path,
    store: str,
    undisturbed: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    order: str,
) -> None:
    """Three deaths of the pack, one of each half with the guilty run, three of that run alone."""
    deaths.clear()
    monkeypatch.setattr(group_calls, "StreamActor", DeadlyActor)
    monkeypatch.setattr(group_calls, "run_as_task", deadly_task)
    watched = LiveProgress()
    pack = one_pack(shelf, order)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await drive(client, [pack], store, watched, settings=QUICK)

    run()
    names = tuple(run.learner for run in pack.runs)
    guilty = names.index("pa2")
    halves = (
        (names[:2], names[2:3], names[3:])
        if guilty < 2
        else (names[2:], names[2:3], names[3:])
    )
    assert deaths[names] == 3
    assert sum(deaths.values()) == 7 + (guilty > 2)
    assert deaths[("pa2",)] == 3
    assert all(deaths[half] <= 1 for half in halves if half != ("pa2",))
    done = open_store(store)
    assert (len(done.lost()), len(done.done()), watched.evaluation.failed) == (1, 4, 1)
    (lost,) = done.lost()
    assert done.get(lost).run["learner"]["name"] == "pa2"
    assert done.get(lost).reason.startswith(
        "its workers died 3 times at the same place"
    )
    assert record_bytes(Path(store)).items() < record_bytes(undisturbed[order]).items()
    assert watched.evaluation.rows_done == 4 * 400
    monkeypatch.undo()
    # the next evaluation tries it again
    evaluate(content(shelf, order), store, in_process=True)
    assert record_bytes(Path(store)) == record_bytes(undisturbed[order])
    assert not list(Path(store, "checkpoints").glob("*"))


def test_progress_of_groups_of_another_driver_is_not_ours(store: str) -> None:
    watched = LiveProgress()
    calls = GroupCalls(None, store, Workers(None), watched, Stop(), QUICK)
    calls.hear((0.0, {"group": "another", "stand": (400, 0.5)}))
    assert watched.evaluation.rows_done == 0


class DiesOften(StreamActor):
    """Loses its worker after every second chunk."""

    def advance(self, first: int, last: int) -> TaskReport:
        super().advance(first, first + 1)
        return death(self._group)  # type: ignore[func-returns-value]


def test_deaths_after_progress_do_not_add_up(
    shelf: Path,
    store: str,
    undisturbed: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seven deaths, each one chunk further on."""
    deaths.clear()
    settings = ExecutionSettings(
        watch_seconds=0.02, checkpoint_seconds=0.0, checkpoint_ratio=0.0
    )
    monkeypatch.setattr(group_calls, "StreamActor", DiesOften)
    notes: list[str] = []

    class Notes(LiveProgress):
        def note(self, line: str) -> None:
            notes.append(line)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await drive(
            client, [one_pack(shelf, "time")], store, Notes(), settings=settings
        )

    run()
    assert list(deaths.values()) == [7]
    assert all(note.startswith("worker tcp://127.0.0.1:") for note in notes)
    name = one_pack(shelf, "time").name
    assert [note.partition(" was lost while it had ")[2] for note in notes] == [
        f"{name}, which resumes from row {64 * chunk:,} on" for chunk in range(1, 8)
    ]
    assert record_bytes(Path(store)) == record_bytes(undisturbed["time"])


class Slow(StreamActor):
    """Takes its time, so that there is some to stop it in."""

    async def advance(self, first: int, last: int) -> TaskReport:  # type: ignore[override]
        await asyncio.sleep(0.1)
        return super().advance(first, first + 1)


def test_asked_to_stop_it_saves_and_the_next_evaluation_goes_on(
    shelf: Path,
    store: str,
    undisturbed: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_calls, "StreamActor", Slow)
    stop = Stop()
    pack = one_pack(shelf, "time")

    class Stops(LiveProgress):
        def advance(self, pack: str, rows: int, error: float) -> None:
            super().advance(pack, rows, error)
            if rows >= 3 * 64 * 5:
                stop.signal = signal.SIGTERM

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        with pytest.raises(
            StoppedError,
            match="SIGTERM: work in progress is saved; run the same command again",
        ):
            await drive(client, [pack], store, Stops(), stop, settings=QUICK)

    run()
    saved = [path.name for path in Path(store, "checkpoints", pack.key).glob("*.npz")]
    assert len(saved) == 1
    assert saved[0] >= "000000003.npz"
    assert record_bytes(Path(store)) == {}
    evaluate(content(shelf, "time"), store, in_process=True)
    assert record_bytes(Path(store)) == record_bytes(undisturbed["time"])


def test_a_task_whose_driver_is_gone_is_saved_and_left(
    shelf: Path,
    store: str,
    undisturbed: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask ends no task that runs; it would go on to its end beside the one that the next driver starts."""
    pack = one_pack(shelf, "permuted")
    advance = GroupPass.advance

    def slow(passage: GroupPass) -> None:
        time.sleep(0.2)
        advance(passage)

    monkeypatch.setattr(GroupPass, "advance", slow)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        future = client.submit(
            run_as_task,
            pack,
            store,
            key="olscale-gone",
            workers=[a.address],
            pure=False,
        )
        while not a.state.executing_count:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        future.release()
        while a.state.tasks:
            await asyncio.sleep(0.01)

    run()
    assert len(list(Path(store, "checkpoints", pack.key).glob("*.npz"))) == 1
    assert record_bytes(Path(store)) == {}
    monkeypatch.undo()
    evaluate(content(shelf, "permuted"), store, in_process=True)
    assert record_bytes(Path(store)) == record_bytes(undisturbed["permuted"])


def leaves_once(pack: RunGroup, store: str, **options: Any) -> TaskReport:
    """Do what a task does on a worker that is leaving, the first time."""
    deaths[pack.key] += 1
    return (
        TaskReport(stopped=True) if deaths[pack.key] == 1 else run_as_task(pack, store)
    )


def test_a_pack_that_a_leaving_worker_has_saved_goes_on_elsewhere(
    shelf: Path,
    store: str,
    undisturbed: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deaths.clear()
    monkeypatch.setattr(group_calls, "run_as_task", leaves_once)

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await drive(
            client, [one_pack(shelf, "permuted")], store, LiveProgress(), settings=QUICK
        )

    run()
    assert list(deaths.values()) == [2]
    assert record_bytes(Path(store)) == record_bytes(undisturbed["permuted"])


def dies_after_writing(pack: RunGroup, store: str, **options: Any) -> TaskReport:
    run_as_task(pack, store)
    death(pack)
    return TaskReport()


def test_a_pack_that_has_its_records_is_not_run_again(
    shelf: Path,
    store: str,
    undisturbed: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its worker died after it had written them and before it could say so."""
    deaths.clear()
    monkeypatch.setattr(group_calls, "run_as_task", dies_after_writing)
    watched = LiveProgress()

    @cluster
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await drive(
            client, [one_pack(shelf, "permuted")], store, watched, settings=QUICK
        )

    run()
    assert list(deaths.values()) == [1]
    assert (
        watched.evaluation.done,
        watched.evaluation.failed,
        watched.evaluation.rows_done,
    ) == (
        5,
        0,
        5 * 400,
    )
    assert record_bytes(Path(store)) == record_bytes(undisturbed["permuted"])


def test_only_the_first_signal_asks() -> None:
    stop = Stop()
    with stop.listening():
        assert not stop.asked
        signal.raise_signal(signal.SIGINT)
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    at_its_time = Stop(at=0.0)
    with at_its_time.listening():
        assert at_its_time.asked
        for _ in range(2):  # of a batch system, while things are being saved
            signal.raise_signal(signal.SIGTERM)
    assert at_its_time.signal == signal.SIGTERM
