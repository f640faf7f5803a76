"""Evaluations of many runs: a file a run group, flushed before it is reported, and compacted at the end."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution import phases
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Silent
from olscale.execution.settings import SETTINGS
from olscale.results import Store, open_store
from olscale.results.compact import compact
from olscale.results.record import Record
from olscale.results.version import version_bytes
from olscale.system.interrupts import UserInterrupt
from tests.cluster import Cluster

MANY = replace(SETTINGS, shared_runs=12)
FEW = replace(SETTINGS, shared_runs=1_000)


def experiment(shelf: Path, permutations: int = 3, settings: int = 3) -> Experiment:
    learners = [
        {"name": name, "params": {"C": [0.1 * (i + 1) for i in range(settings)]}}
        for name in ("pa1", "lol")
    ]
    content = {"datasets": [{"path": str(shelf / "dense")}], "learners": learners}
    return parse_experiment(
        {**content, "protocol": {"permutations": permutations}}, "many"
    )


def results(store: Store) -> dict[str, Any]:
    """Return the files of runs and all that is left of work in progress."""
    folders = ("runs", "compacted/runs", "lost", "damaged", "tmp")
    return dict(
        store.files.read_many(
            name for folder in folders for name in store.files.names(folder)
        )
    )


@pytest.fixture(scope="module")
def expected(shelf: Path) -> dict[str, Any]:
    """Results of few runs, a file each, that were compacted."""
    path = "memory://many/expected"
    store = evaluate(experiment(shelf), path, in_process=True, settings=FEW).store
    assert len(store.single_files("runs")) == 18
    compact(store)
    return results(store)


def test_many_runs_end_in_the_files_that_compaction_makes_of_few(
    shelf: Path, expected: dict[str, Any]
) -> None:
    done = evaluate(
        experiment(shelf), "memory://many/here", in_process=True, settings=MANY
    )
    assert (done.computed, done.outcomes) == (18, {"ok": 18})
    assert results(done.store) == expected
    assert done.store.timings().num_rows == 18

    again = evaluate(
        experiment(shelf), "memory://many/here", in_process=True, settings=MANY
    )
    assert (again.computed, again.outcomes) == (0, {"ok": 18})
    forced = evaluate(
        experiment(shelf),
        "memory://many/here",
        in_process=True,
        settings=MANY,
        force=True,
    )
    assert (forced.computed, forced.changed) == (18, 0)
    assert results(done.store) == expected


@pytest.mark.parametrize("gives_up_at", ["discard", "write_together"])
def test_many_forced_runs_take_the_place_of_others_by_the_file(
    shelf: Path,
    expected: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    gives_up_at: str,
) -> None:
    """Whatever a killed evaluation had written, the next one ends in the same files."""
    path = f"memory://many/{gives_up_at}"
    store = evaluate(experiment(shelf), path, in_process=True, settings=MANY).store
    replaced: list[int] = []

    def interrupted(store: Store, records: Sequence[Record]) -> None:
        replaced.append(len(records))
        if gives_up_at == "discard":
            store.write_together(records)
        raise UserInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("olscale.execution.group_records.replace_together", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluate(
                experiment(shelf), path, in_process=True, settings=MANY, force=True
            )
    assert replaced
    assert replaced[0] > 1
    assert len(open_store(path).done()) == 18
    assert open_store(path).read().num_rows == 18
    forced = evaluate(
        experiment(shelf), path, in_process=True, settings=MANY, force=True
    )
    assert (forced.computed, forced.changed) == (18, 0)
    assert results(store) == expected


def test_tasks_give_the_same_files(
    shelf: Path, tmp_path: Path, expected: dict[str, Any], cluster: Cluster
) -> None:
    done = evaluate(
        experiment(shelf),
        tmp_path / "store",
        scheduler=cluster.scheduler,
        settings=MANY,
    )
    assert done.computed == 18
    assert results(done.store) == expected


def test_the_rest_of_many_runs_ends_in_the_same_files(
    shelf: Path, expected: dict[str, Any]
) -> None:
    evaluate(
        experiment(shelf, 2, 2), "memory://many/rest", in_process=True, settings=MANY
    )
    done = evaluate(
        experiment(shelf), "memory://many/rest", in_process=True, settings=MANY
    )
    assert done.computed == 10
    assert results(done.store) == expected


def test_many_loose_runs_are_compacted_when_they_are_looked_through(
    shelf: Path, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = {"store": "memory://many/loose", "in_process": True, "settings": FEW}
    loose = evaluate(experiment(shelf), **where).store
    assert len(loose.single_files("runs")) == 18
    monkeypatch.setattr(phases, "_LOOSE_RUNS", 18)
    done = evaluate(experiment(shelf, 1, 1), **where)
    assert done.computed == 0
    assert results(done.store) == expected


def test_a_store_without_compacted_files_gets_none(shelf: Path) -> None:
    open_store("memory://many/first", create=True).put("store.json", version_bytes(1))
    done = evaluate(
        experiment(shelf), "memory://many/first", in_process=True, settings=MANY
    )
    assert len(done.store.single_files("runs")) == 18
    assert done.store.version == 1


KILLED = """
import sys
from collections.abc import Sequence
from dataclasses import replace
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Silent
from tests.execution.test_many_runs import MANY, experiment
from pathlib import Path

