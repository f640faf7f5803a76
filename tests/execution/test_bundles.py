"""Bundles of groups: the same bytes however they are cut, nothing told and lost, and one bad group ends alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from distributed.utils_test import gen_cluster
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.errors import StoppedError, StoreError
from olscale.evaluation import guard
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.execution import group_calls, on_worker, phases
from olscale.execution.driver import drive
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import run_as_task, run_bundle_as_task
from olscale.execution.progress import LiveProgress, Silent
from olscale.execution.settings import ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import TaskReport
from olscale.results import Store, open_store
from olscale.results.compact import compact
from tests.cluster import Cluster
from tests.execution.test_many_runs import FEW, MANY, experiment, results

two_workers = gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)] * 2,
    timeout=60,
    clean_kwargs={"threads": False},
)
QUICK = ExecutionSettings(watch_seconds=0.05)
stores = count()


@pytest.fixture(scope="module")
def expected(shelf: Path) -> dict[str, Any]:
    """Results of the runs of 8 groups, a file each, that were compacted."""
    store = evaluate(
        experiment(shelf, 8, 2),
        "memory://bundles/expected",
        in_process=True,
        settings=FEW,
    ).store
    compact(store)
    return results(store)


def cut_as(sizes: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Cut groups into bundles of these sizes; return the list in which the sizes of those that were run are noted."""
    bundle_of = [number for number, size in enumerate(sizes) for _ in range(size)]
    seen: list[int] = []

    def cut(groups: Sequence[RunGroup], seconds: Any, parts: int) -> list[RunGroup]:
        numbered = [
            replace(group, bundle=bundle)
            for group, bundle in zip(groups, bundle_of, strict=False)
        ]
        return numbered + [
            replace(group, bundle=len(sizes)) for group in groups[len(numbered) :]
        ]

    def run(bundle: Sequence[RunGroup], *rest: Any) -> list[TaskReport]:
        seen.append(len(bundle))
        return run_bundle_as_task(bundle, *rest)

    monkeypatch.setattr(phases, "cut_bundles", cut)
    monkeypatch.setattr("olscale.execution.in_process.run_bundle_as_task", run)
    return seen


