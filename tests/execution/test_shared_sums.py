"""Settings that share their sums: killed in the middle of them, saved and gone on with, run apart; the same bytes."""

from __future__ import annotations

import io
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.evaluation import summed_rows
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.summed_rows import SumsPass, cut_sums
from olscale.execution import group_calls
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import StreamActor, run_as_task
from olscale.execution.resumable_pass import ResumablePass
from olscale.execution.settings import ExecutionSettings
from olscale.execution.task_report import TaskReport
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from olscale.storage.checked_arrays import read_arrays, write_arrays
from tests.cluster import Cluster

EAGER: dict[str, float] = {"checkpoint_seconds": 0.0, "checkpoint_ratio": 0.0}
"""A checkpoint after every chunk."""

GUILTY = 1.0
"""The penalty of the setting that takes its workers along."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of 1,000 rows in chunks of 150; neither blocks of 500 nor 256 rows at once end with a chunk."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for part, count in (("train", 1000), ("test", 90)):
        X = rng.normal(size=(count, 5))
        np.savez(
            folder / f"{part}.npz",
            X=X,
            y=(np.abs(X[:, :2]).sum(axis=1) > 1.0) + (X[:, 2] > 0.5),
        )
    ingest(
        [str(folder / "train.npz")],
        str(folder / "data"),
        test=[str(folder / "test.npz")],
        chunk_rows=150,
    )
    return folder / "data"


@pytest.fixture(params=["oselm", "rff-rls"])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a learner; its sums are made of two blocks of rows."""
    monkeypatch.setattr(summed_rows, "LEAST_ROWS", 500)
    return str(request.param)


def experiment(path: Path, *names: str) -> Experiment:
    size = {"oselm": "nodes", "rff-rls": "features"}
    return parse_experiment(
        {
            "datasets": [{"path": str(path)}],
            "learners": [
                {"name": name, "params": {size[name]: 20, "lam": [0.01, 0.1, GUILTY]}}
                for name in names
            ],
            "protocol": {"test_only": True, "order": "time"},
        }
    )


def group_of(path: Path, name: str) -> RunGroup:
    plan = make_plan(experiment(path, name))
    [group] = cut_sums(cut_groups(plan.runs, plan.sources, 1))
    assert len(group.runs) == 3
    return group


def records(store: Path) -> dict[str, bytes]:
    found = open_store(store)
    return {id: run_bytes(found.get(id)) for id in found.done()}


