"""In process, tasks and actors on real clusters of two processes: the same bytes, and nothing computed twice."""

from __future__ import annotations

import asyncio
import filecmp
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olscale.errors import ExecutionError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution import group_calls
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import StreamActor
from olscale.execution.progress import LiveProgress
from olscale.execution.settings import ExecutionSettings
from tests.cluster import Cluster
from tests.record_bytes import record_bytes

FOREIGN = "sklearn.linear_model:SGDClassifier"
OFFLINE = {"name": "lol", "params": {"prototypes": "offline", "k": 8}}


def experiment(shelf: Path, order: str, *learners: str, **options: Any) -> Experiment:
    datasets = [
        {"path": str(shelf / "dense"), "transforms": ["project:9", "standardize"]},
        {"path": str(shelf / "sparse")},
    ]
    named = [{"name": name} for name in learners or ("pa1", "lol", FOREIGN)] + (
        [] if learners else [OFFLINE]
    )
    protocol = {
        "order": order,
        **({"permutations": 2} if order == "permuted" else {}),
        **options,
    }
    return parse_experiment(
        {
            "datasets": datasets,
            "learners": named,
            "protocol": protocol,
            "transforms": ["bias"],
        }
    )


@pytest.fixture(scope="module")
def here(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores of evaluations in process."""
    stores = {
        order: tmp_path_factory.mktemp("here") / order for order in ("time", "permuted")
    }
    for order, store in stores.items():
        done = evaluate(experiment(shelf, order), store, in_process=True)
        assert done.computed == done.runs > 0
    return stores


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_dask_gives_the_same_bytes_as_in_process(
    shelf: Path, here: dict[str, Path], tmp_path: Path, order: str, cluster: Cluster
) -> None:
    """Actors on a cluster of its own for the time order, tasks on one that runs for permutations.

    Test splits, foreign and offline learners included.
    """
    watched = LiveProgress()
    where = {"workers": 2} if order == "time" else {"scheduler": cluster.scheduler}
    done = evaluate(
        experiment(shelf, order), tmp_path / "store", progress=watched, **where
    )
    assert (
        done.computed
        == done.runs
        == watched.evaluation.done
        == len(record_bytes(here[order]))
    )
    assert record_bytes(tmp_path / "store") == record_bytes(here[order])
    # On a busy machine a checkpoint may have been taken; its folder stays, empty.
    assert set(filecmp.dircmp(tmp_path / "store", here[order]).left_only) <= {
        "checkpoints"
    }
    assert not [
        path for path in tmp_path.glob("store/checkpoints/**/*") if path.is_file()
    ]
    assert watched.evaluation.rows_done == sum(
        g.rows for g in watched.evaluation.groups.values()
    )
    assert watched.evaluation.share_done == pytest.approx(1.0), (
        "held-out rows are work, too"
    )
    assert all(group.rows for group in watched.evaluation.groups.values()), (
        "no group is unknown"
    )
    assert watched.evaluation.failed == 0


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_batches_longer_than_chunks_give_the_same_bytes_on_dask(
    shelf: Path, tmp_path: Path, order: str, cluster: Cluster
) -> None:
    """An actor that is fed a chunk of 64 rows may have to wait for the end of the batch."""
    asked = experiment(shelf, order, "pa1", FOREIGN, batch=150)
    for name, where in (
        ("here", {"in_process": True}),
        ("there", {"scheduler": cluster.scheduler}),
    ):
        done = evaluate(asked, tmp_path / name, **where)
        assert done.computed == done.runs > 0
    assert record_bytes(tmp_path / "there") == record_bytes(tmp_path / "here")


def test_again_computes_nothing_and_another_learner_only_its_own(
    shelf: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    first = evaluate(experiment(shelf, "permuted", "pa1"), store, in_process=True)
    assert (first.runs, first.computed) == (4, 4)
    before = record_bytes(store)
    again = evaluate(experiment(shelf, "permuted", "pa1"), store, in_process=True)
    assert (again.runs, again.computed) == (4, 0)
    more = evaluate(experiment(shelf, "permuted", "pa1", "pa2"), store, in_process=True)
    assert (more.runs, more.computed) == (8, 4)
    assert before.items() < record_bytes(store).items()


def once(path: Path, then: Callable[[], None]) -> None:
    """Do `then` if no process has been here before."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return
    then()


def kill_me() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingActor(StreamActor):
    """Takes its worker with it in mid-stream, once."""

    def advance(self, first: int, last: int) -> Any:
        answer = super().advance(first, last)
        if answer.position >= 3:
            once(Path(self._store).parent / "died", kill_me)
        return answer


def dying_task(pack: Any, store: str, **options: Any) -> Any:
    once(Path(store).parent / "died", kill_me)
    return driver_run_pack(pack, store, **options)


def doomed_task(pack: Any, store: str, **options: Any) -> Any:
    if pack.runs[0].learner == "pa1":
        kill_me()
    return driver_run_pack(pack, store, **options)


def raising_task(pack: Any, store: str, **options: Any) -> Any:
    raise ImportError("no module named 'elsewhere'")


driver_run_pack = group_calls.run_as_task


def test_a_worker_that_cannot_run_packs_is_one_line(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    monkeypatch.setattr(group_calls, "run_as_task", raising_task)
    with pytest.raises(ExecutionError, match="cannot run on worker tcp://"):
        evaluate(
            experiment(shelf, "permuted", "pa1"),
            tmp_path / "store",
            scheduler=cluster.scheduler,
            settings=ExecutionSettings(shared_runs=1_000),
        )


def test_damaged_data_are_the_same_line_everywhere(
    shelf: Path, tmp_path: Path, cluster: Cluster
) -> None:
    import shutil

    shutil.copytree(shelf / "dense", tmp_path / "dense")
    for path in (tmp_path / "dense").rglob("c/*"):
        if path.is_file():
            path.write_bytes(b"broken")
    wanted = parse_experiment(
        {
            "datasets": [{"path": str(tmp_path / "dense")}],
            "learners": [{"name": "pa"}],
            "protocol": {"order": "time"},
        }
    )
    said = []
    for options in ({"in_process": True}, {"scheduler": cluster.scheduler}):
        with pytest.raises(ExecutionError) as caught:
            evaluate(wanted, tmp_path / "store", **options)  # type: ignore[arg-type]
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "dense: chunk 0" in said[0]
    assert "\n" not in said[0]


def test_a_notebook_whose_loop_runs_can_evaluate(
    shelf: Path, here: dict[str, Path], tmp_path: Path, cluster: Cluster
) -> None:
    async def cell() -> None:
        evaluate(
            experiment(shelf, "time"), tmp_path / "store", scheduler=cluster.scheduler
        )

    asyncio.run(cell())
    assert record_bytes(tmp_path / "store") == record_bytes(here["time"])


def test_relative_paths_are_those_of_whoever_evaluates(
    shelf: Path, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers need not share a working directory with us."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").symlink_to(shelf / "dense")
    relative = parse_experiment(
        {"datasets": [{"path": "rows"}], "learners": [{"name": "pa1"}]}
    )
    done = evaluate(relative, "store", scheduler=cluster.scheduler)
    assert done.computed == done.runs > done.failed == 0
    assert record_bytes(tmp_path / "store")


# Last: a worker that takes the place of a killed one imports scikit-learn anew.


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_a_killed_worker_changes_no_byte(
    shelf: Path,
    here: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    order: str,
    cluster: Cluster,
) -> None:
    """SIGKILL during a task and in an actor's stream: the pack starts again elsewhere."""
    monkeypatch.setattr(group_calls, "StreamActor", DyingActor)
    monkeypatch.setattr(group_calls, "run_as_task", dying_task)
    # A group a task, which is what dies here; a bundle of them would hide it.
    settings = ExecutionSettings(shared_runs=2 if order == "time" else 1_000)
    done = evaluate(
        experiment(shelf, order),
        tmp_path / "store",
        scheduler=cluster.scheduler,
        settings=settings,
    )
    assert (tmp_path / "died").exists()
    assert done.computed == done.runs
    assert record_bytes(tmp_path / "store") == record_bytes(here[order])


def test_a_pack_that_kills_every_worker_is_recorded_as_lost_and_the_others_go_on(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    monkeypatch.setattr(group_calls, "run_as_task", doomed_task)
    settings = ExecutionSettings(attempts=2, shared_runs=1_000)
    wanted = parse_experiment(
        {
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": [{"name": "pa1"}, {"name": "pa2"}],
            "protocol": {"permutations": 1},
        }
    )
    watched = LiveProgress()
    done = evaluate(
        wanted,
        tmp_path / "store",
        scheduler=cluster.scheduler,
        progress=watched,
        settings=settings,
    )
    assert (
        len(done.store.lost()),
        len(done.store.done()),
        watched.evaluation.failed,
    ) == (1, 1, 1)
    monkeypatch.undo()
    again = evaluate(wanted, tmp_path / "store", in_process=True)
    assert (again.computed, len(again.store.done()), again.store.lost()) == (
        1,
        2,
        set(),
    )