@settings(deadline=None, max_examples=12)
@given(sizes=st.lists(st.integers(1, 8), max_size=6), at_once=st.booleans())
def test_a_store_has_the_same_bytes_however_the_plan_is_cut(
    shelf: Path, expected: dict[str, Any], sizes: list[int], at_once: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seen = cut_as(sizes, patch)
        # or a group at a time
        patch.setattr(on_worker, "BUNDLE_SECONDS", 60.0 if at_once else 0.0)
        done = evaluate(
            experiment(shelf, 8, 2),
            f"memory://bundles/{next(stores)}",
            in_process=True,
            settings=MANY,
        )
    assert done.outcomes == {"ok": 32}
    assert results(done.store) == expected
    assert done.store.timings().num_rows == 32
    if at_once:
        assert sum(seen) <= 8


KILLED = """
import os, signal, sys
from pathlib import Path
from olscale.execution import evaluate as evaluation
from olscale.evaluation.group_pass import GroupPass
from olscale.results.store import Store
from tests.execution.test_many_runs import MANY, experiment
from olscale.execution.progress import Silent

where, number = sys.argv[3], int(sys.argv[4])
calls = 0

def dying(method, after):
    def called(*args):
        global calls
        calls += 1
        if calls == number and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = method(*args)
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return called

if where == "group":
    GroupPass.finish = dying(GroupPass.finish, False)
else:
    Store.put = dying(Store.put, where == "after the file")

class Told(Silent):
    def finish(self, run, outcome):
        print(run, flush=True)

from olscale.execution import on_worker
on_worker.BUNDLE_SECONDS = 0.03  # several bundles
evaluation.evaluate(experiment(Path(sys.argv[1]), 12, 4), sys.argv[2], in_process=True, progress=Told(), settings=MANY)
"""


@pytest.mark.parametrize(
    ("where", "number"),
    [("group", 1), ("group", 7), ("before the file", 5), ("after the file", 4)],
)
def test_what_was_told_is_there_after_a_kill_in_a_bundle(
    shelf: Path, tmp_path: Path, where: str, number: int
) -> None:
    """Killed while a group of a bundle learns, before its file of results or timings is written, and after it."""
    path = tmp_path / "store"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(shelf), str(path), where, str(number)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    told = set(killed.stdout.split())
    assert told <= open_store(path).done()
    assert len(told) < 96
    done = evaluate(experiment(shelf, 12, 4), path, in_process=True, settings=MANY)
    assert done.computed <= 96 - len(told)
    undisturbed = evaluate(
        experiment(shelf, 12, 4),
        f"memory://bundles/{next(stores)}",
        in_process=True,
        settings=MANY,
    )
    assert results(done.store) == results(undisturbed.store)


def test_results_are_told_bundle_by_bundle_though_groups_take_longer_than_was_thought(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watcher need not wait for the end of what was cut as one bundle."""
    monkeypatch.setattr(on_worker, "BUNDLE_SECONDS", 0.1)
    monkeypatch.setattr(on_worker, "run_as_task", slow_group)
    seen = cut_as([8], monkeypatch)
    times: list[float] = []

    class Watches(Silent):
        def finish(self, run: str, outcome: str) -> None:
            times.append(monotonic())

    evaluate(
        experiment(shelf, 8, 2),
        f"memory://bundles/{next(stores)}",
        in_process=True,
        progress=Watches(),
        settings=MANY,
    )
    assert len(times) == 32
    assert seen[0] == 8
    assert len(seen) >= 3
    assert times[-1] - times[0] > 0.15


def slow_group(*args: Any) -> TaskReport:
    sleep(0.05)
    return run_as_task(*args)


def test_the_journal_has_figures_of_the_first_groups_before_their_bundle_ends(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written once a second; a bundle of 1.6 s is in its midst then."""
    monkeypatch.setattr(on_worker, "BUNDLE_SECONDS", 60.0)
    monkeypatch.setattr(on_worker, "run_as_task", slower_group)
    cut_as([8], monkeypatch)
    evaluate(
        experiment(shelf, 8, 2), tmp_path / "store", in_process=True, settings=MANY
    )
    [journal] = (tmp_path / "store" / "live").iterdir()
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    ends = next(i for i, line in enumerate(lines) if "ended" in line)
    assert any(line.get("errors") for line in lines[:ends])


def slower_group(*args: Any) -> TaskReport:
    sleep(0.2)
    return run_as_task(*args)


def test_what_a_bundle_has_done_is_written_when_it_is_asked_to_stop(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_as([8], monkeypatch)
    stop = Stop()
    told = set[str]()
    groups = count()

    def stopping(*args: Any) -> TaskReport:
        if next(groups) == 3:
            stop.ask()
        return run_as_task(*args)

    monkeypatch.setattr(on_worker, "run_as_task", stopping)

    class Told(Silent):
        def finish(self, run: str, outcome: str) -> None:
            told.add(run)

    where = {"in_process": True, "settings": MANY}
    with pytest.raises(StoppedError, match="run the same command again"):
        evaluate(
            experiment(shelf, 8, 2),
            tmp_path / "store",
            progress=Told(),
            stop=stop,
            **where,
        )
    assert open_store(tmp_path / "store").done() == told
    assert len(told) == 3 * 4
    monkeypatch.undo()
    done = evaluate(experiment(shelf, 8, 2), tmp_path / "store", **where)
    assert done.computed == 32 - len(told)


def test_of_a_bundle_that_cannot_be_written_nothing_is_told(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_as([8], monkeypatch)

    def full(*args: Any) -> None:
        raise StoreError("no space is left")

    class Told(Silent):
        def finish(self, run: str, outcome: str) -> None:
            raise AssertionError(run)

    monkeypatch.setattr(Store, "write_together", full)
    path = f"memory://bundles/{next(stores)}"
    with pytest.raises(Exception, match="no space is left"):
        evaluate(
            experiment(shelf, 8, 2),
            path,
            in_process=True,
            progress=Told(),
            settings=MANY,
        )
    assert open_store(path).done() == set()


# On workers.


def bundle(shelf: Path, groups: int = 4) -> list[RunGroup]:
    """Return a bundle of groups on a permutation each, of 4 runs."""
    plan = make_plan(experiment(shelf, groups, 2))
    cut = cut_groups(plan.runs, plan.sources, 1)
    return [replace(group, together=True, bundle=1) for group in cut]


deaths: Counter[str] = Counter()


def takes_its_worker_along(
    groups: Sequence[RunGroup], store: str, **options: Any
) -> list[TaskReport]:
    """Write the first half of the groups, and lose the worker."""
    deaths["bundle"] += 1
    run_bundle_as_task(groups[: len(groups) // 2], store)
    raise OSError("worker is gone")


def poisoned_group(group: RunGroup, store: str, **options: Any) -> TaskReport:
    guilty = [
        run
        for run in group.runs
        if run.learner == "lol" and run.stream.shuffle.index == 3
    ]  # type: ignore[union-attr]
    if guilty:
        deaths[group.key] += 1
        raise OSError("worker is gone")
    deaths["alone"] += 1
    return run_as_task(group, store, **options)


def test_a_bundle_whose_worker_dies_is_cut_into_its_groups(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had written stays, and of the others only the runs that take workers along are lost."""
    deaths.clear()
    groups = bundle(shelf)
    store = open_store(str(tmp_path / "store"), create=True)
    monkeypatch.setattr(group_calls, "run_bundle_as_task", takes_its_worker_along)
    monkeypatch.setattr(group_calls, "run_as_task", poisoned_group)
    notes: list[str] = []

    class Notes(LiveProgress):
        def note(self, line: str) -> None:
            notes.append(line)

    watched = Notes()

    @two_workers
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await drive(client, groups, store.path, watched, settings=QUICK)

    run()
    assert deaths["bundle"] == 1
    assert (len(store.lost()), len(store.done())) == (2, 14)
    assert {store.get(id).run["protocol"]["permutation"] for id in store.lost()} == {3}
    assert {store.get(id).run["learner"]["name"] for id in store.lost()} == {"lol"}
    assert (watched.evaluation.done, watched.evaluation.failed) == (16, 2)
    assert any(
        "and 3 other short groups, of which 2 are run apart" in line for line in notes
    )
    monkeypatch.undo()
    done = evaluate(experiment(shelf, 4, 2), store.path, in_process=True, settings=MANY)
    assert done.computed == 2


def one_group_at_a_time(
    groups: Sequence[RunGroup], store: str, **options: Any
) -> list[TaskReport]:
    deaths[str(len(groups))] += 1
    return run_bundle_as_task(groups[:1], store)


def test_what_a_bundle_leaves_goes_into_others(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups took longer than was thought: what is left is halved, so that other workers can take it."""
    deaths.clear()
    groups = bundle(shelf, 8)
    store = open_store(str(tmp_path / "store"), create=True)
    monkeypatch.setattr(group_calls, "run_bundle_as_task", one_group_at_a_time)
    watched = LiveProgress()

    @two_workers
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await drive(client, groups, store.path, watched, settings=QUICK)

    run()
    assert deaths == {"8": 1, "3": 1, "4": 1, "2": 1}
    assert (
        len(store.done()),
        watched.evaluation.done,
        watched.evaluation.rows_done,
    ) == (
        32,
        32,
        32 * 400,
    )


def leaves_once(
    groups: Sequence[RunGroup], store: str, **options: Any
) -> list[TaskReport]:
    """Do what a bundle does on a worker that is leaving while it is at its second group, the first time."""
    deaths["bundle"] += 1
    if deaths["bundle"] > 1:
        return run_bundle_as_task(groups, store)
    return [*run_bundle_as_task(groups[:1], store), TaskReport(stopped=True)]


def test_a_bundle_on_a_worker_that_leaves_goes_on_elsewhere(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths.clear()
    store = open_store(str(tmp_path / "store"), create=True)
    monkeypatch.setattr(group_calls, "run_bundle_as_task", leaves_once)
    watched = LiveProgress()

    @two_workers
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await drive(client, bundle(shelf), store.path, watched, settings=QUICK)

    run()
    assert (len(store.done()), watched.evaluation.done) == (16, 16)
    assert open_store(store.path).lost() == set()


@pytest.mark.parametrize("is_bundle", [False, True])
def test_a_worker_is_replaced_whose_process_a_learner_spoils(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, is_bundle: bool
) -> None:
    """Whatever its first task is."""
    monkeypatch.setattr(guard, "leave_process", None)
    groups = bundle(shelf) if is_bundle else bundle(shelf)[:1]
    store = f"memory://bundles/{next(stores)}"
    open_store(store, create=True)

    @two_workers
    async def run(client: Any, scheduler: Any, *workers: Any) -> None:
        await drive(client, groups, store, Silent(), settings=QUICK)

    run()
    assert guard.leave_process is not None


def test_workers_give_the_same_bytes_in_bundles(
    shelf: Path, tmp_path: Path, expected: dict[str, Any], cluster: Cluster
) -> None:
    """What is told is in the store."""
    told: set[str] = set()
    path = tmp_path / "store"

    class Told(Silent):
        def finish(self, run: str, outcome: str) -> None:
            assert run in open_store(path).done()
            told.add(run)

    done = evaluate(
        experiment(shelf, 8, 2),
        path,
        scheduler=cluster.scheduler,
        progress=Told(),
        settings=MANY,
    )
    assert len(told) == 32
    assert results(done.store) == expected
