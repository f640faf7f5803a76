"""A store on object storage: what was interrupted goes on from the checkpoints there, whoever was at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.execution.evaluate import evaluate
from olscale.execution.settings import ExecutionSettings
from olscale.results.opening import open_store
from olscale.system.interrupts import UserInterrupt
from tests.cluster import Cluster, running
from tests.record_bytes import record_bytes

CHUNKS = 25
MORTAL = """
import os, signal, time
from olscale.learners.linear.passive_aggressive import PA1
from olscale.results.opening import open_store

FOLDER, STORE = PLACES

class Mortal(PA1):
    "Notes each chunk, and takes its process along once there is a checkpoint, the first time."
    name = "mortal"

    def learn(self, X, y):
        if FOLDER and len(y):
            with open(f"{FOLDER}/chunks", "a") as file:
                file.write(f"{os.getpid()}\\n")
            if not os.path.exists(f"{FOLDER}/died"):
                time.sleep(0.05)
                saved = open_store(STORE).files.names("checkpoints")
                if any(name.endswith(".npz") for name in saved):
                    open(f"{FOLDER}/died", "x").close()
                    os.kill(os.getpid(), signal.SIGKILL)
        return super().learn(X, y)
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "rows.npz",
        X=rng.normal(size=(CHUNKS * 16, 5)),
        y=rng.integers(0, 2, CHUNKS * 16),
    )
    ingest([str(tmp_path / "rows.npz")], str(tmp_path / "rows"), chunk_rows=16)
    return tmp_path / "rows"


def experiment(rows: Path, order: str, *learners: str) -> Any:
    protocol = {"order": order} | ({"permutations": 1} if order == "permuted" else {})
    content = {
        "datasets": [{"path": str(rows)}],
        "learners": [{"name": name} for name in learners],
    }
    return parse_experiment({**content, "protocol": protocol})


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_in_process_it_goes_on_from_the_checkpoint_there(
    bucket: str, rows: Path, tmp_path: Path, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted at chunk 7, with a checkpoint after each; a damaged one is passed over for the one before."""
    wanted = evaluate(
        experiment(rows, order, "pa1", "lol"), tmp_path / "near", in_process=True
    ).store
    eager = ExecutionSettings(checkpoint_seconds=0.0, checkpoint_ratio=0.0)
    store = f"{bucket}/interrupted-{order}"
    advance = GroupPass.advance
    fed = list[int]()

    def noted(passage: GroupPass) -> None:
        i = passage.position
        if i == 7 and len(fed) == 7:
            raise UserInterrupt
        fed.append(i)
        advance(passage)

    monkeypatch.setattr(GroupPass, "advance", noted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(
            experiment(rows, order, "pa1", "lol"),
            store,
            in_process=True,
            settings=eager,
        )
    far = open_store(store)
    saved = [name for name in far.files.names("checkpoints") if name.endswith(".npz")]
    assert [name.rpartition("/")[2] for name in saved] == [
        "000000006.npz",
        "000000007.npz",
    ]
    far.put(saved[1], b"PK\x03\x04 but no more")

    evaluate(experiment(rows, order, "pa1", "lol"), store, in_process=True)

    assert fed == [*range(7), *range(6, CHUNKS)]
    assert record_bytes(far.path) == record_bytes(wanted.path)
    assert far.files.names("checkpoints") == []


@pytest.fixture(scope="module")
def cluster_there(
    bucket: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Return a cluster of one worker that has the bucket's address and credentials."""
    with running(tmp_path_factory.mktemp("cluster"), workers=1) as cluster:
        yield cluster


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_another_worker_goes_on_from_the_checkpoint_there(
    bucket: str,
    rows: Path,
    tmp_path: Path,
    order: str,
    monkeypatch: pytest.MonkeyPatch,
    cluster_there: Cluster,
) -> None:
    """A worker of a real cluster is killed as soon as there is a checkpoint."""
    module = cluster_there.modules / f"mortal_{order}.py"
    store = f"{bucket}/killed-{order}"
    monkeypatch.syspath_prepend(str(cluster_there.modules))
    module.write_text(f"PLACES = {(str(tmp_path), store)}\n{MORTAL}")
    mortal = experiment(rows, order, f"mortal_{order}:Mortal")
    settings = ExecutionSettings(checkpoint_seconds=0.1)

    evaluate(mortal, store, scheduler=cluster_there.scheduler, settings=settings)

    processes = (tmp_path / "chunks").read_text().split()
    first, second = dict.fromkeys(processes)
    assert (tmp_path / "died").exists()
    assert processes.count(second) < CHUNKS <= len(processes) < 2 * CHUNKS
    # some of it was not learned again
    assert len(processes) - CHUNKS < processes.count(first)
    near = evaluate(mortal, tmp_path / "near", in_process=True).store
    assert record_bytes(store) == record_bytes(near.path)
    assert open_store(store).files.names("checkpoints") == []