def left_over(store: Path) -> list[Path]:
    return [path for path in (store / "tmp").rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def undisturbed(
    rows: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """Return the bytes of the records of an evaluation in this process, of one block as on workers."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    evaluate(experiment(rows, "oselm", "rff-rls"), store, in_process=True)
    return records(store)


@pytest.fixture(scope="module")
def of_two_blocks(
    rows: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """Return the bytes of the records whose sums are made of two blocks of rows."""
    store = tmp_path_factory.mktemp("blocks") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summed_rows, "LEAST_ROWS", 500)
        evaluate(experiment(rows, "oselm", "rff-rls"), store, in_process=True)
    found = records(store)
    assert len(found) == 6
    return found


def pass_through(going: SumsPass, pieces: int | None = None) -> None:
    while not going.ended and pieces != 0:
        going.advance()
        pieces = None if pieces is None else pieces - 1


def test_a_pass_goes_on_from_wherever_it_was_saved(
    rows: Path, of_two_blocks: dict[str, bytes], name: str
) -> None:
    """After each number of chunks, saved as a file; in one group, or with the last runs alone."""
    group = group_of(rows, name)
    for chunks in range(7):
        going = SumsPass(group)
        file = io.BytesIO()
        pass_through(going, chunks)
        write_arrays(file, going.state())
        for continued in (group, replace(group, runs=group.runs[1:])):
            again = SumsPass(continued)
            again.restore(read_arrays(io.BytesIO(file.getvalue())))
            pass_through(again)
            results = {record.id: run_bytes(record) for record in again.finish()}
            assert results == {run.id: of_two_blocks[run.id] for run in continued.runs}


class DiesInTheMiddle(StreamActor):
    """Dies after its second chunk; its successor says where it begins."""

    def begin(self) -> TaskReport:
        """Open the stream."""
        report = super().begin()
        folder = Path(self._store).parent
        if (folder / "died").exists():
            assert self._going is not None
            state = dict(self._going.group_pass.state())
            waiting = int(state["stream/sums/block.rows"][1])
            (folder / "went-on").write_text(f"{report.position} {waiting}")
        return report

    def advance(self, first: int, last: int) -> TaskReport:
        """Feed one chunk."""
        died = Path(self._store).parent / "died"
        if first == 2 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().advance(first, first + 1)


@pytest.mark.long
def test_killed_in_the_middle_of_sums_they_go_on_from_the_checkpoint(
    rows: Path,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: Cluster,
) -> None:
    """SIGKILL where rows wait for others: the sums of three settings are one, and go on where they were."""
    monkeypatch.setattr(group_calls, "StreamActor", DiesInTheMiddle)
    settings = ExecutionSettings(**EAGER)  # type: ignore[arg-type]
    store = tmp_path / "store"
    evaluate(
        experiment(rows, "oselm"), store, scheduler=cluster.scheduler, settings=settings
    )
    # 256 rows are added up at once, the others of 300 wait.
    assert (tmp_path / "went-on").read_text() == "2 44"
    assert records(store) == {
        run.id: undisturbed[run.id] for run in group_of(rows, "oselm").runs
    }
    assert left_over(store) == []


class TakesItsWorkerAlong(StreamActor):
    """Kills its worker where one of the runs is the guilty one."""

    def begin(self) -> TaskReport:
        """Open the stream."""
        if any(run.params["lam"] == GUILTY for run in self._group.runs):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().begin()


@pytest.mark.long
def test_one_that_kills_every_worker_is_lost_and_those_of_its_sums_are_not(
    rows: Path,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: Cluster,
) -> None:
    """The group is run in halves, and the bytes are those of one group."""
    monkeypatch.setattr(group_calls, "StreamActor", TakesItsWorkerAlong)
    store = tmp_path / "store"
    settings = ExecutionSettings(attempts=1, watch_seconds=0.2)
    done = evaluate(
        experiment(rows, "oselm"), store, scheduler=cluster.scheduler, settings=settings
    )
    runs = group_of(rows, "oselm").runs
    assert done.store.lost() == {run.id for run in runs if run.params["lam"] == GUILTY}
    assert records(store) == {
        run.id: undisturbed[run.id] for run in runs if run.params["lam"] != GUILTY
    }
    assert left_over(store) == []
    monkeypatch.undo()
    evaluate(experiment(rows, "oselm", "rff-rls"), store, in_process=True)
    assert records(store) == undisturbed


def test_a_damaged_checkpoint_of_sums_starts_them_over(
    rows: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    """From the checkpoint before, or from the first row; never from half of the sums."""
    group = group_of(rows, "oselm")
    store = tmp_path / "store"
    open_store(store, create=True)
    settings = ExecutionSettings(**EAGER)  # type: ignore[arg-type]
    for damaged in (1, 2):
        going = ResumablePass(group, str(store), settings)
        for _ in range(2):
            going.group_pass.advance()
            going.save_if_due()
        going.close()
        for path in sorted((store / "checkpoints").rglob("*.npz"))[-damaged:]:
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(bytes(data))
        again = ResumablePass(group, str(store), settings)
        assert "damaged checkpoint" in again.report().notes[0]
        again.close()
    assert run_as_task(group, str(store), lambda stand: None).fault == ""
    assert records(store) == {run.id: undisturbed[run.id] for run in group.runs}