class Told(Silent):
    def finish(self, run, outcome):
        print(run, flush=True)

evaluate(experiment(Path(sys.argv[1]), 12, 4), sys.argv[2], in_process=True, progress=Told(), settings=MANY)
"""


@pytest.mark.chaos
def test_what_was_reported_is_there_after_a_kill(shelf: Path, tmp_path: Path) -> None:
    """SIGKILL at random moments of an evaluation, its compaction included; the next one goes on, until it is through."""
    dice = random.Random(0)
    path = tmp_path / "store"
    told = set[str]()
    for kill in (True, True, False):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(shelf), str(path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        told.add(process.stdout.readline().strip())
        if kill:
            sleep(dice.random() * 0.4)
            process.send_signal(signal.SIGKILL)
        told |= set(process.stdout.read().split())
        assert process.wait() in (0, -signal.SIGKILL if kill else 0)
        assert told - {""} <= open_store(path).done()
    assert len(open_store(path).done()) == 96
    undisturbed = evaluate(
        experiment(shelf, 12, 4),
        "memory://many/undisturbed",
        in_process=True,
        settings=MANY,
    )
    seen = open_store(path)
    compact(seen)
    assert dict(seen.files.read_many(seen.compacted_files("runs"))) == dict(
        undisturbed.store.files.read_many(undisturbed.store.compacted_files("runs"))
    )


def test_progress_tells_of_runs_that_are_in_the_store(shelf: Path) -> None:
    class Looks(Silent):
        def finish(self, run: str, outcome: str) -> None:
            assert run in Store("memory://many/told").done()

    evaluate(
        experiment(shelf),
        "memory://many/told",
        in_process=True,
        progress=Looks(),
        settings=MANY,
    )


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_few_runs_on_workers_are_told_of_when_they_are_on_disk(
    shelf: Path, tmp_path: Path, cluster: Cluster, order: str
) -> None:
    """A file a group, on actors and as a bundle of tasks; an experiment of one run has a file a run."""
    told: list[str] = []

    class Looks(Silent):
        def finish(self, run: str, outcome: str) -> None:
            assert run in Store(str(tmp_path / "store")).done()
            told.append(run)

    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa1"}, {"name": "sklearn.linear_model:Perceptron"}],
        "protocol": {"order": order},
    }
    asked = parse_experiment(content, "few")
    where = {"scheduler": cluster.scheduler, "progress": Looks()}
    store = evaluate(asked, tmp_path / "store", **where).store
    assert set(told) == store.done()
    assert len(told) == (2 if order == "time" else 20)
    assert store.single_files("runs") == []
    protocol = {"permutations": 1}
    content |= {"learners": [{"name": "pa1"}], "protocol": protocol}
    alone = evaluate(
        parse_experiment(content, "one"), tmp_path / "one", in_process=True
    )
    assert len(alone.store.single_files("runs")) == 1
