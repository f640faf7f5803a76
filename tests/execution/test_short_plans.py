"""A plan that is shorter than the start of a cluster runs in process; who asks for workers gets them."""

from __future__ import annotations

from pathlib import Path
from time import sleep
from typing import Any

import pytest

from olscale.compiled.machine_code import (
    begin_machine_code,
    end_machine_code,
    machine_code_seconds,
)
from olscale.data.stream import Stream
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.in_process import InProcess
from olscale.execution.progress import Silent
from olscale.execution.settings import ExecutionSettings
from olscale.results import Store, open_store


class Notes(Silent):
    """Keeps what is noted."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


class ClusterAskedError(Exception):
    """Somebody wants a cluster."""


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: Any) -> None:
        raise ClusterAskedError

    monkeypatch.setattr("olscale.execution.evaluate._run_on_dask", asked)


def experiment(shelf: Path, learner: str = "pa1") -> Experiment:
    protocol = {"order": "time"}
    return parse_experiment(
        {
            "name": "short",
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": [{"name": learner}],
        }
        | {"protocol": protocol}
    )


def test_a_short_plan_runs_here_and_says_so(shelf: Path, tmp_path: Path) -> None:
    notes = Notes()
    done = evaluate(experiment(shelf), tmp_path / "store", progress=notes)

    assert done.computed == 1
    assert [
        line for line in notes.lines if "run in process" in line and "--workers" in line
    ] == notes.lines


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 1},
        {"class_shards": 2},
        {"settings": ExecutionSettings(start_seconds=0.0)},
    ],
    ids=str,
)
def test_who_asks_for_workers_gets_them(
    shelf: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(ClusterAskedError):
        evaluate(experiment(shelf), tmp_path / "store", **options)


def test_a_learner_that_is_not_ours_has_a_worker_to_die_in(
    shelf: Path, tmp_path: Path
) -> None:
    with pytest.raises(ClusterAskedError):
        evaluate(
            experiment(shelf, "sklearn.linear_model:Perceptron"), tmp_path / "store"
        )


def test_a_short_phase_behind_a_long_one_runs_on_the_cluster_that_is_there(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([10.0, 0.1])
    monkeypatch.setattr(
        "olscale.execution.phases.short_seconds", lambda *_: next(seconds)
    )

    def run(
        phases: Any, store: Store, new: bool, progress: Notes, where: object, *rest: Any
    ) -> None:
        for groups in phases:
            InProcess(store.path, {}, progress, *rest).run(groups)

    monkeypatch.setattr("olscale.execution.evaluate._run_on_dask", run)
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa1", "tune": {"C": [0.1, 1.0]}}],
    }
    tuned = parse_experiment({**content, "tuning": {"folds": 2}})
    done = evaluate(tuned, tmp_path / "store", progress=(notes := Notes()))
    assert (done.computed, next(seconds, None)) == (done.runs, None)
    assert not [line for line in notes.lines if "in process" in line]


def test_machine_code_that_reading_waits_for_is_no_reading(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = Stream.untransformed

    def slow(self: Stream, i: int) -> Any:
        begin_machine_code()
        sleep(0.5)
        end_machine_code()
        return chunk(self, i)

    monkeypatch.setattr(Stream, "untransformed", slow)
    before = machine_code_seconds()
    evaluate(experiment(shelf), tmp_path / "store", in_process=True)

    [timings] = (
        open_store(tmp_path / "store")
        .timings(columns=["timings"])["timings"]
        .to_pylist()
    )
    compiling = dict(timings)["machine_code_seconds"]
    assert 0.5 <= compiling <= machine_code_seconds() - before
    assert dict(timings)["read_seconds"] < compiling
