"""Settings that share their sums: killed in the middle of them, saved and gone on with, run apart; the same bytes."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.evaluation import summed_rows
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.summed_rows import SumsPass, cut_sums, merge_sums
from olscale.execution import group_calls
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import run_as_task
from olscale.execution.resumable_pass import ResumablePass
from olscale.execution.settings import ExecutionSettings
from olscale.execution.task_report import TaskReport
from olscale.results.rows import run_bytes
from olscale.results.scratch import MemoryScratch, Scratch
from olscale.results.store import open_store
from olscale.storage.checked_arrays import read_arrays, write_arrays
from tests.cluster import Cluster

EAGER: dict[str, float] = {"checkpoint_seconds": 0.0, "checkpoint_ratio": 0.0}
"""A checkpoint after every chunk."""

GUILTY = 1.0
"""The penalty of the setting that takes its workers along."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of 1,000 rows in chunks of 150; neither blocks of 500 nor 256 rows at once end with a chunk."""
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    for part, count in (("train", 1000), ("test", 90)):
        X = rng.normal(size=(count, 5))
        np.savez(
            folder / f"{part}.npz", X=X, y=(np.abs(X[:, :2]).sum(axis=1) > 1.0) + (X[:, 2] > 0.5)
        )
    ingest(
        [str(folder / "train.npz")],
        str(folder / "data"),
        test=[str(folder / "test.npz")],
        chunk_rows=150,
    )
    return folder / "data"


@pytest.fixture(autouse=True)
def blocks_of_500_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summed_rows, "LEAST_ROWS", 500)


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
    [group] = cut_sums(cut_groups(plan.runs, plan.sources, 1), 2)
    assert (group.summed, len(group.runs), len(group.parts())) == (True, 3, 2)
    return group


def records(store: Path) -> dict[str, bytes]:
    found = open_store(store)
    return {id: run_bytes(found.get(id)) for id in found.done()}


def left_over(store: Path) -> list[Path]:
    return [path for path in (store / "tmp").rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def undisturbed(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the bytes of the records of an evaluation in one process and one piece."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
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


@pytest.mark.parametrize("name", ["oselm", "rff-rls"])
def test_a_pass_goes_on_from_wherever_it_was_saved(
    rows: Path, undisturbed: dict[str, bytes], name: str
) -> None:
    """Each shard after each number of chunks, saved as a file."""
    group = group_of(rows, name)
    for first, second in zip(range(5), (3, 0, 4, 1, 2), strict=True):
        scratch = MemoryScratch()
        for part, cut in zip(group.parts(), (first, second), strict=True):
            going, file = SumsPass(part, scratch), io.BytesIO()
            pass_through(going, cut)
            write_arrays(file, going.state())
            again = SumsPass(part, scratch)
            again.restore(read_arrays(io.BytesIO(file.getvalue())))
            pass_through(again)
            assert again.finish() == []
        found = {record.id: run_bytes(record) for record, _ in merge_sums(group, scratch)}
        assert found == {run.id: undisturbed[run.id] for run in group.runs}


def test_blocks_that_are_gone_are_added_up_anew(rows: Path) -> None:
    """Another evaluation whose first run is the same may have ended and cleared them."""
    part, scratch, file = group_of(rows, "oselm").parts()[0], MemoryScratch(), io.BytesIO()
    going = SumsPass(part, scratch)
    pass_through(going)
    write_arrays(file, going.state())
    SumsPass(part, scratch).restore(read_arrays(io.BytesIO(file.getvalue())))
    scratch.clear()
    with pytest.raises(ValueError, match="block 0 that the shard has written is gone"):
        SumsPass(part, scratch).restore(read_arrays(io.BytesIO(file.getvalue())))


def dies_in_the_middle(group: RunGroup, store: str, **options: Any) -> TaskReport:
    """Run a shard, the second one in a process that dies after its second chunk; whoever goes on says where it does."""
    folder = Path(store).parent
    if group.shard == 1 and not (folder / f"died-{group.runs[0].id}").exists():
        (folder / f"died-{group.runs[0].id}").touch()
        advance, done = SumsPass.advance, []

        def advances(self: SumsPass) -> None:
            if len(done) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done.append(advance(self))

        SumsPass.advance = advances  # type: ignore[method-assign]
    elif group.shard == 1:
        going = ResumablePass(group, store)
        state = dict(going.group_pass.state())
        going.close()
        waiting = [array[1] for name, array in state.items() if name.endswith("/sums.rows")]
        (folder / f"went-on-{group.runs[0].id}").write_text(
            f"{going.position} {len(waiting)} {sum(waiting)}"
        )
    return run_as_task(group, store, **options)


@pytest.mark.long
def test_killed_in_the_middle_of_sums_they_go_on_from_the_checkpoint(
    rows: Path,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: Cluster,
) -> None:
    """SIGKILL where rows wait for others: the sums of three settings are one, and go on where they were."""
    monkeypatch.setattr(group_calls, "run_as_task", dies_in_the_middle)
    settings = ExecutionSettings(**EAGER)  # type: ignore[arg-type]
    store = tmp_path / "store"
    evaluate(experiment(rows, "oselm"), store, scheduler=cluster.scheduler, settings=settings)
    # Rows 500 to 750, from the second piece of a chunk on: 250 of them wait, as 256 are added up at
    # once.
    assert [path.read_text() for path in tmp_path.glob("went-on-*")] == ["5 1 250"]
    assert records(store) == {run.id: undisturbed[run.id] for run in group_of(rows, "oselm").runs}
    assert left_over(store) == []


def takes_its_worker_along(group: RunGroup, store: str, **options: Any) -> TaskReport:
    if group.shard == 1 and any(run.params["lam"] == GUILTY for run in group.runs):
        os.kill(os.getpid(), signal.SIGKILL)
    return run_as_task(group, store, **options)


@pytest.mark.long
def test_one_that_kills_every_worker_is_lost_and_those_of_its_sums_are_not(
    rows: Path,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: Cluster,
) -> None:
    """The group is run in halves: whoever is first in one adds up, and the bytes are those of the whole."""
    monkeypatch.setattr(group_calls, "run_as_task", takes_its_worker_along)
    store, settings = tmp_path / "store", ExecutionSettings(attempts=1, watch_seconds=0.2)
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
    monkeypatch.setattr(summed_rows, "LEAST_ROWS", 500)
    evaluate(experiment(rows, "oselm", "rff-rls"), store, in_process=True)
    assert records(store) == undisturbed


def test_a_damaged_checkpoint_of_sums_starts_them_over(
    rows: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    """From the checkpoint before, or from the shard's first row; never from half of the sums."""
    group, store = group_of(rows, "oselm"), tmp_path / "store"
    target, settings = open_store(store, create=True), ExecutionSettings(**EAGER)  # type: ignore[arg-type]
    for part in group.parts():
        going = ResumablePass(part, str(store), settings)
        for _ in range(2):
            going.group_pass.advance()
            going.save_if_due()
        going.close()
        for path in sorted((store / "checkpoints").rglob("*.npz"))[
            -part.shard - 1 :
        ]:  # of the second shard both
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(bytes(data))
        again = ResumablePass(part, str(store), settings)
        assert "damaged checkpoint" in again.report().notes[0]
        again.close()
        assert run_as_task(part, str(store), lambda stand: None).fault == ""
    found = {
        record.id: run_bytes(record)
        for record, _ in merge_sums(group, Scratch(target, group.runs[0].id))
    }
    assert found == {run.id: undisturbed[run.id] for run in group.runs}
