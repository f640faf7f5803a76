"""Class shards as Dask tasks: the same bytes as one process, one reading of the stream a shard, and no trace left."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from distributed.utils_test import gen_cluster

from olscale.data.stream import Stream
from olscale.errors import ExecutionError
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.shard_cuts import cut_shards
from olscale.execution import driver, group_calls
from olscale.execution import resumable_pass as passages
from olscale.execution.evaluate import evaluate
from olscale.execution.group_records import clear_scratch, merge_group
from olscale.execution.on_worker import run_as_task
from olscale.execution.progress import LiveProgress
from olscale.execution.settings import ExecutionSettings
from olscale.execution.task_report import TaskReport
from olscale.results.opening import open_store
from tests.cluster import Cluster
from tests.record_bytes import record_bytes

inside = gen_cluster(
    client=True,
    nthreads=[("127.0.0.1", 1)] * 2,
    timeout=60,
    clean_kwargs={"threads": False},
)


def experiment(faces: Path, order: str = "time") -> Experiment:
    learners = [
        {"name": "lol", "params": {"k": 20}},
        {"name": "pa1", "params": {"multiclass": "ova"}},
        {"name": "pa"},
    ]
    protocol = {"order": order, **({"permutations": 2} if order == "permuted" else {})}
    return parse_experiment(
        {"datasets": [{"path": str(faces)}], "learners": learners, "protocol": protocol}
    )


def scratch(store: Path) -> list[Path]:
    return [path for path in (store / "tmp").rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def here(faces: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores of evaluations in one process and one piece."""
    stores = {
        order: tmp_path_factory.mktemp("here") / order for order in ("time", "permuted")
    }
    for order, store in stores.items():
        done = evaluate(experiment(faces, order), store, in_process=True)
        assert done.computed == len(done.store.done()) > 0
    return stores


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_shards_on_dask_and_in_process_give_the_same_bytes(
    faces: Path, here: dict[str, Path], tmp_path: Path, order: str, cluster: Cluster
) -> None:
    for name, options in (
        ("dask", {"scheduler": cluster.scheduler}),
        ("process", {"in_process": True}),
    ):
        watched = LiveProgress()
        store = tmp_path / name
        done = evaluate(
            experiment(faces, order), store, class_shards=3, progress=watched, **options
        )
        assert done.computed == done.runs == watched.evaluation.done
        assert record_bytes(store) == record_bytes(here[order])
        assert scratch(store) == []
        groups = watched.evaluation.groups.values()
        assert watched.evaluation.rows_done == sum(group.rows for group in groups)
        assert watched.evaluation.failed == 0
        # of the runs in one piece: shards know none
        assert all(
            0.0 < error < 1.0 for _, error in watched.evaluation.errors().values()
        )


def test_each_shard_reads_the_stream_once(
    faces: Path, here: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster whose workers are in this process, where reading can be counted."""
    read: list[tuple[str, int]] = []
    chunk = Stream.untransformed
    monkeypatch.setattr(
        Stream,
        "untransformed",
        lambda self, i: read.append((self.split, i)) or chunk(self, i),
    )
    plan = make_plan(experiment(faces))
    packs = list(cut_shards(cut_groups(plan.runs[:1], plan.sources, 2), 2, 2))
    assert [len(pack.parts()) for pack in packs] == [2]
    store = open_store(tmp_path / "store", create=True).path

    @inside
    async def run(client: Any, scheduler: Any, a: Any, b: Any) -> None:
        await driver.drive(client, packs, store, LiveProgress())

    run()
    assert sorted(read) == sorted(
        2 * ([("test", 0), ("test", 1)] + [("train", i) for i in range(5)])
    )
    assert (
        record_bytes(tmp_path / "store").items() <= record_bytes(here["time"]).items()
    )
    assert len(record_bytes(tmp_path / "store")) == 1


def die_once(path: Path) -> None:
    try:
        with path.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def cut_short(store: Path, *deaths: Path) -> list[Path]:
    """Return the shared files of records that a process wrote in another thread as it died: at most one each."""
    files = [
        path
        for path in scratch(store)
        for death in deaths
        if path.match(f"tmp/all-*.{death.read_text()}.*")
    ]
    assert len(files) <= len(deaths)
    return files


def dying_run(pack: Any, store: str, **options: Any) -> TaskReport:
    if pack.shard == 1:
        die_once(Path(store).parent / "shard-died")
    return run_as_task(pack, store, **options)


def dying_merge(pack: Any, store: str) -> TaskReport:
    die_once(Path(store).parent / "merge-died")
    return merge_group(pack, store)


def doomed_run(pack: Any, store: str, **options: Any) -> TaskReport:
    if pack.runs[0].learner == "lol" and pack.shard == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return run_as_task(pack, store, **options)


def test_killed_workers_change_no_byte(
    faces: Path,
    here: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: Cluster,
) -> None:
    """SIGKILL in a shard and in a merge: they start again elsewhere."""
    monkeypatch.setattr(group_calls, "run_as_task", dying_run)
    monkeypatch.setattr(group_calls, "merge_group", dying_merge)
    evaluate(
        experiment(faces),
        tmp_path / "store",
        scheduler=cluster.scheduler,
        class_shards=2,
    )
    deaths = [tmp_path / "shard-died", tmp_path / "merge-died"]
    assert all(death.exists() for death in deaths)
    assert record_bytes(tmp_path / "store") == record_bytes(here["time"])
    store = tmp_path / "store"
    assert scratch(store) == cut_short(store, *deaths)


def test_a_shard_that_kills_every_worker_loses_its_run_and_no_other(
    faces: Path,
    here: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: Cluster,
) -> None:
    monkeypatch.setattr(group_calls, "run_as_task", doomed_run)
    settings = ExecutionSettings(attempts=2)
    # Only tasks, so that no neighbour is on the dying workers as often as the shard itself.
    plan = experiment(faces).model_copy(
        update={"learners": experiment(faces).learners[:1]}
    )
    watched = LiveProgress()
    where: dict[str, Any] = {"scheduler": cluster.scheduler, "class_shards": 2}
    done = evaluate(
        plan, tmp_path / "store", progress=watched, settings=settings, **where
    )
    assert (
        len(done.store.lost()),
        len(done.store.done()),
        watched.evaluation.failed,
    ) == (1, 0, 1)
    assert scratch(tmp_path / "store") == []
    again = evaluate(experiment(faces), tmp_path / "store", in_process=True)
    assert again.store.lost() == set()
    assert record_bytes(tmp_path / "store") == record_bytes(here["time"])


def test_a_merge_whose_arrays_are_gone_takes_the_record_that_is_there(
    faces: Path, tmp_path: Path
) -> None:
    """Another process that runs the same experiment has merged and cleared; without a record it is a fault."""
    store = open_store(tmp_path / "store", create=True).path
    plan = make_plan(experiment(faces))
    (pack,) = cut_shards(cut_groups(plan.runs[:1], plan.sources, 1), 1, 2)
    for part in pack.parts():
        assert run_as_task(part, store, lambda stand: None).fault == ""
    assert merge_group(pack, store).outcomes == {pack.runs[0].id: "ok"}
    clear_scratch(pack, store)
    assert merge_group(pack, store).outcomes == {pack.runs[0].id: "ok"}
    (record,) = (tmp_path / "store" / "runs").rglob("*.parquet")
    record.unlink()
    assert "run the same command again" in merge_group(pack, store).fault


def test_a_fault_in_a_shard_is_one_line_and_leaves_nothing(
    faces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advance(self: Any) -> None:
        if self.group.shard == 1:
            raise ValueError("no more")
        passages.GroupPass.advance(self)

    monkeypatch.setattr(passages.ShardPass, "advance", advance)
    with pytest.raises(ExecutionError, match="ValueError: no more"):
        evaluate(experiment(faces), tmp_path / "store", in_process=True, class_shards=2)
    assert scratch(tmp_path / "store") == []
